"""The scores of an evaluation as a data frame, LaTeX or CSV: a row per tag."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tagger.evaluation.metrics import Evaluation, Rate

HEADS = ("tag", "precision", "recall", "f1", "support")
SPECIAL = str.maketrans({c: f"\\{c}" for c in "&%$#_{}"} | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}"})
SPECIAL[ord("^")] = r"\textasciicircum{}"


class ScoreTable:
    """Conversions of an `Evaluation`, whose `tags` are the rows."""

    def to_frame(self: Any) -> Any:
        """Return precision, recall, F1 and number of tokens of each tag as a pandas DataFrame, indexed by tag."""
        from pandas import DataFrame

        return DataFrame(rows(self), columns=list(HEADS)).set_index("tag")

    def to_csv(self: Any) -> str:
        """Return the scores of each tag as CSV; rates are fractions, and empty where they are not defined."""
        import csv

        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(HEADS)
        writer.writerows(rows(self))
        return out.getvalue()

    def to_latex(self: Any) -> str:
        """Return the scores of each tag, their macro average and the accuracy as a LaTeX tabular, in percent."""
        lines = [[tag.translate(SPECIAL), *map(in_percent, rates), f"{n:,}"] for tag, *rates, n in rows(self)]
        macro = ["macro average", *map(in_percent, (self.macro.precision, self.macro.recall, self.macro.f1)), ""]
        accuracy = ["accuracy", "", "", in_percent(self.accuracy), f"{self.tokens:,}"]
        body = [[r"\hline"], *lines, [r"\hline"], macro, accuracy]
        text = "\n".join(line[0] if len(line) == 1 else " & ".join(line) + r" \\" for line in body)
        return (
            f"\\begin{{tabular}}{{lrrrr}}\ntag & precision & recall & F$_1$ & tokens \\\\\n{text}\n\\end{{tabular}}\n"
        )


def rows(evaluation: Evaluation) -> list[tuple[Any, ...]]:
    """Return the scores of each tag."""
    return [(row.tag, row.precision, row.recall, row.f1, row.support) for row in evaluation.tags]


def in_percent(rate: Rate) -> str:
    """Write a rate in percent; a dash if it is not defined."""
    return "--" if rate is None else f"{100 * rate:.2f}"
