"""Warnings about an evaluation that means less than its figures: known sentences, missing tags, other tag sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain

from tagger.cli.corpus_input import length_warnings
from tagger.cli.evaluation.systems import System
from tagger.corpus.tag_map import TagMap
from tagger.errors import several
from tagger.models.predictor import Predictor
from tagger.sentence import ANY, Sentence, open_tokens
from tagger.words.overlap import MIN_WORDS, overlap

EXAMPLE_TAGS = 3  # named in a warning
TAG_SET_ADVICE = (
    "Is one side UPOS, the other XPOS? --column reads the other column of CoNLL-U, --map FILE renames tags."
)


def training_overlaps(sentences: list[Sentence], models: dict[str, Predictor | None]) -> dict[str, int | None]:
    """Count, for each model, the gold sentences that were in its training corpus; None if it stores none of them."""
    words = [sentence.words for sentence in sentences]
    return {
        name: overlap(words, model.seen_, model.lexicon_.form) if model.seen_.size else None
        for name, model in models.items()
        if model
    }


def gold_warnings(gold: str, sentences: list[Sentence], overlaps: dict[str, int | None]) -> list[str]:
    """Warn of models trained on gold sentences, of missing gold tags, and of sentences that are too long."""
    long = sum(len(sentence) >= MIN_WORDS for sentence in sentences)
    shared = f"of the {long:,} sentences of {gold} with at least {MIN_WORDS} words were in the training corpus of"
    warnings = [f"{count:,} {shared} {name}" for name, count in overlaps.items() if count]
    if missing := open_tokens(sentences):
        warnings.append(
            f"the tag {ANY!r} of {several(missing, 'word')} in {gold}: no other tag counts as correct there"
        )
    return [*(f"warning: {warning}" for warning in warnings), *length_warnings(sentences, gold)]


def tag_set_warnings(gold: str, sentences: list[Sentence], systems: list[System], tag_map: TagMap | None) -> list[str]:
    """Warn of each system whose tag set seems to be another than that of the gold corpus.

    That is so if most tokens of one have tags that the other lacks. The tag set of predictions is unknown: a tag that
    they never have proves nothing.
    """
    gold_tags = Counter(chain.from_iterable(sentence.tags or () for sentence in sentences))
    warnings = []
    for system in {system.name: system for system in systems}.values():
        guessed = Counter(chain.from_iterable(system.guesses))
        faults = [] if system.model is None else lacking(gold_tags, gold, tag_set(system.model, tag_map), system.name)
        faults += lacking(guessed, system.name, gold_tags, gold)
        if faults:
            warnings.append(f"warning: the scores mean little: {' and '.join(faults)}. {TAG_SET_ADVICE}")
    return warnings


def lacking(tags: Counter[str], name: str, other_tags: Iterable[str], other_name: str) -> list[str]:
    """Describe the tags in one place that the other lacks, if most tokens have such a tag."""
    known = set(other_tags)
    missing = Counter({tag: count for tag, count in tags.items() if tag not in known})
    if 2 * missing.total() <= tags.total():
        return []
    shown = ", ".join(tag for tag, _ in missing.most_common(EXAMPLE_TAGS))
    return [f"{missing.total():,} of {tags.total():,} tokens have tags in {name} that {other_name} lacks ({shown})"]


def tag_set(model: Predictor, tag_map: TagMap | None) -> Sequence[str]:
    """Return the tags that a model can predict, under the names of the map."""
    return tag_map.tags(model.classes_) if tag_map else model.classes_
