"""Regular expressions of templates: a subset that no word can make slow.

Templates come from strangers, in model files too. So there is no backreference and no lookaround, no quantifier or
choice inside a quantified group, and few quantifiers: with q of them that allow n repetitions each, a search from one
place of a word tries at most n^q ways. Words have at most 200 characters (`normalization`).
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from tagger.errors import TemplateError
from tagger.escaping import quote
from tagger.normalization import MAX_WORD_LENGTH

try:
    from re import _parser as parser  # type: ignore[attr-defined]
except ImportError:  # Python 3.10
    import sre_parse as parser

MAX_PATTERN_LENGTH = 200
MAX_CHOICES = (MAX_WORD_LENGTH + 1) ** 3  # three quantifiers such as * and +
SLOW = 1.5  # power of the ways of other choices: each of theirs takes about five times as long
SIMPLE = {"LITERAL", "NOT_LITERAL", "ANY", "IN", "AT"}
REPEATS = {"MAX_REPEAT", "MIN_REPEAT"}
ALLOWED_FLAGS = re.IGNORECASE | re.UNICODE


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a regular expression; raise a TemplateError for one that is not in the subset."""
    if len(pattern) > MAX_PATTERN_LENGTH:
        raise TemplateError(f"expected a pattern of at most {MAX_PATTERN_LENGTH} characters, got {len(pattern):,}")
    try:
        parsed = parser.parse(pattern)
        if parsed.state.flags & ~ALLOWED_FLAGS:
            raise TemplateError(f"expected no flags but (?i) in a pattern, got {quote(pattern)}")
        if choices(parsed, pattern, inside=False) > MAX_CHOICES:
            expected = "expected at most three quantifiers such as + and few choices in a pattern"
            raise TemplateError(f"{expected}, got {quote(pattern)}")
        return re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise TemplateError(f"expected a regular expression, got {quote(pattern)}: {error}") from None


def choices(items: Any, pattern: str, inside: bool) -> float:
    """Bound the ways in which a parsed expression can match at one place; `inside` a quantified group it has one."""
    ways = 1.0
    for code, value in items:
        name = str(code)
        if name in SIMPLE:
            continue
        if name in REPEATS and not inside:
            low, high, body = value
            choices(body, pattern, inside=True)
            own = max(1, min(int(high), MAX_WORD_LENGTH) - int(low) + 1)
            ways *= own if int(high) > MAX_WORD_LENGTH else own**SLOW
        elif name == "SUBPATTERN" and not (value[1] | value[2]) & ~ALLOWED_FLAGS:
            ways *= choices(value[3], pattern, inside)
        elif name == "BRANCH" and not inside:
            ways *= sum(choices(branch, pattern, inside) for branch in value[1]) ** SLOW
        else:
            refused = "no quantifier or choice in a quantified group, backreference or lookaround"
            raise TemplateError(f"expected {refused} in a pattern, got {quote(pattern)}")
    return ways
