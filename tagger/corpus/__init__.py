"""Corpora: text to `Sentence` objects and back, and what can be done with them.

Read in this order:

- `formats`: one module per format, and how formats are recognized;
- `column_names`: which column has the words, which the tags, and which are read beside them;
- `labels`: tagged sentences from any containers, and their tags as integers;
- `partial`: tokens with several allowed tags;
- `span_schemes`: spans marked by tags such as `B-PER`, and which tag may follow which;
- `final_marks`, `split`, `tag_map`: transformations of a corpus;
- `tokenizers`: raw text to words and sentences;
- `annotation`: files of annotation tools (doccano, Prodigy, Label Studio, brat).

The idea to understand: whatever the format, a corpus is a stream of sentences, read as the lines arrive.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any

from tagger.corpus.column_names import DEFAULT_NAMES, ColumnNames
from tagger.corpus.formats import (
    BLANK_LAYOUTS,
    COLUMN_FILES,
    SENTENCE_PER_LINE,
    WITHOUT_COLUMNS,
    format_module,
    header,
    recognize_format,
    render,
)
from tagger.corpus.formats import columns as column_files
from tagger.errors import CorpusError
from tagger.files.reading import LOOK_AHEAD, Lines, Skipped
from tagger.files.writing import open_output
from tagger.sentence import Sentence, contents, plain_sentence


def read_corpus(
    path: str | os.PathLike[str],
    format: str | None = None,
    encoding: str = "utf-8",
    column: str = "upos",
    skipped: Skipped | None = None,
    columns: str | Sequence[str] = (),
    word_column: str | None = None,
    tag_column: str | None = None,
) -> list[Sentence]:
    """Read the tagged sentences of a file.

    Parameters
    ----------
    path : str or path
        File name; `-` is standard input. Files that end in `.gz`, `.bz2` or `.xz` are decompressed.
    format : str, optional
        One of `slash`, `lines`, `tsv`, `columns`, `conllu`, `pku`, `jsonl`. By default recognized from the
        first 1,000 lines.
    encoding : str, default "utf-8"
        Encoding of the text.
    column : str, default "upos"
        Column of CoNLL-U that has the tags: `upos` or `xpos`.
    skipped : Skipped, optional
        Record of faulty lines. If given, sentences with a fault are left out and counted there.
    columns : str or sequence of str, optional
        Names of the columns of a `tsv` or `columns` file in order, `-` for one to skip: ``"word,pos,tag"``. Of CoNLL-U,
        the columns to read beside words and tags (`lemma`, `feats`, `feats.Case`, `misc.KEY`).
    word_column, tag_column : str, optional
        Names of the columns with the words and the tags, if they are not `word` and `tag` (in jsonl `words`, `tags`).

    Returns
    -------
    list of Sentence
        The sentences, in order.

    Raises
    ------
    FileError
        If the file cannot be read, or is not text in this encoding.
    CorpusError
        If a line does not follow the format; the message has its line number.

    Examples
    --------
    >>> from tagger import read_corpus
    >>> sentences = read_corpus("corpus.txt")
    """
    named = ColumnNames.parsed(columns) if isinstance(columns, str) else tuple(columns)
    names = ColumnNames(column, named, word_column, tag_column)
    return list(read_sentences(Lines(path, encoding, skipped), format, tagged=True, columns=names))


def read_sentences(
    source: Lines, format: str | None, tagged: bool | None = True, columns: ColumnNames = DEFAULT_NAMES
) -> Iterator[Sentence]:
    """Yield sentences as their lines arrive; close the input at its end or after an error."""
    with closing(source):
        name = format or recognize_format(source.head(LOOK_AHEAD), columns)
        module = format_module(name, columns)
        if name in COLUMN_FILES:
            columns = column_files.resolve(source, columns, tagged, COLUMN_FILES[name], plain=name == "tsv")
        elif name in WITHOUT_COLUMNS:
            columns.check_wanted((), source.name, "Set format to one that has columns: columns, tsv, conllu or jsonl")
        by_line, blank = name in SENTENCE_PER_LINE, None if tagged else Sentence([], layout=BLANK_LAYOUTS.get(name))
        yield from skip_faulty(source, lambda: module.read(source, tagged, columns), by_line, blank)


def skip_faulty(
    source: Lines, read: Callable[[], Iterator[Sentence]], by_line: bool, blank: Sentence | None
) -> Iterator[Sentence]:
    """Yield the sentences of `read`; with `source.skipped`, record an error there and go on after the faulty sentence.

    `by_line` says that a sentence is one line. Such a line is replaced by `blank`, if given.
    """
    while True:
        last_line = source.number  # of the sentence before
        try:
            for sentence in read():
                last_line = source.number
                yield sentence
            return
        except CorpusError as error:
            if source.skipped is None:
                raise
            if not by_line:
                skip_sentence(source)
            source.skipped.add(error, 1 if by_line else source.number - last_line)
        if by_line and blank is not None:
            yield blank


def skip_sentence(source: Lines) -> None:
    """Read up to the blank line that ends a sentence."""
    while True:
        try:
            for line in source:
                if not line.strip(" \t"):
                    return
            return
        except CorpusError:
            continue


def write_corpus(
    path: str | os.PathLike[str], sentences: Iterable[Any], format: str = "slash", column: str = "upos"
) -> None:
    """Write sentences to a file, atomically.

    Parameters
    ----------
    path : str or path
        File name; `-` is standard output. Files that end in `.gz`, `.bz2` or `.xz` are compressed.
    sentences : iterable of Sentence or of lists of str
        The sentences. Lists of words are written without tags.
    format : str, default "slash"
        One of `slash`, `lines`, `tsv`, `columns`, `conllu`, `pku`, `jsonl`.
    column : str, default "upos"
        Column of CoNLL-U that gets the tags: `upos` or `xpos`.

    Raises
    ------
    FileError
        If the file cannot be written.
    CorpusError
        If the format cannot express a word or tag.

    Examples
    --------
    >>> from tagger import Sentence, write_corpus
    >>> write_corpus("corpus.txt", [Sentence(["Dogs", "bark"], ["NNS", "VBP"])])
    """
    columns = ColumnNames(column)
    with open_output(os.fspath(path)) as stream:
        for i, item in enumerate(contents(sentences, "sentences", "a list of sentences")):
            sentence = plain_sentence(item, f"sentences[{i}]")
            sentence = sentence if isinstance(sentence, Sentence) else Sentence(sentence)
            text = render(sentence, format, columns)
            stream.write(text if i else header([sentence], format) + text)
