"""Explanations as one HTML page that needs nothing else: no network, no script; every word is text, never markup."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from tagger.explain import Explanation, Reason

STYLE = """
:root { color-scheme: light dark; --for: #2b6cb0; --against: #b7791f; --line: #8886; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 1rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .2rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.bar { display: inline-block; height: .7em; }
.for { background: var(--for); } .against { background: var(--against); }
details summary { cursor: pointer; }
"""


def explanation_page(explained: Sequence[Sequence[Explanation]]) -> str:
    """A table for each sentence; the reasons of a token unfold."""
    tables = "\n".join(sentence_table(number, tokens) for number, tokens in enumerate(explained, 1))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Why these tags?</title>
<style>{STYLE}</style>
</head>
<body>
<h1>Why these tags?</h1>
<p>Each reason is a part of the score; a positive number speaks for the tag, a negative one for the runner-up.</p>
{tables}
</body>
</html>
"""


def sentence_table(number: int, tokens: Sequence[Explanation]) -> str:
    rows = "\n".join(map(token_row, tokens))
    return f"""<h2>Sentence {number}</h2>
<table>
<tr><th scope="col">word</th><th scope="col">tag</th><th scope="col">probability</th><th scope="col">runner-up</th>
<th scope="col">why</th></tr>
{rows}
</table>"""


def token_row(token: Explanation) -> str:
    runner = "–" if token.runner_up is None else f"{escape(token.runner_up)} ({token.runner_up_probability:.3f})"
    widest = max((abs(reason.value) for reason in token.reasons), default=1.0)
    reasons = "\n".join(reason_row(reason, widest) for reason in token.reasons)
    why = f"<details><summary>{token.difference:+.2f}</summary><table>{reasons}</table></details>"
    cells = [escape(token.word), escape(token.tag), f"{token.probability:.3f}", runner, why]
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def reason_row(reason: Reason, widest: float) -> str:
    side, width = ("for", "against")[reason.value < 0], 6 * abs(reason.value) / widest
    bar = f'<span class="bar {side}" style="width:{width:.2f}em"></span>'
    return f'<tr><td>{escape(reason.name)}</td><td class="number">{reason.value:+.3f}</td><td>{bar}</td></tr>'
