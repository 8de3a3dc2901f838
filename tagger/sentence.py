"""`Sentence`: the one immutable thing that everybody passes around."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tagger.errors import several

Words = Sequence[str]
ANY = "?"  # in the place of a tag: it is open
NO_TAG = ""  # in the place of a tag: none is written there


@dataclass(frozen=True, slots=True)
class Sentence:
    """Words, and a tag for each of them unless the sentence is untagged.

    `layout` belongs to the format the sentence was read from, whose name it begins with: the lines it needs to write
    the sentence back with everything that is neither word nor tag (CoNLL-U's other columns, say). A tagger may add how
    probable each tag is, and the best taggings of the whole sentence with the probability of each. `offsets` are the
    places of the words in a text they were cut from: the first character of each, and the one after its last. `line` is
    the line of the file where the sentence begins, from 1.
    """

    words: Sequence[str]
    tags: Sequence[str] | None = None
    layout: tuple[str, ...] | None = field(default=None, compare=False, repr=False)
    probabilities: Sequence[float] | None = field(default=None, compare=False, repr=False)
    nbest: Sequence[tuple[float, Sequence[str]]] | None = field(default=None, compare=False, repr=False)
    offsets: Sequence[tuple[int, int]] | None = field(default=None, compare=False, repr=False)
    line: int | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", tuple(self.words))
        if self.tags is not None:
            object.__setattr__(self, "tags", tuple(self.tags))
            if len(self.tags) != len(self.words):
                raise ValueError(f"{several(len(self.words), 'word')}, but {several(len(self.tags), 'tag')}")
        if self.offsets is not None:
            object.__setattr__(self, "offsets", tuple(self.offsets))
            if len(self.offsets) != len(self.words):
                raise ValueError(f"{several(len(self.words), 'word')}, but {several(len(self.offsets), 'offset')}")

    def __len__(self) -> int:
        return len(self.words)

    def __reduce__(self) -> tuple[type[Sentence], tuple[object, ...]]:
        """Four times as fast as what a dataclass does by itself when it is sent to another process."""
        return Sentence, (self.words, self.tags, self.layout, self.probabilities, self.nbest, self.offsets, self.line)

    def with_tags(
        self,
        tags: Sequence[str],
        probabilities: Sequence[float] = (),
        nbest: Sequence[tuple[float, Sequence[str]]] = (),
    ) -> Sentence:
        return Sentence(self.words, tags, self.layout, probabilities, nbest, self.offsets, self.line)

    def lines_of(self, format: str) -> tuple[str, ...]:
        """The lines the sentence was read from, if they were of that format."""
        return self.layout[1:] if self.layout and self.layout[0] == format else ()


def open_tokens(sentences: Iterable[Sentence]) -> int:
    """How many words have `?` for a tag; where a tag set has one for question marks, those do not count."""
    return sum(
        tag == ANY and any(map(str.isalnum, word))
        for sentence in sentences
        for word, tag in zip(sentence.words, sentence.tags or (), strict=False)
    )
