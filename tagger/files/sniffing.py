"""Recognize binary files and text in another encoding by their first bytes.

A spreadsheet exports UTF-16, a model is a zip file, a compressed text may lack its suffix. Read as text, they give an
error about a byte on line 1 at best, and words full of NULs at worst. A signature made of letters is not enough:
`%PDF-` and `BZh9` are words of some texts. Their patterns include the bytes that follow in such files.
"""

from __future__ import annotations

import codecs
import re

SNIFFED_BYTES = 4096
MIN_NULS = 8  # fewer may occur in text with one byte per letter
BYTE_ORDER_MARKS = {  # the longer ones first: that of UTF-32 begins with that of UTF-16
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
EXPORT = "Export its text, e.g. as .txt, or as .jsonl with an object per text"
UNPACK = "Unpack it, or let its name end with"
NO_TEXT = "Name a text file"
CONTROL = rb".{0,56}[\x00-\x08\x0e-\x1a\x1c-\x1f]"  # a control byte, which no text has near its beginning
SIGNATURES = {  # pattern of the first bytes: kind of file, advice
    rb"PAR1" + CONTROL: ("a Parquet table", EXPORT),
    rb"ARROW1": ("an Arrow or Feather table", EXPORT),
    rb"FEA1" + CONTROL: ("a Feather table", EXPORT),
    rb"ORC" + CONTROL: ("an ORC table", EXPORT),
    rb"Obj\x01": ("an Avro table", EXPORT),
    rb"\x89HDF": ("an HDF5 file", EXPORT),
    rb"SQLite format 3\x00": ("an SQLite database", EXPORT),
    rb"%PDF-\d\.\d[ \t]*[\r\n]+(%[\x80-\xff]{4}|.*\d+ \d+ obj)": ("a PDF", EXPORT),  # binary bytes, or an object
    rb"\{\\rtf": ("a document in RTF", EXPORT),
    rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": ("an office document", EXPORT),
    rb"\x93NUMPY[\x01-\x03]\x00": ("a NumPy array", EXPORT),
    rb"\x89PNG\r\n\x1a\n": ("a picture", NO_TEXT),
    rb"\xff\xd8\xff[\xc0-\xfe]": ("a picture", NO_TEXT),
    rb"GIF8" + CONTROL: ("a picture", NO_TEXT),
    rb"RIFF" + CONTROL: ("a picture, sound or film", NO_TEXT),
    rb"\x7fELF": ("a program", NO_TEXT),
    rb"\x1f\x8b\x08": ("compressed data", f"{UNPACK} .gz"),
    rb"BZh[1-9](1AY&SY|\x17rE8P\x90)": ("compressed data", f"{UNPACK} .bz2"),  # a block, or the end
    rb"\xfd7zXZ\x00": ("compressed data", f"{UNPACK} .xz"),
    rb"\x28\xb5\x2f\xfd": ("compressed data", f"{UNPACK} .zst"),
    rb"7z\xbc\xaf\x27\x1c": ("a 7z archive", "Unpack it"),
}
ZIP = b"PK\x03\x04"
ZIP_CONTENTS = {  # name of a member: kind of file, advice
    b"word/": ("a zip file with a Word document", EXPORT),
    b"xl/": ("a zip file with a spreadsheet", EXPORT),
    b"mimetypeapplication/": ("a zip file with a document or book", EXPORT),
    b".npy": ("a zip file with arrays, as models are", "Name a text file, not a model"),
}


def content_mismatch(begin: bytes, encoding: str) -> str | None:
    """Describe why a file that begins with these bytes is not text in this encoding; None if it may be."""
    if signature := match_signature(begin[:SNIFFED_BYTES]):
        return "expected text, got {}. {}".format(*signature)
    if codecs.lookup(encoding).name.startswith(("utf-16", "utf-32")):
        return None
    likely = next((name for mark, name in BYTE_ORDER_MARKS.items() if begin.startswith(mark)), two_byte_encoding(begin))
    advice = f"Set encoding to {likely}, or save the text as utf-8"
    return f"expected {encoding}, got what looks like {likely}. {advice}" if likely else None


def match_signature(begin: bytes) -> tuple[str, str] | None:
    """Return the kind of a binary file and advice, by its first bytes."""
    if begin.startswith(ZIP):
        kinds = (kind for member, kind in ZIP_CONTENTS.items() if member in begin)
        return next(kinds, ("a zip file", "Unpack it"))
    return next((kind for pattern, kind in SIGNATURES.items() if re.match(pattern, begin, re.DOTALL)), None)


def two_byte_encoding(begin: bytes) -> str | None:
    """Recognize UTF-16 of a Latin script without a byte order mark: nearly every even, or every odd, byte is NUL."""
    half = len(begin) // 2
    even, odd = begin[::2].count(0), begin[1::2].count(0)
    if max(even, odd) < max(MIN_NULS, 0.9 * half) or min(even, odd) > 0.1 * half:
        return None
    return "utf-16-be" if even > odd else "utf-16-le"
