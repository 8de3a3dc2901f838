"""Hints: what a look at the first sentences tells of a text that is not what a command wants to read.

Whoever gives the wrong kind of text still gets an answer, for it may be meant. But something is said, once: a tagger
wants `world .`, not `world.`, words between spaces, and no tags. A look gets the words of a sentence and says what is
odd about them, or None. That plain lines are none, but a corpus in some format, is seen on the first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import TypeVar

from tagger.cli.console import say
from tagger.corpus import recognize_format
from tagger.corpus.slash import split_if_tagged
from tagger.escaping import quote
from tagger.files.reading import Lines
from tagger.sentence import Sentence
from tagger.words.lexicon import Lexicon

GLUED = re.compile(r"[\"'“‘(]*[^\W\d_]{2,}[,;:!?][\"'”’)]*")  # well,
STOPPED = re.compile(r"[\"'“‘(]*[^\W\d_]{4,}\.[\"'”’)]*")  # world. and approx. but not Inc. and etc.
MARKS = frozenset(",;:.!?…。，！？；：、")
RUN = re.compile("[\u3400-\u9fff]{6,}")  # more ideographs than a word has
RUN_ON = re.compile("[\u3400-\u9fff][，。！？；：、]")  # a word and a mark
COMMENT = re.compile(r"# ?(newdoc|newpar|[\w.:]+ ?=)( |$)")  # of CoNLL-U
ROW = re.compile(r"[^\t]+\t[^\t ]+(\t|$)")  # a word and what may be its tag
LOOKED_AT = 1000  # sentences
ENOUGH = 3  # tokens that look tagged, where it is not known which tags there are
STRIP = "`tagger convert IN OUT --strip-tags` takes them off"

Item = TypeVar("Item")
Look = Callable[[Sequence[str]], str | None]


class InputHint:
    """Lets sentences pass, and says once what is odd about them."""

    def __init__(self, *looks: Look, quiet: bool = False) -> None:
        self.looks = looks
        self.left = LOOKED_AT if looks and not quiet else 0

    def __call__(self, items: Iterable[Item], words: Callable[[Item], Sequence[str]]) -> Iterator[Item]:
        for item in items:
            if self.left:
                self.left -= 1
                self.look(words(item))
            yield item

    def sentences(self, items: Iterable[Sentence]) -> Iterator[Sentence]:
        return self(items, lambda sentence: sentence.words)

    def opening(self, lines: Lines, format: str = "slash", by_name: bool = False) -> Lines:
        """The lines, after a look at the first of them: is it what the format says, which may hang on the file's name
        alone?"""
        first = "".join(lines.head(1)) if self.left and format in ("slash", "tsv") else ""
        name = told_by(first)
        if name and format == "slash":
            how = f"call the file *.{name}" if by_name else f"give --input-format {name}"
            self.tell(f"{quote(first)} looks like {name}, and is read as words; {how} if it is")
        if name is None and format == "tsv" and " " in first:
            self.tell(f"{quote(first)} is read as one word: in a .tsv each has a line of its own")
        return lines

    def look(self, words: Sequence[str]) -> None:
        if found := next(filter(None, (look(words) for look in self.looks)), None):
            self.tell(found)

    def tell(self, found: str) -> None:
        self.left = 0
        say(f"hint: {found}", quiet=False)


def told_by(line: str) -> str | None:
    """The format of a line that is not just words between spaces."""
    if COMMENT.match(line):
        return "conllu"
    name = recognize_format([line])
    return name if name in ("jsonl", "conllu") or (name == "tsv" and ROW.match(line)) else None


def untagged(tags: Container[str] = (), advice: str = STRIP) -> Look:
    """A look at whether words have tags that nobody will read; `tags` are those of the model, if there is one."""

    def look(words: Sequence[str]) -> str | None:
        pairs = [(token, split_if_tagged(token)[1]) for token in words]
        likely = [token for token, tag in pairs if tag in tags or tag.isalpha()]
        least = 1 if any(tag in tags for _, tag in pairs) else ENOUGH
        if 2 * len(likely) <= len(words) or len(likely) < least:
            return None
        return f"{quote(likely[0])} looks like a word with its tag, and is read as a word; {advice}"

    return look


def tokenised(lexicon: Lexicon) -> Look:
    """A look at whether words and marks stand apart; what is in the lexicon is as it should be."""

    def strange(words: list[str]) -> str | None:
        return next((quote(word) for word in words if not lexicon.known([word])[0]), None)

    def look(words: Sequence[str]) -> str | None:
        glued = [word for word in words if GLUED.fullmatch(word)]
        # A full stop belongs to an abbreviation inside of a sentence, and wherever marks are words of their own.
        if MARKS.isdisjoint(words):
            glued += [word for word in words[-1:] if STOPPED.fullmatch(word)]
        if word := strange(glued):
            return f"{word} looks like a word and a mark: set them apart; in English text --tokenize does it"
        if word := strange([word for word in words if RUN_ON.search(word) or (len(words) == 1 and RUN.search(word))]):
            return f"{word} looks like several words; --tokenize chinese sets them apart"
        return None

    return look
