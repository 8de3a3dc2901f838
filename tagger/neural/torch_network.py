"""The network in PyTorch, for training: that of `numpy_network`, with dropout and a loss.

The layout of a `Pack` is that of PyTorch's packed sequences, so nothing is padded before the CRF, and characters are
read once for each distinct word of a batch. `export` returns the weights by the names and in the shapes that NumPy
uses, `load_weights` copies them back.
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
from tagger.neural.numpy_network import DIRECTIONS, Sizes


@dataclass(frozen=True)
class NetworkBatch:
    """Sentences for one step of training: N tokens, V distinct words."""

    pack: Pack
    spelled: EncodedWords  # the distinct words
    distinct: np.ndarray  # (N,) the distinct word of each token
    words: np.ndarray  # (N,) rows of the word embeddings; some are replaced by that of unknown words
    tags: np.ndarray | None = None  # (N,)


class TorchNetwork(nn.Module):
    """A BiLSTM-CRF over words and, unless their sizes are 0, their characters."""

    def __init__(self, sizes: Sizes, words: int, letters: int, vectors: int, tags: int, dropout: float) -> None:
        super().__init__()
        self.words = nn.Embedding(words, sizes.word)
        self.letters = nn.Embedding(letters, sizes.letter) if sizes.spelling else None
        self.spelling = nn.LSTM(sizes.letter, sizes.spelling, bidirectional=True) if sizes.spelling else None
        width = sizes.word + 2 * sizes.spelling + vectors
        self.context = nn.LSTM(
            width, sizes.hidden, sizes.layers, bidirectional=True, dropout=dropout * (sizes.layers > 1)
        )
        self.output = nn.Linear(2 * sizes.hidden, tags)
        self.crf = CRF(tags)
        self.dropout = nn.Dropout(dropout)
        self.initialize()

    @torch.no_grad()
    def initialize(self) -> None:
        """Draw the weights: embeddings of length about 1, orthogonal recurrences, Glorot-uniform maps.

        The forget gates have bias 1, so that cells keep their content at first (Jozefowicz et al. 2015).
        """
        for table in filter(None, (self.words, self.letters)):
            bound = (3.0 / table.weight.shape[1]) ** 0.5
            table.weight.uniform_(-bound, bound)
        recurrent = filter(None, (self.spelling, self.context))
        for name, weights in [named for lstm in recurrent for named in lstm.named_parameters()]:
            if name.startswith("weight_hh"):
                for gate in weights.chunk(GATES):
                    nn.init.orthogonal_(gate)
            elif name.startswith("weight_ih"):
                nn.init.xavier_uniform_(weights)
            else:
                weights.zero_()
            if name.startswith("bias_ih"):
                weights.chunk(GATES)[1].fill_(1.0)  # the forget gate
            if name.startswith("bias_hh"):
                weights.requires_grad_(False)  # PyTorch has two biases, one is enough
        nn.init.xavier_uniform_(self.output.weight)
        self.output.bias.zero_()

    def emissions(self, batch: NetworkBatch) -> Tensor:
        """Compute the emissions (N, K), rows in the order of the pack."""
        spelled = [self.read_letters(batch.spelled)[batch.distinct]] if self.spelling else []  # (N, 2S)
        vectors = torch.from_numpy(batch.spelled.vectors)[batch.distinct]  # (N, P)
        x = torch.cat([self.words(torch.from_numpy(batch.words)), *spelled, vectors], dim=1)
        states = self.context(packed(self.dropout(x), batch.pack))[0].data
        return self.output(self.dropout(states))

    def read_letters(self, words: EncodedWords) -> Tensor:
        """Compute the final states (V, 2S) of both directions over the characters of each word."""
        assert self.spelling is not None and self.letters is not None
        final = self.spelling(packed(self.letters(torch.from_numpy(words.letters)), words.pack))[1][0]  # (2, V, S)
        states = final.new_zeros(len(words.pack.order), 2 * final.shape[2])  # a word without characters keeps zeros
        nonempty = torch.from_numpy(words.pack.order[: final.shape[1]])
        return states.index_copy(0, nonempty, final.transpose(0, 1).flatten(1))

    def loss(self, batch: NetworkBatch) -> Tensor:
        """Compute the negative log-likelihood of a batch."""
        assert batch.tags is not None
        E, lengths = pad_packed_sequence(packed(self.emissions(batch), batch.pack), batch_first=True)
        tags, _ = pad_packed_sequence(packed(torch.from_numpy(batch.tags), batch.pack), batch_first=True)
        return -self.crf.log_likelihood(E, tags, lengths).sum()

    def views(self) -> dict[str, Tensor]:
        """Return the weights as views, by the names and in the shapes of `Sizes.shapes`."""
        views = {"words": self.words.weight} | ({"letters": self.letters.weight} if self.letters else {})
        layers = [("spelling", self.spelling, 0)] if self.spelling else []
        layers += [(f"context.{layer}", self.context, layer) for layer in range(self.context.num_layers)]
        for name, lstm, layer in layers:
            for direction, suffix in zip(DIRECTIONS, ("", "_reverse"), strict=True):
                views[f"{name}.{direction}.input"] = getattr(lstm, f"weight_ih_l{layer}{suffix}").T
                views[f"{name}.{direction}.recurrent"] = getattr(lstm, f"weight_hh_l{layer}{suffix}").T
                views[f"{name}.{direction}.bias"] = getattr(lstm, f"bias_ih_l{layer}{suffix}")
        views |= {"output": self.output.weight.T, "output.bias": self.output.bias}
        return views | {"start": self.crf.start, "transitions": self.crf.transitions, "end": self.crf.end}

    def export(self) -> Arrays:
        """Copy the weights to NumPy."""
        return {name: weights.detach().numpy().copy() for name, weights in self.views().items()}

    @torch.no_grad()
    def load_weights(self, weights: Arrays) -> None:
        """Set the weights to exported ones, such as those of a stored model."""
        for name, view in self.views().items():
            view.copy_(torch.from_numpy(weights[name]))


def packed(rows: Tensor, pack: Pack) -> PackedSequence:
    """Wrap rows in the order of a pack as a PyTorch packed sequence."""
    return PackedSequence(rows, torch.from_numpy(pack.sizes))
