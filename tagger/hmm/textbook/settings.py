"""The settings of a textbook HMM, and which of them fit together."""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT = "default"  # of both settings: what is not of the textbook
NONE, ADD_K, INTERPOLATION = "none", "add-k", "interpolation"  # of `smoothing`
FLOOR, SUFFIX = "floor", "suffix"  # of `unknown`
SMOOTHING, UNKNOWN = (NONE, ADD_K, INTERPOLATION, DEFAULT), (FLOOR, SUFFIX, DEFAULT)
MAX_PSEUDO_COUNT = 1e12  # beyond it, sums of counts are not finite, or nothing is left of the counts


@dataclass(frozen=True)
class TextbookSettings:
    """The settings of an HMM that make it that of a textbook, and those that its parts need."""

    smoothing: str
    unknown: str
    floor: float
    pseudo_count: float
    order: int
    rare_count: int
    suffix_length: int

    @property
    def is_default(self) -> bool:
        """Whether no part of the model is that of the textbook."""
        return self.smoothing == self.unknown == DEFAULT

    @property
    def needs_base(self) -> bool:
        """Whether known or unknown words have the emissions of the default HMM."""
        return DEFAULT in (self.smoothing, self.unknown)

    @property
    def counts_only(self) -> bool:
        """Whether the transitions are relative frequencies of tag bigrams."""
        return self.smoothing in (NONE, ADD_K)

    @property
    def k(self) -> float:
        """Return the number that is added to every count."""
        return self.pseudo_count if self.smoothing == ADD_K else 0.0

    def check(self, given: dict[str, bool]) -> None:
        """Raise ValueError for values that are invalid, alone or together; `given` are further arguments of `fit`."""
        for name, value, known in (("smoothing", self.smoothing, SMOOTHING), ("unknown", self.unknown, UNKNOWN)):
            if value not in known:
                raise ValueError(f"{name}: expected {', '.join(known[:-1])} or {known[-1]}, got {value!r}")
        if not (0 < self.floor < 1 and 0 < self.pseudo_count <= MAX_PSEUDO_COUNT):
            values = f"floor={self.floor} and pseudo_count={self.pseudo_count}"
            expected = f"expected floor between 0 and 1 and pseudo_count above 0, up to {MAX_PSEUDO_COUNT:g}"
            raise ValueError(f"{expected}, got {values}")
        if self.counts_only and self.order == 2:
            raise ValueError(
                f"smoothing: expected interpolation or default with order 2, got {self.smoothing!r}. Use order 1."
            )
        for name, is_given in given.items():
            if is_given and not self.is_default:
                values = f"smoothing={self.smoothing!r} and unknown={self.unknown!r}"
                raise ValueError(f"{name}: expected none with {values}. Leave out {name}, or use the defaults.")
