"""Models that come with the package, and those that other installed packages offer, by name.

Data only: for each model a file NAME.npz and its licence, NAME.LICENSE.txt. `scripts/train_pretrained.py` makes the
files. Another package offers a model by an entry point of the group `tagger.models`, whose object is the path of the
file, or a function that returns it. Wherever a model file is expected, NAME means a file of that name, else the shipped
model, else that of another package. A name that ends in .npz or has a slash is a file: no package is looked at.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from tagger.errors import ModelError

FOLDER = Path(__file__).parent
GROUP = "tagger.models"  # of entry points


def shipped_models() -> dict[str, Path]:
    """Return the files of the shipped models by name."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.npz"))}


def installed_models() -> dict[str, Path]:
    """Return the files of the models that other installed packages offer, by name; shipped names are left out."""
    from importlib.metadata import entry_points

    names = sorted(set(entry_points(group=GROUP).names) - shipped_models().keys())
    files = {}
    for name in names:
        with suppress(ModelError):  # a broken package hides no other; its message comes when its model is named
            files[name] = entry_file(name)
    return {name: path for name, path in files.items() if path.is_file()}


def entry_file(name: str) -> Path:
    """Load the entry point of a model; return the path of its file."""
    from importlib.metadata import entry_points

    entry = next(iter(entry_points(group=GROUP, name=name)))
    try:
        offered = entry.load()
        return Path(offered() if callable(offered) else offered)
    except Exception as error:  # the code of another package may raise anything
        message = f"{type(error).__name__}: {error}"
        raise ModelError(f"{name}: expected the file of a model from {entry.value}, got {message}") from error


def model_file(name: str) -> str:
    """Return the file that a name means: a file of that name, a shipped model, or one of another package."""
    if os.path.isfile(name) or is_path(name):  # noqa: PTH113 (`Path.is_file` raises on overlong names)
        return name
    if shipped := shipped_models().get(name):
        return str(shipped)
    from importlib.metadata import entry_points

    return str(entry_file(name)) if name in entry_points(group=GROUP).names else name


def is_path(name: str) -> bool:
    """Return whether a name can only be that of a file."""
    return name.endswith(".npz") or "/" in name or os.sep in name or name == "-"
