"""The linear chain: functions on arrays, and the recursions that all models share.

The functions are the public part (`tagger.chain.decode`, listed in `__all__`). The scores may come from any model. They
are padded batches, as in other libraries: `emissions` (B, T, K), of which the first `lengths[b]` rows of sentence b
count and the rest is ignored; without `lengths` all T count. A single sentence (T, K) gives results without the first
axis; its tags are (T,), its length is an integer. `transitions` are (K, K), or (T - 1, K, K) or (B, T - 1, K, K) where
they differ from step to step. `start` and `end` (K,) default to zeros. A score of -inf forbids a tag or a step.
Results have 0 after the end of a sentence, scores of states -inf, tags -1.

The work is done on packed steps. Read in this order:

- `pack`: sentences sorted by length, laid out step by step;
- `scores`: the scores of a chain of first order, and of one path;
- `kernels`, `recursion`: one step over the states of a chain, and the two recursions made of such steps;
- `viterbi`, `forward_backward`, `nbest`: the best path, posterior probabilities, the n best paths;
- `pruning`, `scaled`: faster steps for the maximum and for the sum;
- `candidates`, `candidate_kernels`: chains of first and second order over the candidate tags of each token;
- `lattice`, `candidate_lattice`: the interface between models and all of this, in its two forms;
- `single`: the best path and the probabilities of one sentence at a time, with little set-up;
- `recursion_tables`: all numbers of the recursions for one sentence, to look at;
- `padded`: the public functions, which are imported on first use.

>>> tags, scores = decode(emissions, transitions, lengths)
>>> values, gradient = log_likelihood_gradient(emissions, gold, transitions, lengths)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tagger.chain.padded.likelihood import (
        Gradient,
        check_gradient,
        log_likelihood,
        log_likelihood_gradient,
    )
    from tagger.chain.padded.paths import decode, n_best, viterbi_table
    from tagger.chain.padded.scores import binary_score, sequence_score, unary_score
    from tagger.chain.padded.sums import backward, forward, log_norm, marginals, pair_marginals

__all__ = [
    "Gradient",
    "backward",
    "binary_score",
    "check_gradient",
    "decode",
    "forward",
    "log_likelihood",
    "log_likelihood_gradient",
    "log_norm",
    "marginals",
    "n_best",
    "pair_marginals",
    "sequence_score",
    "unary_score",
    "viterbi_table",
]

MODULES = {  # of `padded`, where each public name is defined
    "Gradient": "likelihood",
    "backward": "sums",
    "binary_score": "scores",
    "check_gradient": "likelihood",
    "decode": "paths",
    "forward": "sums",
    "log_likelihood": "likelihood",
    "log_likelihood_gradient": "likelihood",
    "log_norm": "sums",
    "marginals": "sums",
    "n_best": "paths",
    "pair_marginals": "sums",
    "sequence_score": "scores",
    "unary_score": "scores",
    "viterbi_table": "paths",
}


def __getattr__(name: str) -> Any:
    """Import a public function on first use, so that tagging starts without it."""
    if name not in MODULES:
        raise AttributeError(f"module 'tagger.chain' has no attribute {name!r}")
    return getattr(import_module(f"tagger.chain.padded.{MODULES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
