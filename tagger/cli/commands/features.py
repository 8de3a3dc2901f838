"""`tagger features`: the features of each token under a template."""

from __future__ import annotations

from dataclasses import replace

import click

from tagger.cli.corpus_input import UNNAMED_COLUMNS
from tagger.cli.hints import InputHint, tag_check
from tagger.cli.options import (
    column_options,
    encoding_option,
    features_option,
    file_command,
    file_option,
    input_format_option,
    output_option,
)
from tagger.cli.paths import INPUT
from tagger.corpus.column_names import ColumnNames
from tagger.escaping import encoded
from tagger.features.observer import Observer
from tagger.features.phrases import read_lists
from tagger.features.template import (
    check_classes,
    column_names,
    describe,
    list_names,
    parse_templates,
    sources_of,
    template_text,
    valued_sources,
)
from tagger.features.word_classes import WordClasses
from tagger.files.reading import Lines
from tagger.files.writing import open_output
from tagger.normalization import NFC


@file_command(
    "features",
    'echo "The dog barks ." | tagger features',
    "tagger features sentences.txt --features my-template.txt",
    "tagger features words.tsv --features chunking --columns word,pos",
)
@click.argument("file", type=INPUT, default="-")
@features_option
@file_option("--classes", INPUT, "Word classes for templates that use them, e.g. classes.npz.")
@input_format_option
@encoding_option
@column_options
@output_option
def command(
    file: str,
    features: str,
    classes: str | None,
    input_format: str | None,
    encoding: str,
    columns: ColumnNames,
    output: str,
    quiet: bool,
) -> None:
    """Show the features of each token under a feature template.

    For each token of FILE (default: standard input) a line: the word, then its features, separated by tabs.
    """
    templates = parse_templates(template_text(features, columns.places() or UNNAMED_COLUMNS), features)
    table = load_normalized_classes(classes) if classes else None
    check_classes(templates, table, features)
    hint = InputHint(tag_check(), quiet=quiet)
    lists = read_lists(list_names(templates), features)
    observe = Observer(NFC, sources_of(templates), lists, valued_sources(templates))
    names = replace(columns, wanted=column_names(templates))
    with open_output(output) as stream:
        for sentence in hint.read_untagged(Lines(file, encoding), input_format, columns=names):
            features_of_tokens = describe(observe([sentence])[0], templates, table)
            rows = zip(sentence.words, features_of_tokens, strict=True)
            text = "".join("\t".join([word, *names]) + "\n" for word, names in rows) + "\n"
            stream.write(encoded(text))
            stream.flush()


def load_normalized_classes(path: str) -> WordClasses:
    from tagger.models.store import load_classes

    return load_classes(path).normalized(NFC)
