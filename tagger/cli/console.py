"""What several commands do in one manner: speak, read a corpus, check and write what comes out."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import click

from tagger.corpus import read_sentences, recognize_format
from tagger.corpus.lines import first_words, marks_end_sentences
from tagger.corpus.slash import tokens
from tagger.corpus.tsv import count_columns
from tagger.errors import CorpusError
from tagger.escaping import encoded, visible
from tagger.files.reading import LOOK_AHEAD, Lines, Skipped
from tagger.files.writing import STDOUT, open_output
from tagger.sentence import Sentence

if TYPE_CHECKING:
    from tagger.corpus.tag_map import TagMap

SKIPPED = "tagger.skipped"
LONG_ON_AVERAGE = 200  # tokens of sentences; those of newspapers have 20 to 30, those of laws 50
A_SENTENCE = "expected a sentence per line, or a blank line after each"


def say(message: str, quiet: bool) -> None:
    """To a person, if there is one: whatever is in the message, a terminal shows it and does not obey."""
    if not quiet:
        with suppress(OSError):
            click.echo(visible(message, "\n"), err=True)


def say_written(path: str, what: str, quiet: bool) -> None:
    """That a file is there; who reads standard output sees for himself."""
    if path not in STDOUT:
        say(f"wrote {path}: {what}", quiet)


def tell_skipped(found: Skipped) -> None:
    """Even to those who want to hear nothing else."""
    if found.lines:
        more = [f"  {fault}" for fault in found.faults] + ["  …"] * (found.count > len(found.faults))
        say("\n".join([f"skipped {found.lines:,} line{'s' * (found.lines > 1)}:", *more]), quiet=False)


def skipped() -> Skipped | None:
    """Where to note what is left out of the input; None if nothing may be."""
    found: Skipped | None = context.meta.get(SKIPPED) if (context := click.get_current_context(silent=True)) else None
    return found


def write_text(path: str, text: str) -> None:
    """In UTF-8 whatever the locale."""
    with open_output(path) as stream:
        stream.write(encoded(text))


def name_of(path: str) -> str:
    """What a page calls a file."""
    return "standard input" if path == "-" else PurePath(path).name


def page_for(report: str | None, name: str) -> Any:
    """Load the template of the page that `--report` asks for: early, since that fails where pages cannot be made."""
    if report is None:
        return None
    from tagger.reports.html import page_template

    return page_template(name)


def read_tagged(
    path: str,
    input_format: str | None,
    encoding: str,
    column: str,
    quiet: bool = True,
    tagged: bool | None = True,
) -> list[Sentence]:
    """A corpus with at least one sentence; if not `quiet`, with a word on how it was read. With `tagged` None, words
    may lack their tags."""
    lines = Lines(path, encoding, skipped())
    found = read_sentences(lines, recognised(lines, input_format, quiet), tagged, column)
    sentences = [sentence for sentence in found if sentence.words]
    if not sentences:
        raise no_sentence(lines.name)
    return sentences


def recognised(lines: Lines, input_format: str | None, quiet: bool) -> str:
    """The format of a tagged corpus, named or not, after a hint on what may be meant otherwise."""
    head = lines.head(LOOK_AHEAD)
    format = input_format or recognize_format(head)
    if format == "lines" and "" in first_words(head) and marks_end_sentences(head):
        say("hint: final marks far outnumber blank lines, so both end sentences", quiet)
    if not input_format and format == "slash" and len(head) > 1 and all(len(tokens(line)) == 1 for line in head):
        so = "every line has one word and is read as a sentence"
        say(f"hint: {so}; --input-format lines reads them as words of longer sentences", quiet)
    if format == "tsv" and (count := count_columns(head)) > 2:
        taken = "the 1st is taken for the word, the 2nd for the tag, the others are left out"
        say(f"hint: the lines have {count} columns; {taken}; `cut -f 1,3`, say, chooses others", quiet)
    return format


def length_warnings(sentences: Sequence[Sentence], name: str) -> list[str]:
    """Warn of a corpus whose sentences are too long on average: their ends have not been found."""
    mean = sum(map(len, sentences)) / len(sentences)
    warning = f"warning: the sentences of {name} have {mean:,.0f} tokens on average: {A_SENTENCE}"
    return [warning] if mean >= LONG_ON_AVERAGE else []


def no_sentence(name: str, expected: str = "tagged sentences") -> CorpusError:
    return CorpusError(f"{name}: no sentence in it; expected {expected}")


def tag_map_of(path: str | None) -> TagMap | None:
    """The map that `--map` names, if it names one."""
    if path is None:
        return None
    from tagger.corpus.tag_map import read_tag_map

    return read_tag_map(path)


def say_unmapped(tag_map: TagMap | None, quiet: bool) -> None:
    """Once: what the map of the user does not know."""
    if tag_map and tag_map.unmapped:
        found = sorted(tag_map.unmapped)
        several = f"{len(found)} tags are not in it and stay" if len(found) > 1 else "1 tag is not in it and stays"
        shown = " ".join(found[:10]) + (" …" if len(found) > 10 else "")
        say(f"--map: {several}: {shown}", quiet)
