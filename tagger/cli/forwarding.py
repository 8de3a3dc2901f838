"""Training options of commands that train models themselves: parsed by the training command, passed on to the model."""

from __future__ import annotations

import inspect
from functools import partial, wraps
from importlib import import_module
from typing import Any

import click

from tagger.cli.corpus_input import CorpusOptions, wanted_columns
from tagger.cli.options import (
    Decorated,
    combine,
    corpus_options,
    file_command,
    output_option,
    value_option,
)
from tagger.cli.paths import INPUT, InputFile, check_files, declared_files
from tagger.cli.scheduler import executor_options
from tagger.experiments.crossval import TaggerFactory
from tagger.models.store import MODEL_KINDS, load_classes, model_class

CLASSES = "classes"  # the option that is no setting, but an argument of `fit`

# Options that the command itself does not have are collected for the training command.
experiment_command = partial(
    file_command, context_settings={"ignore_unknown_options": True, "allow_interspersed_args": True}
)


def experiment_options(command: Decorated) -> Decorated:
    """Add CORPUS and the options that all experiments share; the command gets a `factory` of untrained taggers."""

    @wraps(command)
    def collect(kind: str, options: tuple[str, ...], corpus_options: CorpusOptions, **others: Any) -> Any:
        factory = tagger_factory(kind, options)
        if "features" in factory.settings:
            corpus_options = corpus_options.with_wanted(
                wanted_columns(factory.settings["features"], corpus_options.columns)
            )
        return command(factory=factory, corpus_options=corpus_options, **others)

    return combine(
        click.argument("corpus", type=INPUT),
        value_option("--kind", click.Choice(list(MODEL_KINDS)), "crf", "Kind of model to train."),
        executor_options,
        corpus_options,
        click.option("--json", "as_program", is_flag=True, help="Write JSON: rates as fractions."),
        output_option,
        click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[TRAINING OPTIONS]"),
    )(collect)


def training_command(kind: str) -> click.Command:
    command: click.Command = import_module(f"tagger.cli.commands.train_{kind}").command
    return command


def tagger_factory(kind: str, options: tuple[str, ...]) -> TaggerFactory:
    """Return a factory of taggers with the settings that these options of the training command mean."""
    training = training_command(kind)
    try:
        context = training.make_context(f"tagger {training.name}", ["-", *options])
    except click.NoSuchOption as error:
        others = [
            other for other in MODEL_KINDS if any(error.option_name in p.opts for p in training_command(other).params)
        ]
        if not others:
            raise
        advice = f"Use --kind {' or '.join(others)}, or leave it out."
        raise click.UsageError(f"{training.name} has no option {error.option_name}. {advice}") from None
    settings_names = inspect.signature(model_class(kind)).parameters
    for option in training.params:
        given = context.get_parameter_source(option.name or "") is click.core.ParameterSource.COMMANDLINE
        if given and isinstance(option, click.Option) and option.name not in [*settings_names, CLASSES]:
            advice = f"Leave it out, or use it with `tagger {training.name}`."
            raise click.UsageError(f"{option.opts[-1]} is not a setting of the model. {advice}")
    settings = {name: context.params[name] for name in settings_names if name in context.params}
    # CORPUS and -o of the training command are placeholders here, but its template is read.
    inputs = [file for file in declared_files(context) if file.is_option and isinstance(file.type, InputFile)]
    check_files([*declared_files(click.get_current_context()), *inputs])
    path = context.params.get(CLASSES)
    resources = {CLASSES: load_classes(path)} if path else {}
    return TaggerFactory(model_class(kind), settings | ({"threads": 1} if "threads" in settings else {}), resources)
