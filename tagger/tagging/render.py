"""Render tagged blocks as bytes of the output format, possibly in another process."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tagger.corpus.column_names import ColumnNames
from tagger.corpus.formats import header, render
from tagger.corpus.formats.slash import tokens as slash_tokens
from tagger.corpus.span_schemes import NO_TYPE, Span, find_spans
from tagger.errors import CorpusError
from tagger.sentence import Sentence
from tagger.tagging.annotator import Annotator
from tagger.tagging.blocks import NamedBlock
from tagger.tagging.fast_path import line_tagger

SPAN_KEYS = {"type", "begin", "end", "words"}

RenderedBlock = tuple[bytes, int, list[str]]  # text, number of tokens, messages about sentences not written


@dataclass(frozen=True)
class SentenceRenderer:
    """Makes the function from a block of sentences to bytes; can be pickled and sent to other processes."""

    annotator: Annotator
    format: str
    columns: ColumnNames
    skip: bool  # write a blank line for a sentence that cannot be written; else stop there

    def __call__(self) -> Callable[[NamedBlock], RenderedBlock]:
        work = self.annotator.start()
        marks_spans = self.annotator.model.scheme_ is not None
        blank = b"" if self.format == "conllu" else b"\n"

        def render_block(named: NamedBlock) -> RenderedBlock:
            sentences = work(named.items)
            rendered = [header(sentences, self.format)] if named.begins_output else []
            messages: list[str] = []
            tokens = 0
            for number, sentence in enumerate(sentences, named.before + 1):
                if self.format == "jsonl":
                    sentence = with_spans(sentence) if marks_spans else without_spans(sentence)
                try:
                    rendered.append(render(sentence, self.format, self.columns))
                    tokens += len(sentence)
                except CorpusError as error:
                    messages.append(f"{named.name}: sentence {number:,}: {error}")
                    if not self.skip:
                        break
                    rendered.append(blank)
            return b"".join(rendered), tokens, messages

        return render_block


def with_spans(sentence: Sentence) -> Sentence:
    """Add the spans of a sentence to the JSON object that it is written as, where it takes its other keys from."""
    line = (sentence.lines_of("jsonl") or ('{"words": [], "tags": []}',))[0]
    if not line:
        return sentence
    spans = [span_object(sentence, span) for span in find_spans(sentence.tags or ())]
    record = json.dumps(json.loads(line) | {"spans": spans}, ensure_ascii=False)
    return replace(sentence, layout=("jsonl", record))


def without_spans(sentence: Sentence) -> Sentence:
    """Remove the spans of older tags from the JSON object that a sentence is written as; other people's stay."""
    line = (sentence.lines_of("jsonl") or ("",))[0]
    if '"spans"' not in line:
        return sentence
    record = json.loads(line)
    spans = record.get("spans")
    if not isinstance(spans, list) or not all(isinstance(span, dict) and span.keys() >= SPAN_KEYS for span in spans):
        return sentence
    del record["spans"]
    return replace(sentence, layout=("jsonl", json.dumps(record, ensure_ascii=False)))


def span_object(sentence: Sentence, span: Span) -> dict[str, Any]:
    """Return a span for JSON: its type, first token, the token after its last, its words and, if known, its offsets."""
    inside = slice(span.begin, span.end)
    values: dict[str, Any] = {"type": None if span.type == NO_TYPE else span.type, "begin": span.begin, "end": span.end}
    values["words"] = sentence.words[inside]
    if sentence.offsets is not None:
        offsets = sentence.offsets[inside]
        values["offsets"] = [offsets[0][0], offsets[-1][1]]
    return values


@dataclass(frozen=True)
class LineRenderer:
    """Makes the function from a block of lines to bytes by the fast path, for word/TAG output without options."""

    annotator: Annotator
    skip: bool

    def __call__(self) -> Callable[[NamedBlock], RenderedBlock]:
        model, names = self.annotator.model, self.annotator.names
        tag_lines = line_tagger(model, names or model.classes_)
        fallback = SentenceRenderer(self.annotator, "slash", model.corpus_columns(), self.skip)

        def render_block(named: NamedBlock) -> RenderedBlock:
            text, tokens = tag_lines(named.items)
            try:
                return text.encode(), tokens, []
            except UnicodeEncodeError:  # a lone surrogate: the fallback writes all sentences before it
                sentences = [Sentence(words) for words in map(slash_tokens, named.items)]
                return fallback()(named._replace(items=sentences))

        return render_block
