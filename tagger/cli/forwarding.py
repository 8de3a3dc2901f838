"""Options passed on to training by commands that train inside: read as the training command itself would read them."""

from __future__ import annotations

import inspect
from importlib import import_module

import click

from tagger.cli.options import Decorated
from tagger.cli.paths import InputFile, check_files, declared_files
from tagger.experiments.crossval import TaggerFactory
from tagger.models.store import MODEL_KINDS, model_class

kind_option = click.option(
    "--kind", type=click.Choice(list(MODEL_KINDS)), default="crf", show_default=True, help="The model to train."
)
CONTEXT = {"ignore_unknown_options": True, "allow_interspersed_args": True}


def passed_on(command: Decorated) -> Decorated:
    """All that the command does not know."""
    return click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[TRAINING OPTIONS]")(command)


def training_command(kind: str) -> click.Command:
    command: click.Command = import_module(f"tagger.cli.commands.train_{kind}").command
    return command


def make_of(kind: str, options: tuple[str, ...]) -> TaggerFactory:
    """What makes a tagger of that kind, set up as these options of its training command say."""
    training = training_command(kind)
    try:
        context = training.make_context(f"tagger train-{kind}", ["-", *options])
    except click.NoSuchOption as error:
        others = [
            own for own in MODEL_KINDS if any(error.option_name in of.opts for of in training_command(own).params)
        ]
        if not others:
            raise
        where = " or ".join(others)
        raise click.UsageError(f"{error.option_name} is no option of train-{kind}: it is for --kind {where}.") from None
    names = inspect.signature(model_class(kind)).parameters
    for option in training.params:
        named = context.get_parameter_source(option.name or "") is click.core.ParameterSource.COMMANDLINE
        if named and isinstance(option, click.Option) and option.name not in names:
            raise click.UsageError(f"{option.opts[-1]} is for train-{kind} itself: it is no setting of the model.")
    settings = {name: context.params[name] for name in names if name in context.params}
    # The corpus and the model of the training command stand for nothing here, but a template is read.
    read = [file for file in declared_files(context) if file.is_option and isinstance(file.type, InputFile)]
    check_files([*declared_files(click.get_current_context()), *read])
    return TaggerFactory(model_class(kind), settings | ({"threads": 1} if "threads" in settings else {}))
