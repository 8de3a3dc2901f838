"""The syntax of templates: a line such as `lower[-1] & suffix:1-4(column:lemma)[0]` as conjuncts.

    line     = ["@"] conjunct {"&" conjunct}
    conjunct = function [":" argument] ["(column:" name ")"] ["[" offset "]"]

The argument is a number or a range for functions such as `suffix`, a pattern between slashes for `match` and `extract`,
a name for `column`, `number` and `attributes`, and a file for `list`. `column:pos[0]` is short for
`word(column:pos)[0]`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tagger.arrays.caching import cached_property
from tagger.errors import TemplateError
from tagger.escaping import quote
from tagger.features.functions import FUNCTIONS, NUMBERED, PATTERN_FUNCTIONS
from tagger.features.patterns import compiled

MAX_OFFSET = 100
MAX_CLASSES = 1 << 20
MAX_CONJUNCTS = 3
CLASS, COLUMN, LIST, NUMBER, ATTRIBUTES = "class", "column", "list", "number", "attributes"
# The prefixes of the names under which places in lists, numbers and dicts of features are observed, like columns.
LIST_PREFIX, NUMBER_PREFIX, ATTRIBUTES_PREFIX = f"{LIST}:", f"{NUMBER}:", f"{ATTRIBUTES}:"
NAMED = {LIST: "cities.txt", NUMBER: "size", ATTRIBUTES: "features", COLUMN: "pos"}  # with an example of the name
VALUED = (NUMBER, ATTRIBUTES)  # whose features have values
STEP_MARK = "@"  # before a line whose features have weights for pairs of tags
CONJUNCT = re.compile(
    r"(?P<name>[a-z]+)"
    r"(:(?:(?P<low>\d{1,9})(?:-(?P<high>\d{1,9}))?(?=[\s(\[&#]|$)"
    r"|/(?P<pattern>(?:[^/\\]|\\.)+)/(?=[\s(\[&#]|$)|(?P<text>[^\s()\[\]&#]+)))?"
    r"(\(column:(?P<column>[^\s()\[\],&#]+)\))?"
    r"(\[(?P<offset>[+-]?\d{1,9})\])?"
)
SEPARATOR = re.compile(r"[ \t]*(&|#.*|$)[ \t]*")


@dataclass(frozen=True)
class Conjunct:
    """A feature function of one token at an offset: `suffix:3[-1]`.

    It looks at the word, or at a column; `match` and `extract` have a pattern.
    """

    name: str
    number: int | None
    offset: int
    column: str | None = None
    pattern: str | None = None

    @cached_property
    def function(self) -> str:
        """The function with all but its offset, `suffix:3(column:lemma)`."""
        if self.column is not None and self.name in ("word", *NAMED):
            return f"{COLUMN}:{self.column}" if self.name == "word" else self.column
        argument = "" if self.number is None else f":{self.number}"
        argument += "" if self.pattern is None else f":/{self.pattern}/"
        return f"{self.name}{argument}" + ("" if self.column is None else f"(column:{self.column})")

    def __str__(self) -> str:
        return f"{self.function}[{self.offset}]"


def parse_line(line: str) -> tuple[bool, list[list[Conjunct]]]:
    """Parse a line; return whether its features are of steps, and its conjuncts (`parse_conjuncts`)."""
    of_steps = line.lstrip().startswith(STEP_MARK)
    conjuncts = parse_conjuncts(line.lstrip()[1:] if of_steps else line)
    if of_steps and any(conjunct[0].name in VALUED for conjunct in conjuncts):
        raise TemplateError(f"expected no {STEP_MARK} before {' and '.join(VALUED)}, whose weights are of single tags")
    if of_steps and not conjuncts:
        raise TemplateError(f"expected a function after {STEP_MARK}, as in {STEP_MARK} lower[0]")
    return of_steps, conjuncts


def parse_conjuncts(line: str) -> list[list[Conjunct]]:
    """Parse the conjuncts of a line, each as a list with one for each number of its range; none for a comment."""
    place, conjuncts = 0, list[list[Conjunct]]()
    while line[place:].strip() and not line[place:].lstrip().startswith("#"):
        place += len(line[place:]) - len(line[place:].lstrip())
        match = CONJUNCT.match(line, place)
        end = SEPARATOR.match(line, match.end()) if match else None
        if match is None or end is None:
            got = line[place:].split("&")[0].split("#")[0].strip()
            raise TemplateError(f"expected function[:number][offset], got {quote(got)}")
        if len(conjuncts) == MAX_CONJUNCTS:
            raise TemplateError(f"expected at most {MAX_CONJUNCTS} functions joined by &, got more")
        conjuncts.append(parse_conjunct(match))
        place = end.end()
        if end[1] == "&" and (not line[place:] or line[place] == "#"):
            raise TemplateError("expected function[:number][offset], got ''")
    if len(conjuncts) > 1 and any(conjunct[0].name == ATTRIBUTES for conjunct in conjuncts):
        raise TemplateError(f"expected {ATTRIBUTES} alone on its line, got it joined by &")
    return conjuncts


def parse_conjunct(match: re.Match[str]) -> list[Conjunct]:
    """Make the conjuncts of a match: one for each number of its range."""
    name, column, pattern, offset = match["name"], match["column"], match["pattern"], int(match["offset"] or 0)
    if abs(offset) > MAX_OFFSET:
        raise TemplateError(f"expected an offset from -{MAX_OFFSET} to {MAX_OFFSET}, got {offset}")
    check_argument(match)
    if name == COLUMN:
        return [Conjunct("word", None, offset, argument_text(match))]
    if name in NAMED:
        return [Conjunct(name, None, offset, f"{name}:{argument_text(match)}")]
    if name in PATTERN_FUNCTIONS:
        compiled(pattern)
        return [Conjunct(name, None, offset, column, pattern)]
    return [Conjunct(name, number, offset, column) for number in numbers(match)]


def argument_text(match: re.Match[str]) -> str:
    """Return an argument as text, also one that looks like a number or a range."""
    return match["text"] or match["low"] + (f"-{match['high']}" if match["high"] else "")


def check_argument(match: re.Match[str]) -> None:
    """Refuse an unknown function, and an argument that a function does not take."""
    name, low, pattern, text = match["name"], match["low"], match["pattern"], match["text"]
    numbered = [*NUMBERED, CLASS]
    if name not in (*FUNCTIONS, *numbered, *PATTERN_FUNCTIONS, *NAMED):
        named = [f"{name}:{'FILE' if name == LIST else 'NAME'}" for name in NAMED]
        named += [f"{pattern}:/PATTERN/" for pattern in PATTERN_FUNCTIONS]
        known = ", ".join(sorted([*FUNCTIONS, *(f"{name}:n" for name in numbered), *named]))
        raise TemplateError(f"unknown function {quote(name)}; expected one of {known}")
    if name in NAMED and (match["column"] or (text is None and low is None)):
        raise TemplateError(f"{name} takes a name, as in {name}:{NAMED[name]}")
    if name in PATTERN_FUNCTIONS and pattern is None:
        raise TemplateError(f"{name} takes a pattern between slashes, as in {name}:/^[A-Z]/")
    if name in (*NAMED, *PATTERN_FUNCTIONS):
        return
    if (name in numbered) != (low is not None) or pattern is not None or text is not None:
        raise TemplateError(f"{name} takes {'a number, as in ' + name + ':3' if name in numbered else 'no number'}")
    if name == CLASS and match["column"]:
        raise TemplateError(f"{name} takes no column: classes are those of words")


def numbers(match: re.Match[str]) -> list[int | None]:
    """List the numbers of a range; None for a function without a number."""
    if match["low"] is None:
        return [None]
    rising = range(int(match["low"]), int(match["high"] or match["low"]) + 1)
    highest = MAX_CLASSES if match["name"] == CLASS else MAX_OFFSET
    if not rising or rising[0] < 1 or rising[-1] > highest:
        raise TemplateError(f"expected a rising range of numbers from 1 to {highest}, got {quote(match[0])}")
    if match["name"] == CLASS and match["high"]:
        raise TemplateError(f"{CLASS} takes one number, as in class:128, got {quote(match[0])}")
    return list(rising)
