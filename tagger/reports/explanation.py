"""Explanations as one HTML page that needs nothing else: no network, no script; every word is text, never markup."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from tagger.escaping import visible
from tagger.models.explain import Explanation, Reason

STYLE = """
:root { color-scheme: light dark; --for: #2b6cb0; --against: #b7791f; --line: #8886; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 45rem; margin: 1rem auto; padding: 0 1rem; }
ol { list-style: none; padding: 0; } li { border-bottom: 1px solid var(--line); padding: .3rem 0; }
summary { cursor: pointer; } summary:focus-visible { outline: 3px solid var(--against); }
.rest { opacity: .8; margin-left: .5em; } .even { margin-left: 1.1em; } h1, h2, strong, td { overflow-wrap: anywhere; }
table { border-collapse: collapse; margin: .3rem 0 .6rem 1.1em; font-size: .9rem; }
th, td { text-align: left; padding: .1rem .6rem .1rem 0; vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.bar { display: inline-block; height: .7em; }
.for { background: var(--for); } .against { background: var(--against); }
"""


def explanation_page(explained: Sequence[Sequence[Explanation]]) -> str:
    """A list for each sentence; the reasons of a token unfold."""
    lists = "\n".join(sentence_list(number, tokens) for number, tokens in enumerate(explained, 1))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>Why these tags?</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<h1>Why these tags?</h1>
<p>Each token has its tag, how probable that is, the runner-up, and the difference of their scores. Unfold it to see
what the difference is made of: a positive number speaks for the tag, a negative one for the runner-up.</p>
{lists}
</main>
</body>
</html>
"""


def sentence_list(number: int, tokens: Sequence[Explanation]) -> str:
    items = "\n".join(f"<li>{token_item(token)}</li>" for token in tokens)
    return f"<h2>Sentence {number}</h2>\n<ol>\n{items}\n</ol>"


def token_item(token: Explanation) -> str:
    head = f"<strong><bdi>{safe(token.word)}</bdi></strong> {safe(token.tag)} {token.probability:.3f}"
    if token.runner_up is None:
        return f'<span class="even">{head}<span class="rest">no other tag is possible</span></span>'
    rest = f"not {safe(token.runner_up)} {token.runner_up_probability:.3f}: {token.difference:+.2f}"
    widest = max((abs(reason.value) for reason in token.reasons), default=1.0)
    rows = "\n".join(reason_row(reason, widest) for reason in token.reasons)
    heads = '<tr><th scope="col">score</th><th></th><th scope="col">reason</th></tr>'
    summary = f'<summary>{head}<span class="rest">{rest}</span></summary>'
    return f"<details>{summary}<table>{heads}{rows}</table></details>"


def reason_row(reason: Reason, widest: float) -> str:
    side, width = ("for", "against")[reason.value < 0], 4 * abs(reason.value) / widest
    bar = f'<span class="bar {side}" style="width:{width:.2f}em"></span>'
    return f'<tr><td class="number">{reason.value:+.3f}</td><td>{bar}</td><td>{safe(reason.name)}</td></tr>'


def safe(text: str) -> str:
    return escape(visible(text))
