"""The names of a corpus's columns: which has the words, which the tags, and which are read beside them.

CoNLL-U and JSON lines have names of their own. The columns of `tsv` and `columns` files are named in order, by the
caller or by a header line; `-` is the name of a column that is not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tagger.errors import CorpusError
from tagger.escaping import quote
from tagger.sentence import Sentence

COLUMN_FORMATS = ("tsv", "columns")  # whose sentences keep the names of their columns
SKIPPED = "-"
WORD, TAG = "word", "tag"
FORBIDDEN = frozenset(" \t\n\r,()[]&#")  # in names: templates and command lines could not write them


@dataclass(frozen=True)
class ColumnNames:
    """The columns of a corpus.

    Parameters
    ----------
    column : str
        The CoNLL-U column of the tags, `upos` or `xpos`, unless `tag` names another.
    names : tuple of str
        Names of the columns of a `tsv` or `columns` file, in order; empty if a header line or the format names them.
    word, tag : str, optional
        Names of the columns with the words and the tags. By default `word` and `tag`, in JSON lines `words` and `tags`.
    wanted : tuple of str
        Columns that must be there besides, because feature templates look at them.
    remembered : bool
        Whether a model has given the names. Then they hold for files with as many columns, unless some are wanted.
    given : pair of str or None
        The names of the word and tag columns that hold even where those that a model has given do not.
    header : str
        The lines of the file up to the header line; empty if it has none.
    """

    column: str = "upos"
    names: tuple[str, ...] = ()
    word: str | None = None
    tag: str | None = None
    wanted: tuple[str, ...] = ()
    remembered: bool = False
    given: tuple[str | None, str | None] = (None, None)
    header: str = ""

    def __post_init__(self) -> None:
        for name in (*self.names, self.word, self.tag):
            if name == "" or (name and not FORBIDDEN.isdisjoint(name)):
                raise CorpusError(f"columns: expected names without spaces, commas and brackets, got {quote(name)}")
        named = [name for name in self.names if name != SKIPPED]
        if len(set(named)) < len(named):
            raise CorpusError(f"columns: expected different names, got {quote(','.join(self.names))}")

    @classmethod
    def parsed(cls, text: str) -> tuple[str, ...]:
        """Split `word,pos,tag` into names; an empty text has none."""
        return tuple(name.strip() for name in text.split(",")) if text else ()

    def besides(self, others: ColumnNames, column: str, wanted: tuple[str, ...]) -> ColumnNames:
        """Return these names, with those of `others` where there are none, and the columns that are wanted.

        `column` is the CoNLL-U column, unless another one is named here.
        """
        named = self.column if self.tag or self.column != type(self).column else column
        names, remembered, given = self.names or others.names, not self.names, (self.word, self.tag)
        return ColumnNames(named, names, self.word or others.word, self.tag or others.tag, wanted, remembered, given)

    def without_remembered(self) -> ColumnNames:
        """Return what the caller has named, without the names that a model has given."""
        word, tag = self.given
        return replace(self, names=(), word=word, tag=tag)

    @property
    def optional(self) -> bool:
        """Whether a file need not have these columns."""
        return self.remembered and not self.wanted

    @property
    def elsewhere(self) -> tuple[str | None, str | None]:
        """The word and the tag column in CoNLL-U and JSON lines, where names from a file of columns do not hold."""
        return self.given if self.remembered and self.names else (self.word, self.tag)

    def fit(self, row: Sequence[str], tagged: bool | None) -> bool:
        """Return whether a row has as many columns as there are names; without tags, one at the end may be missing."""
        missing = len(self.names) - len(row)
        return missing == 0 or (missing == 1 and not tagged and self.tag_place == len(row))

    def place(self, name: str | None, default: str) -> int | None:
        """Return the place of the column of a name, or of the default one, among `names`; None if it is not there."""
        return self.names.index(name or default) if (name or default) in self.names else None

    @property
    def word_place(self) -> int:
        """The place of the column with the words."""
        place = self.place(self.word, WORD)
        if place is None:
            missing = f"expected {quote(self.word or WORD)} among the columns, got {', '.join(self.names)}"
            raise CorpusError(f"columns: {missing}. Name the columns in order, and set word_column")
        return place

    @property
    def tag_place(self) -> int | None:
        """The place of the column with the tags; None if there is none."""
        return self.place(self.tag, TAG)

    def others(self) -> dict[str, int]:
        """Return the place of each column that has neither words nor tags, by name."""
        taken = (self.word_place, self.tag_place)
        return {name: i for i, name in enumerate(self.names) if name != SKIPPED and i not in taken}

    def check_wanted(self, there: Iterable[str], place: str, advice: str = "Set columns") -> None:
        """Raise an error if a wanted column is not there; `place` begins its message."""
        known = list(there)
        for name in self.wanted:
            if name not in known:
                got = f"got {', '.join(known)}" if known else "got words and tags only"
                raise CorpusError(f"{place}: expected a column {quote(name)} for the features, {got}. {advice}")

    def text(self) -> str:
        """Return the names, the word column, the tag column and the header as one item of a layout."""
        return f"{','.join(self.names)} {self.word or WORD} {self.tag or TAG} {self.header}"

    def places(self) -> list[str | None]:
        """List the names in order, None for the word column; columns to skip are called by their number.

        Names without that of the words are those of CoNLL-U to read besides, and come after the words.
        """
        if self.names and self.place(self.word, WORD) is None:
            return [None, *self.names]
        return [
            None if i == self.word_place else str(i + 1) if name == SKIPPED else name
            for i, name in enumerate(self.names)
        ]

    @classmethod
    def of_sentence(cls, sentence: Sentence) -> ColumnNames:
        """Return the names of the column file that a sentence was read from; none for other sentences."""
        format, *lines = sentence.layout or ("",)
        return cls.of_layout(lines) if format in COLUMN_FORMATS else DEFAULT_NAMES

    @classmethod
    def of_layout(cls, lines: Sequence[str]) -> ColumnNames:
        """Read the names from the lines of a sentence's layout, whose first is `text`; none if there is no line."""
        if not lines:
            return cls()
        names, word, tag, header = lines[0].split(" ", 3)
        own_word, own_tag = None if word == WORD else word, None if tag == TAG else tag
        return cls(names=cls.parsed(names), word=own_word, tag=own_tag, header=header)


DEFAULT_NAMES = ColumnNames()
