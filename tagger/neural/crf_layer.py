"""`CRF`: a linear chain as a layer of PyTorch, for anybody's network.

Emissions are padded batches (B, T, K) with `lengths` (B,) or a `mask` (B, T) that is true for the first tokens of each
sentence; without either, all T count. What stands behind the end of a sentence is never looked at. The recursions run
in log space, one pass over time for all sentences and tags at once, in float32 at least: 16 bits are too few for sums.

    alpha[t, j] = log Σ_i exp (alpha[t-1, i] + transitions[i, j]) + emissions[t, j]

A sentence without tokens has the one empty path: score 0, log Z 0, log-likelihood 0. -inf forbids, with gradients that
stay finite. The gradient of `log_likelihood` is left to autograd; that it equals what our forward–backward says is a
matter of tests. Decoding leaves PyTorch for `tagger.chain`: there is one Viterbi in this house.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from tagger import chain


class CRF(nn.Module):
    """Scores of K tags: `start` (K,), `transitions` (K, K) from [previous] to [next], `end` (K,), all learned."""

    def __init__(self, tags: int) -> None:
        super().__init__()
        if tags < 1:
            raise ValueError(f"a chain has at least 1 tag, got {tags}")
        self.start = nn.Parameter(torch.empty(tags))
        self.transitions = nn.Parameter(torch.empty(tags, tags))
        self.end = nn.Parameter(torch.empty(tags))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for scores in self.parameters():
            nn.init.uniform_(scores, -0.1, 0.1)

    def forward(
        self, emissions: Tensor, tags: Tensor, lengths: Tensor | None = None, mask: Tensor | None = None
    ) -> Tensor:
        """(B,) the log-likelihood; the loss of a batch is `-crf(emissions, tags, lengths).mean()`."""
        return self.log_likelihood(emissions, tags, lengths, mask)

    def log_likelihood(
        self, emissions: Tensor, tags: Tensor, lengths: Tensor | None = None, mask: Tensor | None = None
    ) -> Tensor:
        """(B,) log p(tags | emissions) = sequence score - log Z; `tags` (B, T)."""
        score = self.sequence_score(emissions, tags, lengths, mask)
        return score - self.log_partition(emissions, lengths, mask)

    def sequence_score(
        self, emissions: Tensor, tags: Tensor, lengths: Tensor | None = None, mask: Tensor | None = None
    ) -> Tensor:
        """(B,) the score of the path `tags` (B, T)."""
        emissions, lengths = self.counted(emissions, lengths, mask)
        B, T, K = emissions.shape
        if tags.shape != (B, T):
            raise ValueError(f"tags should have the shape {(B, T)}, not {tuple(tags.shape)}")
        if T == 0:
            return emissions.new_zeros(B)
        inside = torch.arange(T, device=emissions.device) < lengths[:, None]  # (B, T)
        if tags.is_floating_point() or bool((inside & ((tags < 0) | (tags >= K))).any()):
            raise ValueError(f"tags should be whole numbers from 0 to {K - 1}, except behind the end of a sentence")
        path = tags.long().masked_fill(~inside, 0)
        own = emissions.gather(2, path[..., None])[..., 0]  # (B, T)
        steps = widened(self.transitions)[path[:, :-1], path[:, 1:]]  # (B, T - 1)
        last = path.gather(1, (lengths - 1).clamp(min=0)[:, None])[:, 0]
        ends = torch.where(lengths > 0, widened(self.start)[path[:, 0]] + widened(self.end)[last], 0.0)
        return own.sum(1) + torch.where(inside[:, 1:], steps, 0.0).sum(1) + ends

    def log_partition(self, emissions: Tensor, lengths: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        """(B,) log Z."""
        emissions, lengths = self.counted(emissions, lengths, mask)
        if emissions.shape[1] == 0:
            return emissions.new_zeros(len(emissions))
        alpha = self.start + emissions[:, 0]  # (B, K)
        for t in range(1, emissions.shape[1]):
            onward = log_sum(alpha[:, :, None] + self.transitions, 1) + emissions[:, t]
            alpha = torch.where((t < lengths)[:, None], onward, alpha)
        return torch.where(lengths > 0, log_sum(alpha + self.end, 1), 0.0)

    def marginals(self, emissions: Tensor, lengths: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        """(B, T, K) the probability of each tag at each token, 0 behind the end.

        It is ∂ log Z / ∂ emissions. Gradients flow through it, to the emissions and to the parameters.
        """
        learned = torch.is_grad_enabled() and any(x.requires_grad for x in (emissions, *self.parameters()))
        with torch.inference_mode(False), torch.enable_grad():
            given = widened(emissions if emissions.requires_grad else emissions.detach().clone().requires_grad_())
            if not given.numel():
                return torch.zeros_like(given)
            z = self.log_partition(given, lengths, mask).sum()
            (found,) = torch.autograd.grad(z, given, create_graph=learned)
        return found

    @torch.no_grad()
    def decode(
        self, emissions: Tensor, lengths: Tensor | None = None, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The tags of the best path (B, T), -1 behind the end, and its score (B,), -inf where no path is allowed."""
        tags, scores = chain.decode(**self.arrays(emissions, lengths, mask))
        return torch.from_numpy(tags).to(emissions.device), torch.from_numpy(scores).to(widened(emissions))

    @torch.no_grad()
    def n_best(
        self, emissions: Tensor, n: int, lengths: Tensor | None = None, mask: Tensor | None = None
    ) -> list[list[tuple[float, list[int]]]]:
        """For each sentence up to n paths as (score, tags), best first."""
        found = chain.n_best(**self.arrays(emissions, lengths, mask), n=n)
        return [[(score, path.tolist()) for score, path in paths] for paths in found]

    def arrays(self, emissions: Tensor, lengths: Tensor | None, mask: Tensor | None) -> dict[str, np.ndarray]:
        """The arguments of the functions of `tagger.chain`."""
        emissions, lengths = self.counted(emissions, lengths, mask)
        own = {"emissions": emissions, "transitions": self.transitions, "start": self.start, "end": self.end}
        scores = {name: widened(given) for name, given in own.items()}  # NumPy has no bfloat16
        return {name: given.detach().cpu().numpy() for name, given in (scores | {"lengths": lengths}).items()}

    def counted(self, emissions: Tensor, lengths: Tensor | None, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """The emissions, 0 behind the ends of sentences, and how many tokens count (B,)."""
        lengths = self.lengths_of(emissions, lengths, mask)
        behind = torch.arange(emissions.shape[1], device=emissions.device) >= lengths[:, None]
        return widened(emissions).masked_fill(behind[..., None], 0.0), lengths

    def lengths_of(self, emissions: Tensor, lengths: Tensor | None, mask: Tensor | None) -> Tensor:
        """From whichever the caller gave."""
        K = len(self.start)
        if emissions.dim() != 3 or emissions.shape[2] != K:
            raise ValueError(f"emissions should have the shape (B, T, {K}), not {tuple(emissions.shape)}")
        B, T, _ = emissions.shape
        if lengths is not None and mask is not None:
            raise ValueError("lengths and mask say the same: give one of them")
        if mask is not None:
            return lengths_of_mask(mask, B, T)
        if lengths is None:
            return torch.full((B,), T, device=emissions.device)
        lengths = torch.as_tensor(lengths, device=emissions.device)
        if lengths.shape != (B,) or bool(((lengths < 0) | (lengths > T)).any()):
            raise ValueError(f"lengths should be {B} whole numbers from 0 to {T}, got {lengths.tolist()}")
        return lengths


def lengths_of_mask(mask: Tensor, B: int, T: int) -> Tensor:
    if mask.shape != (B, T):
        raise ValueError(f"mask should have the shape {(B, T)}, not {tuple(mask.shape)}")
    lengths = mask.bool().sum(1)
    if not torch.equal(mask.bool(), torch.arange(T, device=mask.device) < lengths[:, None]):
        raise ValueError("mask should be true for the first tokens of a sentence and false behind them")
    return lengths


def widened(scores: Tensor) -> Tensor:
    """The scores in float32 if they are of a narrower type."""
    return scores.to(torch.promote_types(scores.dtype, torch.float32))


def log_sum(x: Tensor, dim: int) -> Tensor:
    """log Σ exp, whose gradient is 0, not nan, where everything is -inf."""
    top = x.detach().amax(dim, keepdim=True)
    dead = top == -torch.inf
    top = top.masked_fill(dead, 0.0)
    total = (x - top).exp().sum(dim, keepdim=True)
    return (total.masked_fill(dead, 1.0).log() + top).masked_fill(dead, -torch.inf).squeeze(dim)
