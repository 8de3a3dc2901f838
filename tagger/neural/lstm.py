"""A long short-term memory (Hochreiter & Schmidhuber 1997) over packed sequences, in NumPy.

With i, f, o the input, forget and output gates, g the cell candidate, and x already multiplied by the input weights:

    i, f, o = σ(x[t] + h[t-1] R)    g = tanh(x[t] + h[t-1] R)    c[t] = f c[t-1] + i g    h[t] = o tanh c[t]

As σ(z) = (1 + tanh(z/2)) / 2, the weights of the gates are halved once, and a step needs one tanh for all four blocks.
In a pack (`chain.pack`) the sequences alive at a step are a prefix of those alive at the step before. Backwards the
prefix grows, and a sequence joins with a state of zeros. Either way, the row of a sequence holds its final state at
the end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tagger.chain.pack import Pack

GATES = 4  # blocks of the weights; in the order of PyTorch: i, f, g, o


@dataclass(frozen=True)
class LSTMDirection:
    """One direction of a BiLSTM; blocks in the order i, f, o, g, those of the sigmoids halved."""

    input: np.ndarray  # (D, 4H)
    recurrent: np.ndarray  # (H, 4H)
    bias: np.ndarray  # (4H,)

    @classmethod
    def of(cls, input: np.ndarray, recurrent: np.ndarray, bias: np.ndarray) -> LSTMDirection:
        """Reorder and scale weights from PyTorch's layout, transposed, with one bias."""
        H = len(recurrent)
        order = np.concatenate([np.arange(2 * H), np.arange(3 * H, 4 * H), np.arange(2 * H, 3 * H)])
        scale = np.repeat(np.array([0.5, 0.5, 0.5, 1.0], np.float32), H)
        ready = (np.ascontiguousarray(weights[..., order] * scale) for weights in (input, recurrent, bias))
        return cls(*ready)

    def project(self, x: np.ndarray) -> np.ndarray:
        """Compute the contribution (rows, 4H) of inputs (rows, D) to the gates."""
        return np.asarray(x @ self.input + self.bias)

    def run(
        self, pack: Pack, table: np.ndarray, rows: np.ndarray, backwards: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Compute the states h of all tokens (N, H), and the final state of each sequence (B, H), by rank.

        The input of token n is `table[rows[n]]`, a row made by `project`: there are fewer distinct rows than tokens.
        """
        H = len(self.recurrent)
        h, c = np.zeros((2, len(pack.order), H), np.float32)
        states = np.empty((len(rows), H), np.float32)
        gates, recurrence = np.empty((2, pack.first, GATES * H), np.float32)
        steps = list(zip(pack.starts.tolist(), pack.sizes.tolist(), strict=True))
        for begin, n in reversed(steps) if backwards else steps:
            # z (n, 4H) = x[t] + h[t-1] R, then its tanh; n sequences have a token here
            z, here = gates[:n], slice(begin, begin + n)
            np.take(table, rows[here], axis=0, out=z, mode="clip")
            z += np.matmul(h[:n], self.recurrent, out=recurrence[:n])
            np.tanh(z, out=z)
            # σ = (1 + tanh) / 2 for the blocks i, f, o
            sigmoids, g = z[:, : 3 * H], z[:, 3 * H :]
            sigmoids += 1.0
            sigmoids *= 0.5
            # c = f c + i g
            c[:n] *= z[:, H : 2 * H]
            g *= z[:, :H]
            c[:n] += g
            # h = o tanh c
            np.tanh(c[:n], out=h[:n])
            h[:n] *= z[:, 2 * H : 3 * H]
            states[here] = h[:n]
        return states, h
