"""`tagger completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from tagger.cli.options import examples, quiet_option
from tagger.cli.paths import FileCommand


@click.command(
    "completion",
    cls=FileCommand,
    epilog=examples(
        """echo 'eval "$(tagger completion bash)"' >> ~/.bashrc""",
        """echo 'eval "$(tagger completion zsh)"' >> ~/.zshrc""",
        "tagger completion fish > ~/.config/fish/completions/tagger.fish",
    ),
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@quiet_option
@click.pass_context
def command(context: click.Context, shell: str, quiet: bool) -> None:
    """Print the tab completion for a shell.

    It completes commands, options, their values, and names of files.
    """
    kind, group = get_completion_class(shell), context.find_root().command
    assert kind is not None
    click.echo(kind(group, {}, "tagger", group.completion_variable).source())  # type: ignore[attr-defined]
