"""What `tag` writes: blocks of sentences, or of lines that hold one, become bytes, maybe in another process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tagger.corpus import render
from tagger.corpus.slash import tokens as slash_tokens
from tagger.errors import CorpusError
from tagger.sentence import Sentence
from tagger.tagging.annotator import Annotator
from tagger.tagging.chunks import NamedBlock
from tagger.tagging.fast_path import FastPath

Answer = tuple[bytes, int, list[str]]  # text, how many tokens it has, and what could not be written


@dataclass(frozen=True)
class SentenceRenderer:
    """Starts what turns a block of sentences into the bytes of the output; it travels to other processes."""

    annotator: Annotator
    format: str
    column: str  # of CoNLL-U
    skip: bool  # what cannot be written becomes a blank line; else it ends the work

    def __call__(self) -> Callable[[NamedBlock], Answer]:
        work = self.annotator.start()
        blank = b"" if self.format == "conllu" else b"\n"

        def answer(named: NamedBlock) -> Answer:
            name, before, block = named
            done: list[bytes] = []
            faults: list[str] = []
            tokens = 0
            for number, sentence in enumerate(work(block), before + 1):
                try:
                    done.append(render(sentence, self.format, self.column))
                    tokens += len(sentence)
                except CorpusError as error:
                    faults.append(f"{name}: sentence {number:,}: {error}")
                    if not self.skip:
                        break
                    done.append(blank)
            return b"".join(done), tokens, faults

        return answer


@dataclass(frozen=True)
class LineRenderer:
    """The same for a block of lines, where nothing but tags is wanted."""

    annotator: Annotator
    skip: bool

    def __call__(self) -> Callable[[NamedBlock], Answer]:
        model, names = self.annotator.model, self.annotator.names
        work = FastPath(model, names or model.classes_).start()
        carefully = SentenceRenderer(self.annotator, "slash", model.column_, self.skip)

        def answer(named: NamedBlock) -> Answer:
            name, before, lines = named
            text, tokens = work(lines)
            try:
                return text.encode(), tokens, []
            except UnicodeEncodeError:  # half a character: everything before it can be written
                return carefully()((name, before, [Sentence(words) for words in map(slash_tokens, lines)]))

        return answer
