"""`tagger completion`: tab completion for the shell, from click."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from tagger.cli.options import file_command


@file_command(
    "completion",
    """echo 'eval "$(tagger completion bash)"' >> ~/.bashrc""",
    """echo 'eval "$(tagger completion zsh)"' >> ~/.zshrc""",
    "tagger completion fish > ~/.config/fish/completions/tagger.fish",
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(context: click.Context, shell: str, quiet: bool) -> None:
    """Print the tab completion script for a shell.

    It completes commands, options, their values, and file names. The first two examples switch it on for every new
    terminal; open one, type `tagger tr` and press the tab key.
    """
    completer, group = get_completion_class(shell), context.find_root().command
    assert completer is not None
    click.echo(completer(group, {}, "tagger", group.completion_variable).source())  # type: ignore[attr-defined]
