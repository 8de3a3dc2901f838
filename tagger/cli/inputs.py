"""What `tag` reads: the sentences of its files, in blocks, looked at as they pass."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tagger.cli.options import say
from tagger.constraints import Constraints
from tagger.corpus import format_of, read_sentences
from tagger.errors import FileError
from tagger.files import Lines, exists
from tagger.lexicon import Lexicon
from tagger.sentence import Sentence
from tagger.stream import blocks

GLUED = re.compile(r"[\"'“‘(]*([^\W\d_]{2,}[,;:!?]|[^\W\d_]{4,}\.)[\"'”’)]*")  # world. and well, but not Inc. and etc.
LONGEST = 1 << 20  # tokens of a sentence: more would eat the memory
LOOKED_AT = 1000  # sentences looked at to see whether their marks are glued to the words

Named = tuple[str, list[Sentence]]  # of which file, and sentences
Source = tuple[Iterator[Sentence], Any]  # sentences, and what has `waiting`


def check_inputs(files: tuple[str, ...], tokenize: str | None, quiet: bool) -> None:
    for path in files:
        if path != "-" and not exists(path):
            raise FileError(f"cannot read {path}: no such file")
    if "-" in files and sys.stdin is not None and sys.stdin.isatty():
        how = "Type text" if tokenize else "Type a sentence per line, words and marks between spaces"
        say(f"{how}; Ctrl-D ends.", quiet)


def named_blocks(lines: Lines, read: Callable[[Lines], Source], hint: Hint) -> Iterator[tuple[Named, bool]]:
    sentences, source = read(lines)
    for block, urgent in blocks(hint(sentences), lambda: source.waiting):
        yield (lines.name, block), urgent


def sentences_of(
    lines: Lines, tokenize: str | None, format: str | None, column: str, constraints: Constraints | None
) -> Source:
    """The sentences of one input, and who knows whether the next one has to be waited for."""
    if tokenize:
        from tagger.rawtext import RawText

        typed = lines.path == "-" and sys.stdin is not None and sys.stdin.isatty()
        text = RawText(lines, tokenize, by_line=typed)
        return possible(text, lines, constraints), text
    tagged = None if constraints and constraints.keep_tags else False
    sentences = read_sentences(lines, format or format_of(lines.path), tagged, column)
    return possible(sentences, lines, constraints), lines


def possible(sentences: Iterable[Sentence], lines: Lines, constraints: Constraints | None) -> Iterator[Sentence]:
    """The sentences, if some tagging of each can be right."""
    for sentence in sentences:
        fault = constraints.fault(sentence) if constraints else None
        if len(sentence) > LONGEST:
            fault = f"expected at most {LONGEST:,} tokens in a sentence, got {len(sentence):,}"
        if fault and lines.skipped is None:
            raise lines.error(fault)
        if fault and lines.skipped is not None:
            lines.skipped.add(lines.error(fault))
        yield Sentence([]) if fault else sentence


class Hint:
    """Lets sentences pass, and says once if marks are glued to words: a tagger wants `world .`, not `world.`"""

    def __init__(self, lexicon: Lexicon | None) -> None:
        self.lexicon = lexicon  # of words that are as they should be; None to say nothing
        self.left = LOOKED_AT if lexicon else 0

    def __call__(self, sentences: Iterator[Sentence]) -> Iterator[Sentence]:
        for sentence in sentences:
            if self.left and self.lexicon:
                self.left -= 1
                glued = [word for word in sentence.words if GLUED.fullmatch(word)]
                strange = [word for word in glued if not self.lexicon.known([word])[0]]
                if strange:
                    self.left = 0
                    say(f"hint: {strange[0]!r} looks like a word and a mark; --tokenize sets them apart", quiet=False)
            yield sentence
