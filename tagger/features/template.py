"""Feature templates: which features a CRF looks at, as plain text.

A line such as `lower[-1] & suffix:1-4[0]` names functions (`functions`) at offsets from a token. `&` joins up to three
conjuncts, a range makes one template per number, `#` begins a comment. One function is not about spelling:
`class:128` is the word's class among 128, looked up in a table of word classes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import product

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
MAX_TEMPLATES, MAX_CONJUNCTS = 2000, 3
CLASS = "class"
PIPED: dict[tuple[int, int], str] = {}  # templates read from pipes, which folds and trials need again
CONJUNCT = re.compile(r"(?P<name>[a-z]+)(:(?P<low>\d{1,9})(-(?P<high>\d{1,9}))?)?(\[(?P<offset>[+-]?\d{1,9})\])?")


@dataclass(frozen=True)
class Conjunct:
    """A feature function of one word at an offset from the token: `suffix:3[-1]`."""

    name: str
    number: int | None
    offset: int

    @property
    def function(self) -> str:
        """The function with its number, `suffix:3`."""
        return self.name if self.number is None else f"{self.name}:{self.number}"

    def __str__(self) -> str:
        return f"{self.function}[{self.offset}]"


@dataclass(frozen=True)
class Template:
    """A kind of feature: a conjunction of functions at offsets."""

    conjuncts: tuple[Conjunct, ...]

    @cached_property
    def offset(self) -> int | None:
        """The offset of the one word that a template looks at; None if it looks at several."""
        offsets = {conjunct.offset for conjunct in self.conjuncts}
        return offsets.pop() if len(offsets) == 1 else None

    def __str__(self) -> str:
        return " & ".join(map(str, self.conjuncts))


def template_text(name_or_path: str) -> str:
    """Read the text of a shipped template or of a file."""
    if name_or_path in SHIPPED:
        return shipped(name_or_path)
    if name_or_path != "-" and not exists(name_or_path):
        raise TemplateError(f"{name_or_path}: no such template; expected {', '.join(SHIPPED)} or a file")
    pipe = pipe_identity(name_or_path)
    if pipe is None:
        return "\n".join(Lines(name_or_path))
    if pipe not in PIPED:
        PIPED[pipe] = "\n".join(Lines(name_or_path))
    return PIPED[pipe]


def shipped(name: str) -> str:
    """Read a template of this package."""
    return (resources.files("tagger.features") / "templates" / f"{name}.txt").read_text("utf-8")


def class_features(sizes: Sequence[int]) -> str:
    """Write the lines added to a template that names no classes, for classes of these sizes.

    They are the classes of the word, of the usual sizes or of all there are, and one of medium size for its neighbours.
    """
    sizes = SIZES if set(SIZES) <= set(sizes) else sizes
    middle = sizes[len(sizes) // 2]
    lines = [*(f"class:{size}[0]" for size in sizes), f"class:{middle}[-1]", f"class:{middle}[1]"]
    return "\n".join(["", "# word classes, added to a template that names none", *lines, ""])


def parse_templates(text: str, name: str = "template") -> list[Template]:
    """Parse a text to its distinct templates, those of one word first, by offset, because they are scored together.

    `name` begins the messages of errors.
    """
    templates: dict[Template, None] = {}
    for number, line in enumerate(text.split("\n"), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        try:
            conjuncts = line.split("&")
            if len(conjuncts) > MAX_CONJUNCTS:
                raise TemplateError(f"expected at most {MAX_CONJUNCTS} functions joined by &, got {len(conjuncts):,}")
            templates.update(dict.fromkeys(expand([parse_conjunct(conjunct.strip()) for conjunct in conjuncts])))
            if len(templates) > MAX_TEMPLATES:
                raise TemplateError(f"expected at most {MAX_TEMPLATES:,} features, ranges written out")
        except TemplateError as error:
            raise TemplateError(f"{name}:{number}: {error}") from None
    if not templates:
        raise TemplateError(f"{name}: no feature in it; expected lines such as word[0] or suffix:1-4[0]")
    return sorted(templates, key=lambda template: (template.offset is None, template.offset or 0))


def parse_conjunct(text: str) -> list[Conjunct]:
    """Parse `suffix:1-4[0]` to one conjunct for each number."""
    match = CONJUNCT.fullmatch(text)
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
        raise TemplateError(f"expected an offset from -{MAX_OFFSET} to {MAX_OFFSET}, got {offset}")
    if low is None:
        return [Conjunct(name, None, offset)]
    numbers = range(int(low), int(match["high"] or low) + 1)
    highest = MAX_CLASSES if name == CLASS else MAX_OFFSET
    if not numbers or numbers[0] < 1 or numbers[-1] > highest:
        raise TemplateError(f"expected a rising range of numbers from 1 to {highest}, got {quote(text)}")
    if name == CLASS and match["high"]:
        raise TemplateError(f"{name} takes one number, as in class:128, got {quote(text)}")
    return [Conjunct(name, number, offset) for number in numbers]


def expand(ranges: list[list[Conjunct]]) -> list[Template]:
    """Write out the ranges of a line: one template for each choice of a conjunct from each range."""
    count = math.prod(map(len, ranges))
    if count > MAX_TEMPLATES:
        raise TemplateError(f"the ranges of the line make {count:,} features, expected at most {MAX_TEMPLATES:,}")
    return [Template(conjuncts) for conjuncts in product(*ranges)]


def functions_of(templates: list[Template]) -> list[Conjunct]:
    """List one conjunct for each function that the templates use."""
    return list({conjunct.function: conjunct for template in templates for conjunct in template.conjuncts}.values())


def class_sizes(templates: list[Template]) -> list[int]:
    """List the numbers of word classes that the templates name."""
    return sorted({f.number for f in functions_of(templates) if f.name == CLASS and f.number is not None})


def margin(templates: list[Template]) -> int:
    """Compute the largest distance from the token at which a template looks."""
    return max(abs(conjunct.offset) for template in templates for conjunct in template.conjuncts)


def function_values(
    functions: Iterable[Conjunct], words: Sequence[str], classes: WordClasses | None = None
) -> dict[str, StringSpans]:
    """Evaluate each function at each word; `class` functions need `classes`."""
    forms = WordForms(words)
    rows = None if classes is None else classes.find(words)

    def values(function: Conjunct) -> StringSpans:
        if function.number is None:
            return FUNCTIONS[function.name](forms)
        if function.name != CLASS:
            return NUMBERED[function.name](function.number, forms)
        assert classes is not None and rows is not None
        return classes.names(function.number, rows)

    return {function.function: values(function) for function in functions}


def check_classes(templates: list[Template], classes: WordClasses | None, name: str) -> None:
    """Refuse templates that name word classes which are not given."""
    for size in class_sizes(templates):
        if classes is None:
            raise TemplateError(f"{name}: class:{size} needs word classes: name raw text or a file of classes")
        if size not in classes.classes:
            known = ", ".join(f"class:{size}" for size in classes.sizes)
            raise TemplateError(f"{name}: no class:{size} among the word classes given; expected one of {known}")


def describe(sentence: Sequence[str], templates: list[Template], classes: WordClasses | None = None) -> list[list[str]]:
    """Write out the features of each token as text."""
    return [[text for text in row if text is not None] for row in filled(sentence, templates, classes)]


def filled(
    sentence: Sequence[str], templates: list[Template], classes: WordClasses | None = None
) -> list[list[str | None]]:
    """Fill in each template at each token: `suffix:3[0]=ing`, or None if a function has no value there.

    Outside the sentence values are `<before>` and `<after>`.
    """
    spans = function_values(functions_of(templates), sentence, classes)
    values = {name: strings.strings() for name, strings in spans.items()}

    def fill(conjunct: Conjunct, i: int) -> str | None:
        place = i + conjunct.offset
        if not 0 <= place < len(sentence):
            return f"{conjunct}=<{'before' if place < 0 else 'after'}>"
        value = values[conjunct.function][place]
        return None if value is None else f"{conjunct}={value}" if value else str(conjunct)

    rows = []
    for i in range(len(sentence)):
        texts = [[fill(conjunct, i) for conjunct in template.conjuncts] for template in templates]
        rows.append([None if None in filled_in else " & ".join(map(str, filled_in)) for filled_in in texts])
    return rows
