"""`tagger check`: counts of a corpus, repeated sentences, and tags that look wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import click

from tagger.cli.console import display_name, write_json, write_text
from tagger.cli.corpus_input import CorpusOptions, read_tagged, read_training_corpus
from tagger.cli.options import corpus_options, file_command, file_option, output_option, value_option
from tagger.cli.paths import INPUT
from tagger.cli.scheduler import executor_options
from tagger.corpus.formats import line_of
from tagger.corpus.formats.conllu import comment
from tagger.escaping import visible
from tagger.experiments import corpus_check
from tagger.experiments.corpus_check import CorpusSurvey, Doubt, Place
from tagger.experiments.crossval import TaggerFactory, cross_validate
from tagger.hmm.tagger import HMMTagger
from tagger.reports.text import excerpt, padded, width
from tagger.sentence import Sentence
from tagger.tagging.workers import Executor

FOLDS = 5
SENTENCES_NAMED = 5  # of a group with the same words


@file_command(
    "check",
    "tagger check corpus.txt",
    "tagger check train.txt --against test.txt --json",
    short_help="Count what is in a corpus, and list tags that look wrong.",
)
@click.argument("corpus", type=INPUT)
@file_option("--against", INPUT, "Another corpus, e.g. test.txt; counts the sentences that are in both.")
@value_option("--most", click.IntRange(0), 20, "Doubtful tags listed per kind.")
@executor_options
@corpus_options
@click.option(
    "--json", "as_program", is_flag=True, help="Write JSON: everything; sentences, tokens and lines count from 1."
)
@output_option
def command(
    corpus: str,
    against: str | None,
    most: int,
    run: Executor,
    corpus_options: CorpusOptions,
    as_program: bool,
    output: str,
    quiet: bool,
) -> None:
    """Count what is in a corpus, find repeated sentences, and list tags that look like mistakes.

    Doubtful are tags that occur once, rare tags of frequent words, and tags that a model trained on the rest of the
    corpus disagrees with. They deserve a second look; many are correct.
    """
    sentences = read_training_corpus(corpus, corpus_options, quiet)
    others = read_tagged(against, corpus_options) if against else None
    counts = corpus_check.survey(sentences)
    singletons, rare = corpus_check.only_once(sentences), corpus_check.unusual(sentences)
    disagreeing: list[Doubt] = []
    if len({tuple(sentence.words) for sentence in sentences}) >= FOLDS:
        folds = cross_validate(TaggerFactory(HMMTagger, {}), sentences, FOLDS, run=run)
        disagreeing = corpus_check.contradicted(sentences, folds)
    in_both = None if others is None else corpus_check.common(sentences, others)
    if as_program:
        doubts: dict[str, Sequence[Place]] = {"only_once": singletons, "unusual": rare, "contradicted": disagreeing}
        write_json(output, json_tables(counts, doubts, sentences) | {"in_both": in_both})
        return
    lines = count_rows(counts, against, in_both)
    lines += conflict_rows(counts, sentences, most)
    lines += singleton_rows(singletons, sentences, most)
    lines += doubt_rows("Rare tags of frequent words", rare, sentences, most)
    lines += doubt_rows("Tags that a model trained on the rest disagrees with", disagreeing, sentences, most)
    write_text(output, "\n".join(map(visible, lines)) + "\n")


def place(sentences: Sequence[Sentence], i: int, token: int = 0) -> dict[str, Any]:
    """Return the place of a token in the file; sentences and lines count from 1."""
    sentence = sentences[i]
    sent_id = comment(sentence.lines_of("conllu"), "sent_id")
    return {"sentence": i + 1, "line": line_of(sentence, token), "sent_id": sent_id}


def place_text(sentences: Sequence[Sentence], i: int, token: int) -> str:
    """Format the place of a token."""
    at = place(sentences, i, token)
    sent_id = f", sent_id {at['sent_id']}" if at["sent_id"] else ""
    return f"sentence {at['sentence']} (line {at['line']}{sent_id})"


def json_tables(
    counts: CorpusSurvey, doubts: dict[str, Sequence[Place]], sentences: Sequence[Sentence]
) -> dict[str, Any]:
    """Return counts and doubts for JSON; sentences, tokens and lines count from 1."""

    def row(doubt: Place) -> dict[str, Any]:
        numbers = {"sentence": doubt.sentence + 1, "token": doubt.token + 1}
        return place(sentences, doubt.sentence, doubt.token) | asdict(doubt) | numbers

    groups = [[place(sentences, i) for i in group] for group in counts.disagreeing]
    return asdict(counts) | {"disagreeing": groups} | {name: list(map(row, kind)) for name, kind in doubts.items()}


def count_rows(counts: CorpusSurvey, against: str | None, in_both: int | None) -> list[str]:
    """Format the counts, then the tags by frequency."""
    rows = [
        ("tokens", f"{counts.tokens:,}"),
        ("sentences", f"{counts.sentences:,}"),
        ("  seen before", f"{counts.repeated:,}"),
        ("  same words, other tags", f"{counts.in_disagreement:,}"),
        ("distinct words", f"{counts.words:,}"),
        ("  with several tags", f"{counts.ambiguous:,}"),
        ("tags", f"{len(counts.tags):,}"),
    ]
    rows += [] if in_both is None else [(f"sentences also in {display_name(against or '')}", f"{in_both:,}")]
    columns = max(width(name) for name, _ in rows)
    lines = [f"{padded(name, columns)} {value:>10}" for name, value in rows]
    return [*lines, "", *(f"{padded(visible(tag), columns)} {count:>10,}" for tag, count in counts.tags)]


def conflict_rows(counts: CorpusSurvey, sentences: list[Sentence], most: int) -> list[str]:
    """List groups of sentences with the same words and other tags, at the first token where they differ."""
    lines = []
    for group in counts.disagreeing[:most]:
        t, *others = corpus_check.disputed(sentences, group)
        tags = ", ".join(
            f"{(sentences[i].tags or ())[t]} in {place_text(sentences, i, t)}" for i in group[:SENTENCES_NAMED]
        )
        more = " …" * (len(group) > SENTENCES_NAMED) + (f"; tokens that differ: {len(others) + 1}" if others else "")
        lines += [f"  {excerpt(sentences[group[0]], t)}", f"      {tags}{more}"]
    return ["", f"Sentences with the same words and other tags: {counts.in_disagreement:,}", *lines]


def singleton_rows(singletons: list[Place], sentences: list[Sentence], most: int) -> list[str]:
    """List tags that occur once."""
    lines = [
        f"  {p.tag} in {place_text(sentences, p.sentence, p.token)}: {excerpt(sentences[p.sentence], p.token)}"
        for p in singletons[:most]
    ]
    return ["", f"Tags that occur once: {len(singletons):,}", *lines]


def doubt_rows(title: str, doubts: list[Doubt], sentences: list[Sentence], most: int) -> list[str]:
    """List doubtful tags, each with the reason."""
    lines = []
    for d in doubts[:most]:
        lines += [
            f"  {place_text(sentences, d.sentence, d.token)}: {excerpt(sentences[d.sentence], d.token)}",
            f"      {d.tag}, but {d.why}",
        ]
    return ["", f"{title}: {len(doubts):,}", *lines]
