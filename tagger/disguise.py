"""Files that are no text, or text in another encoding than was said: their first bytes tell.

A spreadsheet exports UTF-16, a model is a zip file, a compressed text may lack its suffix. Read as text they would be
a strange byte on line 1 at best, and words full of NULs at worst.
"""

from __future__ import annotations

import codecs

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
SIGNATURES = {  # the first bytes: what it is, what to do
    b"PAR1": ("a Parquet table", EXPORT),
    b"ARROW1": ("an Arrow or Feather table", EXPORT),
    b"FEA1": ("a Feather table", EXPORT),
    b"ORC": ("an ORC table", EXPORT),
    b"Obj\x01": ("an Avro table", EXPORT),
    b"\x89HDF": ("an HDF5 file", EXPORT),
    b"SQLite format 3\x00": ("an SQLite database", EXPORT),
    b"%PDF-": ("a PDF", EXPORT),
    b"{\\rtf": ("a document in RTF", EXPORT),
    b"\xd0\xcf\x11\xe0": ("a document of an office program", EXPORT),
    b"\x93NUMPY": ("an array of NumPy", EXPORT),
    b"\x89PNG\r\n": ("a picture", "Name a text file"),
    b"\xff\xd8\xff": ("a picture", "Name a text file"),
    b"GIF8": ("a picture", "Name a text file"),
    b"RIFF": ("a picture, sound or film", "Name a text file"),
    b"\x7fELF": ("a program", "Name a text file"),
    b"\x1f\x8b": ("compressed data", f"{UNPACK} .gz"),
    b"BZh9": ("compressed data", f"{UNPACK} .bz2"),
    b"\xfd7zXZ\x00": ("compressed data", f"{UNPACK} .xz"),
    b"\x28\xb5\x2f\xfd": ("data compressed with zstd", "Unpack it"),
    b"7z\xbc\xaf\x27\x1c": ("a 7z archive", "Unpack it"),
}
SHORT = frozenset([b"ORC", b"RIFF", b"GIF8", b"PAR1", b"FEA1"])  # a text could begin so, too
ZIP = b"PK\x03\x04"
ZIPPED = {  # what the names inside tell
    b"word/": ("a zip file with a document of Word", EXPORT),
    b"xl/": ("a zip file with a spreadsheet", EXPORT),
    b"mimetypeapplication/": ("a zip file with a document or book", EXPORT),
    b".npy": ("a zip file with arrays, as models are", "Name a text file; a model is named with -m"),
}
CONTROLS = frozenset({*range(9), *range(14, 27), *range(28, 32)})  # bytes that no text has near its beginning
NEAR = 64  # bytes


def disguise(begin: bytes, encoding: str) -> str | None:
    """What bytes that should begin a text in this encoding are instead; None if nothing speaks against it."""
    if found := signed(begin[:LOOKED_AT]):
        return "expected text, got {}. {}".format(*found)
    if codecs.lookup(encoding).name.startswith(("utf-16", "utf-32")):
        return None
    likely = next((name for mark, name in MARKS.items() if begin.startswith(mark)), None) or wide(begin[:LOOKED_AT])
    return f"looks like {likely}, not {encoding}; try --encoding {likely}, or save it as utf-8" if likely else None


def signed(begin: bytes) -> tuple[str, str] | None:
    """What the first bytes are a signature of, and what to do; signatures that words could begin with need controls
    beside them."""
    binary = not CONTROLS.isdisjoint(begin[:NEAR])
    if begin.startswith(ZIP):
        inside = (found for name, found in ZIPPED.items() if name in begin)
        return next(inside, ("a zip file", "Unpack it"))
    for signature, found in SIGNATURES.items():
        if begin.startswith(signature) and (binary or signature not in SHORT):
            return found
    return None


def wide(begin: bytes) -> str | None:
    """The encoding of text with two bytes for a letter, if that is what it is: of two bytes one is NUL, nearly always
    the same."""
    half = len(begin) // 2
    even, odd = begin[::2].count(0), begin[1::2].count(0)
    if max(even, odd) < max(LEAST, 0.9 * half) or min(even, odd) > 0.1 * half:
        return None
    return "utf-16-be" if even > odd else "utf-16-le"
