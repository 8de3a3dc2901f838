"""Hints about input that is probably not what a command expects, from its first sentences.

A tagger expects `world .`, not `world.`, words between spaces, and no tags. Other input is tagged all the same, since
it may be meant, but a hint is printed once. A check gets the words of a sentence and returns a hint, or None. Plain
lines that are really a corpus in some format are recognised by the first line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from tagger.cli.console import print_message
from tagger.corpus import read_sentences
from tagger.corpus.column_names import DEFAULT_NAMES, ColumnNames
from tagger.corpus.formats import format_of, recognize_format
from tagger.corpus.formats.slash import split_if_tagged
from tagger.escaping import quote
from tagger.files.reading import Lines
from tagger.sentence import Sentence
from tagger.words.lexicon import Lexicon

WORD_AND_MARK = re.compile(r"[\"'“‘(]*[^\W\d_]{2,}[,;:!?][\"'”’)]*")  # well,
WORD_AND_STOP = re.compile(r"[\"'“‘(]*[^\W\d_]{4,}\.[\"'”’)]*")  # world. and approx. but not Inc. and etc.
MARKS = frozenset(",;:.!?…。，！？；：、")
CHINESE_RUN = re.compile("[\u3400-\u9fff]{6,}")  # more ideographs than a word has
CHINESE_WORD_AND_MARK = re.compile("[\u3400-\u9fff][，。！？；：、]")
CONLLU_COMMENT = re.compile(r"# ?(newdoc|newpar|[\w.:]+ ?=)( |$)")
TSV_ROW = re.compile(r"[^\t]+\t[^\t ]+(\t|$)")  # a word and what may be its tag
SENTENCES_CHECKED = 1000
MIN_TAGGED = 3  # tokens that look tagged, where the tag set is unknown
STRIP_ADVICE = "`tagger convert IN OUT --strip-tags` removes tags"

Item = TypeVar("Item")
Check = Callable[[Sequence[str]], str | None]


class InputHint:
    """Passes sentences on, and prints one hint at most: the first that a check finds."""

    def __init__(self, *checks: Check, quiet: bool = False) -> None:
        self.checks = checks
        self.remaining = SENTENCES_CHECKED if checks and not quiet else 0

    def __call__(self, items: Iterable[Item], words: Callable[[Item], Sequence[str]]) -> Iterator[Item]:
        for item in items:
            if self.remaining:
                self.remaining -= 1
                self.check(words(item))
            yield item

    def read_untagged(
        self,
        lines: Lines,
        format: str | None = None,
        by_name: bool = False,
        columns: ColumnNames = DEFAULT_NAMES,
    ) -> Iterator[Sentence]:
        """Read sentences without their tags, by default in the format of the file's suffix, and check them."""
        format = format or format_of(lines.path)
        sentences = read_sentences(self.check_first_line(lines, format, by_name), format, tagged=False, columns=columns)
        return self(sentences, lambda sentence: sentence.words)

    def check_first_line(self, lines: Lines, format: str = "slash", by_name: bool = False) -> Lines:
        """Return the lines; print a hint if the first one does not look like the format.

        With `by_name` the suffix of the file decides on the format, so that the hint advises to rename it.
        """
        first = "".join(lines.head(1)) if self.remaining and format in ("slash", "tsv") else ""
        likely = format_of_line(first)
        if likely and format == "slash":
            advice = f"rename the file to *.{likely}" if by_name else f"use --input-format {likely}"
            self.emit(f"{quote(first)} looks like {likely}, but is read as words; if it is {likely}, {advice}")
        if likely is None and format == "tsv" and " " in first:
            self.emit(f"{quote(first)} is read as one word: a .tsv file has one word per line")
        return lines

    def check(self, words: Sequence[str]) -> None:
        if hint := next(filter(None, (check(words) for check in self.checks)), None):
            self.emit(hint)

    def emit(self, hint: str) -> None:
        self.remaining = 0
        print_message(f"hint: {hint}", quiet=False)


def format_of_line(line: str) -> str | None:
    """Recognise the format of a line that is more than words between spaces."""
    if CONLLU_COMMENT.match(line):
        return "conllu"
    name = recognize_format([line])
    return name if name in ("jsonl", "conllu") or (name == "tsv" and TSV_ROW.match(line)) else None


def tag_check(tag_set: Iterable[str] = (), advice: str = STRIP_ADVICE) -> Check:
    """Make a check for words with tags that would be read as part of the word; `tag_set` is the model's."""
    tags = frozenset(tag_set)

    def check(words: Sequence[str]) -> str | None:
        pairs = [(token, split_if_tagged(token)[1]) for token in words]
        tagged = [token for token, tag in pairs if tag in tags or tag.isalpha()]
        least = 1 if any(tag in tags for _, tag in pairs) else MIN_TAGGED
        if 2 * len(tagged) <= len(words) or len(tagged) < least:
            return None
        return f"{quote(tagged[0])} looks like a word with its tag, but is read as a word; {advice}"

    return check


def token_check(lexicon: Lexicon) -> Check:
    """Make a check for words that are not separated from marks or from each other; known words pass."""

    def first_unknown(words: list[str]) -> str | None:
        return next((quote(word) for word in words if not lexicon.known([word])[0]), None)

    def check(words: Sequence[str]) -> str | None:
        joined = [word for word in words if WORD_AND_MARK.fullmatch(word)]
        # A full stop belongs to an abbreviation inside of a sentence, and wherever marks are words of their own.
        if MARKS.isdisjoint(words):
            joined += [word for word in words[-1:] if WORD_AND_STOP.fullmatch(word)]
        if word := first_unknown(joined):
            return f"{word} looks like a word and a mark: separate them; --tokenize does it for English text"
        alone = len(words) == 1
        joined = [word for word in words if CHINESE_WORD_AND_MARK.search(word) or (alone and CHINESE_RUN.search(word))]
        if word := first_unknown(joined):
            return f"{word} looks like several words; --tokenize chinese separates them"
        return None

    return check
