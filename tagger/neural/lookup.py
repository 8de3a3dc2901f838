"""From words to the numbers a network looks up: the word, its letters, and its vector from outside if it has one.

Words are looked up in lower case, and the letters tell the case: web text writes PLEASE, Please and please. A word that
is not in the table has the number -1, so that the last line of a table of embeddings is that of unknown words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tagger.arrays.npz import Archive, Arrays
from tagger.arrays.string_table import StringTable
from tagger.chain.pack import Pack
from tagger.neural.characters import CharacterSet
from tagger.neural.word_vectors import WordVectors


@dataclass(frozen=True)
class EncodedWords:
    """Distinct words, ready to be looked up."""

    words: np.ndarray  # (V,) lines of the table of words, -1 for unknown ones
    vectors: np.ndarray  # (V, P) from outside, P = 0 without any
    pack: Pack  # of the words as sequences of letters
    letters: np.ndarray  # lines of the table of letters, rows as in the pack


@dataclass(frozen=True)
class InputLookup:
    words: StringTable  # in lower case
    alphabet: CharacterSet
    vectors: WordVectors

    @classmethod
    def of(cls, words: Sequence[str], vectors: WordVectors) -> InputLookup:
        """Of the distinct words of a training corpus."""
        forms = list(dict.fromkeys(word.lower() for word in words))
        return cls(StringTable.build(forms)[0], CharacterSet.of(words), vectors)

    def __call__(self, words: Sequence[str]) -> EncodedWords:
        letters, lengths = self.alphabet.numbers(words)
        pack = Pack.of(lengths)
        ids = self.words.find([word.lower() for word in words])
        return EncodedWords(ids, self.vectors(words), pack, letters[pack.tokens])

    def arrays(self) -> Arrays:
        return self.words.arrays("forms") | self.alphabet.arrays() | self.vectors.arrays()

    @classmethod
    def restore(cls, archive: Archive) -> InputLookup:
        words = StringTable.restore(archive, "forms")
        return cls(words, CharacterSet.restore(archive), WordVectors.restore(archive))
