"""Training options of commands that train models themselves: parsed by the training command, passed on to the model."""

from __future__ import annotations

import inspect
from importlib import import_module

import click

from tagger.cli.options import Decorated
from tagger.cli.paths import InputFile, check_files, declared_files
from tagger.experiments.crossval import TaggerFactory
from tagger.models.store import MODEL_KINDS, model_class

kind_option = click.option(
    "--kind", type=click.Choice(list(MODEL_KINDS)), default="crf", show_default=True, help="Kind of model to train."
)
FORWARDING = {"ignore_unknown_options": True, "allow_interspersed_args": True}  # settings of the click context


def training_options(command: Decorated) -> Decorated:
    """Collect all options that the command itself does not have."""
    return click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[TRAINING OPTIONS]")(command)


def training_command(kind: str) -> click.Command:
    command: click.Command = import_module(f"tagger.cli.commands.train_{kind}").command
    return command


def tagger_factory(kind: str, options: tuple[str, ...]) -> TaggerFactory:
    """Return a factory of taggers with the settings that these options of the training command mean."""
    training = training_command(kind)
    try:
        context = training.make_context(f"tagger train-{kind}", ["-", *options])
    except click.NoSuchOption as error:
        others = [
            other for other in MODEL_KINDS if any(error.option_name in p.opts for p in training_command(other).params)
        ]
        if not others:
            raise
        advice = f"Use --kind {' or '.join(others)}, or leave it out."
        raise click.UsageError(f"train-{kind} has no option {error.option_name}. {advice}") from None
    settings_names = inspect.signature(model_class(kind)).parameters
    for option in training.params:
        given = context.get_parameter_source(option.name or "") is click.core.ParameterSource.COMMANDLINE
        if given and isinstance(option, click.Option) and option.name not in settings_names:
            advice = f"Leave it out, or use it with `tagger train-{kind}`."
            raise click.UsageError(f"{option.opts[-1]} is not a setting of the model. {advice}")
    settings = {name: context.params[name] for name in settings_names if name in context.params}
    # CORPUS and -o of the training command are placeholders here, but its template is read.
    inputs = [file for file in declared_files(context) if file.is_option and isinstance(file.type, InputFile)]
    check_files([*declared_files(click.get_current_context()), *inputs])
    return TaggerFactory(model_class(kind), settings | ({"threads": 1} if "threads" in settings else {}))
