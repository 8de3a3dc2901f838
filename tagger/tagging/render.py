"""Render tagged blocks as bytes of the output format, possibly in another process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tagger.corpus import render
from tagger.corpus.column_names import ColumnNames
from tagger.corpus.slash import tokens as slash_tokens
from tagger.errors import CorpusError
from tagger.sentence import Sentence
from tagger.tagging.annotator import Annotator
from tagger.tagging.chunks import NamedBlock
from tagger.tagging.fast_path import line_tagger

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
        blank = b"" if self.format == "conllu" else b"\n"

        def render_block(named: NamedBlock) -> RenderedBlock:
            name, before, block = named
            rendered: list[bytes] = []
            messages: list[str] = []
            tokens = 0
            for number, sentence in enumerate(work(block), before + 1):
                try:
                    rendered.append(render(sentence, self.format, self.columns))
                    tokens += len(sentence)
                except CorpusError as error:
                    messages.append(f"{name}: sentence {number:,}: {error}")
                    if not self.skip:
                        break
                    rendered.append(blank)
            return b"".join(rendered), tokens, messages

        return render_block


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
            name, before, lines = named
            text, tokens = tag_lines(lines)
            try:
                return text.encode(), tokens, []
            except UnicodeEncodeError:  # a lone surrogate: the fallback writes all sentences before it
                return fallback()((name, before, [Sentence(words) for words in map(slash_tokens, lines)]))

        return render_block
