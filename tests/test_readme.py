"""README and docs cannot lie: their examples are run and compared, their links and options are checked."""

import itertools
import re
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from program import stand_ins

sys.path.insert(0, str(Path(__file__).parent.parent / "scripts"))
from readme_sessions import PAGES, ROOT, examples, prepare, run

MOST_WORDS = 1_800  # of README
TEXTS = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in PAGES}

NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def alike(shown, real):
    """Equal but for figures with a point, which differ a little between libraries and kinds of processors."""
    pairs = itertools.zip_longest(shown.strip().splitlines(), real.strip().splitlines(), fillvalue="")
    return all(lines_alike(*pair) for pair in pairs)


def lines_alike(shown, real):
    if NUMBER.sub("#", shown).split() != NUMBER.sub("#", real).split():
        return False
    # One token more or less that is right moves percentages by up to a point, and p-values by up to 0.2.
    slack = 1.0 if "%" in real or "points" in real else 0.2 if "chance" in real or "p = " in real else 0.0
    figures = zip(NUMBER.findall(shown), NUMBER.findall(real), strict=True)
    return all(a == b or close(a, b, slack) for a, b in figures)


def close(shown, real, slack):
    """Counts are equal. Others have as many digits (0.4120 may be 0.412), and differ by 2 % or by the last digit."""
    digits = sorted(len(figure.partition(".")[2]) for figure in (shown, real))
    if digits[0] == 0 or digits[1] - digits[0] > 1:
        return False
    a, b = (float(figure.replace(",", "")) for figure in (shown, real))
    return abs(a - b) <= max(0.02 * max(a, b), 1.01 * 10.0 ** -digits[1], slack)


@pytest.mark.parametrize(
    ("shown", "real", "same"),
    [
        ("fish\tVB\t0.4174", "fish\tVB\t0.4157", True),
        ("fish\tVB\t0.4174", "fish\tVB\t0.3997", False),
        ("fish\tVB\t0.4174", "fish\tNN\t0.4174", False),
        ("1\t0.41\tfish/VB", "1\t0.4122\tfish/VB", False),
        ("not VBD 0.016: +6.70", "not VBD 0.017: +6.69", True),
        ("not VBD 0.016: +6.70", "not VBD 0.016: -6.70", False),
        ("accuracy  90.48 %  of 298", "accuracy  90.75 %  of 298", True),
        ("accuracy  90.48 %  of 298", "accuracy  90.48 %  of 299", False),
        ("accuracy  90.48 %  of 298", "accuracy  91.58 %  of 298\n", True),
        ("accuracy  90.48 %  of 298", "accuracy  92.58 %  of 298\n", False),
        ("a line", "a line\nanother", False),
    ],
)
def test_figures_are_compared_as_closely_as_they_can_be(shown, real, same):
    assert alike(shown, real) == same


# What an example uses, and the library that it needs for that.
NEEDS = {
    "import torch": "torch",
    "train-bilstm": "torch",
    "BiLSTMTagger(": "torch",
    "--tokenize chinese": "jieba",
    "--report": "jinja2",
}
NEEDS |= {
    f"import {library}": library for library in ("spacy", "nltk", "pandas", "polars", "pyarrow", "dask", "fsspec")
}
NEEDS |= {
    ".parquet": "pyarrow",
    "--scheduler": "distributed",
    "memory://": "fsspec",
    "sklearn_crfsuite": "sklearn_crfsuite",
}
ALWAYS_THERE = {
    "jieba",
    "jinja2",
}  # in the dependency group `test`; pages that need others are left to `make test-integrations`


def needed(of):
    """The libraries that examples need."""
    return {library for example in of for part, library in NEEDS.items() if part in example.source}


def marks(of):
    """Examples are run by `make docs`, on pages that need other libraries by `make test-integrations`."""
    return [pytest.mark.docs, *([pytest.mark.integration] if needed(of) - ALWAYS_THERE else [])]


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    return stand_ins(tmp_path_factory.mktemp("programs"))


@pytest.mark.skipif(shutil.which("bash") is None, reason="sessions are written for bash")
@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=marks(examples(text))) for page, text in TEXTS.items() if examples(text)],
)
def test_examples_print_what_the_page_shows(page, tmp_path, programs):
    prepare(tmp_path)
    for example in examples(TEXTS[page]):
        for library in needed([example]):
            if find_spec(library) is None:
                pytest.skip(f"this example needs {library}: {example.source}")
        printed = run(example, tmp_path, programs)
        if example.shown is not None:
            assert alike(example.shown, printed), f"{example.source}\n--- {page}\n{example.shown}\n--- now\n{printed}"


def test_readme_and_the_tutorial_have_examples():
    assert len(examples(TEXTS["README.md"])) >= 4
    assert len(examples(TEXTS["docs/tutorial.md"])) >= 10


def test_readme_is_short():
    assert len(TEXTS["README.md"].split()) <= MOST_WORDS


def test_one_version_everywhere():
    from tagger import __version__

    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\n## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text("utf-8")


@pytest.mark.skipif(not (ROOT / ".importlinter").exists(), reason="a source distribution may lack the linter's file")
def test_layers_are_those_of_the_linter():
    """CONTRIBUTING shows the layers of .importlinter."""
    from configparser import ConfigParser

    linter = ConfigParser()
    linter.read(ROOT / ".importlinter", "utf-8")
    layers = linter["importlinter:contract:layers"]["layers"].replace("tagger.", "").split("\n")
    assert "\n".join(filter(None, layers)) in (ROOT / "CONTRIBUTING.md").read_text("utf-8")


def test_example_templates_parse():
    from tagger.features.template import parse_templates

    blocks = re.findall(r"^```text\n(.*?)^```$", TEXTS["docs/reference/templates.md"], re.M | re.S)
    assert blocks
    assert all(parse_templates(block) for block in blocks)


@pytest.fixture(scope="module")
def options():
    """{command: its options}"""
    from tagger.cli import group

    commands = {name: group.get_command(None, name) for name in group.list_commands(None)}
    return {
        name: {"-h", "--help"}.union(*(option.opts + option.secondary_opts for option in command.params))
        for name, command in commands.items()
    }


CODE = re.compile(r"^```(?:console|sh)\n(.*?)^```$|`([^`\n]+)`", re.M | re.S)
CALL = re.compile(r"\btagger ([a-z][a-z-]+)((?: (?:[^|;#\n]|\\\n)*)?)")


def calls(text):
    """(command, its options) of every `tagger COMMAND …` in the code of a page."""
    for code in CODE.finditer(text):
        for command, rest in CALL.findall(code[1] or code[2]):
            yield command, re.findall(r"(?<=\s)(--[a-z][a-z0-9-]*|-[a-z])(?=[\s=]|$)", rest)


@pytest.mark.parametrize("page", TEXTS)
def test_commands_and_options_exist(page, options):
    trainings = options["train-crf"] | options["train-hmm"]  # crossval and learning-curve pass them on
    for command, given in calls(TEXTS[page]):
        assert command in options, f"tagger {command}"
        known = options[command] | (trainings if command in ("crossval", "learning-curve") else set())
        assert set(given) <= known, f"tagger {command}: {set(given) - known}"


def test_every_command_is_listed(options):
    assert all(f"`{name}`" in TEXTS["README.md"] for name in options)


def test_every_public_name_is_in_the_api_reference():
    import tagger

    pages = TEXTS["docs/reference/api.md"] + TEXTS["docs/reference/chain.md"]
    listed = re.findall(r"^\.\. auto\w+:: tagger\.(\w+)", pages, re.M)
    assert {*tagger.__all__} - {"__version__"} <= {*listed}
    functions = re.findall(r"^\.\. auto\w+:: tagger\.chain\.(\w+)", pages, re.M)
    assert sorted(tagger.chain.__all__) == sorted(functions)


def anchors(page):
    """The names that a page's headings have in links."""
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.M | re.S)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in re.findall(r"^#+ (.+)$", text, re.M)}


LINKED = [*PAGES, *sorted({*ROOT.glob("*.md"), *ROOT.glob("data/*.md")} - {*PAGES})]


@pytest.mark.parametrize("page", LINKED, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        if not link.startswith("http"):
            path, _, anchor = link.partition("#")
            target = page.parent / path if path else page
            assert target.exists(), link
            assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", [*TEXTS, "CONTRIBUTING.md"])
def test_modules_exist(page):
    for name in re.findall(r"`(tagger/[\w/]+(?:\.\w+|/))`", (ROOT / page).read_text("utf-8")):
        assert (ROOT / name).exists(), name
