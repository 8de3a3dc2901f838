"""The base class of every command: click's, with advice about extra arguments."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence

import click

from tagger.files.reading import COMPRESSED


class Command(click.Command):
    """A command that refuses extra arguments with advice where they belong."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        strict = not (ctx.allow_extra_args or ctx.resilient_parsing)
        ctx.allow_extra_args = True  # click would refuse them without advice
        extra = super().parse_args(ctx, args)
        if extra and strict:
            advice = advice_for(ctx, extra)
            ctx.fail(f"Got unexpected extra argument{'s' * (len(extra) > 1)} ({' '.join(extra)})" + advice)
        return extra


def advice_for(ctx: click.Context, files: Sequence[str]) -> str:
    """Return advice for extra files: -m for models, `cat` for several corpora. Begins with a full stop, or is empty."""
    options = {option.name: option for option in ctx.command.params}
    models = [f"-m {name}" for name in files if name.endswith(".npz")]
    if models:
        return f". Use {' '.join(models)} for a model." if "model_paths" in options else ""
    corpus = ctx.params.get("corpus", "-")
    if corpus == "-" or any(name.endswith(tuple(COMPRESSED)) for name in files):
        return ""
    dev = ", or use --dev for a dev set" if "dev" in options and isinstance(options["dev"].type, click.Path) else ""
    if sys.platform == "win32":
        return f". CORPUS is one file: join several first{dev}."
    return f". CORPUS is one file: join several with `cat {shlex.join([corpus, *files])} | {ctx.command_path} -`{dev}."
