"""The limits on packages, modules, functions and commands, and where heavy libraries may be imported.

Which package may import which is held by import-linter (`make lint`).
"""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "tagger"
CODE = {path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text("utf-8")) for path in PACKAGE.rglob("*.py")}
HEAVY = {  # libraries, and the modules outside of integrations/ that import them
    "scipy": {
        "crf/candidates/node_tables.py",
        "crf/score_tables.py",
        "features/clustering.py",
        "neural/feedforward/gradient.py",
    },
    "threadpoolctl": {"crf/trainer.py", "features/clustering.py", "experiments/trials.py", "neural/numpy_network.py"},
    "tqdm": {"cli/progress.py"},
    "jieba": {"corpus/tokenizers/chinese.py"},
    "jinja2": {"reports/html.py"},
    "fsspec": {"files/remote.py"},
    "backports": {"files/zstd.py"},
    "sklearn": {"models/estimator.py"},
    "distributed": {"cli/raw_text.py", "cli/scheduler.py", "cli/sharded_training.py"},  # types only
    "torch": {f"neural/{name}.py" for name in ("__init__", "crf_layer", "tensors", "torch_network", "trainer")},
    **{name: set() for name in ("spacy", "nltk", "pyarrow", "polars", "dask")},
    "pandas": {"evaluation/score_table.py"},
}
SHORT = {  # modules under 30 lines, and why
    "version.py": "read by the build",
    "__main__.py": "the entry point of `python -m tagger`",
    "cli/commands/completion.py": "every command has a file of its own",
}


def functions():
    for name, tree in CODE.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                yield name, node


def body_lines(node):
    """Number of lines of a function's body, its docstring apart."""
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def is_command(node):
    return any("command" in ast.unparse(decorator).split("(")[0] for decorator in node.decorator_list)


def outside_imports(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.split(".")[0]


IMPORTS = {name: set(outside_imports(tree)) for name, tree in CODE.items()}


def test_the_top_level_fits_one_screen():
    assert len([path for path in PACKAGE.iterdir() if path.name != "__pycache__"]) <= 26


def test_no_package_has_more_than_15_modules():
    folders = {path.parent for path in PACKAGE.rglob("*.py")} - {PACKAGE / "cli" / "commands"}
    sizes = {folder.name: len(list(folder.glob("*.py"))) - 1 for folder in folders}
    assert {name: size for name, size in sizes.items() if size > 15} == {}


@pytest.mark.parametrize("name", CODE)
def test_modules_have_30_to_300_lines(name):
    lines = (PACKAGE / name).read_text("utf-8").count("\n")
    assert lines <= 300
    assert lines >= 30 or name in SHORT or name.endswith("__init__.py")


def test_no_function_has_more_than_40_lines():
    long = {f"{name}:{node.name}": body_lines(node) for name, node in functions() if body_lines(node) > 40}
    assert long == {}


def test_no_command_has_more_than_30_lines():
    commands = [(name, node) for name, node in functions() if is_command(node)]
    assert len(commands) >= 15
    assert {name: body_lines(node) for name, node in commands if body_lines(node) > 30} == {}


def test_nothing_below_the_command_line_knows_a_terminal():
    for name, tree in CODE.items():
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        if not name.startswith("cli/"):
            assert not {"click", "tqdm"} & IMPORTS[name] and "print" not in names, name


def test_heavy_libraries_stay_where_they_are_needed():
    for library, homes in HEAVY.items():
        importing = {name for name, imported in IMPORTS.items() if library in imported}
        assert {name for name in importing if not name.startswith("integrations/")} == homes


def test_every_package_lists_its_modules():
    """The docstring of a package names each of its modules in backquotes, where a reader looks first."""
    for path in PACKAGE.rglob("__init__.py"):
        text = ast.get_docstring(CODE[path.relative_to(PACKAGE).as_posix()]) or ""
        modules = {module.stem for module in path.parent.glob("*.py")} - {"__init__"}
        modules |= {package.parent.name for package in path.parent.glob("*/__init__.py")}
        unlisted = {name for name in modules if f"`{name}`" not in text}
        if path.parent != PACKAGE and path.parent.name != "commands":
            assert unlisted == set(), path.parent.name
