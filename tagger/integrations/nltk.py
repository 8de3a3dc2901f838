"""NLTK: a tagger with the methods of `nltk.tag.TaggerI`, for programs that are written for NLTK's taggers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

from nltk.tag.api import TaggerI

from tagger.models.predictor import Predictor
from tagger.models.store import as_model
from tagger.sentence import Sentence, contents, described


class ModelTagger(TaggerI):
    """A model as a tagger of NLTK; `accuracy`, `confusion`, `precision` and others are NLTK's own.

    Parameters
    ----------
    model : path or Predictor
        A model, or its path or name.

    Examples
    --------
    >>> from tagger.integrations.nltk import ModelTagger
    >>> ModelTagger("english").tag(["It", "rains", "."])
    [('It', 'PRP'), ('rains', 'VBZ'), ('.', '.')]
    """

    def __init__(self, model: str | os.PathLike[str] | Predictor = "english") -> None:
        self.model = as_model(model)

    @classmethod
    def train(cls, sentences: Iterable[Sequence[tuple[str, str]]], tagger: Any = None) -> ModelTagger:
        """Train a model on tagged sentences of NLTK.

        Parameters
        ----------
        sentences : iterable of lists of (word, tag)
        tagger : Tagger, optional
            The tagger to fit. By default a PooledTagger.

        Returns
        -------
        ModelTagger
        """
        from tagger.pooled.tagger import PooledTagger

        tagged = [tagged_sentence(sentence, f"sentences[{i}]") for i, sentence in enumerate(sentences)]
        return cls((PooledTagger() if tagger is None else tagger).fit(tagged))

    def tag(self, tokens: Sequence[str]) -> list[tuple[str, str]]:
        """Tag one sentence, a list of words."""
        return self.tag_sents([tokens])[0]

    def tag_sents(self, sentences: Iterable[Sequence[str]]) -> list[list[tuple[str, str]]]:
        """Tag sentences, each a list of words, together."""
        numbered = enumerate(sentences)
        words = [list(contents(sentence, f"sentences[{i}]", "a list of words")) for i, sentence in numbered]
        return [list(zip(*pair, strict=True)) for pair in zip(words, self.model.predict(words), strict=True)]

    def __repr__(self) -> str:
        return f"<ModelTagger: {self.model!r}>"


def tagged_sentence(pairs: Iterable[Any], place: str) -> Sentence:
    """Make a Sentence of pairs of word and tag."""
    listed = list(contents(pairs, place, "a list of pairs of word and tag"))
    for i, pair in enumerate(listed):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TypeError(f"{place}[{i}]: expected a pair of word and tag, got {described(pair)}.")
    return Sentence([word for word, _ in listed], [tag for _, tag in listed])
