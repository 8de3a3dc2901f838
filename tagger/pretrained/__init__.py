"""Models that come with the package.

Data only: for each model a file NAME.npz and its licence, NAME.LICENSE.txt. Wherever a model file is expected, NAME
means the shipped model, unless there is a file of that name. `scripts/train_pretrained.py` makes the files.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent


def shipped_models() -> dict[str, Path]:
    """Return the files of the shipped models by name."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.npz"))}


def model_file(name: str) -> str:
    """Return the file that a name means: the file of that name if there is one, else that of the shipped model."""
    shipped = shipped_models().get(name)
    return str(shipped) if shipped and not Path(name).is_file() else name
