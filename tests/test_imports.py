"""CONTRIBUTING.md says who imports whom; the code must agree, and the order must have no way back."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
HEAVY = {
    "scipy": {"tables", "clustering"},
    "threadpoolctl": {"crf", "clustering", "rehearsal", "neural.network"},
    "tqdm": {"cli.bars"},
    "jieba": {"chinese"},
    "jinja2": {"pages"},
    "torch": {"neural", "neural.layer", "neural.module", "neural.learning"},
}
TERMINAL = {"click", "tqdm"}  # known below `cli` to nobody


def modules():
    for path in (ROOT / "tagger").rglob("*.py"):
        name = ".".join(path.relative_to(ROOT / "tagger").with_suffix("").parts)
        yield name.removesuffix(".__init__"), ast.parse(path.read_text("utf-8"))


CODE = dict(modules())


def imports(tree):
    """Modules of ours that a module names in its imports, anywhere in it."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "tagger":
            package = (node.module or "").removeprefix("tagger").lstrip(".")
            for name in (f"{package}.{alias.name}".lstrip(".") for alias in node.names):
                found.add(name if name in CODE else package)
        assert not (isinstance(node, ast.Import) and any(a.name.split(".")[0] == "tagger" for a in node.names))
    return found


def outside_imports(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.split(".")[0]


def table():
    rows = re.findall(r"^\| `([\w.]+)` \| (.+) \| (.+) \|$", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.M)
    return {name: (sentence, set(re.findall(r"`([\w.]+)`", allowed))) for name, sentence, allowed in rows}


def test_the_table_lists_every_module_and_its_imports():
    written = {name: allowed for name, (_, allowed) in table().items()}
    assert written == {name: imports(tree) for name, tree in CODE.items()}


def test_a_module_imports_only_what_stands_above_it():
    above = set()
    for name, (_, allowed) in table().items():
        assert allowed <= above, f"{name} imports {allowed - above}, which come later"
        above.add(name)


def test_the_table_repeats_the_first_sentence_of_each_module():
    for name, (sentence, _) in table().items():
        assert sentence == (ast.get_docstring(CODE[name]) or "").split("\n\n")[0].replace("\n", " "), name


def test_nothing_below_the_command_line_knows_a_terminal():
    for name, tree in CODE.items():
        assert name.startswith("cli") or not TERMINAL & set(outside_imports(tree)), name
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        assert name.startswith("cli") or "print" not in names, name


def test_heavy_libraries_stay_where_they_are_needed():
    for library, homes in HEAVY.items():
        assert {name for name, tree in CODE.items() if library in set(outside_imports(tree))} == homes
