"""Do the tests pass with the oldest libraries that we allow, and with the newest? On every Python that is installed.

    python scripts/dependencies.py                      # 3.10 to 3.13, as far as they are found
    python scripts/dependencies.py --python 3.12 --all  # one of them, all tests

The oldest are the lower bounds in pyproject.toml; where one has no ready-made wheel for a Python, the next version that
has. Each combination gets an environment of its own, which is thrown away.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
CORE = [
    "models",
    "store",
    "formats",
    "files",
    "cli",
    "tag",
    "training",
    "hmm",
    "crf",
    "chain",
    "classes",
    "vocab",
    "eval",
]


def lower_bounds() -> dict[str, str]:
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    block = re.search(r"^dependencies = \[(.*?)^\]", text, re.MULTILINE | re.DOTALL)
    assert block is not None
    return dict(re.findall(r'"([a-z-]+)>=([\d.]+)"', block[1]))


def interpreter(version: str) -> str | None:
    """By name, or in the place where pyenv puts them."""
    own = sorted(Path("~/.pyenv/versions").expanduser().glob(f"{version}.*/bin/python"))
    return str(own[-1]) if own else shutil.which(f"python{version}")


def number(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))


def oldest(python: Path, name: str, bound: str) -> str:
    """The first version from the bound on that has a wheel for this Python."""
    pip = [str(python), "-m", "pip", "--disable-pip-version-check"]
    told = subprocess.run([*pip, "index", "versions", name], capture_output=True, text=True, check=True).stdout
    versions = re.search(r"Available versions: (.*)", told)
    assert versions is not None, told
    plain = [v for v in versions[1].split(", ") if re.fullmatch(r"[\d.]+", v) and number(v) >= number(bound)]
    for version in sorted(plain, key=number):
        wanted = ["--only-binary", ":all:", "--no-deps", "--dry-run", f"{name}=={version}"]
        if subprocess.run([*pip, "install", *wanted], capture_output=True).returncode == 0:
            return version
    raise SystemExit(f"no {name} from {bound} on has a wheel for {python}")


def tried(python: str, which: str, folder: Path, every_test: bool) -> str:
    """A row of the table."""
    subprocess.run([python, "-m", "venv", str(folder)], check=True)
    own = folder / "bin" / "python"
    pip = [str(own), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
    bounds = lower_bounds()
    wanted = [f"{name}=={oldest(own, name, bound)}" if which == "oldest" else name for name, bound in bounds.items()]
    extras = ["pytest", "hypothesis", *(["scikit-learn", "jinja2", "jieba", "selenium"] if every_test else [])]
    subprocess.run([*pip, *wanted, *extras], check=True)
    subprocess.run([*pip[:-2], "--no-deps", "--editable", str(ROOT)], check=True)
    tests = ["tests"] if every_test else [f"tests/test_{name}.py" for name in CORE]
    environment = os.environ | {"PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        [str(own), "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    lines = done.stdout.rstrip().split("\n")
    failures = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    print("\n".join(failures), file=sys.stderr, flush=True)
    frozen = subprocess.run([str(own), "-m", "pip", "freeze"], capture_output=True, text=True, check=True).stdout
    versions = dict(re.findall(r"^([A-Za-z-]+)==(\S+)$", frozen, re.MULTILINE))
    told = subprocess.run([str(own), "-V"], capture_output=True, text=True, check=True).stdout.split()[1]
    verdict = "pass" if done.returncode == 0 else f"{len(failures)} fail"
    return f"| {told} | {which} | " + " | ".join(versions[name] for name in bounds) + f" | {verdict} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--python", action="append", help="3.12, say; default: all that are found")
    parser.add_argument("--all", action="store_true", help="all tests, not only those of the core")
    options = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets programs in the background ignore it
    print(f"| Python | libraries | {' | '.join(lower_bounds())} | tests |")
    print("|---" * (len(lower_bounds()) + 3) + "|", flush=True)
    rows = []
    for version in options.python or PYTHONS:
        found = interpreter(version)
        for which in ("oldest", "newest") if found else ():
            with tempfile.TemporaryDirectory(prefix="tagger-dependencies-") as folder:
                rows.append(tried(str(found), which, Path(folder) / "venv", options.all))
            print(rows[-1], flush=True)
    sys.exit(not rows or any("fail" in row for row in rows))


if __name__ == "__main__":
    main()
