"""The network in PyTorch, to be learned: the same as `neural.network`, with dropout and a loss.

Its sequences are packed steps from the beginning: the layout of our packs is that of PyTorch's packed sequences, so
nothing is padded before the chain, and letters are read once for each distinct word of a batch. `export` gives the
weights under the names, and in the shapes, in which NumPy uses them, and `adopt` takes them back.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pad_packed_sequence

from tagger.arrays.npz import Arrays
from tagger.chain.pack import Pack
from tagger.neural.crf_layer import CRF
from tagger.neural.lookup import EncodedWords
from tagger.neural.lstm import GATES
from tagger.neural.numpy_network import WAYS, Sizes


@dataclass(frozen=True)
class NetworkBatch:
    """Some sentences: the layout, the distinct words, and which of them each row is."""

    pack: Pack
    spelled: EncodedWords
    distinct: np.ndarray  # (N,)
    words: np.ndarray  # (N,) lines of the table of words; some of them hidden, as if unknown
    tags: np.ndarray | None = None  # (N,)


class TorchNetwork(nn.Module):
    def __init__(self, sizes: Sizes, words: int, letters: int, vectors: int, tags: int, dropout: float) -> None:
        super().__init__()
        self.words = nn.Embedding(words, sizes.word)
        self.letters = nn.Embedding(letters, sizes.letter)
        self.spelling = nn.LSTM(sizes.letter, sizes.spelling, bidirectional=True)
        wide = sizes.word + 2 * sizes.spelling + vectors
        self.context = nn.LSTM(
            wide, sizes.hidden, sizes.layers, bidirectional=True, dropout=dropout * (sizes.layers > 1)
        )
        self.output = nn.Linear(2 * sizes.hidden, tags)
        self.crf = CRF(tags)
        self.dropout = nn.Dropout(dropout)
        self.begin()

    @torch.no_grad()
    def begin(self) -> None:
        """Embeddings whose length is 1 on average, and gates that remember at first (Jozefowicz et al. 2015)."""
        for table in (self.words, self.letters):
            bound = (3.0 / table.weight.shape[1]) ** 0.5
            table.weight.uniform_(-bound, bound)
        for name, weights in [*self.spelling.named_parameters(), *self.context.named_parameters()]:
            if name.startswith("weight_hh"):
                for gate in weights.chunk(GATES):
                    nn.init.orthogonal_(gate)
            elif name.startswith("weight_ih"):
                nn.init.xavier_uniform_(weights)
            else:
                weights.zero_()
            if name.startswith("bias_ih"):
                weights.chunk(GATES)[1].fill_(1.0)  # of the forget gate
            if name.startswith("bias_hh"):
                weights.requires_grad_(False)  # one bias is enough
        nn.init.xavier_uniform_(self.output.weight)
        self.output.bias.zero_()

    def emissions(self, batch: NetworkBatch) -> Tensor:
        """(N, K), rows as in the pack."""
        spelled = self.read_letters(batch.spelled)[batch.distinct]  # (N, 2S)
        vectors = torch.from_numpy(batch.spelled.vectors)[batch.distinct]
        x = torch.cat([self.words(torch.from_numpy(batch.words)), spelled, vectors], dim=1)
        states = self.context(packed(self.dropout(x), batch.pack))[0].data
        return self.output(self.dropout(states))

    def read_letters(self, words: EncodedWords) -> Tensor:
        """(V, 2S) the last states of both directions over the letters of each word."""
        last = self.spelling(packed(self.letters(torch.from_numpy(words.letters)), words.pack))[1][0]  # (2, V, S)
        found = last.new_zeros(len(words.pack.order), 2 * last.shape[2])  # a word without letters has no state
        filled = torch.from_numpy(words.pack.order[: last.shape[1]])
        return found.index_copy(0, filled, last.transpose(0, 1).flatten(1))

    def loss(self, batch: NetworkBatch) -> Tensor:
        """The negative log-likelihood of the batch."""
        assert batch.tags is not None
        E, lengths = pad_packed_sequence(packed(self.emissions(batch), batch.pack), batch_first=True)
        tags, _ = pad_packed_sequence(packed(torch.from_numpy(batch.tags), batch.pack), batch_first=True)
        return -self.crf.log_likelihood(E, tags, lengths).sum()

    def views(self) -> dict[str, Tensor]:
        """The weights by the names, and in the shapes, of `Sizes.shapes`; what is written there is written here."""
        found = {"words": self.words.weight, "letters": self.letters.weight}
        layers = [("spelling", self.spelling, 0)]
        layers += [(f"context.{layer}", self.context, layer) for layer in range(self.context.num_layers)]
        for name, lstm, layer in layers:
            for way, suffix in zip(WAYS, ("", "_reverse"), strict=True):
                found[f"{name}.{way}.input"] = getattr(lstm, f"weight_ih_l{layer}{suffix}").T
                found[f"{name}.{way}.recurrent"] = getattr(lstm, f"weight_hh_l{layer}{suffix}").T
                found[f"{name}.{way}.bias"] = getattr(lstm, f"bias_ih_l{layer}{suffix}")
        found |= {"output": self.output.weight.T, "output.bias": self.output.bias}
        return found | {"start": self.crf.start, "transitions": self.crf.transitions, "end": self.crf.end}

    def export(self) -> Arrays:
        return {name: weights.detach().numpy().copy() for name, weights in self.views().items()}

    @torch.no_grad()
    def adopt(self, weights: Arrays) -> None:
        """Take over what was exported, from a stored model say."""
        for name, own in self.views().items():
            own.copy_(torch.from_numpy(weights[name]))


def packed(rows: Tensor, pack: Pack) -> PackedSequence:
    return PackedSequence(rows, torch.from_numpy(pack.sizes))
