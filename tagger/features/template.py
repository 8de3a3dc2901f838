"""Templates: which features a CRF looks at, as plain text; data, not code.

A line such as `lower[-1] & suffix:1-4[0]` names functions of `spelling` at offsets from a token; a range stands for one
line each, `&` joins parts to a conjunction, `#` begins a comment. One function is no matter of spelling: `class:128` is
the word's class among 128, looked up in a table that comes along with the templates.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources

from tagger.arrays.caching import cached_property
from tagger.arrays.string_spans import StringSpans
from tagger.errors import TemplateError
from tagger.escaping import quote
from tagger.features.functions import FUNCTIONS, NUMBERED, WordForms
from tagger.features.word_classes import SIZES, WordClasses
from tagger.files.reading import Lines, exists, pipe_identity

SHIPPED = ("default", "comparison")
MAX_OFFSET = 100
MAX_CLASSES = 1 << 20
MOST_TEMPLATES, MOST_PARTS = 2000, 3
CLASS = "class"
PIPED: dict[tuple[int, int], str] = {}  # templates that came through pipes: folds and trials ask for them again
PART = re.compile(r"(?P<name>[a-z]+)(:(?P<low>\d{1,9})(-(?P<high>\d{1,9}))?)?(\[(?P<offset>[+-]?\d{1,9})\])?")


@dataclass(frozen=True)
class Part:
    """A function of one word at an offset from the token."""

    name: str
    number: int | None
    offset: int

    @property
    def function(self) -> str:
        return self.name if self.number is None else f"{self.name}:{self.number}"

    def __str__(self) -> str:
        return f"{self.function}[{self.offset}]"


@dataclass(frozen=True)
class Template:
    """One kind of feature: the conjunction of its parts."""

    parts: tuple[Part, ...]

    @cached_property
    def offset(self) -> int | None:
        """The one offset that all parts look at, else None. With one, it is a feature of a distinct word."""
        offsets = {part.offset for part in self.parts}
        return offsets.pop() if len(offsets) == 1 else None

    def __str__(self) -> str:
        return " & ".join(map(str, self.parts))


def template_text(name_or_path: str) -> str:
    """A template shipped with the package, or a file of the user's own."""
    if name_or_path in SHIPPED:
        return shipped(name_or_path)
    if name_or_path != "-" and not exists(name_or_path):
        raise TemplateError(f"no template {name_or_path!r}: expected {', '.join(SHIPPED)} or a file")
    pipe = pipe_identity(name_or_path)
    if pipe is None:
        return "\n".join(Lines(name_or_path))
    if pipe not in PIPED:
        PIPED[pipe] = "\n".join(Lines(name_or_path))
    return PIPED[pipe]


def shipped(name: str) -> str:
    return (resources.files("tagger.features") / "templates" / f"{name}.txt").read_text("utf-8")


def class_features(sizes: Sequence[int]) -> str:
    """What is added to a template that names no classes: those of the word, and one of medium size for its neighbours.
    They are of the usual sizes, or of all there are."""
    sizes = SIZES if set(SIZES) <= set(sizes) else sizes
    middle = sizes[len(sizes) // 2]
    lines = [*(f"class:{size}[0]" for size in sizes), f"class:{middle}[-1]", f"class:{middle}[1]"]
    return "\n".join(["", "# word classes, added to a template that names none", *lines, ""])


def parse_templates(text: str, name: str = "template") -> list[Template]:
    """The templates of a text: those of one offset first, ordered by it, because they are computed together."""
    found: dict[Template, None] = {}
    for number, line in enumerate(text.split("\n"), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        try:
            parts = line.split("&")
            if len(parts) > MOST_PARTS:
                raise TemplateError(f"expected at most {MOST_PARTS} parts between &, got {len(parts):,}")
            found.update(dict.fromkeys(expand([parse_part(part.strip()) for part in parts])))
            if len(found) > MOST_TEMPLATES:
                raise TemplateError(f"expected at most {MOST_TEMPLATES:,} features, ranges written out")
        except TemplateError as error:
            raise TemplateError(f"{name}:{number}: {error}") from None
    if not found:
        raise TemplateError(f"{name}: no feature in it; expected lines such as word[0] or suffix:1-4[0]")
    return sorted(found, key=lambda template: (template.offset is None, template.offset or 0))


def parse_part(text: str) -> list[Part]:
    """All parts that `suffix:1-4[0]` stands for."""
    match = PART.fullmatch(text)
    if not match:
        raise TemplateError(f"expected function[:number][offset], got {quote(text)}")
    name, low, offset = match["name"], match["low"], int(match["offset"] or 0)
    numbered = [*NUMBERED, CLASS]
    if name not in FUNCTIONS and name not in numbered:
        known = ", ".join(sorted([*FUNCTIONS, *(f"{name}:n" for name in numbered)]))
        raise TemplateError(f"unknown function {quote(name)}; expected one of {known}")
    if (name in numbered) != (low is not None):
        raise TemplateError(f"{name} takes {'a number, as in ' + name + ':3' if name in numbered else 'no number'}")
    if abs(offset) > MAX_OFFSET:
        raise TemplateError(f"an offset is at most {MAX_OFFSET}, got {offset}")
    if low is None:
        return [Part(name, None, offset)]
    numbers = range(int(low), int(match["high"] or low) + 1)
    most = MAX_CLASSES if name == CLASS else MAX_OFFSET
    if not numbers or numbers[0] < 1 or numbers[-1] > most:
        raise TemplateError(f"expected a rising range of numbers from 1 to {most}, got {quote(text)}")
    if name == CLASS and match["high"]:
        raise TemplateError(f"{name} takes one number, as in class:128, got {quote(text)}")
    return [Part(name, number, offset) for number in numbers]


def expand(choices: list[list[Part]]) -> list[Template]:
    """One template for each choice of parts."""
    chosen: list[tuple[Part, ...]] = [()]
    several = math.prod(map(len, choices))
    if several > MOST_TEMPLATES:
        raise TemplateError(f"the ranges of the line make {several:,} features, expected at most {MOST_TEMPLATES:,}")
    for parts in choices:
        chosen = [(*left, part) for left in chosen for part in parts]
    return [Template(parts) for parts in chosen]


def parts_of(templates: list[Template]) -> list[Part]:
    """One part for each function that the templates use."""
    return list({part.function: part for template in templates for part in template.parts}.values())


def class_sizes(templates: list[Template]) -> list[int]:
    """The numbers of classes that the templates ask for."""
    return sorted({part.number for part in parts_of(templates) if part.name == CLASS and part.number is not None})


def margin(templates: list[Template]) -> int:
    """How far the templates look to either side."""
    return max(abs(part.offset) for template in templates for part in template.parts)


def values_of(
    parts: Iterable[Part], words: Sequence[str], classes: WordClasses | None = None
) -> dict[str, StringSpans]:
    """What the function of each part says of each word. Parts that ask for classes need them."""
    spelled = WordForms(words)
    rows = None if classes is None else classes.find(words)

    def values(part: Part) -> StringSpans:
        if part.number is None:
            return FUNCTIONS[part.name](spelled)
        if part.name != CLASS:
            return NUMBERED[part.name](part.number, spelled)
        assert classes is not None and rows is not None
        return classes.names(part.number, rows)

    return {part.function: values(part) for part in parts}


def check_classes(templates: list[Template], classes: WordClasses | None, name: str) -> None:
    """Refuse templates that ask for classes which are not there."""
    for size in class_sizes(templates):
        if classes is None:
            raise TemplateError(f"{name}: class:{size} needs word classes: name raw text or a file of classes")
        if size not in classes.classes:
            known = ", ".join(f"class:{size}" for size in classes.sizes)
            raise TemplateError(f"{name}: no class:{size} among the word classes given; expected one of {known}")


def describe(sentence: Sequence[str], templates: list[Template], classes: WordClasses | None = None) -> list[list[str]]:
    """Each token's features as text."""
    return [[text for text in row if text is not None] for row in filled(sentence, templates, classes)]


def filled(
    sentence: Sequence[str], templates: list[Template], classes: WordClasses | None = None
) -> list[list[str | None]]:
    """For each token and template the feature as text: `suffix:3[0]=ing`; None where there is none.

    The marks outside the sentence are `<before>` and `<after>`.
    """
    found = values_of(parts_of(templates), sentence, classes)
    values = {name: pieces.strings() for name, pieces in found.items()}

    def fill(part: Part, i: int) -> str | None:
        place = i + part.offset
        if not 0 <= place < len(sentence):
            return f"{part}=<{'before' if place < 0 else 'after'}>"
        value = values[part.function][place]
        return None if value is None else f"{part}={value}" if value else str(part)

    rows = []
    for i in range(len(sentence)):
        texts = [[fill(part, i) for part in template.parts] for template in templates]
        rows.append([None if None in parts else " & ".join(map(str, parts)) for parts in texts])
    return rows
