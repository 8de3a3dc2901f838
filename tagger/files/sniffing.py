"""Files that are no text, or text in another encoding than was said: their first bytes tell.

A spreadsheet exports UTF-16, a model is a zip file, a compressed text may lack its suffix. Read as text they would be
a strange byte on line 1 at best, and words full of NULs at worst. A signature of letters that a word may begin with is
not enough: `%PDF-` and `BZh9` are words of some texts, so what follows in such files is looked at, too.
"""

from __future__ import annotations

import codecs
import re

LOOKED_AT = 4096  # bytes
LEAST = 8  # NULs that could not be meant
MARKS = {  # of byte order, the longer ones first
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
EXPORT = "Export its text, e.g. as .txt, or as .jsonl with an object per text"
UNPACK = "Unpack it, or let its name end with"
NO_TEXT = "Name a text file"
CONTROL = rb".{0,56}[\x00-\x08\x0e-\x1a\x1c-\x1f]"  # a byte that no text has near its beginning
SIGNATURES = {  # patterns of the first bytes: what it is, what to do
    rb"PAR1" + CONTROL: ("a Parquet table", EXPORT),
    rb"ARROW1": ("an Arrow or Feather table", EXPORT),
    rb"FEA1" + CONTROL: ("a Feather table", EXPORT),
    rb"ORC" + CONTROL: ("an ORC table", EXPORT),
    rb"Obj\x01": ("an Avro table", EXPORT),
    rb"\x89HDF": ("an HDF5 file", EXPORT),
    rb"SQLite format 3\x00": ("an SQLite database", EXPORT),
    rb"%PDF-\d\.\d[ \t]*[\r\n]+(%[\x80-\xff]{4}|.*\d+ \d+ obj)": ("a PDF", EXPORT),  # binary bytes, or an object
    rb"\{\\rtf": ("a document in RTF", EXPORT),
    rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": ("a document of an office program", EXPORT),
    rb"\x93NUMPY[\x01-\x03]\x00": ("an array of NumPy", EXPORT),
    rb"\x89PNG\r\n\x1a\n": ("a picture", NO_TEXT),
    rb"\xff\xd8\xff[\xc0-\xfe]": ("a picture", NO_TEXT),
    rb"GIF8" + CONTROL: ("a picture", NO_TEXT),
    rb"RIFF" + CONTROL: ("a picture, sound or film", NO_TEXT),
    rb"\x7fELF": ("a program", NO_TEXT),
    rb"\x1f\x8b\x08": ("compressed data", f"{UNPACK} .gz"),
    rb"BZh[1-9](1AY&SY|\x17rE8P\x90)": ("compressed data", f"{UNPACK} .bz2"),  # a block, or the end
    rb"\xfd7zXZ\x00": ("compressed data", f"{UNPACK} .xz"),
    rb"\x28\xb5\x2f\xfd": ("data compressed with zstd", "Unpack it"),
    rb"7z\xbc\xaf\x27\x1c": ("a 7z archive", "Unpack it"),
}
ZIP = b"PK\x03\x04"
ZIPPED = {  # what the names inside tell
    b"word/": ("a zip file with a document of Word", EXPORT),
    b"xl/": ("a zip file with a spreadsheet", EXPORT),
    b"mimetypeapplication/": ("a zip file with a document or book", EXPORT),
    b".npy": ("a zip file with arrays, as models are", "Name a text file; a model is named with -m"),
}


def disguise(begin: bytes, encoding: str) -> str | None:
    """What bytes that should begin a text in this encoding are instead; None if nothing speaks against it."""
    if found := signed(begin[:LOOKED_AT]):
        return "expected text, got {}. {}".format(*found)
    if codecs.lookup(encoding).name.startswith(("utf-16", "utf-32")):
        return None
    likely = next((name for mark, name in MARKS.items() if begin.startswith(mark)), None) or wide(begin)
    return f"looks like {likely}, not {encoding}; try --encoding {likely}, or save it as utf-8" if likely else None


def signed(begin: bytes) -> tuple[str, str] | None:
    """Return what the first bytes are a signature of, and what to do."""
    if begin.startswith(ZIP):
        inside = (found for name, found in ZIPPED.items() if name in begin)
        return next(inside, ("a zip file", "Unpack it"))
    return next((found for pattern, found in SIGNATURES.items() if re.match(pattern, begin, re.DOTALL)), None)


def wide(begin: bytes) -> str | None:
    """The encoding of text with two bytes for a letter, if that is what it is: of two bytes one is NUL, nearly always
    the same."""
    half = len(begin) // 2
    even, odd = begin[::2].count(0), begin[1::2].count(0)
    if max(even, odd) < max(LEAST, 0.9 * half) or min(even, odd) > 0.1 * half:
        return None
    return "utf-16-be" if even > odd else "utf-16-le"
