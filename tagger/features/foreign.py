r"""Templates of CRF++ and Wapiti, translated to templates of this program.

    U01:%x[-1,0]/%x[0,1]     column 0 of the token before, joined with column 1 of this one
    U02:%t[0,0,"^\u"]        whether a pattern is found in column 0 (%m is what it matches; capitals ignore the case)
    B01:%x[0,0]              the same for pairs of tags (`@`); Wapiti's * is both
    B                        weights of tag bigrams, which are always there

Column 0 is the first of the file. The text before a colon is a name and means nothing. What cannot be expressed (`%M`,
positions from the beginning of a sentence, more than three parts) becomes a comment that begins with `LEFT_OUT`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tagger.errors import TemplateError
from tagger.escaping import quote
from tagger.features.syntax import STEP_MARK, parse_line

LEFT_OUT = "# left out: "
FOREIGN = re.compile(r"^[UuBb*][^\n]*%[xXtTmM]\[", re.MULTILINE)
MACRO = re.compile(
    r'%(?P<kind>[xXtTmM])\[\s*(?P<row>@?-?\d+)\s*,\s*(?P<column>\d+)\s*(?:,\s*"(?P<pattern>[^"]*)"\s*)?\]'
)
CLASSES = {"a": r"[^\W\d_]", "u": "[A-Z]", "l": "[a-z]", "p": r"[^\w\s]", "d": r"\d", "s": r"\s", "w": r"\w"}
NEGATED = {"A": r"[\W\d_]", "U": "[^A-Z]", "L": "[^a-z]", "P": r"[\w\s]", "D": r"\D", "S": r"\S", "W": r"\W"}
ATOM = re.compile(r"\\(.)|([\[\](){}|/])", re.DOTALL)


def is_foreign(text: str) -> bool:
    """Return whether a template is one of CRF++ or Wapiti."""
    return FOREIGN.search(text) is not None


def translate(text: str, columns: Sequence[str | None]) -> str:
    """Translate a template; `columns` are the names of the file's columns in order, None for the words."""
    lines = enumerate(map(str.strip, text.split("\n")), 1)
    return "\n".join(new for number, line in lines for new in translated_line(line, number, columns))


def left_out(text: str) -> list[str]:
    """List the lines of a translated template that could not be expressed, each with the reason."""
    return [line.removeprefix(LEFT_OUT) for line in text.split("\n") if line.startswith(LEFT_OUT)]


def translated_line(line: str, number: int, columns: Sequence[str | None]) -> list[str]:
    """Translate a line: its features of tokens, if it has any, and the reasons for what is left out."""
    if not line or line.startswith("#"):
        return [line]
    new, reasons = [], []
    try:
        features = " & ".join(translated_macro(macro, columns) for macro in MACRO.finditer(line))
        parse_line(features)
        if line[0] in "Uu*":
            new.append(f"{features or 'bias[0]'}  # {line}")
        if line[0] in "Bb*" and features:
            new.append(f"{STEP_MARK} {features}  # {line}")
    except TemplateError as error:
        reasons.append(str(error))
    if line[0] not in "UuBb*":
        reasons = ["expected a line that begins with U, B or *"]
    elif "%" in MACRO.sub("", line):
        new, reasons = [], ["expected %x[row,column], %t or %m with a pattern in quotes"]
    return new + [f"{LEFT_OUT}line {number}, {line}: {reason}" for reason in reasons] or [f"# {line}: always there"]


def translated_macro(macro: re.Match[str], columns: Sequence[str | None]) -> str:
    """Translate a macro such as `%x[-1,0]` to a function at an offset."""
    kind, row, place, pattern = macro["kind"], macro["row"], int(macro["column"]), macro["pattern"]
    if row.startswith("@"):
        raise TemplateError(f"the position {row} from the beginning of a sentence cannot be expressed")
    if place >= len(columns):
        raise TemplateError(f"expected a column below {len(columns)}, got {place}. Name all columns of the corpus")
    if (kind in "xX") != (pattern is None):
        raise TemplateError(f"expected a pattern in quotes with %t and %m only, got {quote(macro[0])}")
    if kind == "M":
        raise TemplateError("%M, a match in lower case, cannot be expressed. Use %m, or suffix:n and prefix:n")
    name = columns[place]
    source = "" if name is None else f"(column:{name})"
    if kind == "x":
        return f"word[{row}]" if name is None else f"column:{name}[{row}]"
    if kind == "X":
        return f"lower{source}[{row}]"
    function = "extract" if kind == "m" else "match"
    return f"{function}:/{'(?i)' if kind == 'T' else ''}{translated_pattern(pattern)}/{source}[{row}]"


def translated_pattern(pattern: str) -> str:
    """Translate a pattern of Wapiti, which has classes of its own and neither groups nor brackets."""

    def replace(atom: re.Match[str]) -> str:
        escaped, literal = atom.groups()
        return (CLASSES | NEGATED).get(escaped) or re.escape(escaped or literal).replace("/", r"\/")

    return ATOM.sub(replace, pattern)
