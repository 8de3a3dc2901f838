"""Read and write model files: `.npz` archives of named arrays, validated as they are read.

A model file is untrusted input. `Archive` first checks what the file declares: number of members, compression, total
size after decompression. `take` then parses the header of an array and refuses a wrong type, shape or size before
memory is allocated for it; floating-point values must be finite. So the memory used is proportional to the size of the
file, and every fault is a `ModelError` that names the file and the array. Pickled objects are never read or written.
"""

from __future__ import annotations

import copy
import inspect
import io
import json
import math
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import repeat
from typing import IO, Any

import numpy as np

from tagger.errors import ModelError
from tagger.escaping import quote
from tagger.files.reading import open_seekable, reason

KIND_NAMES = {"b": "bytes", "u": "unsigned integers", "f": "floating-point numbers"}
MAX_EXPANSION = 100  # decompressed size relative to the file's size, after
FREE_EXPANSION = 1 << 24  # bytes that any file may decompress to
MAX_MEMBERS = 5000
MAX_DESCRIPTION = 1 << 20  # bytes of the description, beyond ten times the file's size
MAX_INTEGER = (1 << 63) - 1  # in a description
MAX_COUNT = 1 << 40  # of any event in a corpus
MAX_ABS = 1e12  # of any parameter; sums of such numbers stay finite in float32
MIN_POSITIVE = 1e-100  # of any frequency; products of a few such numbers stay above 0
MAGIC = b"\x93NUMPY\x01\x00"
HEADER = re.compile(
    rb"\{'descr': '(?P<type>[|<>][a-zA-Z]\d+)', 'fortran_order': False, 'shape': \((?P<shape>[\d, ]*)\), \} *\n"
)
Arrays = dict[str, np.ndarray]


class Archive:
    """The arrays of one model file and, once read, its description `meta`."""

    def __init__(self, name: str, members: zipfile.ZipFile) -> None:
        self.name, self.members = name, members
        self.meta: dict[str, Any] = {}
        assert members.fp is not None
        self.size = members.fp.seek(0, os.SEEK_END)
        declared = members.infolist()
        self.check(len(declared) <= MAX_MEMBERS, f"expected at most {MAX_MEMBERS:,} members, got {len(declared):,}")
        self.left = {member.filename: member for member in declared}  # not taken yet
        self.check(len(self.left) == len(declared), "two of its members have the same name")
        methods = {member.compress_type for member in declared}
        self.check(methods <= {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}, "expected no compression other than deflate")
        total = sum(member.file_size for member in declared)
        self.max_bytes = MAX_EXPANSION * self.size + FREE_EXPANSION  # of all arrays together
        self.check(total < self.max_bytes, f"it would decompress to {total:,} bytes")

    def has(self, name: str) -> bool:
        """Return whether there is an array of that name, not taken yet."""
        return f"{name}.npy" in self.left

    def take(self, name: str, kind: str, *shape: int | None) -> np.ndarray:
        """Return an array and mark it as taken.

        `kind` is `b` (bytes), `u` (unsigned integers) or `f` (floating point); None in `shape` allows any length.
        """
        member = self.left.pop(f"{name}.npy", None)
        if member is None:
            raise self.error(f"no array {name!r} in it")
        try:
            with self.members.open(member) as stream:
                dtype, declared = self.header(name, stream)
                self.check_declared(name, dtype, declared, kind, shape)
                array = np.empty(declared, dtype)
                rest = member.file_size - stream.tell()
                self.check(array.nbytes == rest, f"the array {name!r} should have {array.nbytes:,} bytes, not {rest:,}")
                if array.size:
                    array.data.cast("B")[:] = stream.read()
        except ModelError:
            raise
        except Exception as error:  # zipfile and zlib raise many kinds on damaged members
            raise self.error(f"the array {name!r} cannot be read ({quote(str(error))})") from error
        # A NaN is the minimum and the maximum of its array, and fails both comparisons.
        if kind == "f" and not (float(array.min(initial=0)) > -MAX_ABS and float(array.max(initial=0)) < MAX_ABS):
            raise self.error(f"the array {name!r} holds numbers that are not finite, or beyond {MAX_ABS:g}")
        return array

    def header(self, name: str, stream: IO[bytes]) -> tuple[np.dtype, tuple[int, ...]]:
        """Parse type and shape from the header (.npy, version 1) that NumPy writes for arrays of numbers."""
        start = stream.read(len(MAGIC) + 2)
        text = stream.read(int.from_bytes(start[len(MAGIC) :], "little"))
        match = HEADER.fullmatch(text) if start.startswith(MAGIC) and len(text) < 1000 else None
        if match is None:
            raise self.error(f"{name!r} is not an array of plain numbers")
        lengths = match["shape"].decode().replace(" ", "").removesuffix(",")
        return np.dtype(match["type"].decode()), tuple(map(int, lengths.split(","))) if lengths else ()

    def check_declared(
        self, name: str, dtype: np.dtype, declared: tuple[int, ...], kind: str, shape: tuple[int | None, ...]
    ) -> None:
        """Check the declared type and shape of an array against the expected ones."""
        fits = dtype == np.uint8 if kind == "b" else dtype.kind == kind
        if not fits or dtype.byteorder == ">":
            raise self.error(f"the array {name!r} should hold {KIND_NAMES[kind]}, not {dtype}")
        if len(declared) != len(shape) or any(n not in (None, m) for m, n in zip(declared, shape, strict=True)):
            expected = " × ".join("any" if n is None else str(n) for n in shape)
            raise self.error(f"the array {name!r} should have the shape {expected}, not {quote(str(declared))}")
        size = dtype.itemsize * math.prod(declared)
        self.check(size < self.max_bytes, f"the array {name!r} would have {size:,} bytes")

    def inside(self, prefix: str) -> Archive:
        """Return an archive of the arrays whose names begin with a prefix, under the rest of their names."""
        part = copy.copy(self)
        part.left = {name.removeprefix(prefix): self.left[name] for name in self.left if name.startswith(prefix)}
        self.left = {name: member for name, member in self.left.items() if not name.startswith(prefix)}
        return part

    def checked_settings(self, settings: dict[str, Any], function: Callable[..., Any]) -> dict[str, Any]:
        """Return settings of the description, if the function has such parameters, with defaults of such types."""
        self.check(isinstance(settings, dict), "expected settings by name")
        known = inspect.signature(function).parameters
        for name, value in settings.items():
            self.check(name in known, f"expected settings of {function.__name__}, got {quote(name)}")
            expected = type(known[name].default)
            fits = type(value) is expected or (expected is float and type(value) is int)
            self.check(fits, f"expected its setting {name!r} as {expected.__name__}, got {quote(str(value))}")
        return settings

    def check_empty(self) -> None:
        """Check that all members are taken."""
        if self.left:
            raise self.error(f"unexpected member {quote(min(self.left))}")

    def check(self, condition: bool, message: str) -> None:
        """Raise a ModelError unless the condition holds."""
        if not condition:
            raise self.error(message)

    def setting(self, name: str, kind: type) -> Any:
        """Return an entry of the description, checked to be of that type."""
        value = self.meta.get(name)
        self.check(isinstance(value, kind), f"its description lacks a valid {name!r}")
        return value

    def read_description(self) -> dict[str, Any]:
        """Read the member `meta`, a JSON object whose numbers are finite and fit into 64 bits."""
        text = self.take("meta", "b", None).tobytes()
        self.check(len(text) < MAX_DESCRIPTION + 10 * self.size, f"its description has {len(text):,} bytes")
        try:
            meta = json.loads(
                text.decode("utf-8", "surrogatepass"),
                parse_int=bounded_integer,
                parse_float=finite_number,
                parse_constant=finite_number,
            )
        except (ValueError, RecursionError) as error:
            raise self.error(
                "its description is not JSON, or has numbers that are not finite or over 64 bits"
            ) from error
        if not isinstance(meta, dict):
            raise self.error("its description is not an object")
        self.meta = meta
        return meta

    def error(self, message: str) -> ModelError:
        """Make a ModelError that names the file."""
        return ModelError(f"{self.name}: not a usable model: {message}")


def bounded_integer(digits: str) -> int:
    """Parse an integer of JSON; refuse those over 64 bits, which NumPy cannot compare."""
    number = int(digits)
    if abs(number) > MAX_INTEGER:
        raise ValueError(digits[:40])
    return number


def finite_number(digits: str) -> float:
    """Parse a number of JSON; refuse infinity, as which Python reads 1e999, and NaN."""
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(digits[:40])
    return number


@contextmanager
def open_archive(name: str, opened: IO[bytes] | None = None) -> Iterator[Archive]:
    """Open the archive of a file, whose stream may be `opened` already; a missing file raises FileNotFoundError."""
    try:
        with ExitStack() as stack:
            stream = opened or stack.enter_context(open_seekable(name))
            try:
                members = stack.enter_context(zipfile.ZipFile(stream))
            except OSError:
                raise
            except Exception as error:  # zipfile raises many kinds on a damaged directory
                damaged = "not a model, or a damaged one: expected a .npz file written by tagger"
                raise ModelError(f"{name}: {damaged}") from error
            yield Archive(name, members)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ModelError(f"cannot read {name}: {reason(error)}") from error


class Deflated:
    """A compressor for `zipfile` whose output is there already."""

    def __init__(self, output: bytes) -> None:
        self.output = output

    def compress(self, data: bytes) -> bytes:
        """Take data, which are part of the output."""
        return b""

    def flush(self) -> bytes:
        """Return the output."""
        return self.output


def write_archive(stream: IO[bytes], arrays: Arrays, compressed: bool = True, threads: int = 1) -> None:
    """Write an .npz file without timestamps: equal arrays give equal bytes, compressed by any number of threads."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(threads) as pool, zipfile.ZipFile(stream, "w") as members:
        deflated = pool.map(deflate, arrays.values()) if compressed else repeat(None)
        for (name, array), compressor in zip(arrays.items(), deflated, strict=False):
            member = zipfile.ZipInfo(f"{name}.npy")  # its default date is 1980
            member.compress_type = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
            with members.open(member, "w", force_zip64=True) as out:
                if compressor:  # an attribute that is not public: without it, zipfile writes the same bytes later
                    out._compressor = compressor  # type: ignore[attr-defined]
                write_array(out, array)


def deflate(array: np.ndarray) -> Deflated:
    """Compress an array with its header, as `zipfile` does; threads can do so at the same time."""
    content, compressor = io.BytesIO(), zlib.compressobj(wbits=-zlib.MAX_WBITS)
    write_array(content, array)
    return Deflated(compressor.compress(content.getbuffer()) + compressor.flush())


def write_array(stream: IO[bytes], array: np.ndarray) -> None:
    """Write an array with a header of version 1."""
    np.lib.format.write_array(stream, little_endian(array), version=(1, 0), allow_pickle=False)


def little_endian(array: np.ndarray) -> np.ndarray:
    """Convert an array to C order and little-endian bytes, whatever the machine."""
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<"))


def narrow(array: np.ndarray) -> np.ndarray:
    """Convert non-negative integers to the smallest unsigned type that holds them."""
    return array.astype(np.min_scalar_type(int(array.max(initial=0))))


def narrow_floats(array: np.ndarray) -> np.ndarray:
    """Convert to float16 or float32 if that holds every number exactly."""
    with np.errstate(over="ignore"):
        narrower = (array.astype(dtype) for dtype in (np.float16, np.float32))
        return next((numbers for numbers in narrower if (numbers == array).all()), array)
