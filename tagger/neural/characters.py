"""Words as the letters they are made of: numbers, laid out like sentences whose tokens are letters.

The alphabet holds the letters that at least two distinct words of the training corpus share; all others are the one
unknown letter, whose number comes last and is learned from those that stand in one word only. Of very long words the
beginning and the end are read: what is left out in the middle is an address or a string of digits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tagger.arrays.keyed import find_keys
from tagger.arrays.npz import Archive, Arrays, narrow
from tagger.arrays.string_spans import code_points
from tagger.normalization import both_ends

LONGEST = 40  # letters of a word


class CharacterSet:
    def __init__(self, letters: np.ndarray) -> None:
        self.letters = letters  # (A,) code points, ascending

    @classmethod
    def of(cls, words: Sequence[str]) -> CharacterSet:
        """Of distinct words."""
        points, lengths = code_points(words)
        once = np.unique(np.stack([np.repeat(np.arange(len(words)), lengths), points]), axis=1)[1]
        letters, counts = np.unique(once, return_counts=True)
        return cls(letters[counts > 1])

    def __len__(self) -> int:
        """Including the unknown letter."""
        return len(self.letters) + 1

    def numbers(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """The letters of all words as numbers, word after word, and how many each word has."""
        points, lengths = code_points([both_ends(word, LONGEST) for word in words])
        place = find_keys(self.letters, points)
        return np.where(place < 0, len(self.letters), place), lengths

    def arrays(self) -> Arrays:
        return {"alphabet": narrow(self.letters)}

    @classmethod
    def restore(cls, archive: Archive) -> CharacterSet:
        letters = archive.take("alphabet", "u", None).astype(np.int64)
        archive.check(bool((np.diff(letters) > 0).all()), "its alphabet is not in order")
        return cls(letters)
