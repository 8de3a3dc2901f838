"""`tagger features`."""

from __future__ import annotations

import click

from tagger.cli.options import PATH, encoding_option, examples, quiet_option, write_out
from tagger.corpus import read_sentences
from tagger.files import Lines
from tagger.template import describe, parse_templates, template_text


@click.command(
    "features",
    epilog=examples(
        'echo "The dog barks ." | tagger features',
        "tagger features sentences.txt --features my-template.txt",
    ),
)
@click.argument("file", type=PATH, default="-")
@click.option(
    "--features",
    "template",
    default="default",
    show_default=True,
    metavar="NAME|FILE",
    help="The template: default, comparison, or a file of yours.",
)
@encoding_option
@quiet_option
def command(file: str, template: str, encoding: str, quiet: bool) -> None:
    """Show what a feature template sees.

    For each token of FILE (default: standard input, plain lines): the word, then its features, between tabs.
    """
    templates = parse_templates(template_text(template), template)
    for sentence in read_sentences(Lines(file, encoding), "slash", tagged=False):
        rows = zip(sentence.words, describe(sentence.words, templates), strict=True)
        write_out("".join("\t".join([word, *found]) + "\n" for word, found in rows) + "\n")
