"""Words as sequences of character indices, in the layout of sentences whose tokens are characters.

The character set holds the code points that occur in at least two distinct words of the training corpus. All others
share one index, the last, whose embedding is trained on the characters that occur in one word only. Words longer than
MAX_WORD_LENGTH are cut in the middle: such words are URLs and digit strings, and their ends carry the information.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tagger.arrays.keyed import find_keys
from tagger.arrays.npz import Archive, Arrays, narrow
from tagger.arrays.string_spans import code_points
from tagger.normalization import both_ends

MAX_WORD_LENGTH = 40  # characters


class CharacterSet:
    """The known characters of a network, plus one index for all unknown ones."""

    def __init__(self, letters: np.ndarray) -> None:
        self.letters = letters  # (A,) code points, ascending

    @classmethod
    def of(cls, words: Sequence[str]) -> CharacterSet:
        """Collect the characters that occur in two or more of these distinct words."""
        points, lengths = code_points(words)
        # The distinct columns (word, code point): a character counts once for each word it occurs in.
        in_words = np.unique(np.stack([np.repeat(np.arange(len(words)), lengths), points]), axis=1)[1]
        letters, word_counts = np.unique(in_words, return_counts=True)
        return cls(letters[word_counts > 1])

    def __len__(self) -> int:
        """Count the indices, that of unknown characters included."""
        return len(self.letters) + 1

    def encode(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the character indices of all words, word after word, and the number of characters of each word."""
        points, lengths = code_points([both_ends(word, MAX_WORD_LENGTH) for word in words])
        places = find_keys(self.letters, points)
        return np.where(places < 0, len(self.letters), places), lengths

    def arrays(self) -> Arrays:
        """Return the arrays to store."""
        return {"alphabet": narrow(self.letters)}

    @classmethod
    def restore(cls, archive: Archive) -> CharacterSet:
        """Read the character set of a stored model."""
        letters = archive.take("alphabet", "u", None).astype(np.int64)
        archive.check(bool((np.diff(letters) > 0).all()), "its alphabet is not in order")
        return cls(letters)
