"""Tokenize raw text inside records: a field of JSON Lines, or the `# text` comments of CoNLL-U.

A JSON object holds a text of any length. Each sentence of it keeps the other keys of the object (an id, for example),
but not the text, which would be repeated; word offsets count from the beginning of the text. An object without words in
its text gives one empty sentence, so that no record is lost. A sentence of CoNLL-U stays one sentence and keeps its
comments; its rows are replaced.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain

from tagger.corpus.formats import conllu
from tagger.corpus.formats.jsonl import TOO_DEEP, parse_object
from tagger.corpus.tokenizers.tokenize import tokenize
from tagger.escaping import quote
from tagger.files.reading import Lines
from tagger.sentence import Sentence

TEXT_COLUMN = "text"  # default key of the text in a JSON object


def json_texts(lines: Lines, language: str, text_column: str | None) -> Iterator[Sentence]:
    """Yield the sentences of the texts that JSON objects have under the key `text_column`."""
    for line in lines:
        if not line.strip(" \t"):
            continue
        text, rest = split_object(line, lines, text_column or TEXT_COLUMN)
        layout = ("jsonl", rest)
        sentences = [Sentence(s.words, None, layout, offsets=s.offsets) for s in tokenize(text, language)]
        yield from sentences or [Sentence([], None, layout)]


def split_object(line: str, lines: Lines, text_column: str) -> tuple[str, str]:
    """Return the text of an object, and the JSON of the object without it."""
    record = parse_object(line, lines)
    is_there = text_column in record
    text = record.pop(text_column, None)
    if not isinstance(text, str):
        got = "no such key" if not is_there else "null" if text is None else quote(str(text))
        others = f" among {', '.join(map(quote, record))}" if not is_there and record else ""
        advice = "Set text_column to the key of the text"
        raise lines.error(f"expected a text under the key {quote(text_column)}, got {got}{others}. {advice}")
    try:
        return text, json.dumps(record, ensure_ascii=False)
    except RecursionError:
        raise lines.error(TOO_DEEP) from None


def conllu_texts(lines: Lines, language: str) -> Iterator[Sentence]:
    """Yield the sentences of CoNLL-U, the `# text` of each tokenized again."""
    kept: list[str] = []  # comments without a sentence, such as `# newdoc`
    block: list[str] = []
    for line in chain(lines, [""]):
        if line.strip(" \t"):
            block.append(line)
            continue
        comments = [comment for comment in block if comment.startswith("#")]
        text = conllu.comment(comments, "text")
        if text:
            yield one_sentence(text, language, kept + comments)
            kept = []
        elif len(comments) < len(block):
            advice = "Read the words of the rows instead, without a tokenizer"
            raise lines.error(f"expected a comment '# text = …' in the sentence that ends here, got none. {advice}")
        elif comments:
            kept += [*comments, ""]
        block = []


def one_sentence(text: str, language: str, comments: list[str]) -> Sentence:
    """Tokenize a text as one sentence."""
    sentences = tokenize(text, language)
    words = tuple(chain.from_iterable(sentence.words for sentence in sentences))
    offsets = tuple(chain.from_iterable(sentence.offsets or () for sentence in sentences))
    _, *rows = conllu.new_lines(Sentence(words, offsets=offsets))
    return Sentence(words, None, ("conllu", *comments, *rows), offsets=offsets)
