"""`CRF`: a linear-chain conditional random field as a PyTorch layer, for any network.

Emissions are padded batches (B, T, K) with `lengths` (B,) or a `mask` (B, T) that is true for the first tokens of each
sentence; without either, all T tokens count. Padding never influences a result. The recursions run in log space, one
pass over time for all sentences and tags at once, in float32 or wider, because 16 bits are too few for sums:

    alpha[t, j] = log Σ_i exp (alpha[t-1, i] + transitions[i, j]) + emissions[t, j]

A sentence without tokens has one path, the empty one: score 0, log Z 0, log-likelihood 0. A score of -inf forbids a tag
or a transition; gradients stay finite. Gradients come from autograd; the tests compare them with the forward–backward
of `tagger.chain`. Decoding calls `tagger.chain` on NumPy arrays, so that there is one Viterbi in this package.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from tagger import chain
from tagger.neural.tensors import checked_path, lengths_of, log_sum_exp, widened


class CRF(nn.Module):
    """A linear-chain CRF layer with learned start, transition and end scores (Lafferty et al. 2001).

    All methods take `emissions` (B, T, K), a padded batch of B sentences with up to T tokens and K tags, and either
    `lengths` (B,), the number of tokens of each sentence, or `mask` (B, T), true for the tokens and false for the
    padding after them. Without both, every sentence has T tokens.

    Parameters
    ----------
    tags : int
        The number of tags, K.

    Attributes
    ----------
    start : torch.nn.Parameter
        The score of each tag at the first token, (K,).
    transitions : torch.nn.Parameter
        The score of each step from a tag to the next, (K, K) [previous, next].
    end : torch.nn.Parameter
        The score of each tag at the last token, (K,).

    Raises
    ------
    ValueError
        If `tags` is less than 1; by the methods, if shapes, lengths or tags do not fit.

    Examples
    --------
    >>> import torch
    >>> from tagger.neural import CRF
    >>> crf = CRF(tags=3)
    >>> emissions, tags = torch.randn(2, 4, 3), torch.randint(3, (2, 4))
    >>> lengths = torch.tensor([4, 2])
    >>> crf.loss(emissions, tags, lengths).backward()
    >>> paths, scores = crf.decode(emissions, lengths)
    >>> paths.shape
    torch.Size([2, 4])
    """

    def __init__(self, tags: int) -> None:
        super().__init__()
        if tags < 1:
            raise ValueError(f"tags: expected at least 1, got {tags}")
        self.start = nn.Parameter(torch.empty(tags))
        self.transitions = nn.Parameter(torch.empty(tags, tags))
        self.end = nn.Parameter(torch.empty(tags))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all scores uniformly from [-0.1, 0.1]."""
        for scores in self.parameters():
            nn.init.uniform_(scores, -0.1, 0.1)

    def forward(
        self, emissions: Tensor, tags: Tensor, lengths: Tensor | None = None, mask: Tensor | None = None
    ) -> Tensor:
        """Compute the log-likelihood of each sentence; same as `log_likelihood`."""
        return self.log_likelihood(emissions, tags, lengths, mask)

    def log_likelihood(
        self, emissions: Tensor, tags: Tensor, lengths: Tensor | None = None, mask: Tensor | None = None
    ) -> Tensor:
        """Compute log p(tags | emissions) = path score - log Z.

        Parameters
        ----------
        emissions, lengths, mask : torch.Tensor
            A padded batch, see the class.
        tags : torch.Tensor
            The gold tags as integers, (B, T); values in the padding are ignored.

        Returns
        -------
        torch.Tensor
            The log-likelihood of each sentence, (B,).
        """
        score = self.sequence_score(emissions, tags, lengths, mask)
        return score - self.log_partition(emissions, lengths, mask)

    def loss(
        self,
        emissions: Tensor,
        tags: Tensor,
        lengths: Tensor | None = None,
        mask: Tensor | None = None,
        reduction: str = "mean",
    ) -> Tensor:
        """Compute the negative log-likelihood, to be minimised.

        Parameters
        ----------
        emissions, lengths, mask : torch.Tensor
            A padded batch, see the class.
        tags : torch.Tensor
            The gold tags as integers, (B, T); values in the padding are ignored.
        reduction : str
            ``mean`` over sentences, ``sum``, or ``none``.

        Returns
        -------
        torch.Tensor
            A single number; with ``none`` one per sentence, (B,).
        """
        if reduction not in ("mean", "sum", "none"):
            raise ValueError(f"reduction: expected mean, sum or none, got {reduction!r}")
        losses = -self.log_likelihood(emissions, tags, lengths, mask)
        return losses if reduction == "none" else losses.mean() if reduction == "mean" else losses.sum()

    @torch.no_grad()
    def accuracy(
        self, emissions: Tensor, tags: Tensor, lengths: Tensor | None = None, mask: Tensor | None = None
    ) -> float:
        """Compute the share of tokens whose tag on the best path is right; padding does not count.

        Parameters
        ----------
        emissions, lengths, mask : torch.Tensor
            A padded batch, see the class.
        tags : torch.Tensor
            The gold tags as integers, (B, T); values in the padding are ignored.

        Returns
        -------
        float
            nan without tokens.
        """
        best, _ = self.decode(emissions, lengths, mask)
        inside = best >= 0
        right = checked_path(tags, inside, len(self.start)) == best
        return right[inside].double().mean().item()

    def sequence_score(
        self, emissions: Tensor, tags: Tensor, lengths: Tensor | None = None, mask: Tensor | None = None
    ) -> Tensor:
        """Compute the score of the path through `tags`: its emissions, transitions, start and end.

        Parameters
        ----------
        emissions, lengths, mask : torch.Tensor
            A padded batch, see the class.
        tags : torch.Tensor
            The path as integers, (B, T); values in the padding are ignored.

        Returns
        -------
        torch.Tensor
            The score of each sentence's path, (B,).
        """
        emissions, lengths = self.without_padding(emissions, lengths, mask)
        B, T, K = emissions.shape
        inside = torch.arange(T, device=emissions.device) < lengths[:, None]  # (B, T)
        path = checked_path(tags, inside, K)
        if T == 0:
            return emissions.new_zeros(B)
        at_tokens = emissions.gather(2, path[..., None])[..., 0]  # (B, T)
        at_steps = widened(self.transitions)[path[:, :-1], path[:, 1:]]  # (B, T - 1)
        last = path.gather(1, (lengths - 1).clamp(min=0)[:, None])[:, 0]  # (B,)
        ends = torch.where(lengths > 0, widened(self.start)[path[:, 0]] + widened(self.end)[last], 0.0)
        return at_tokens.sum(1) + torch.where(inside[:, 1:], at_steps, 0.0).sum(1) + ends

    def log_partition(self, emissions: Tensor, lengths: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        """Compute log Z by the forward recursion.

        Parameters
        ----------
        emissions, lengths, mask : torch.Tensor
            A padded batch, see the class.

        Returns
        -------
        torch.Tensor
            log Z of each sentence, (B,); -inf where no path is allowed.
        """
        emissions, lengths = self.without_padding(emissions, lengths, mask)
        if emissions.shape[1] == 0:
            return emissions.new_zeros(len(emissions))
        alpha = self.start + emissions[:, 0]  # (B, K)
        for t in range(1, emissions.shape[1]):
            onward = log_sum_exp(alpha[:, :, None] + self.transitions, 1) + emissions[:, t]
            alpha = torch.where((t < lengths)[:, None], onward, alpha)  # sentences that have ended keep theirs
        return torch.where(lengths > 0, log_sum_exp(alpha + self.end, 1), 0.0)

    def marginals(self, emissions: Tensor, lengths: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        """Compute the posterior probability of each tag at each token, ∂ log Z / ∂ emissions.

        Gradients flow through it, to the emissions and to the parameters.

        Parameters
        ----------
        emissions, lengths, mask : torch.Tensor
            A padded batch, see the class.

        Returns
        -------
        torch.Tensor
            Probabilities, (B, T, K); 0 in the padding.
        """
        differentiable = torch.is_grad_enabled() and any(x.requires_grad for x in (emissions, *self.parameters()))
        with torch.inference_mode(False), torch.enable_grad():
            scores = widened(emissions if emissions.requires_grad else emissions.detach().clone().requires_grad_())
            if not scores.numel():
                return torch.zeros_like(scores)
            log_z = self.log_partition(scores, lengths, mask).sum()
            (probabilities,) = torch.autograd.grad(log_z, scores, create_graph=differentiable)
        return probabilities

    @torch.no_grad()
    def decode(
        self, emissions: Tensor, lengths: Tensor | None = None, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Find the best path of each sentence (Viterbi).

        Parameters
        ----------
        emissions, lengths, mask : torch.Tensor
            A padded batch, see the class.

        Returns
        -------
        tags : torch.Tensor
            The tags of the best path, (B, T); -1 in the padding.
        scores : torch.Tensor
            The score of that path, (B,); -inf where no path is allowed.
        """
        tags, scores = chain.decode(**self.arrays(emissions, lengths, mask))
        return torch.from_numpy(tags).to(emissions.device), torch.from_numpy(scores).to(widened(emissions))

    @torch.no_grad()
    def n_best(
        self, emissions: Tensor, n: int, lengths: Tensor | None = None, mask: Tensor | None = None
    ) -> list[list[tuple[float, list[int]]]]:
        """Find the n best paths of each sentence.

        Parameters
        ----------
        emissions, lengths, mask : torch.Tensor
            A padded batch, see the class.
        n : int
            The maximum number of paths.

        Returns
        -------
        list of list of (float, list of int)
            For each sentence up to n pairs of score and tags, best first.
        """
        sentences = chain.n_best(**self.arrays(emissions, lengths, mask), n=n)
        return [[(score, path.tolist()) for score, path in paths] for paths in sentences]

    def arrays(self, emissions: Tensor, lengths: Tensor | None, mask: Tensor | None) -> dict[str, np.ndarray]:
        """Return the arguments for the functions of `tagger.chain`."""
        emissions, lengths = self.without_padding(emissions, lengths, mask)
        tensors = {"emissions": emissions, "transitions": self.transitions, "start": self.start, "end": self.end}
        tensors = {name: widened(scores) for name, scores in tensors.items()}  # NumPy has no bfloat16
        return {name: tensor.detach().cpu().numpy() for name, tensor in (tensors | {"lengths": lengths}).items()}

    def without_padding(self, emissions: Tensor, lengths: Tensor | None, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the emissions with zeros in the padding, and the lengths (B,)."""
        lengths = lengths_of(emissions, len(self.start), lengths, mask)
        padding = torch.arange(emissions.shape[1], device=emissions.device) >= lengths[:, None]
        return widened(emissions).masked_fill(padding[..., None], 0.0), lengths
