"""Raw texts inside records, cut into sentences: a field of JSON Lines, or the `# text` comments of CoNLL-U.

A JSON object holds a text of any length. Each of its sentences keeps the other keys of the object (an id, say), but not
the text, which would be repeated for each; the offsets of its words count from the beginning of that text. An object
whose text has no words gives one empty sentence, so that no record is lost. A sentence of CoNLL-U stays one sentence
and keeps its comments; its rows are replaced.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from tagger.corpus import conllu
from tagger.corpus.tokenizers.segmenter import LANGUAGES, cut_sentences
from tagger.escaping import quote
from tagger.files.reading import Lines
from tagger.sentence import Sentence

FIELD = "text"  # of a JSON object


@dataclass(frozen=True)
class JsonTexts:
    """Reads JSON objects and cuts the text in one of their fields."""

    language: str
    field: str = FIELD

    def read(self, lines: Lines) -> Iterator[Sentence]:
        for line in lines:
            if not line.strip(" \t"):
                continue
            text, rest = self.parsed(line, lines)
            layout = ("jsonl", rest)
            found = [Sentence(s.words, None, layout, offsets=s.offsets) for s in cut([text], self.language)]
            yield from found or [Sentence([], None, layout)]

    def parsed(self, line: str, lines: Lines) -> tuple[str, str]:
        """The text of an object, and the object without it."""
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise lines.error(f"expected a JSON object on the line, got {quote(line)}")
        text = found.pop(self.field, None)
        if not isinstance(text, str):
            got = "no such key" if text is None else quote(str(text))
            others = f" among {', '.join(map(quote, found))}" if text is None and found else ""
            advice = "Name the key of the text with --text-column"
            raise lines.error(f"expected a text under the key {quote(self.field)}, got {got}{others}. {advice}")
        try:
            return text, json.dumps(found, ensure_ascii=False)
        except RecursionError:
            raise lines.error("expected an object that is nested less deeply") from None


@dataclass(frozen=True)
class ConlluTexts:
    """Reads sentences of CoNLL-U and cuts their `# text` into words anew."""

    language: str

    def read(self, lines: Lines) -> Iterator[Sentence]:
        kept: list[str] = []  # comments that stand alone, such as `# newdoc`
        block: list[str] = []
        for line in chain(lines, [""]):
            if line.strip(" \t"):
                block.append(line)
                continue
            comments = [own for own in block if own.startswith("#")]
            text = conllu.comment(comments, "text")
            if text:
                yield self.sentence(text, kept + comments)
                kept = []
            elif len(comments) < len(block):
                advice = "Leave out --tokenize to tag the words of the rows"
                raise lines.error(f"expected a comment '# text = …' in the sentence that ends here, got none. {advice}")
            elif comments:
                kept += [*comments, ""]
            block = []

    def sentence(self, text: str, comments: list[str]) -> Sentence:
        found = list(cut([text], self.language))
        words = tuple(chain.from_iterable(own.words for own in found))
        places = tuple(chain.from_iterable(own.offsets or () for own in found))
        _, *rows = conllu.fresh(Sentence(words, offsets=places))
        return Sentence(words, None, ("conllu", *comments, *rows), offsets=places)


def cut(texts: Iterable[str], language: str) -> Iterator[Sentence]:
    return (sentence for sentence in cut_sentences(texts, LANGUAGES[language]) if sentence)
