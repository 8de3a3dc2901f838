"""Named arrays on their way to and from a model file, checked as they are taken out.

A model's parts put their arrays in and take them out by name; nobody trusts what comes out of a file. What the file
declares is checked first: how many members it has, how they are packed, how far all of them would unfold. Then `take`
reads the little text that NumPy puts before an array, and refuses one of another kind, shape or size before any room is
made for it; what is read must be finite. So a file costs at most memory in proportion to its size, and whatever is
wrong with it becomes a `ModelError` that names file and array.
"""

from __future__ import annotations

import json
import math
import os
import re
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, Any

import numpy as np

from tagger.errors import ModelError
from tagger.escaping import quote
from tagger.files.reading import open_seekable, reason

KINDS = {"b": "bytes", "u": "unsigned integers", "f": "floating-point numbers"}
MOST_UNFOLDED, SMALL = 100, 1 << 24  # a file may unfold to so many times its size; a small one to so many bytes
MOST_MEMBERS = 5000
MOST_DESCRIPTION = 1 << 20  # bytes of a small file's description
MOST_INTEGER = (1 << 63) - 1  # in a description
MOST = 1 << 40  # times that anything was seen
LARGEST = 1e12  # no number of ours comes near; sums of them stay finite in float32. Of nan the comparison is not true
LEAST = 1e-100  # no frequency comes near; products of such numbers do not vanish
MAGIC = b"\x93NUMPY\x01\x00"
HEADER = re.compile(
    rb"\{'descr': '(?P<type>[|<>][a-zA-Z]\d+)', 'fortran_order': False, 'shape': \((?P<shape>[\d, ]*)\), \} *\n"
)
Arrays = dict[str, np.ndarray]


class Archive:
    """The arrays of one model file and, once read, its description."""

    def __init__(self, name: str, members: zipfile.ZipFile) -> None:
        self.name, self.members = name, members
        self.meta: dict[str, Any] = {}
        assert members.fp is not None
        self.size = members.fp.seek(0, os.SEEK_END)
        declared = members.infolist()
        self.check(len(declared) <= MOST_MEMBERS, f"it has {len(declared):,} members")
        self.left = {member.filename: member for member in declared}  # not taken yet
        self.check(len(self.left) == len(declared), "two of its members have the same name")
        packed = {member.compress_type for member in declared}
        self.check(packed <= {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}, "it is compressed in another way than ours")
        unfolded = sum(member.file_size for member in declared)
        self.check(unfolded < MOST_UNFOLDED * self.size + SMALL, f"it would unfold to {unfolded:,} bytes")

    def has(self, name: str) -> bool:
        """Whether there is an array of that name, not taken yet."""
        return f"{name}.npy" in self.left

    def take(self, name: str, kind: str, *shape: int | None) -> np.ndarray:
        """The array of that name; `kind` is b, u or f, None in `shape` stands for any length."""
        member = self.left.pop(f"{name}.npy", None)
        if member is None:
            raise self.error(f"no array {name!r} in it")
        try:
            with self.members.open(member) as stream:
                dtype, found = self.header(name, stream)
                self.check_declared(name, dtype, found, kind, shape)
                array = np.empty(found, dtype)
                left = member.file_size - stream.tell()
                self.check(array.nbytes == left, f"the array {name!r} should have {array.nbytes:,} bytes, not {left:,}")
                if array.size:
                    array.data.cast("B")[:] = stream.read()
        except ModelError:
            raise
        except Exception as error:  # whatever a damaged member makes zipfile and zlib raise
            raise self.error(f"the array {name!r} cannot be read ({quote(str(error))})") from error
        if kind == "f" and not (float(array.min(initial=0)) > -LARGEST and float(array.max(initial=0)) < LARGEST):
            raise self.error(f"the array {name!r} holds numbers that are not finite, or out of all bounds")
        return array

    def header(self, name: str, stream: IO[bytes]) -> tuple[np.dtype, tuple[int, ...]]:
        """Type and shape of the array that follows, if they are written as NumPy writes them for plain numbers."""
        start = stream.read(len(MAGIC) + 2)
        text = stream.read(int.from_bytes(start[len(MAGIC) :], "little"))
        match = HEADER.fullmatch(text) if start.startswith(MAGIC) and len(text) < 1000 else None
        if match is None:
            raise self.error(f"{name!r} is not an array of plain numbers")
        lengths = match["shape"].decode().replace(" ", "").removesuffix(",")
        return np.dtype(match["type"].decode()), tuple(map(int, lengths.split(","))) if lengths else ()

    def check_declared(
        self, name: str, dtype: np.dtype, found: tuple[int, ...], kind: str, shape: tuple[int | None, ...]
    ) -> None:
        fits = dtype == np.uint8 if kind == "b" else dtype.kind == kind
        if not fits or dtype.byteorder == ">":
            raise self.error(f"the array {name!r} should hold {KINDS[kind]}, not {dtype}")
        if len(found) != len(shape) or any(b not in (None, a) for a, b in zip(found, shape, strict=True)):
            expected = " × ".join("any" if n is None else str(n) for n in shape)
            raise self.error(f"the array {name!r} should have the shape {expected}, not {quote(str(found))}")
        size = dtype.itemsize * math.prod(found)
        self.check(size < MOST_UNFOLDED * self.size + SMALL, f"the array {name!r} would have {size:,} bytes")

    def check_empty(self) -> None:
        """That nothing is left which nobody asked for."""
        if self.left:
            raise self.error(f"nobody knows its member {quote(min(self.left))}")

    def check(self, truth: bool, message: str) -> None:
        if not truth:
            raise self.error(message)

    def setting(self, name: str, kind: type) -> Any:
        value = self.meta.get(name)
        if not isinstance(value, kind):
            raise self.error(f"its description lacks a proper {name!r}")
        return value

    def read_description(self) -> dict[str, Any]:
        """Take the member `meta`, a JSON object, into `meta`. Every number in it is finite and fits into 64 bits."""
        text = self.take("meta", "b", None).tobytes()
        self.check(len(text) < MOST_DESCRIPTION + 10 * self.size, f"its description has {len(text):,} bytes")
        try:
            meta = json.loads(
                text.decode("utf-8", "surrogatepass"),
                parse_int=bounded_integer,
                parse_float=finite_number,
                parse_constant=finite_number,
            )
        except (ValueError, RecursionError) as error:
            raise self.error("its description is not JSON, or has numbers out of all bounds") from error
        if not isinstance(meta, dict):
            raise self.error("its description is not an object")
        self.meta = meta
        return meta

    def error(self, message: str) -> ModelError:
        return ModelError(f"{self.name}: not a usable model: {message}")


def bounded_integer(digits: str) -> int:
    """Parse an integer of JSON; NumPy cannot compare with one that has more than 64 bits."""
    number = int(digits)
    if abs(number) > MOST_INTEGER:
        raise ValueError(digits[:40])
    return number


def finite_number(digits: str) -> float:
    """Parse a number of JSON; Python would read 1e999 as infinity, and accept NaN."""
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(digits[:40])
    return number


@contextmanager
def open_archive(name: str, opened: IO[bytes] | None = None) -> Iterator[Archive]:
    """The archive of a file, which may be open already. That there is none is left to the caller to say."""
    try:
        with ExitStack() as stack:
            stream = opened or stack.enter_context(open_seekable(name))
            try:
                members = stack.enter_context(zipfile.ZipFile(stream))
            except OSError:
                raise
            except Exception as error:  # whatever a damaged directory makes zipfile raise, which is not one family
                damaged = "not a model, or a damaged one: expected a .npz file written by tagger"
                raise ModelError(f"{name}: {damaged}") from error
            yield Archive(name, members)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ModelError(f"cannot read {name}: {reason(error)}") from error


def write_archive(stream: IO[bytes], arrays: Arrays, compressed: bool = True) -> None:
    """An .npz with the same bytes every time: no clock, and never pickle."""
    with zipfile.ZipFile(stream, "w") as members:
        for name, array in arrays.items():
            member = zipfile.ZipInfo(f"{name}.npy")  # dated 1980
            member.compress_type = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
            with members.open(member, "w", force_zip64=True) as out:
                np.lib.format.write_array(out, plain(array), version=(1, 0), allow_pickle=False)


def plain(array: np.ndarray) -> np.ndarray:
    """Row after row, the lowest byte first, on any machine."""
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<"))


def narrow(array: np.ndarray) -> np.ndarray:
    """The same whole numbers, none of them negative, in the smallest type that holds them."""
    return array.astype(np.min_scalar_type(int(array.max(initial=0))))


def narrow_floats(array: np.ndarray) -> np.ndarray:
    """The same numbers in half the space, if that holds every one of them exactly."""
    with np.errstate(over="ignore"):
        half = array.astype(np.float16)
    return half if (half == array).all() else array
