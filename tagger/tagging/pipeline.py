"""From text to tags in a program: `tag`, `tag_sents` and `pipe` of every model.

An item is a text, which becomes a list of tagged sentences, or one sentence as words, which becomes a tagged Sentence.
Items are tagged in blocks; all sentences of a block go through the model together.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from tagger.corpus.tokenizers.tokenize import tokenize
from tagger.errors import check_count
from tagger.models.predictor import Predictor
from tagger.sentence import Sentence, as_python, contents, described, plain_sentence, sentence_list
from tagger.tagging.annotator import Annotator
from tagger.tagging.blocks import blocks, weight
from tagger.tagging.workers import in_order

Result = Sentence | list[Sentence]


def tag_text(model: Predictor, text: str, probabilities: bool = False, nbest: int = 0) -> list[Sentence]:
    """Split a text by the model's tokenizer, and tag its sentences."""
    model.check_fitted()
    if not isinstance(text, str):
        raise TypeError(f"tag: expected a text, got {described(text)}. Use tag_sents for lists of words.")
    return annotator(model, probabilities, nbest).start()(tokenize(text, model.tokenizer_))


def tag_sentences(
    model: Predictor, sentences: Iterable[Any], probabilities: bool = False, nbest: int = 0
) -> list[Sentence]:
    """Tag sentences that are split into words."""
    model.check_fitted()
    work = annotator(model, probabilities, nbest).start()
    return work([as_sentence(sentence) for sentence in sentence_list(sentences, "sentences")])


def pipe(
    model: Predictor,
    texts: Iterable[Any],
    as_tuples: bool = False,
    batch_size: int = 1000,
    jobs: int = 1,
    probabilities: bool = False,
    nbest: int = 0,
) -> Iterator[Any]:
    """Tag a stream of texts or sentences in order; see `TextMethods.pipe`."""
    model.check_fitted()
    check_count("batch_size", batch_size, 1)
    check_count("jobs", jobs, 1)
    if isinstance(texts, str):
        raise TypeError(f"texts: expected a list of texts, got {described(texts)}. Use tag for one text.")
    work = BlockTagger(annotator(model, probabilities, nbest))
    items = contents(texts, "texts", "a list of texts")
    contexts: deque[Any] | None = deque() if as_tuples else None  # they never leave this process

    def results() -> Iterator[Any]:
        for block in in_order(work, blocks(read_items(items, contexts), weigh, most_items=batch_size), jobs):
            yield from block if contexts is None else ((result, contexts.popleft()) for result in block)

    return results()


def read_items(items: Iterable[Any], contexts: deque[Any] | None) -> Iterator[str | Sentence]:
    """Yield texts as strings and sentences as Sentences; of pairs, append the context to `contexts`."""
    for i, item in enumerate(items):
        place, content = f"texts[{i}]", as_python(item)
        if contexts is not None:
            content, context = pair(content, place)
            contexts.append(context)
        if not isinstance(content, str | Sentence):
            content = plain_sentence(contents(content, place, "a text or a list of words"), place)
        yield content if isinstance(content, str) else as_sentence(content)


def annotator(model: Predictor, probabilities: bool, nbest: int) -> Annotator:
    """Make the annotator of a call with these options."""
    check_count("nbest", nbest, 0)
    return Annotator(model, probabilities=probabilities, nbest=nbest)


def as_sentence(sentence: Any) -> Sentence:
    """Make a Sentence of a list of words."""
    return sentence if isinstance(sentence, Sentence) else Sentence(sentence)


def pair(item: Any, place: str) -> tuple[Any, Any]:
    """Take an item of a stream with contexts apart."""
    if not isinstance(item, tuple | list) or len(item) != 2:
        raise TypeError(f"{place}: expected a pair of text and context, got {described(item)}.")
    return item[0], item[1]


def weigh(item: str | Sentence) -> int:
    """Estimate the tokens of an item."""
    if isinstance(item, str):
        return weight(item.count(" "), len(item))
    return weight(len(item), sum(map(len, item.words)))


@dataclass(frozen=True)
class BlockTagger:
    """Makes the function from a block of items to their results; can be pickled and sent to other processes."""

    annotator: Annotator

    def __call__(self) -> Callable[[list[str | Sentence]], list[Result]]:
        work, language = self.annotator.start(), self.annotator.model.tokenizer_

        def tag_block(items: list[str | Sentence]) -> list[Result]:
            parts = [tokenize(item, language) if isinstance(item, str) else [item] for item in items]
            tagged = iter(work(list(chain.from_iterable(parts))))
            of_item = [list(islice(tagged, len(part))) for part in parts]
            return [part if isinstance(item, str) else part[0] for item, part in zip(items, of_item, strict=True)]

        return tag_block
