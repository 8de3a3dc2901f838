"""Tensors of padded batches: checks, and the log-sum-exp whose gradient is always finite."""

from __future__ import annotations

import torch
from torch import Tensor


def lengths_of(emissions: Tensor, K: int, lengths: Tensor | None, mask: Tensor | None) -> Tensor:
    """Check the shapes of a batch and return its lengths (B,), from `lengths`, `mask` or T."""
    if emissions.dim() != 3 or emissions.shape[2] != K:
        raise ValueError(f"emissions: expected the shape (B, T, {K}), got {tuple(emissions.shape)}")
    B, T, _ = emissions.shape
    if lengths is not None and mask is not None:
        raise ValueError("lengths and mask: expected at most one of them, got both")
    if mask is not None:
        return lengths_of_mask(mask, B, T)
    if lengths is None:
        return torch.full((B,), T, device=emissions.device)
    lengths = torch.as_tensor(lengths, device=emissions.device)
    if lengths.shape != (B,) or bool(((lengths < 0) | (lengths > T)).any()):
        raise ValueError(f"lengths: expected {B} integers from 0 to {T}, got {lengths.tolist()}")
    return lengths


def lengths_of_mask(mask: Tensor, B: int, T: int) -> Tensor:
    """Count the true values of each row, which must come first."""
    if mask.shape != (B, T):
        raise ValueError(f"mask: expected the shape {(B, T)}, got {tuple(mask.shape)}")
    lengths = mask.bool().sum(1)
    if not torch.equal(mask.bool(), torch.arange(T, device=mask.device) < lengths[:, None]):
        raise ValueError("mask: expected true for the first tokens of a sentence and false after them, got gaps")
    return lengths


def checked_path(tags: Tensor, inside: Tensor, K: int) -> Tensor:
    """Return the tags (B, T) with 0 in the padding, where `inside` (B, T) is false."""
    shape = tuple(inside.shape)
    if tags.shape == (*shape, K):
        raise ValueError(f"tags: expected numbers {shape}, got one-hot rows {(*shape, K)}. Give tags.argmax(-1).")
    if tags.shape != shape:
        raise ValueError(f"tags: expected the shape {shape}, got {tuple(tags.shape)}")
    if tags.is_floating_point():
        raise ValueError(f"tags: expected integers from 0 to {K - 1}, got {tags.dtype}. Give tags.long().")
    others = tags[inside & ((tags < 0) | (tags >= K))]
    if len(others):
        label = int(others[0])
        advice = f"If it marks padding, give mask=(tags != {label})."
        raise ValueError(f"tags: expected integers from 0 to {K - 1} within the lengths, got {label}. {advice}")
    return tags.long().masked_fill(~inside, 0)


def widened(scores: Tensor) -> Tensor:
    """Convert scores of a type narrower than float32 to float32."""
    return scores.to(torch.promote_types(scores.dtype, torch.float32))


def log_sum_exp(x: Tensor, dim: int) -> Tensor:
    """Compute log Σ exp with gradient 0 where all terms are -inf; that of `torch.logsumexp` is nan there."""
    top = x.detach().amax(dim, keepdim=True)
    impossible = top == -torch.inf
    top = top.masked_fill(impossible, 0.0)
    total = (x - top).exp().sum(dim, keepdim=True)
    return (total.masked_fill(impossible, 1.0).log() + top).masked_fill(impossible, -torch.inf).squeeze(dim)
