"""`Sentence`: words and their tags, immutable; and `sentence_list`, which accepts sentences in any container.

Public functions take lists, tuples, generators, columns of data frames and of Arrow tables alike. They call
`sentence_list` (or `tag_lists`) first; everything behind it works on lists. What is no list of sentences is refused
there, by a TypeError that names the place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from tagger.errors import several
from tagger.escaping import quote, shortened

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
    the line of the file where the sentence begins, from 1. Of all these, None means absent. `retagged` is true if the
    tags are newer than the layout: probabilities in its lines belong to older tags.
    """

    words: Sequence[str]
    tags: Sequence[str] | None = None
    layout: tuple[str, ...] | None = field(default=None, compare=False, repr=False)
    probabilities: Sequence[float] | None = field(default=None, compare=False, repr=False)
    nbest: Sequence[tuple[float, Sequence[str]]] | None = field(default=None, compare=False, repr=False)
    offsets: Sequence[tuple[int, int]] | None = field(default=None, compare=False, repr=False)
    line: int | None = field(default=None, compare=False, repr=False)
    retagged: bool = field(default=False, compare=False, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", tuple(contents(self.words, "Sentence", "a list of words")))
        if self.tags is not None:
            self.align("tags", "tag")
        if self.probabilities is not None:
            self.align("probabilities", "probability value")
        if self.offsets is not None:
            self.align("offsets", "offset")

    def align(self, name: str, noun: str) -> None:
        """Make a tuple of what there is one of for each word."""
        values = tuple(getattr(self, name))
        object.__setattr__(self, name, values)
        if len(values) != len(self.words):
            raise ValueError(f"{several(len(self.words), 'word')}, but {several(len(values), noun)}")

    def __len__(self) -> int:
        return len(self.words)

    def __reduce__(self) -> tuple[Callable[..., Sentence], tuple[object, ...]]:
        """Four times as fast as what a dataclass does by itself when it is sent to another process."""
        fields = (self.words, self.tags, self.layout, self.probabilities, self.nbest, self.offsets, self.line)
        return rebuilt, (self.retagged, *fields)

    def with_tags(
        self,
        tags: Sequence[str],
        probabilities: Sequence[float] | None = None,
        nbest: Sequence[tuple[float, Sequence[str]]] | None = None,
    ) -> Sentence:
        """Copy the sentence with other tags; probabilities and n-best taggings of the old ones are dropped."""
        return Sentence(self.words, tags, self.layout, probabilities, nbest, self.offsets, self.line, retagged=True)

    def lines_of(self, format: str) -> tuple[str, ...]:
        """The lines the sentence was read from, if they were of that format."""
        return self.layout[1:] if self.layout and self.layout[0] == format else ()


def rebuilt(retagged: bool, *fields: Any) -> Sentence:
    """Build a sentence that comes from another process."""
    return Sentence(*fields, retagged=retagged)


def open_tokens(sentences: Iterable[Sentence]) -> int:
    """How many words have `?` for a tag; where a tag set has one for question marks, those do not count."""
    return sum(
        tag == ANY and any(map(str.isalnum, word))
        for sentence in sentences
        for word, tag in zip(sentence.words, sentence.tags or (), strict=False)
    )


LISTS = frozenset([list, tuple])
LISTS_AND_SENTENCES = LISTS | {Sentence}
STRING = frozenset([str])


def words_of(sentence: Sentence | Words) -> Words:
    return sentence.words if isinstance(sentence, Sentence) else sentence


def sentence_list(X: Iterable[Any], name: str = "X") -> list[Any]:
    """List the sentences of any iterable, each a Sentence or a list or tuple of strings; `name` is for messages."""
    items = list(contents(X, name, "a list of sentences, each a list of words"))
    usual = LISTS_AND_SENTENCES.issuperset(map(type, items)) and only_strings(map(words_of, items))
    return items if usual else [plain_sentence(item, f"{name}[{i}]") for i, item in enumerate(items)]


def tag_lists(y: Iterable[Any], name: str = "y") -> list[Sequence[str]]:
    """List the tags of sentences, given in any iterable of iterables of strings."""
    items = list(contents(y, name, "a list with a list of tags for each sentence"))
    usual = LISTS.issuperset(map(type, items)) and only_strings(items)
    return items if usual else [strings(item, f"{name}[{i}]", "tag") for i, item in enumerate(items)]


def only_strings(lists: Iterable[Iterable[Any]]) -> bool:
    return STRING.issuperset(map(type, chain.from_iterable(lists)))


def plain_sentence(item: Any, place: str) -> Sentence | list[str]:
    """Take one sentence from any container: a Sentence stays one, all else becomes a list of strings."""
    if not isinstance(item, Sentence):
        return strings(item, place, "word")
    return item if only_strings([item.words]) else replace(item, words=strings(item.words, place, "word"))


def strings(items: Any, place: str, noun: str) -> list[str]:
    found = [as_python(item) for item in contents(items, place, f"a list of {noun}s")]
    for i, item in enumerate(found):
        if not isinstance(item, str):
            raise TypeError(f"{place}[{i}]: expected a {noun}, which is a string, got {described(item)}.")
    return found


def contents(items: Any, place: str, expected: str) -> Iterable[Any]:
    """Refuse what has no members in a fixed order, and strings, whose members are letters."""
    if type(items) in LISTS:
        return items
    items = as_python(items)
    if isinstance(items, str | bytes | Mapping | Set) or not is_iterable(items):
        advice = " Split it into words first." if isinstance(items, str) else ""
        raise TypeError(f"{place}: expected {expected}, got {described(items)}.{advice}")
    return items


def as_python(value: Any) -> Any:
    """Convert arrays (`to_pylist`) and scalars (`as_py`) of Arrow, which is not imported for that."""
    convert = getattr(value, "to_pylist", None) or getattr(value, "as_py", None)
    return value if convert is None else convert()


def is_iterable(value: Any) -> bool:
    try:
        iter(value)
    except TypeError:
        return False
    return True


def described(value: Any) -> str:
    if isinstance(value, str):
        return f"the string {quote(value)}"
    return f"{shortened(repr(value))} ({type(value).__name__})"
