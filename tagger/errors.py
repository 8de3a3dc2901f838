"""Exceptions. Every error that a user can cause is a `TaggerError`; the command line prints it as one line.

A message has the form `place: expected X, got Y. What to do`, for example
`gold.txt:17: expected word/TAG, got no slash in 'hello'`. Messages name parameters of functions, never options of
commands.
"""

from operator import index


class TaggerError(Exception):
    """Base class of all errors caused by input, files or settings."""


class FileError(TaggerError):
    """A file cannot be opened, read or written."""


class CorpusError(TaggerError):
    """A line of a corpus does not follow its format."""


class MissingTagError(CorpusError):
    """A token of a corpus that should be tagged has no tag."""


class TemplateError(TaggerError):
    """A line of a feature template does not follow the syntax."""


class ModelError(TaggerError):
    """A model file is missing, damaged, of another program or of a newer version."""


class MissingModelError(ModelError):
    """The model file does not exist."""


class TrainingError(TaggerError):
    """The corpus or the settings do not allow training."""


def check_count(name: str, value: object, least: int) -> None:
    """Raise an error for an argument that is not a whole number from `least` up."""
    try:
        number = index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name}: expected a whole number, got {value!r}.") from None
    if number < least:
        raise ValueError(f"{name}: expected at least {least}, got {number}.")


def several(count: int, noun: str) -> str:
    """Return a count with its noun, in the plural unless the count is 1: `1 word`, `2,000 words`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
