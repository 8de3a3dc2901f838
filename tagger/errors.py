"""The error family. Everything a user can cause is a `TaggerError`; the command line turns it into one line.

A message names the place, what was found and what was expected: `gold.txt:17: expected word/TAG, got 'hello'`.
"""


class TaggerError(Exception):
    """Any refusal of ours that a user can act on."""


class FileError(TaggerError):
    """A file cannot be opened, read or written."""


class CorpusError(TaggerError):
    """A line of a corpus does not follow its format."""


class MissingTagError(CorpusError):
    """A token of a corpus that should be tagged has no tag."""


class TemplateError(TaggerError):
    """A line of a feature template cannot be understood."""


class ModelError(TaggerError):
    """A model file is missing, broken, foreign or newer than this program."""


class MissingModelError(ModelError):
    """There is no file of that name."""


class TrainingError(TaggerError):
    """The data or the settings do not allow a model to be learned."""


def several(count: int, noun: str) -> str:
    """1 word, 2 words"""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
