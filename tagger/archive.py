"""Named arrays on their way to and from a model file, checked as they are taken out.

A model's parts put their arrays in and take them out by name; nobody trusts what comes out of a file. `take` refuses an
array that is missing, of another kind or shape, or not finite, with a `ModelError` that names file and array.
"""

from __future__ import annotations

import zipfile
from typing import IO, Any

import numpy as np

from tagger.errors import ModelError

KINDS = {"b": "bytes", "u": "unsigned integers", "f": "floating-point numbers"}
MOST_UNFOLDED, SMALL = 100, 1 << 24  # a file may unfold to so many times its size; a small one to so many bytes
Arrays = dict[str, np.ndarray]


class Archive:
    """The arrays of one model file and, once read, its description."""

    def __init__(self, name: str, members: zipfile.ZipFile) -> None:
        self.name, self.members = name, members
        self.meta: dict[str, Any] = {}
        size = sum(member.compress_size for member in members.infolist())
        unfolded = sum(member.file_size for member in members.infolist())
        self.check(unfolded < MOST_UNFOLDED * size + SMALL, f"it would unfold to {unfolded:,} bytes")

    def take(self, name: str, kind: str, *shape: int | None) -> np.ndarray:
        """The array of that name; `kind` is b, u or f, None in `shape` stands for any length."""
        try:
            with self.members.open(f"{name}.npy") as stream:
                array = np.lib.format.read_array(stream, allow_pickle=False)
        except KeyError:
            raise self.error(f"no array {name!r} in it") from None
        except Exception as error:  # whatever a damaged member makes zipfile, zlib and NumPy raise
            raise self.error(f"the array {name!r} cannot be read ({error})") from error
        fits = array.dtype == np.uint8 if kind == "b" else array.dtype.kind == kind
        if not fits or array.dtype.byteorder == ">":
            raise self.error(f"the array {name!r} should hold {KINDS[kind]}, not {array.dtype}")
        if len(array.shape) != len(shape) or any(b not in (None, a) for a, b in zip(array.shape, shape, strict=True)):
            expected = " × ".join("any" if n is None else str(n) for n in shape)
            raise self.error(f"the array {name!r} should have the shape {expected}, not {array.shape}")
        if kind == "f" and not np.isfinite(array).all():
            raise self.error(f"the array {name!r} holds numbers that are not finite")
        return array

    def check(self, truth: bool, message: str) -> None:
        if not truth:
            raise self.error(message)

    def setting(self, name: str, kind: type) -> Any:
        value = self.meta.get(name)
        if not isinstance(value, kind):
            raise self.error(f"its description lacks a proper {name!r}")
        return value

    def error(self, message: str) -> ModelError:
        return ModelError(f"{self.name}: not a usable model: {message}")


def write_archive(stream: IO[bytes], arrays: Arrays, compressed: bool = True) -> None:
    """An .npz with the same bytes every time: no clock, and never pickle."""
    with zipfile.ZipFile(stream, "w") as members:
        for name, array in arrays.items():
            member = zipfile.ZipInfo(f"{name}.npy")  # dated 1980
            member.compress_type = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
            with members.open(member, "w", force_zip64=True) as out:
                np.lib.format.write_array(out, array, allow_pickle=False)


def narrow(array: np.ndarray) -> np.ndarray:
    """The same whole numbers, none of them negative, in the smallest type that holds them."""
    return array.astype(np.min_scalar_type(int(array.max(initial=0))))


def narrow_floats(array: np.ndarray) -> np.ndarray:
    """The same numbers in half the space, if that holds every one of them exactly."""
    with np.errstate(over="ignore"):
        half = array.astype(np.float16)
    return half if (half == array).all() else array
