"""From words to the inputs of the network: embedding index, characters, pretrained vector.

Embeddings belong to words in lower case; the characters carry the case, since web text writes PLEASE, Please and
please. An unknown word has the index -1: the last row of the embedding table is that of unknown words.
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
    """V distinct words as inputs of the network."""

    words: np.ndarray  # (V,) rows of the word embeddings, -1 for unknown words
    vectors: np.ndarray  # (V, P) pretrained, P = 0 without any
    pack: Pack  # of the words as sequences of characters
    letters: np.ndarray  # rows of the character embeddings, in the order of the pack


@dataclass(frozen=True)
class InputLookup:
    """The vocabulary of a network: words, characters, pretrained vectors."""

    words: StringTable  # in lower case
    alphabet: CharacterSet
    vectors: WordVectors

    @classmethod
    def of(cls, words: Sequence[str], vectors: WordVectors, letters: bool = True) -> InputLookup:
        """Build the vocabulary from the distinct words of a training corpus, with or without their letters."""
        forms = list(dict.fromkeys(word.lower() for word in words))
        return cls(StringTable.build(forms)[0], CharacterSet.of(words if letters else []), vectors)

    def __call__(self, words: Sequence[str]) -> EncodedWords:
        """Encode words."""
        letters, lengths = self.alphabet.encode(words)
        pack = Pack.of(lengths)
        ids = self.words.find([word.lower() for word in words])
        return EncodedWords(ids, self.vectors(words), pack, letters[pack.tokens])

    def arrays(self) -> Arrays:
        """Return the arrays to store."""
        return self.words.arrays("forms") | self.alphabet.arrays() | self.vectors.arrays()

    @classmethod
    def restore(cls, archive: Archive) -> InputLookup:
        """Read the vocabulary of a stored model."""
        words = StringTable.restore(archive, "forms")
        return cls(words, CharacterSet.restore(archive), WordVectors.restore(archive))
