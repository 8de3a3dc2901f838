"""Spans in commands: the options `--scheme` and `--metric`, messages about schemes, and the figures of `eval`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import click

from tagger.cli.console import print_message
from tagger.cli.options import value_option
from tagger.corpus.labels import token_tags
from tagger.corpus.partial import read_choices
from tagger.corpus.span_schemes import (
    AUTO,
    NO_SCHEME,
    SCHEMES,
    first_violation,
    fits,
    recognize_scheme,
    training_scheme,
    violation_message,
)
from tagger.errors import CorpusError, TrainingError
from tagger.evaluation.spans import METRICS, SpanComparison, SpanEvaluation, as_json, compare_spans, evaluate_spans
from tagger.experiments.crossval import TaggerFactory
from tagger.reports.text import in_words
from tagger.sentence import Sentence

scheme_option = value_option(
    "--scheme",
    click.Choice([AUTO, *SCHEMES, NO_SCHEME]),
    AUTO,
    "Scheme of tags that mark spans, e.g. bio for B-PER I-PER O. auto: recognised if the corpus obeys it.",
)
metric_option = value_option(
    "--metric", click.Choice(list(METRICS)), "accuracy", "What to go by: accuracy, or span-f1 for tags with a scheme."
)


def settle_scheme(scheme: str, sentences: Sequence[Sentence], corpus: str, partial: bool, quiet: bool) -> str:
    """Return the scheme of a training corpus, or `none`; print which one is recognised, and what prevents that."""
    tags = read_choices(sentences)[0] if partial else sorted(token_tags(sentences)[1])
    try:
        chosen = training_scheme(scheme, sentences, tags)
    except TrainingError as error:
        raise CorpusError(f"{corpus}: {error}") from None
    if scheme == AUTO:
        if chosen:
            print_message(f"recognised the scheme {chosen}: no other taggings are made (--scheme none: any)", quiet)
        elif close := next((name for name in SCHEMES if fits(name, set(tags))), None):
            number, token = first_violation(close, [sentence.tags or () for sentence in sentences], set(tags)) or (0, 0)
            broken = violation_message(close, sentences[number], number, token)
            print_message(f"hint: no scheme is recognised. {corpus}: {broken}", quiet)
    return chosen or NO_SCHEME


def check_experiment(
    metric: str, factory: TaggerFactory, sentences: Sequence[Sentence], corpus: str, quiet: bool
) -> None:
    """Print the scheme of the models of an experiment, and refuse span F1 for a corpus whose tags mark no spans."""
    settings = factory.settings
    scheme = settle_scheme(settings["scheme"], sentences, corpus, settings.get("partial", False), quiet)
    if metric != "accuracy" and scheme == NO_SCHEME:
        raise click.UsageError(f"--metric {metric}: expected a corpus with a span scheme. Use --metric accuracy.")


@dataclass(frozen=True)
class SpanResults:
    """The spans of the evaluated side, and its comparisons with others by name."""

    name: str
    scores: SpanEvaluation
    comparisons: dict[str, SpanComparison]

    @property
    def verdicts(self) -> list[str]:
        """The comparisons in words."""
        return [in_words(comparison, self.name, rival) for rival, comparison in self.comparisons.items()]

    @property
    def json(self) -> dict[str, Any]:
        """The figures for programs."""
        rows = [{"model": name, **asdict(comparison)} for name, comparison in self.comparisons.items()]
        return {"spans": as_json(self.scores) | {"compare": rows}}


def span_results(
    scheme: str, known: str | None, gold: Sequence[Sentence], name: str, systems: dict[str, list[list[str]]]
) -> SpanResults | None:
    """Evaluate the spans of a side by its name, and compare it with the others; None for tags that mark no spans.

    With the scheme `auto` that is so if no scheme is `known`, of a model, and the gold corpus obeys none.
    """
    if scheme == NO_SCHEME or (scheme == AUTO and not (known or recognize_scheme(one.tags or () for one in gold))):
        return None
    guesses = systems[name]
    rivals = {rival: compare_spans(gold, guesses, tags) for rival, tags in systems.items() if rival != name}
    return SpanResults(name, evaluate_spans(gold, guesses), rivals)
