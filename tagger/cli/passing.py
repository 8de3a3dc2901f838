"""Options passed on to training by commands that train inside: read as the training command itself would read them."""

from __future__ import annotations

import inspect
from importlib import import_module

import click

from tagger.cli.options import Decorated
from tagger.crossval import Make
from tagger.store import KINDS, kind_of

kind_option = click.option("--kind", type=click.Choice(list(KINDS)), default="crf", show_default=True)
CONTEXT = {"ignore_unknown_options": True, "allow_interspersed_args": True}


def passed_on(command: Decorated) -> Decorated:
    """All that the command does not know."""
    return click.argument("options", nargs=-1, type=click.UNPROCESSED)(command)


def make_of(kind: str, options: tuple[str, ...]) -> Make:
    """What makes a tagger of that kind, set up as these options of its training command say."""
    training: click.Command = import_module(f"tagger.cli.train_{kind}").command
    context = training.make_context(f"tagger train-{kind}", ["-", *options])
    names = inspect.signature(kind_of(kind)).parameters
    for option in training.params:
        named = context.get_parameter_source(option.name or "") is click.core.ParameterSource.COMMANDLINE
        if named and isinstance(option, click.Option) and option.name not in names:
            raise click.UsageError(f"{option.opts[-1]} is for train-{kind} itself: it is no setting of the model.")
    settings = {name: context.params[name] for name in names if name in context.params}
    return Make(kind_of(kind), settings | ({"threads": 1} if "threads" in settings else {}))
