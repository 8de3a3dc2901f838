"""A trellis as text for a terminal, as TSV and as JSON.

The text has tables of states, tags, steps and the best taggings. Its lines fit WIDTH columns: long words and tags are
cut. TSV and JSON have the same rows with all digits. A dash in text, an empty cell in TSV and null in JSON stand for
what is not defined; -inf, an impossible state, is null in JSON, which has no such number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict
from textwrap import wrap
from typing import Any

from tagger.escaping import visible
from tagger.models.trellis import TAGS_SHOWN, SentenceTrellis
from tagger.models.trellis_view import TrellisState, TrellisView
from tagger.reports.text import padded, width

WIDTH = 80  # columns
MIN_COLUMN = 4  # columns that a cut word or tag keeps
STEPS_SHOWN = 5  # per token

Row = Sequence[str]


def as_text(trellis: SentenceTrellis, tags: int = TAGS_SHOWN) -> str:
    """Format a trellis as tables."""
    view = trellis.view(tags)
    tables = [heading(trellis)]
    if trellis.order:
        tables.append(state_table(trellis, view))
    if trellis.order != 1 or trellis.note:  # else each state is a tag
        tables.append(tag_table(view))
    if trellis.order:
        tables.append(step_table(view))
    return "\n".join([*tables, path_table(trellis)])


def heading(trellis: SentenceTrellis) -> str:
    """Say what the sentence, the model and its sums are."""
    order = f", {trellis.order_name} order" if trellis.order else ""
    lines = [visible(" ".join(trellis.words)), f"model: {trellis.kind}{order}, {len(trellis.classes):,} tags"]
    if trellis.best is None:
        lines.append("no path is allowed")
    elif trellis.log_z is not None:
        best = trellis.best
        lines.append(
            f"log Z {number(trellis.log_z)}, best path {number(best.score)}, probability {best.probability:.4f}"
        )
    if trellis.note:
        lines += wrap(trellis.note, WIDTH)
    return "\n".join(lines) + "\n"


def state_table(trellis: SentenceTrellis, view: TrellisView) -> str:
    """List the states of each token, the best path with stars; `from` is the first tag of the back-pointer."""
    before = ["before"] if trellis.order == 2 else []
    head = ["", "word", *before, "tag", "emission", "delta", "from", "alpha", "beta", "prob"]
    rows, token = [], -1
    for state in view.states:
        word = (state.word or "") if state.token != token else ""
        token = state.token
        cells = ["*" if state.is_best else "", word, *([state.previous or "–"] if before else []), state.tag]
        cells += [number(state.emission), number(state.delta), state.pointer_tag or "–"]
        rows.append([*cells, number(state.alpha), number(state.beta), f"{state.probability:.4f}"])
    more = f"{view.left_out:,} less probable states are not shown\n" if view.left_out else ""
    return aligned(head, rows, texts=(1, *range(2, len(before) + 3), head.index("from"))) + more


def tag_table(view: TrellisView) -> str:
    """List the tags of each token."""
    words = ["" if i and view.tags[i - 1].token == tag.token else tag.word for i, tag in enumerate(view.tags)]
    rows = [
        ["*" if tag.is_best else "", word, tag.tag, f"{tag.probability:.4f}"]
        for word, tag in zip(words, view.tags, strict=True)
    ]
    return aligned(["", "word", "tag", "prob"], rows, texts=(1, 2))


def step_table(view: TrellisView) -> str:
    """List the most probable steps to each token."""
    shown: list[Row] = []
    for token in range(1, view.states[-1].token + 1):
        steps = [step for step in view.steps if view.states[step.after].token == token]
        steps.sort(key=lambda step: (not step.is_best, -step.probability))
        for place, step in enumerate(steps[:STEPS_SHOWN]):
            after = view.states[step.after]
            names = [label(view.states[step.before]), label(after)]
            word = (after.word or "") if not place else ""
            mark = "*" if step.is_best else ""
            shown.append([mark, word, *names, number(step.score), f"{step.probability:.4f}"])
    return aligned(["", "to word", "from", "to", "step", "prob"], shown, texts=(1, 2, 3))


def path_table(trellis: SentenceTrellis) -> str:
    """List the best taggings."""
    rows = [[f"{path.probability:.4f}", number(path.score), " ".join(path.tags)] for path in trellis.paths]
    return aligned(["prob", "score", "tags"], rows, texts=(2,))


def label(state: TrellisState) -> str:
    """Name a state by its tag, or by its two tags."""
    return state.tag if state.previous is None else f"{state.previous} {state.tag}"


def number(value: float | None) -> str:
    """Write a score with two digits, or a dash if it is not defined."""
    return "–" if value is None else f"{round(value, 2) + 0.0:.2f}"  # without -0.00


def aligned(head: Row, rows: Sequence[Row], texts: Sequence[int]) -> str:
    """Align columns, text to the left and numbers to the right; cut the widest texts until the lines fit."""
    table = [[visible(cell) for cell in row] for row in [head, *rows]]
    widths = [max(map(width, column)) for column in zip(*table, strict=True)]
    while sum(widths) + 2 * (len(widths) - 1) > WIDTH:
        widest = max(texts, key=lambda i: widths[i])
        if widths[widest] <= MIN_COLUMN:
            break
        widths[widest] -= 1
    lines = []
    for row in table:
        cells = (
            padded(cut(cell, columns), columns) if i in texts else cell.rjust(columns)
            for i, (cell, columns) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join(cells).rstrip() + "\n")
    return "".join(lines)


def cut(text: str, columns: int) -> str:
    """Cut text to a number of columns on a terminal."""
    if width(text) <= columns:
        return text
    while width(text) > columns - 1:
        text = text[:-1]
    return text + "…"


def as_json(trellis: SentenceTrellis, tags: int = TAGS_SHOWN) -> dict[str, Any]:
    """Convert a trellis to JSON values; states are numbered in the order of their list."""
    view = trellis.view(tags)
    values = {
        "words": trellis.words,
        "kind": trellis.kind,
        "order": trellis.order,
        "log_z": trellis.log_z,
        "best": asdict(trellis.best) if trellis.best else None,
        "paths": [asdict(path) for path in trellis.paths],
        "tags": [asdict(tag) for tag in view.tags],
        "states": [asdict(state) for state in view.states],
        "steps": [asdict(step) for step in view.steps],
        "left_out": view.left_out,
        "note": trellis.note,
    }
    return {name: mapped(value, finite) for name, value in values.items()}


def mapped(value: Any, function: Callable[[Any], Any]) -> Any:
    """Apply a function to everything in JSON values that is neither list nor object."""
    if isinstance(value, dict):
        return {name: mapped(item, function) for name, item in value.items()}
    if isinstance(value, list):
        return [mapped(item, function) for item in value]
    return function(value)


def finite(value: Any) -> Any:
    """Replace infinite numbers by None."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def as_tsv(trellis: SentenceTrellis, tags: int = TAGS_SHOWN) -> str:
    """Format a trellis as tables of cells between tabs: `# tags`, `# states`, `# steps` and `# paths`."""
    view = trellis.view(tags)
    paths = [{"probability": p.probability, "score": p.score, "tags": " ".join(p.tags)} for p in trellis.paths]
    tables: dict[str, Sequence[Any]] = {"tags": view.tags, "states": view.states, "steps": view.steps}
    sections = {title: [asdict(row) for row in rows] for title, rows in tables.items()} | {"paths": paths}
    return "\n".join(tsv_section(title, rows) for title, rows in sections.items() if rows)


def tsv_section(title: str, rows: list[dict[str, Any]]) -> str:
    """Format rows with a head."""
    lines = [list(rows[0]), *(list(row.values()) for row in rows)]
    return "".join(f"{line}\n" for line in [f"# {title}", *("\t".join(map(cell, line)) for line in lines)])


def cell(value: Any) -> str:
    """Write a cell of TSV; True and False are 1 and 0."""
    return "" if value is None else visible(str(int(value) if isinstance(value, bool) else value))
