"""A long short-term memory (Hochreiter & Schmidhuber 1997) over the packed steps of many sequences, in NumPy.

With i, f, o the input, forget and output gates, g what is offered, and x already multiplied by its weights:

    i, f, o = σ(x[t] + h[t-1] R)    g = tanh(x[t] + h[t-1] R)    c[t] = f c[t-1] + i g    h[t] = o tanh c[t]

As σ(z) = (1 + tanh(z/2)) / 2, the weights of the gates are halved once, and a step needs one tanh for all four. The
layout does the rest: the sequences alive at a step are a prefix of those alive before it. Walking backwards the prefix
grows, and who joins has a state of zeros; at either end of the walk, each sequence's state is its last one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tagger.chain.pack import Pack

GATES = 4  # in the order of PyTorch: i, f, g, o


@dataclass(frozen=True)
class LSTMDirection:
    """The weights of one direction, made ready: gates in the order i, f, o, g, those of the sigmoids halved."""

    input: np.ndarray  # (D, 4H)
    recurrent: np.ndarray  # (H, 4H)
    bias: np.ndarray  # (4H,)

    @classmethod
    def of(cls, input: np.ndarray, recurrent: np.ndarray, bias: np.ndarray) -> LSTMDirection:
        """From weights as PyTorch has them, transposed, its two biases added up."""
        H = len(recurrent)
        order = np.concatenate([np.arange(2 * H), np.arange(3 * H, 4 * H), np.arange(2 * H, 3 * H)])
        scale = np.repeat(np.array([0.5, 0.5, 0.5, 1.0], np.float32), H)
        ready = (np.ascontiguousarray(weights[..., order] * scale) for weights in (input, recurrent, bias))
        return cls(*ready)

    def project(self, x: np.ndarray) -> np.ndarray:
        """(rows, 4H) what the inputs (rows, D) bring to the gates."""
        return np.asarray(x @ self.input + self.bias)

    def run(
        self, pack: Pack, table: np.ndarray, rows: np.ndarray, backwards: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """The states h at all tokens (N, H), and each sequence's last one (B, H), by rank.

        Token n brings the line `table[rows[n]]`, made by `project`: there are fewer distinct lines than tokens.
        """
        H = len(self.recurrent)
        h, c = np.zeros((2, len(pack.order), H), np.float32)
        states = np.empty((len(rows), H), np.float32)
        gates, pushed = np.empty((2, pack.first, GATES * H), np.float32)
        walk = list(zip(pack.starts.tolist(), pack.sizes.tolist(), strict=True))
        for begin, n in reversed(walk) if backwards else walk:
            z, here = gates[:n], slice(begin, begin + n)
            np.take(table, rows[here], axis=0, out=z, mode="clip")
            z += np.matmul(h[:n], self.recurrent, out=pushed[:n])
            np.tanh(z, out=z)
            sigmoids, g = z[:, : 3 * H], z[:, 3 * H :]
            sigmoids += 1.0
            sigmoids *= 0.5
            c[:n] *= z[:, H : 2 * H]
            g *= z[:, :H]
            c[:n] += g
            np.tanh(c[:n], out=h[:n])
            h[:n] *= z[:, 2 * H : 3 * H]
            states[here] = h[:n]
        return states, h
