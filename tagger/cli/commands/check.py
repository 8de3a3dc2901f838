"""`tagger check`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import click

from tagger.cli.console import name_of, read_tagged, write_text
from tagger.cli.options import corpus_options, examples, jobs_option, output_option, quiet_option
from tagger.cli.paths import INPUT, FileCommand
from tagger.cli.training import read_to_learn
from tagger.corpus import line_of
from tagger.corpus.conllu import comment
from tagger.escaping import visible
from tagger.experiments.corpus_check import (
    CorpusSurvey,
    Doubt,
    Place,
    common,
    contradicted,
    disputed,
    only_once,
    survey,
    unusual,
)
from tagger.experiments.crossval import TaggerFactory, cross_validate
from tagger.files.resources import available_cores
from tagger.hmm.tagger import HMMTagger
from tagger.reports.text import excerpt, padded, width
from tagger.sentence import Sentence

FOLDS = 5
AT_ONCE = 5  # sentences named that have the same words


@click.command(
    "check",
    cls=FileCommand,
    short_help="Tell what is in a corpus, and which tags look wrong.",
    epilog=examples("tagger check corpus.txt", "tagger check train.txt --against test.txt --json"),
)
@click.argument("corpus", type=INPUT)
@click.option("--against", metavar="FILE", type=INPUT, help="Another corpus: how many sentences are in both?")
@click.option(
    "--most", type=click.IntRange(0), default=20, show_default=True, help="Doubtful tags to show of each sort."
)
@jobs_option
@corpus_options
@click.option(
    "--json", "as_program", is_flag=True, help="For programs: everything. Sentences, tokens and lines count from 1."
)
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

    Doubtful are tags that occur once, rare tags of frequent words, and tags that a model trained on the rest of the
    corpus is sure should be others. They deserve a second look; many are right.
    """
    sentences = read_to_learn(corpus, input_format, encoding, column, quiet)
    others = read_tagged(against, input_format, encoding, column) if against else None
    found, alone, rare = survey(sentences), only_once(sentences), unusual(sentences)
    sure: list[Doubt] = []
    if len({tuple(sentence.words) for sentence in sentences}) >= FOLDS:
        sure = contradicted(
            sentences, cross_validate(TaggerFactory(HMMTagger, {}), sentences, FOLDS, jobs=jobs or available_cores())
        )
    both = None if others is None else common(sentences, others)
    if as_program:
        doubts: dict[str, Sequence[Place]] = {"only_once": alone, "unusual": rare, "contradicted": sure}
        whole = for_programs(found, doubts, sentences) | {"in_both": both}
        write_text(output, json.dumps(whole, ensure_ascii=False, indent=2) + "\n")
        return
    lines = counts(found, against, both)
    lines += disagreements(found, sentences, most)
    lines += loners(alone, sentences, most)
    lines += listed("Rare tags of frequent words", rare, sentences, most)
    lines += listed("Tags that a model which has not seen them contradicts", sure, sentences, most)
    write_text(output, "\n".join(map(visible, lines)) + "\n")


def place(sentences: Sequence[Sentence], i: int, token: int = 0) -> dict[str, Any]:
    """Where a token stands in the file. Sentences and lines count from 1."""
    sentence = sentences[i]
    sent_id = comment(sentence.lines_of("conllu"), "sent_id")
    return {"sentence": i + 1, "line": line_of(sentence, token), "sent_id": sent_id}


def named(sentences: Sequence[Sentence], i: int, token: int) -> str:
    """The same in words."""
    at = place(sentences, i, token)
    sent_id = f", sent_id {at['sent_id']}" if at["sent_id"] else ""
    return f"sentence {at['sentence']} (line {at['line']}{sent_id})"


def for_programs(
    found: CorpusSurvey, doubts: dict[str, Sequence[Place]], sentences: Sequence[Sentence]
) -> dict[str, Any]:
    """Counts and doubts for JSON. Sentences, tokens and lines count from 1."""
    listed = {
        name: [place(sentences, doubt.sentence, doubt.token) | as_row(doubt) for doubt in own]
        for name, own in doubts.items()
    }
    groups = [[place(sentences, i) for i in group] for group in found.disagreeing]
    return asdict(found) | {"disagreeing": groups} | listed


def as_row(doubt: Place) -> dict[str, Any]:
    row = asdict(doubt)
    del row["sentence"]
    return row | {"token": doubt.token + 1}


def counts(found: CorpusSurvey, against: str | None, both: int | None) -> list[str]:
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
    columns = max(width(name) for name, _ in rows)
    lines = [f"{padded(name, columns)} {value:>10}" for name, value in rows]
    return [*lines, "", *(f"{padded(visible(tag), columns)} {count:>10,}" for tag, count in found.tags)]


def disagreements(found: CorpusSurvey, sentences: list[Sentence], most: int) -> list[str]:
    """The first token about which sentences with the same words disagree."""
    lines = []
    for group in found.disagreeing[:most]:
        t, *others = disputed(sentences, group)
        tags = ", ".join(f"{(sentences[i].tags or ())[t]} in {named(sentences, i, t)}" for i in group[:AT_ONCE])
        more = " …" * (len(group) > AT_ONCE) + (f"; tokens that differ: {len(others) + 1}" if others else "")
        lines += [f"  {excerpt(sentences[group[0]], t)}", f"      {tags}{more}"]
    return ["", f"Sentences with the same words and other tags: {found.in_disagreement:,}", *lines]


def loners(alone: list[Place], sentences: list[Sentence], most: int) -> list[str]:
    lines = [
        f"  {p.tag} in {named(sentences, p.sentence, p.token)}: {excerpt(sentences[p.sentence], p.token)}"
        for p in alone[:most]
    ]
    return ["", f"Tags that occur once: {len(alone):,}", *lines]


def listed(title: str, doubts: list[Doubt], sentences: list[Sentence], most: int) -> list[str]:
    lines = []
    for d in doubts[:most]:
        lines += [
            f"  {named(sentences, d.sentence, d.token)}: {excerpt(sentences[d.sentence], d.token)}",
            f"      {d.tag}, but {d.why}",
        ]
    return ["", f"{title}: {len(doubts):,}", *lines]
