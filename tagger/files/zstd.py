"""Files compressed with zstd: by the standard library since Python 3.14, before that by its backport, an extra."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

from tagger.errors import FileError


@contextlib.contextmanager
def open_zstd(file: Any, mode: str) -> Iterator[Any]:
    """Open a stream of the uncompressed bytes of a file or binary stream, to read (`rb`) or to write (`wb`)."""
    library = zstd_library()
    try:
        with library.open(file, mode) as stream:
            yield stream
    except library.ZstdError as error:
        raise OSError(0, f"not a file compressed with zstd, or a damaged one ({error})") from error


def zstd_library() -> Any:
    """Return the module that has the function `open` and the class `ZstdError`."""
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError:
        advice = "Install it with: pip install 'hmm-crf-tagger[zstd]', or unpack the file"
        raise FileError(f"a file that ends in .zst needs the package backports.zstd. {advice}") from None
    return zstd
