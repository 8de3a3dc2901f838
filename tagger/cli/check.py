"""`tagger check`."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from tagger.check import Corpus, Doubt, common, contradicted, disputed, survey, unusual
from tagger.cli.options import (
    PATH,
    check_output,
    corpus_options,
    examples,
    jobs_option,
    name_of,
    output_option,
    quiet_option,
    read_tagged,
    write_text,
)
from tagger.cores import available_cores
from tagger.crossval import Make, cross_validate
from tagger.hmm import HMMTagger
from tagger.report import excerpt, printable
from tagger.sentence import Sentence

FOLDS = 5
AT_ONCE = 5  # sentences named that have the same words


@click.command(
    "check",
    short_help="Tell what is in a corpus, and which tags look wrong.",
    epilog=examples("tagger check corpus.txt", "tagger check train.txt --against test.txt --json"),
)
@click.argument("corpus", type=PATH)
@click.option("--against", metavar="FILE", type=PATH, help="Another corpus: how many sentences are in both?")
@click.option(
    "--most", type=click.IntRange(0), default=20, show_default=True, help="Doubtful tags to show of each sort."
)
@jobs_option
@corpus_options
@click.option("--json", "as_program", is_flag=True, help="For programs: everything.")
@output_option
@quiet_option
def command(
    corpus: str,
    against: str | None,
    most: int,
    jobs: int,
    input_format: str | None,
    encoding: str,
    column: str,
    as_program: bool,
    output: str,
    quiet: bool,
) -> None:
    """Tell what is in a corpus, what is in it twice, and which tags look like slips.

    Doubtful are rare tags of frequent words, and tags that a model trained on the rest of the corpus is sure should be
    others. They deserve a second look; many are right.
    """
    check_output(output, corpus, against)
    sentences = read_tagged(corpus, input_format, encoding, column)
    others = read_tagged(against, input_format, encoding, column) if against else None
    found, rare = survey(sentences), unusual(sentences)
    sure: list[Doubt] = []
    if len({tuple(sentence.words) for sentence in sentences}) >= FOLDS:
        sure = contradicted(
            sentences, cross_validate(Make(HMMTagger, {}), sentences, FOLDS, jobs=jobs or available_cores())
        )
    both = None if others is None else common(sentences, others)
    if as_program:
        parts = {"unusual": [asdict(d) for d in rare], "contradicted": [asdict(d) for d in sure], "in_both": both}
        write_text(output, json.dumps(asdict(found) | parts, ensure_ascii=False, indent=2) + "\n")
        return
    lines = counts(found, against, both)
    lines += disagreements(found, sentences, most)
    lines += listed("Rare tags of frequent words", rare, sentences, most)
    lines += listed("Tags that a model which has not seen them contradicts", sure, sentences, most)
    write_text(output, "\n".join(map(printable, lines)) + "\n")


def counts(found: Corpus, against: str | None, both: int | None) -> list[str]:
    rows = [
        ("tokens", f"{found.tokens:,}"),
        ("sentences", f"{found.sentences:,}"),
        ("  seen before", f"{found.repeated:,}"),
        ("  same words, other tags", f"{found.in_disagreement:,}"),
        ("distinct words", f"{found.words:,}"),
        ("  with several tags", f"{found.ambiguous:,}"),
        ("tags", f"{len(found.tags):,}"),
    ]
    rows += [] if both is None else [(f"sentences also in {name_of(against or '')}", f"{both:,}")]
    width = max(len(name) for name, _ in rows)
    lines = [f"{name:<{width}} {value:>10}" for name, value in rows]
    lines += [f"first line: {found.header} looks like the names of columns"] if found.header else []
    return [*lines, "", *(f"{tag:<{width}} {count:>10,}" for tag, count in found.tags)]


def disagreements(found: Corpus, sentences: list[Sentence], most: int) -> list[str]:
    """The first token about which sentences with the same words disagree."""
    lines = []
    for group in found.disagreeing[:most]:
        t, *others = disputed(sentences, group)
        tags = ", ".join(f"{(sentences[i].tags or ())[t]} in sentence {i + 1}" for i in group[:AT_ONCE])
        more = " …" * (len(group) > AT_ONCE) + (f"; tokens that differ: {len(others) + 1}" if others else "")
        lines += [f"  {excerpt(sentences[group[0]], t)}", f"      {tags}{more}"]
    return ["", f"Sentences with the same words and other tags: {found.in_disagreement:,}", *lines]


def listed(title: str, doubts: list[Doubt], sentences: list[Sentence], most: int) -> list[str]:
    lines = []
    for d in doubts[:most]:
        lines += [
            f"  sentence {d.sentence + 1}: {excerpt(sentences[d.sentence], d.token)}",
            f"      {d.tag}, but {d.why}",
        ]
    return ["", f"{title}: {len(doubts):,}", *lines]
