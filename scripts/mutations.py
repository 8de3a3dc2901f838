"""Model files and corpora as an enemy, a bad disk or a careless script would make them, each from a seed.

Every mutation is a function from a random generator and something good to bytes that may be anything. They are listed
in `MODEL_MUTATIONS` and `CORPUS_MUTATIONS` by the names under which `scripts/torture.py` counts them. The same seed
gives the same bytes, so that a failure can be looked at again.
"""

from __future__ import annotations

import io
import json
import random
import struct
import zipfile
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np

Members = dict[str, bytes]  # of a .npz: names to contents
NASTY_NUMBERS = [0, 1, -1, 2**31 - 1, 2**32, 2**63 - 1, 2**64, -(2**63), 10**30, 1e308, float("inf"), float("nan")]
NASTY_STRINGS = [
    "", " ", "a", "../../etc/passwd", "\x00", "\x1b[2J", "\udc80", "\u202e", "\u2028", "x" * 70_000, "word[0]\n" * 3000,
    "suffix:1-100[0] & suffix:1-100[0] & suffix:1-100[0] & suffix:1-100[0]", "class:7[0]", "prefix:0[0]", "?", "A|B",
]  # fmt: skip
NASTY_TEMPLATES = [
    "bias&" * 290_000 + "bias", "word[0] & " * 3000 + "word[0]", "suffix:1-2[0] & " * 2 + "suffix:1-100[0]",
    "word[" + "1" * 5000 + "]", "suffix:1-" + "9" * 5000, "class:" + "1" * 5000, "word[0]\n" * 90_000, "# " * 90_000,
]  # fmt: skip
NASTY_VALUES: list[Any] = [None, True, [], {}, [[]], {"a": {}}, ["a"] * 5000, *NASTY_NUMBERS, *NASTY_STRINGS]
NASTY_TEXTS = [
    "\x00", "\x1b]0;owned\x07", "\x1b[2J", "\x7f", "\x85", "\u2028", "\u2029", "\u202e", "\u2066", "\u200b", "\u200d",
    "\ufeff", "\ufffe", "\U0010ffff", "\u3000", "\u00a0", "\r", "\r\n", "\n\n", "\t", "\t\t", " ", "/", "//", "///",
    "a/", "/B", "?/?", "<before>", "<after>", "#", "# text = x", "[", "]nt", "19980101-01-001-001/m",
    "1-2\t_\t_\t_\t_\t_\t_\t_\t_\t_", "1.1\tx\t_\t_\t_\t_\t_\t_\t_\t_", "\\ud800", '"\\udc00"', "{", "}",
    '{"words": ["a"], "tags": [3]}', "[" * 3000, "1e999", "NaN", "-1", "0", "ß" * 300, "e\u0301" * 200, "é", "中",
    "\U0001f468\u200d\U0001f469", "<script>alert(1)</script>",
]  # fmt: skip
NASTY_BYTES = [
    b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80", b"\xff\xfe", b"\x1f\x8b", b"PK", b"\x00" * 9,
]  # fmt: skip


# --- bytes of any kind -----------------------------------------------------------------------------------------------


def flip_bits(rng: random.Random, content: bytes) -> bytes:
    data = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 8, 64])):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def truncate(rng: random.Random, content: bytes) -> bytes:
    cut = rng.randrange(len(content))
    return content[:cut] if rng.random() < 0.8 else content[cut:]


def splice(rng: random.Random, content: bytes) -> bytes:
    """A piece is lost, doubled, blanked, or replaced by noise or by another piece."""
    a, b = sorted(rng.randrange(len(content) + 1) for _ in "ab")
    b = min(b, a + rng.choice([1, 4, 64, 4096]))
    other = rng.randrange(len(content))
    piece = rng.choice(
        [b"", content[a:b] * 2, b"\x00" * (b - a), b"\xff" * (b - a), rng.randbytes(b - a), content[other:][: b - a]]
    )
    return content[:a] + piece + content[b:]


# --- model files -----------------------------------------------------------------------------------------------------


def unzipped(content: bytes) -> Members:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(members: list[tuple[str, bytes]], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, content in members:
            if name not in archive.namelist() or not name:
                archive.writestr(zipfile.ZipInfo(name), content, method)
    return stream.getvalue()


def npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, allow_pickle=True)
    return stream.getvalue()


def array_of(content: bytes) -> np.ndarray:
    return np.asarray(np.lib.format.read_array(io.BytesIO(content), allow_pickle=False))


def swap_members(rng: random.Random, content: bytes) -> bytes:
    """Members change places, get lost, or others come in."""
    members = list(unzipped(content).items())
    i, j = rng.randrange(len(members)), rng.randrange(len(members))
    (a, first), (b, second) = members[i], members[j]
    case = rng.randrange(5)
    if case == 0:
        members[i], members[j] = (a, second), (b, first)
    elif case == 1:
        del members[i]
    elif case == 2:
        members.append((rng.choice(["x.npy", "../x.npy", "/etc/x", "meta", "", "a" * 60_000, a]), first))
    elif case == 3:
        members += [(f"x{k}.npy", b"") for k in range(rng.choice([1, 300, 5000]))]
    else:
        rng.shuffle(members)
        members[0] = (members[0][0], rng.choice(members)[1])
    return zipped(members, rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]))


def declare_huge(rng: random.Random, content: bytes) -> bytes:
    """Sizes, offsets and counts of the zip's own records, or the shapes of arrays, are forged."""
    huge = rng.choice([0xFFFFFFFF, 0x7FFFFFFF, 0xFFFFFFFE, 10**9, 1 << 24, 0, 1])
    if rng.random() < 0.5:
        members = unzipped(content)
        name = rng.choice(list(members))
        shape = rng.choice(["(10000000000,)", "(4294967296, 4294967296)", "(-1,)", "(1,)" * 400, "(99999999,)", "()"])
        kind = rng.choice(["|u1", "<f8", "<u8", ">u4", "|O", "|V9999999", "<U999999", "<M8[s]", "[('a', '<f4')]"])
        header = f"{{'descr': '{kind}', 'fortran_order': {rng.choice(['False', 'True', '3'])}, 'shape': {shape}, }}"
        padded = header.encode().ljust(rng.choice([118, 246, 9000, 60_000])) + b"\n"
        version = rng.choice([1, 2, 3])
        length = struct.pack("<H" if version == 1 else "<I", len(padded) % (1 << 16))
        members[name] = b"\x93NUMPY" + bytes([version, 0]) + length + padded + array_of(members[name]).tobytes()
        return zipped(list(members.items()))
    data = bytearray(content)
    mark, places = rng.choice(
        [(b"PK\x01\x02", [16, 20, 24, 42]), (b"PK\x03\x04", [14, 18, 22]), (b"PK\x05\x06", [8, 12, 16])]
    )
    found = [i for i in range(len(data)) if data.startswith(mark, i)]
    at = rng.choice(found) + rng.choice(places)
    data[at : at + 4] = struct.pack("<I", huge)
    return bytes(data)


def nest(rng: random.Random, content: bytes) -> bytes:
    """Zips in zips, gzips, and members that unfold to far more than they are."""
    members = unzipped(content)
    name = rng.choice(list(members))
    case = rng.randrange(4)
    if case == 0:
        return zipped([("model.npz", content)])
    if case == 1:
        members[name] = zipped([("bomb", b"\x00" * 500_000)])
    elif case == 2:
        members[name] = npy(np.zeros(rng.choice([1 << 20, 1 << 22, 40_000_000]), np.uint8))
    else:
        for _ in range(rng.choice([2, 20])):
            content = zipped([("a.npz", content)], zipfile.ZIP_STORED)
        return content
    return zipped(list(members.items()))


def places_in(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The ways to every value inside a value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inside for place in places_in(item, (*path, key)))]


def forge_json(rng: random.Random, content: bytes) -> bytes:
    """The description says something else, or is no JSON at all."""
    members = unzipped(content)
    meta = json.loads(array_of(members["meta.npy"]).tobytes())
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        keys = [(key,) for key in meta]
        *way, last = rng.choice(keys + [place for place in places_in(meta) if place])
        where = meta
        for key in way:
            where = where[key] if isinstance(where, (dict, list)) and len(where) else {}
        if isinstance(where, dict) or (isinstance(where, list) and isinstance(last, int) and last < len(where)):
            if rng.random() < 0.2 and last in where:
                del where[last]
            else:
                where[last] = deepcopy(rng.choice(NASTY_VALUES))
    case = rng.randrange(12)
    if case == 5 and isinstance(meta, dict):
        meta["template"] = rng.choice(NASTY_TEMPLATES)
    text = json.dumps(meta).encode("utf-8", "surrogatepass")
    if case == 0:
        text = flip_bits(rng, text)
    elif case == 1:
        text = b'{"format": 1, "tags": ' + b"[" * 100_000
    elif case == 2:
        text = text[:-1] + b', "format": ' + rng.choice([b"1" * 5000, b"-1", b"1.0", b"true", b"2", b"0"]) + b"}"
    elif case == 3:
        text = rng.choice([b"", b"null", b"[]", b"\xff", b'"' + b"\\ud800" * 9 + b'"', text.replace(b'"', b"'")])
    elif case == 4:
        text = text[:-1] + b', "x": [' + b"[]," * rng.choice([10, 300_000, 4_000_000]) + b"[]]}"
    members["meta.npy"] = npy(np.frombuffer(text, np.uint8))
    return zipped(list(members.items()))


def forge_array(rng: random.Random, content: bytes) -> bytes:
    """An array of other numbers, another type or another length."""
    members = unzipped(content)
    name = rng.choice([name for name in members if name != "meta.npy"])
    array = array_of(members[name]).copy()
    kind = array.dtype.kind
    extremes = (
        [np.nan, np.inf, -np.inf, 1e300, 3e38, 6e4, -1.0, 0.0, 1e-300, 2e-100, 1e-60, 1e-40, 5e-324, 1e12]
        if kind == "f"
        else [0, 1, 255, 65535, 2**31, 2**32 - 1, 2**63, 2**64 - 1]
    )
    case = rng.randrange(9)
    with np.errstate(all="ignore"):
        if case == 0 and array.size:
            wide = array.astype(np.float64 if kind == "f" else np.uint64)
            for _ in range(rng.choice([1, 1, 3, array.size])):
                wide.reshape(-1)[rng.randrange(wide.size)] = rng.choice(extremes)
            array = wide
        elif case == 1:
            array = np.full(array.shape, rng.choice(extremes), np.float64 if kind == "f" else np.uint64)
        elif case == 2:
            array = rng.choice([array[: len(array) // 2], np.concatenate([array, array]), array[:0], array[::-1]])
        elif case == 3:
            array = array.astype(rng.choice([">f8", "<i8", "<f4", "<f2", "<c8", "|b1", "<U1", "O", "<u8", ">u4"]))
        elif case == 4:
            array = np.random.default_rng(rng.randrange(1 << 32)).permutation(array.ravel()).reshape(array.shape)
        elif case == 5 and array.size:
            near = array.astype(np.int64 if kind == "u" else np.float64)
            near.reshape(-1)[rng.randrange(near.size)] += rng.choice([-1, 1, 1000])
            array = near.astype(np.uint64) if kind == "u" else near
        elif case == 6:
            array = np.array(array, order="F").reshape(rng.choice([(1, -1), (-1, 1), (-1,)]), order="F")
        elif case == 7:
            high = 256 if kind == "u" else 1
            array = (np.random.default_rng(rng.randrange(1 << 32)).random(array.shape) * high).astype(array.dtype)
        else:
            array = np.zeros((0,) * rng.choice([0, 1, 2, 3]), array.dtype)
    members[name] = npy(array)
    return zipped(list(members.items()))


MODEL_MUTATIONS: dict[str, Callable[[random.Random, bytes], bytes]] = {
    "bit flips": flip_bits,
    "truncation": truncate,
    "pieces lost, doubled, replaced": splice,
    "swapped and strange members": swap_members,
    "huge declared sizes": declare_huge,
    "nested archives": nest,
    "forged JSON": forge_json,
    "forged arrays": forge_array,
}


# --- corpora ---------------------------------------------------------------------------------------------------------


def insert_text(rng: random.Random, content: bytes) -> bytes:
    """Characters that mean something to somebody, in the midst of it."""
    for _ in range(rng.choice([1, 1, 2, 10])):
        at = rng.randrange(len(content) + 1)
        content = content[:at] + rng.choice(NASTY_TEXTS).encode("utf-8", "surrogatepass") + content[at:]
    return content


def insert_bytes(rng: random.Random, content: bytes) -> bytes:
    at = rng.randrange(len(content) + 1)
    return content[:at] + rng.choice(NASTY_BYTES) + content[at:]


def stretch(rng: random.Random, content: bytes) -> bytes:
    """A word, a line or a column without end."""
    at = rng.randrange(len(content) + 1)
    piece = rng.choice([b"x", b"x/Y ", b"/", b"\t", b" ", b"\n", "\u0301".encode(), b"[", b"-", b"a.", b'","'])
    return content[:at] + piece * rng.choice([300, 3000, 20_000]) + content[at:]


def mix_lines(rng: random.Random, content: bytes) -> bytes:
    """Lines change places, lose cells, or are joined."""
    lines = content.split(b"\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    case = rng.randrange(5)
    if case == 0:
        lines[i], lines[j] = lines[j], lines[i]
    elif case == 1:
        lines[i] = rng.choice([b"\t", b" ", b"/", b""]).join(rng.sample(parts := lines[i].split(), len(parts)))
    elif case == 2:
        lines[i : i + 2] = [b"".join(lines[i : i + 2])]
    elif case == 3:
        lines = [line for line in lines if rng.random() < 0.8]
    else:
        lines.insert(i, rng.choice([b"", b" ", b"\t", b"hello", b"#", b"{}", b"null", b"/", b"1\t2\t3"]))
    return b"\n".join(lines)


def other_encoding(rng: random.Random, content: bytes) -> bytes:
    text = content.decode("utf-8", "replace")
    encoding = rng.choice(["utf-16", "utf-32", "utf-16-le", "gbk", "latin-1", "utf-8-sig", "cp037"])
    return text.encode(encoding, "replace")


CORPUS_MUTATIONS: dict[str, Callable[[random.Random, bytes], bytes]] = {
    "bit flips": flip_bits,
    "truncation": truncate,
    "pieces lost, doubled, replaced": splice,
    "strange characters": insert_text,
    "undecodable bytes": insert_bytes,
    "endless words and lines": stretch,
    "mixed-up lines": mix_lines,
    "another encoding": other_encoding,
}
