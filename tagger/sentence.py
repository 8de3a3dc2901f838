"""The class `Sentence`, and conversion of any container of sentences to lists.

Public functions accept lists, tuples, generators, and columns of data frames and Arrow tables. They call
`sentence_list` or `tag_lists` first; all code behind them works on lists. An argument that is no list of sentences
raises a TypeError that names the place, for example `X[3][0]`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from tagger.errors import several
from tagger.escaping import Displayable, quote, shortened

if TYPE_CHECKING:
    from tagger.corpus.span_schemes import Span

Words = Sequence[str]
ANY = "?"  # instead of a tag: every tag is allowed
NO_TAG = ""  # instead of a tag: the input has none
FEATURES = "features"  # the column of a sentence that was given as dicts of features


@dataclass(frozen=True, slots=True)
class Sentence(Displayable):
    """An immutable sentence: words, with optional tags and annotations of readers and taggers.

    Parameters
    ----------
    words : sequence of str
        The words.
    tags : sequence of str, optional
        One tag per word. None if the sentence is untagged.
    layout : tuple of str, optional
        Name of the format the sentence was read from, then the lines needed to write it back with all that is neither
        word nor tag (the other columns of CoNLL-U, for example).
    probabilities : sequence of float, optional
        Probability of each tag.
    nbest : sequence of (float, sequence of str), optional
        The most probable taggings of the whole sentence, each with its probability.
    offsets : sequence of (int, int), optional
        Start and end of each word in the text it was cut from, in characters.
    line : int, optional
        Line of the file where the sentence begins, from 1. Of a sentence given as dicts of features, its number.
    retagged : bool, default False
        Whether the tags are newer than `layout`, whose probabilities then belong to older tags.
    columns : mapping of str to sequence, optional
        Further columns by name, each with one value per word, for feature templates that look at them: strings, or
        numbers and dicts for templates with `number:` and `attributes:`.

    Raises
    ------
    TypeError
        If `words` is a string or not iterable.
    ValueError
        If `tags`, `probabilities`, `offsets` or a column differ from `words` in length.

    Examples
    --------
    >>> from tagger import Sentence
    >>> sentence = Sentence(["The", "dog", "barks"], ["DT", "NN", "VBZ"])
    >>> len(sentence)
    3
    >>> sentence.tags
    ('DT', 'NN', 'VBZ')
    >>> Sentence(["Dogs", "bark"], columns={"lemma": ["dog", "bark"]}).columns["lemma"]
    ('dog', 'bark')
    """

    words: Sequence[str]
    tags: Sequence[str] | None = None
    layout: tuple[str, ...] | None = field(default=None, compare=False, repr=False)
    probabilities: Sequence[float] | None = field(default=None, compare=False, repr=False)
    nbest: Sequence[tuple[float, Sequence[str]]] | None = field(default=None, compare=False, repr=False)
    offsets: Sequence[tuple[int, int]] | None = field(default=None, compare=False, repr=False)
    line: int | None = field(default=None, compare=False, repr=False)
    retagged: bool = field(default=False, compare=False, repr=False, kw_only=True)
    columns: Mapping[str, Sequence[str]] | None = field(default=None, compare=False, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", tuple(contents(self.words, "Sentence", "a list of words")))
        if self.tags is not None:
            self.align("tags", "tag")
        if self.probabilities is not None:
            self.align("probabilities", "probability value")
        if self.offsets is not None:
            self.align("offsets", "offset")
        if self.columns is not None:
            if not isinstance(self.columns, Mapping):
                raise TypeError(f"columns: expected a dict of columns by name, got {described(self.columns)}.")
            columns = {
                name: tuple(contents(values, f"column {quote(str(name))}", "a list of values"))
                for name, values in self.columns.items()
            }
            object.__setattr__(self, "columns", columns)
            for name, values in columns.items():
                self.check_length(values, "value", f"column {quote(name)}: ")

    def align(self, name: str, noun: str) -> None:
        """Convert an attribute with one value per word to a tuple, and check its length."""
        values = tuple(getattr(self, name))
        object.__setattr__(self, name, values)
        self.check_length(values, noun)

    def check_length(self, values: Sequence[Any], noun: str, place: str = "") -> None:
        """Raise a ValueError unless there is one value per word."""
        if len(values) != len(self.words):
            raise ValueError(f"{place}{several(len(self.words), 'word')}, but {several(len(values), noun)}")

    def __len__(self) -> int:
        return len(self.words)

    def __reduce__(self) -> tuple[Callable[..., Sentence], tuple[object, ...]]:
        """Pickle as a call with positional arguments: four times as fast as the default of a dataclass with slots."""
        fields = (self.words, self.tags, self.layout, self.probabilities, self.nbest, self.offsets, self.line)
        return rebuild, (self.retagged, self.columns, *fields)

    @property
    def spans(self) -> list[Span]:
        """The spans that the tags mark (`B-PER I-PER O`): type, first word, and the word after the last."""
        from tagger.corpus.span_schemes import find_spans

        return find_spans(self.tags or ())

    def with_tags(
        self,
        tags: Sequence[str],
        probabilities: Sequence[float] | None = None,
        nbest: Sequence[tuple[float, Sequence[str]]] | None = None,
    ) -> Sentence:
        """Copy the sentence with other tags.

        Parameters
        ----------
        tags : sequence of str
            One tag per word.
        probabilities : sequence of float, optional
            Probability of each tag. Those of the old tags are dropped.
        nbest : sequence of (float, sequence of str), optional
            Best taggings of the sentence. Those of the old tagging are dropped.

        Returns
        -------
        Sentence
            The copy; `layout`, `offsets`, `line` and `columns` are those of this sentence.
        """
        fields = (self.words, tags, self.layout, probabilities, nbest, self.offsets, self.line)
        return Sentence(*fields, retagged=True, columns=self.columns)

    def begin(self, count: int) -> Sentence:
        """Copy the first `count` words with their tags and columns."""
        columns = self.columns and {name: values[:count] for name, values in self.columns.items()}
        return Sentence(self.words[:count], self.tags and self.tags[:count], columns=columns)

    def lines_of(self, format: str) -> tuple[str, ...]:
        """Return the lines the sentence was read from if they are of that format, else an empty tuple."""
        return self.layout[1:] if self.layout and self.layout[0] == format else ()


def rebuild(retagged: bool, columns: Mapping[str, Sequence[str]] | None, *fields: Any) -> Sentence:
    """Build a sentence from its pickled fields."""
    return Sentence(*fields, retagged=retagged, columns=columns)


def open_tokens(sentences: Iterable[Sentence]) -> int:
    """Count the words with the tag `?`. A mark without letter or digit does not count: `?` may be its own tag."""
    return sum(
        tag == ANY and any(map(str.isalnum, word))
        for sentence in sentences
        if ANY in (sentence.tags or ())
        for word, tag in zip(sentence.words, sentence.tags or (), strict=False)
    )


LISTS = frozenset([list, tuple])
LISTS_AND_SENTENCES = LISTS | {Sentence}
FEATURE_TYPES = (dict, list, tuple, set)  # of the features of a token
STRING = frozenset([str])  # `issuperset(map(type, …))` checks all words of a corpus without a Python loop


def words_of(sentence: Sentence | Words) -> Words:
    """Return the words of a Sentence, or the list of words itself."""
    return sentence.words if isinstance(sentence, Sentence) else sentence


def columns_of(sentence: Sentence | Words) -> Mapping[str, Sequence[str]] | None:
    """Return the columns of a Sentence; None for a list of words."""
    return sentence.columns if isinstance(sentence, Sentence) else None


def sentence_list(X: Iterable[Any], name: str = "X", featured: bool = False) -> list[Any]:
    """List the sentences of any iterable, each as a Sentence or a list or tuple of strings; messages use `name`.

    If `featured`, a sentence may be a list of dicts of features, or of lists of strings, and becomes a Sentence.
    """
    items = list(contents(X, name, "a list of sentences, each a list of words"))
    is_plain = LISTS_AND_SENTENCES.issuperset(map(type, items)) and only_strings(map(words_of, items))
    if is_plain:
        return items
    if featured:
        items = [featured_sentence(item, i + 1) for i, item in enumerate(items)]
    return [plain_sentence(item, f"{name}[{i}]") for i, item in enumerate(items)]


def featured_sentence(item: Any, number: int) -> Any:
    """Convert a list of dicts of features, or of lists of strings, to a Sentence whose words count its tokens."""
    if isinstance(item, Sentence) or type(item) not in LISTS or not isinstance(next(iter(item), ""), FEATURE_TYPES):
        return item
    words = [str(t) for t in range(1, len(item) + 1)]
    return Sentence(words, line=number, columns={FEATURES: item})


def is_featured(sentence: Sentence) -> bool:
    """Return whether a sentence has dicts of features, or lists of strings."""
    return isinstance(next(iter((sentence.columns or {}).get(FEATURES, ())), ""), FEATURE_TYPES)


def is_wordless(sentence: Sentence) -> bool:
    """Return whether the words of a sentence only count its tokens."""
    return is_featured(sentence) and sentence.words == tuple(str(t) for t in range(1, len(sentence) + 1))


def tag_lists(y: Iterable[Any], name: str = "y") -> list[Sequence[str]]:
    """List the tags of sentences, each as a list or tuple of strings, from any iterable of iterables."""
    items = list(contents(y, name, "a list with a list of tags for each sentence"))
    is_plain = LISTS.issuperset(map(type, items)) and only_strings(items)
    return items if is_plain else [strings(item, f"{name}[{i}]", "tag") for i, item in enumerate(items)]


def only_strings(lists: Iterable[Iterable[Any]]) -> bool:
    """Return True if all items of all lists are of type str itself."""
    return STRING.issuperset(map(type, chain.from_iterable(lists)))


def plain_sentence(item: Any, place: str) -> Sentence | list[str]:
    """Convert one sentence: a Sentence stays one, any other container becomes a list of strings."""
    if not isinstance(item, Sentence):
        return strings(item, place, "word")
    return item if only_strings([item.words]) else replace(item, words=strings(item.words, place, "word"))


def strings(items: Any, place: str, noun: str) -> list[str]:
    """Convert any container of strings to a list; refuse other items."""
    values = [as_python(item) for item in contents(items, place, f"a list of {noun}s")]
    for i, value in enumerate(values):
        if not isinstance(value, str):
            raise TypeError(f"{place}[{i}]: expected a {noun}, which is a string, got {described(value)}.")
    return values


def contents(items: Any, place: str, expected: str) -> Iterable[Any]:
    """Return an iterable of the items; refuse containers without order, and strings, whose items are characters."""
    if type(items) in LISTS:
        return items
    items = as_python(items)
    if isinstance(items, str | bytes | Mapping | Set) or not is_iterable(items):
        advice = " Split it into words first." if isinstance(items, str) else ""
        raise TypeError(f"{place}: expected {expected}, got {described(items)}.{advice}")
    return items


def as_python(value: Any) -> Any:
    """Convert Arrow arrays (`to_pylist`) and scalars (`as_py`) without importing Arrow."""
    convert = getattr(value, "to_pylist", None) or getattr(value, "as_py", None)
    return value if convert is None else convert()


def is_iterable(value: Any) -> bool:
    """Return True if `iter` accepts the value."""
    try:
        iter(value)
    except TypeError:
        return False
    return True


def described(value: Any) -> str:
    """Describe a value of the wrong type for a message."""
    if isinstance(value, str):
        return f"the string {quote(value)}"
    return f"{shortened(repr(value))} ({type(value).__name__})"
