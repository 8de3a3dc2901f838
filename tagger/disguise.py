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
SIGNATURES = {  # patterns of the first LOOKED_AT bytes
    rb"PK\x03\x04": "a zip file, as models and spreadsheets are",
    rb"\x89PNG\r\n\x1a\n": "a picture",
    rb"\xff\xd8\xff[\xc0-\xfe]": "a picture",
    rb"%PDF-\d\.\d[ \t]*[\r\n]+(%[\x80-\xff]{4}|.*\d+ \d+ obj)": "a PDF",  # a comment of binary bytes, or an object
    rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "a document of an office program",
    rb"\x93NUMPY[\x01-\x03]\x00": "an array of NumPy",
    rb"\x1f\x8b\x08": "compressed data: unpack it, or let its name end with .gz",
    rb"BZh[1-9](1AY&SY|\x17rE8P\x90)": "compressed data: unpack it, or let its name end with .bz2",  # a block, the end
    rb"\xfd7zXZ\x00": "compressed data: unpack it, or let its name end with .xz",
}


def disguise(begin: bytes, encoding: str) -> str | None:
    """What bytes that should begin a text in this encoding are instead; None if nothing speaks against it."""
    begin = begin[:LOOKED_AT]
    for signature, what in SIGNATURES.items():
        if re.match(signature, begin, re.DOTALL):
            return f"expected text, got {what}"
    if codecs.lookup(encoding).name.startswith(("utf-16", "utf-32")):
        return None
    likely = next((name for mark, name in MARKS.items() if begin.startswith(mark)), None) or wide(begin)
    return f"looks like {likely}, not {encoding}; try --encoding {likely}, or save it as utf-8" if likely else None


def wide(begin: bytes) -> str | None:
    """The encoding of text with two bytes for a letter, if that is what it is: of two bytes one is NUL, nearly always
    the same."""
    half = len(begin) // 2
    even, odd = begin[::2].count(0), begin[1::2].count(0)
    if max(even, odd) < max(LEAST, 0.9 * half) or min(even, odd) > 0.1 * half:
        return None
    return "utf-16-be" if even > odd else "utf-16-le"
