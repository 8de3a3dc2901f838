"""Feature templates: which features a CRF looks at, as plain text.

A line such as `lower[-1] & suffix:1-4[0]` names functions (`functions`) at offsets from a token; `syntax` parses it.
`&` joins up to three conjuncts, a range makes one template per number, `#` begins a comment. Functions look at the
spelling of the word or of a column (`lower(column:lemma)`); `class:128` is the word's class among 128, looked up in a
table of word classes. A line that begins with `@` makes features of steps: they have weights for pairs of tags, that of
the token before and that of the token.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import product
from typing import Any

import numpy as np

from tagger.arrays.caching import cached_property
from tagger.arrays.string_spans import StringSpans
from tagger.errors import TemplateError
from tagger.features.functions import FUNCTIONS, NUMBERED, PATTERN_FUNCTIONS, DistinctForms, WordForms
from tagger.features.observer import split_sources
from tagger.features.patterns import compiled
from tagger.features.syntax import (
    ATTRIBUTES,
    CLASS,
    LIST,
    LIST_PREFIX,
    NUMBER,
    STEP_MARK,
    VALUED,
    Conjunct,
    parse_line,
)
from tagger.features.token_values import TokenValues, written_pairs
from tagger.features.word_classes import SIZES, WordClasses
from tagger.files.reading import Lines, exists, pipe_identity
from tagger.sentence import FEATURES

SHIPPED = ("default", "comparison", "chunking", "names")
FEATURES_TEMPLATE = f"{ATTRIBUTES}:{FEATURES}[0]\n"  # for dicts of features
MAX_TEMPLATES = 2000
PIPED: dict[tuple[int, int], str] = {}  # templates read from pipes, which folds and trials need again


@dataclass(frozen=True)
class Template:
    """A kind of feature: a conjunction of functions at offsets."""

    conjuncts: tuple[Conjunct, ...]
    of_steps: bool = False  # whether its features have weights for pairs of tags

    @cached_property
    def offset(self) -> int | None:
        """The offset of the one word that a template looks at; None if it looks at several, or has values."""
        offsets = {conjunct.offset for conjunct in self.conjuncts}
        return offsets.pop() if len(offsets) == 1 and not self.valued else None

    @cached_property
    def valued(self) -> list[Conjunct]:
        """The numbers that a feature is multiplied with, or the dict that it is from."""
        return [conjunct for conjunct in self.conjuncts if conjunct.name in VALUED]

    def __str__(self) -> str:
        return self.marked(" & ".join(map(str, self.conjuncts)))

    def marked(self, text: str) -> str:
        """Put the mark of features of steps before a text, if its features are such."""
        return f"{STEP_MARK} {text}" if self.of_steps else text


def template_text(name_or_path: str, columns: Sequence[str | None] = (None,)) -> str:
    """Read the text of a shipped template or of a file; a template of CRF++ or Wapiti is translated (`foreign`).

    `columns` are the names of the corpus's columns, None for the words.
    """
    from tagger.features.foreign import is_foreign, translate

    text = shipped(name_or_path) if name_or_path in SHIPPED else file_text(name_or_path)
    return translate(text, columns) if is_foreign(text) else text


def file_text(name_or_path: str) -> str:
    """Read the text of a file; that of a pipe once only."""
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

    Templates of steps come last. `name` begins the messages of errors.
    """
    templates: dict[Template, None] = {}
    for number, line in enumerate(text.split("\n"), 1):
        try:
            of_steps, conjuncts = parse_line(line)
            if conjuncts:
                templates.update(dict.fromkeys(expand(conjuncts, of_steps)))
            if len(templates) > MAX_TEMPLATES:
                raise TemplateError(f"expected at most {MAX_TEMPLATES:,} features, ranges written out")
        except TemplateError as error:
            raise TemplateError(f"{name}:{number}: {error}") from None
    if not templates:
        raise TemplateError(f"{name}: no feature in it; expected lines such as word[0] or suffix:1-4[0]")
    return sorted(templates, key=lambda t: (t.of_steps, t.offset is None, t.offset or 0))


def expand(ranges: list[list[Conjunct]], of_steps: bool) -> list[Template]:
    """Write out the ranges of a line: one template for each choice of a conjunct from each range."""
    count = math.prod(map(len, ranges))
    if count > MAX_TEMPLATES:
        raise TemplateError(f"the ranges of the line make {count:,} features, expected at most {MAX_TEMPLATES:,}")
    return [Template(conjuncts, of_steps) for conjuncts in product(*ranges)]


def functions_of(templates: list[Template]) -> list[Conjunct]:
    """List one conjunct for each function of tokens that the templates use, those of one group together."""
    conjuncts = (conjunct for template in templates for conjunct in template.conjuncts)
    distinct = {conjunct.function: conjunct for conjunct in conjuncts if conjunct.name != ATTRIBUTES}
    return [function for group in grouped(distinct.values()) for function in group]


def grouped(functions: Iterable[Conjunct]) -> list[list[Conjunct]]:
    """Group functions that are evaluated together: they differ in their number only (`suffix:1`, `suffix:2`)."""
    groups: dict[tuple[str, str | None], list[Conjunct]] = {}
    for function in functions:
        key = (function.name if function.name in NUMBERED else function.function, function.column)
        groups.setdefault(key, []).append(function)
    return list(groups.values())


def class_sizes(templates: list[Template]) -> list[int]:
    """List the numbers of word classes that the templates name."""
    return sorted({f.number for f in functions_of(templates) if f.name == CLASS and f.number is not None})


def sources_of(templates: list[Template]) -> tuple[str, ...]:
    """List the strings that templates look at besides the words: names of columns, and of lists with their prefix."""
    conjuncts = (conjunct for template in templates for conjunct in template.conjuncts)
    return tuple(dict.fromkeys(c.column for c in conjuncts if c.column is not None and c.name not in VALUED))


def valued_sources(templates: list[Template]) -> tuple[str, ...]:
    """List the numbers and dicts that the templates look at, with their prefix."""
    return tuple(dict.fromkeys(str(conjunct.column) for template in templates for conjunct in template.valued))


def token_values(templates: list[Template], sentences: Sequence[Any], zeros: bool = False) -> TokenValues | None:
    """Collect the numbers and dicts of sentences, as an `Observer` returns them; None if no template looks at any.

    The names in dicts that have the value 0 are left out, unless `zeros` asks for them.
    """
    sources = valued_sources(templates)
    return TokenValues.of(sentences, sources, margin(templates), zeros) if sources else None


def column_names(templates: list[Template]) -> tuple[str, ...]:
    """List the columns that the templates look at."""
    strings = [name for name in sources_of(templates) if not name.startswith(LIST_PREFIX)]
    return tuple(dict.fromkeys([*strings, *(name.split(":", 1)[1] for name in valued_sources(templates))]))


def list_names(templates: list[Template]) -> tuple[str, ...]:
    """List the lists of phrases that the templates look at."""
    return tuple(name.removeprefix(LIST_PREFIX) for name in sources_of(templates) if name.startswith(LIST_PREFIX))


def margin(templates: list[Template]) -> int:
    """Compute the largest distance from the token at which a template looks."""
    return max(abs(conjunct.offset) for template in templates for conjunct in template.conjuncts)


def function_values(
    functions: Iterable[Conjunct],
    tokens: Sequence[Any],
    sources: tuple[str, ...] = (),
    classes: WordClasses | None = None,
) -> dict[str, StringSpans]:
    """Evaluate each function at each token, a word or a tuple of a word and these sources; `class` needs `classes`."""
    values: dict[str, StringSpans] = {}
    groups = grouped(functions)
    for group, spans in zip(groups, group_values(groups, tokens, sources, classes), strict=True):
        values.update(zip([function.function for function in group], spans.split(len(group)), strict=True))
    return values


def group_values(
    groups: Iterable[Sequence[Conjunct]],
    tokens: Sequence[Any],
    sources: tuple[str, ...] = (),
    classes: WordClasses | None = None,
) -> list[StringSpans]:
    """Evaluate groups of functions, as `function_values` does; the spans of a group are function after function."""
    by_source = {name: DistinctForms.of(values, not sources) for name, values in split_sources(tokens, sources).items()}
    rows = None if classes is None else classes.find(by_source[None].words)

    def values(functions: Sequence[Conjunct], forms: WordForms) -> StringSpans:
        function = functions[0]
        if function.name == CLASS:
            assert classes is not None and rows is not None and function.number is not None
            return classes.names(function.number, rows)
        if function.name == LIST:
            return StringSpans.of_some(forms.words)
        if function.pattern is not None:
            return PATTERN_FUNCTIONS[function.name](compiled(function.pattern), forms)
        if function.number is None:
            return FUNCTIONS[function.name](forms)
        return NUMBERED[function.name](np.array([[own.number] for own in functions]), forms)

    def at_tokens(functions: Sequence[Conjunct]) -> StringSpans:
        if functions[0].name == NUMBER:  # every token has one
            return StringSpans.of_flags(np.ones(len(tokens), bool))
        forms = by_source[functions[0].column]
        return forms.at_tokens(values(functions, forms), len(functions))

    return [at_tokens(group) for group in groups]


def check_classes(templates: list[Template], classes: WordClasses | None, name: str) -> None:
    """Refuse templates that name word classes which are not given."""
    for size in class_sizes(templates):
        if classes is None:
            raise TemplateError(f"{name}: class:{size} needs word classes: name raw text or a file of classes")
        if size not in classes.classes:
            known = ", ".join(f"class:{size}" for size in classes.sizes)
            raise TemplateError(f"{name}: no class:{size} among the word classes given; expected one of {known}")


def describe(sentence: Any, templates: list[Template], classes: WordClasses | None = None) -> list[list[str]]:
    """Write out the features of each token, as an `Observer` returns it, as text."""
    plain = [template for template in templates if template.conjuncts[0].name != ATTRIBUTES]
    rows = [[text for text in row if text is not None] for row in filled(sentence, plain, classes)]
    for template in templates:
        if template not in plain:
            pairs = written_pairs(sentence, *template.conjuncts)
            rows = [row + texts for row, texts in zip(rows, pairs, strict=True)]
    return rows


def filled(sentence: Any, templates: list[Template], classes: WordClasses | None = None) -> list[list[str | None]]:
    """Fill in each template at each token: `suffix:3[0]=ing`, or None if a function has no value there.

    Outside the sentence values are `<before>` and `<after>`. The first token has no features of steps.
    """
    spans = function_values(functions_of(templates), sentence, sources_of(templates), classes)
    values = {name: strings.strings() for name, strings in spans.items()}

    def fill(conjunct: Conjunct, i: int) -> str | None:
        place = i + conjunct.offset
        if not 0 <= place < len(sentence):
            return f"{conjunct}=<{'before' if place < 0 else 'after'}>"
        if conjunct.name == NUMBER:
            return f"{conjunct}={sentence.values[conjunct.column][place]:g}"
        value = values[conjunct.function][place]
        return None if value is None else f"{conjunct}={value}" if value else str(conjunct)

    rows = []
    for i in range(len(sentence)):
        own = [template for template in templates if i or not template.of_steps]
        texts = [[fill(conjunct, i) for conjunct in template.conjuncts] for template in own]
        joined = [None if None in filled_in else " & ".join(map(str, filled_in)) for filled_in in texts]
        rows.append([text and template.marked(text) for template, text in zip(own, joined, strict=True)])
    return rows
