"""Tagged corpora and tag maps as commands read them, with hints and warnings on what may be meant otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from tagger.cli.console import print_message, skipped_lines
from tagger.corpus import read_sentences
from tagger.corpus.column_names import DEFAULT_NAMES, ColumnNames
from tagger.corpus.formats import COLUMN_FILES, recognize_format
from tagger.corpus.formats.columns import header_names, is_row, numbered
from tagger.corpus.formats.lines import first_words, marks_end_sentences
from tagger.corpus.formats.slash import tokens
from tagger.corpus.formats.tsv import count_columns, find_header
from tagger.errors import CorpusError, MissingTagError, several
from tagger.files.reading import LOOK_AHEAD, Lines
from tagger.sentence import ANY, Sentence, open_tokens

if TYPE_CHECKING:
    from tagger.corpus.tag_map import TagMap
    from tagger.models.base import Tagger

MAX_MEAN_LENGTH = 200  # tokens of a sentence; newspapers have 20 to 30, laws 50
MAX_LENGTH = 5000  # tokens of a sentence
MIN_TAGS_DOUBTED = 20  # a tag set of this size may be no tag set, if most tags occur once
SENTENCE_ADVICE = "expected a sentence per line, or a blank line after each"
UNMAPPED_SHOWN = 10  # tags
UNNAMED_COLUMNS = (None, *map(str, range(2, 100)))  # the names of columns without a name, None for the words


@dataclass(frozen=True)
class CorpusOptions:
    """The options that say how to read a tagged corpus."""

    input_format: str | None
    encoding: str
    columns: ColumnNames

    def with_wanted(self, names: Sequence[str]) -> CorpusOptions:
        """Return the options with columns that features look at."""
        return replace(self, columns=replace(self.columns, wanted=tuple(names)))


def read_tagged(path: str, options: CorpusOptions, quiet: bool = True, tagged: bool | None = True) -> list[Sentence]:
    """Read a corpus with at least one sentence; print hints unless `quiet`. With `tagged` None, tags may be missing."""
    lines = Lines(path, options.encoding, skipped_lines())
    format = detect_format(lines, options.input_format, quiet, options.columns)
    sentences = [sentence for sentence in read_sentences(lines, format, tagged, options.columns) if sentence.words]
    if not sentences:
        raise no_sentence_error(lines.name)
    return sentences


def detect_format(lines: Lines, input_format: str | None, quiet: bool, columns: ColumnNames = DEFAULT_NAMES) -> str:
    """Return the format of a tagged corpus, given or recognised; print a hint where the content allows another."""
    head = lines.head(LOOK_AHEAD)
    format = input_format or recognize_format(head, columns)
    if format == "lines" and "" in first_words(head) and marks_end_sentences(head):
        print_message("hint: final marks far outnumber blank lines, so both end sentences", quiet)
    if not input_format and format == "slash" and len(head) > 1 and all(len(tokens(line)) == 1 for line in head):
        advice = "--input-format lines reads them as words of longer sentences"
        print_message(f"hint: every line has one word and is read as a sentence; {advice}", quiet)
    if format in COLUMN_FILES and (hint := column_hint(head, format, columns)):
        print_message(f"hint: {hint}", quiet)
    return format


def column_hint(head: list[str], format: str, columns: ColumnNames) -> str | None:
    """Describe how the columns of a file are named, if that is a guess."""
    lines = list(filter(is_row, head))
    rows = list(map(COLUMN_FILES[format], lines))
    count = count_columns(lines) if format == "tsv" else min(map(len, rows), default=0)
    if header_names(rows, columns):
        return f"the first line is read as the names of the columns: {', '.join(rows[0])}"
    if columns.names or count < 3:
        return None
    if numbered(rows):
        return f"the lines have {count} columns; the first counts, the second is read as the word, the third as the tag"
    if format == "columns":
        used = f"column 1 is read as the word, column {count} as the tag"
        return f"the lines have {count} columns; {used}; name them with e.g. --columns word,pos,tag"
    used = "column 1 is read as the word, column 2 as the tag, the others are ignored"
    return f"the lines have {count} columns; {used}; name them with e.g. --columns word,-,tag"


def wanted_columns(features: str, columns: ColumnNames, quiet: bool = True) -> tuple[str, ...]:
    """Return the columns that a template looks at; print what could not be translated from another program's."""
    from tagger.features.foreign import left_out
    from tagger.features.template import column_names, parse_templates, template_text

    text = template_text(features, columns.places() or UNNAMED_COLUMNS)
    for line in left_out(text):
        print_message(f"warning: {features}: {line}; left out", quiet)
    return column_names(parse_templates(text, features))


def remember_columns(model: Tagger, options: CorpusOptions, sentences: Sequence[Sentence]) -> None:
    """Give a model the names of its training corpus's columns, with which it reads other corpora."""
    model.column_ = options.columns.column
    given = replace(DEFAULT_NAMES, word=options.columns.word, tag=options.columns.tag)
    named = replace(ColumnNames.of_sentence(sentences[0]), header="")
    model.columns_ = named if named.names else given


def no_sentence_error(name: str, expected: str = "tagged sentences") -> CorpusError:
    return CorpusError(f"{name}: expected {expected}, got none")


def read_training_corpus(path: str, options: CorpusOptions, quiet: bool, partial: bool | None = None) -> list[Sentence]:
    """Read the corpus to train on and print warnings about it.

    With `partial`, words may lack their tags. None means that the command has no `--partial`.
    """
    try:
        sentences = read_tagged(path, options, quiet, tagged=None if partial else True)
    except MissingTagError as error:
        if partial is None:
            raise
        raise CorpusError(f"{error}, or --partial, which leaves such words open") from None
    for message in corpus_warnings(sentences, partial):
        print_message(message, quiet)
    return sentences


def corpus_warnings(sentences: Sequence[Sentence], partial: bool | None) -> list[str]:
    """Warn of a training corpus that was probably read in the wrong way."""
    messages = length_warnings(sentences, "the corpus")
    if (longest := max(map(len, sentences))) > MAX_LENGTH:
        messages.append(f"warning: a sentence of the corpus has {longest:,} tokens: {SENTENCE_ADVICE}")
    if len(sentences) == 1:
        messages.append(f"warning: the corpus has one sentence only: {SENTENCE_ADVICE}")
    tags = set(chain.from_iterable(sentence.tags or () for sentence in sentences))
    if len(tags) >= MIN_TAGS_DOUBTED and (count := sum(map(len, sentences))) < 2 * len(tags):
        messages.append(f"warning: the corpus has {len(tags):,} tags for {count:,} tokens: are they tags?")
    if names := find_header(sentences):
        messages.append(f"hint: {names} on the first line looks like column names; it is learned as a word")
    if not partial and (count := open_tokens(sentences)):
        how = "train-hmm and train-crf have --partial, which" if partial is None else "--partial"
        learned = f"the tag {ANY!r} of {several(count, 'word')} is learned like any other tag"
        messages.append(f"hint: {learned}; {how} leaves such words open")
    return messages


def length_warnings(sentences: Sequence[Sentence], name: str) -> list[str]:
    """Warn of sentences that are too long on average: their ends have not been found."""
    mean = sum(map(len, sentences)) / len(sentences)
    warning = f"warning: the sentences of {name} have {mean:,.0f} tokens on average: {SENTENCE_ADVICE}"
    return [warning] if mean >= MAX_MEAN_LENGTH else []


def load_tag_map(path: str | None) -> TagMap | None:
    """Read the tag map that `--map` names; None without the option."""
    if path is None:
        return None
    from tagger.corpus.tag_map import read_tag_map

    return read_tag_map(path)


def report_unmapped(tag_map: TagMap | None, quiet: bool) -> None:
    """Print the tags that the map lacks, which stay as they are."""
    if tag_map and tag_map.unmapped:
        tags = sorted(tag_map.unmapped)
        count = f"{len(tags)} tags are not in it and stay" if len(tags) > 1 else "1 tag is not in it and stays"
        shown = " ".join(tags[:UNMAPPED_SHOWN]) + (" …" if len(tags) > UNMAPPED_SHOWN else "")
        print_message(f"--map: {count} unchanged: {shown}", quiet)
