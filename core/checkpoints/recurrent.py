r"""The network of a small ELMo (Peters et al., 2018, arXiv 1802.05365): two language models of LSTMs.

.. math:: L = -\frac{1}{2n} \sum_t \log \overrightarrow{p}(x_t \mid x_{<t}) + \log \overleftarrow{p}(x_t \mid x_{>t})

Both directions share the embeddings, which are also the output layer; their LSTMs are their own, as in the paper. The
input of the second LSTM is added to its output. Tokens are those of the BERT that was trained here, not characters.

Legend: n tokens, d size of one direction, V tokens of the vocabulary.
"""

from __future__ import annotations

import warnings

import torch
from torch import Tensor, nn

warnings.filterwarnings("ignore", "LSTM with projections")  # that they run without oneDNN
LAYERS = 2


class BidirectionalLM(nn.Module):
    """The two language models.

    Args:
        vocabulary: V.
        width: d.
        units: of an LSTM, which are projected to d.
    """

    def __init__(self, vocabulary: int, width: int, units: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        nn.init.normal_(self.embed.weight, std=width**-0.5)
        self.bias = nn.Parameter(torch.zeros(vocabulary))
        self.left, self.right = (
            nn.ModuleList(nn.LSTM(width, units, proj_size=width, batch_first=True) for _ in range(LAYERS))
            for _ in range(2)
        )

    def states(self, ids: Tensor, real: Tensor) -> Tensor:
        """(1 + LAYERS, 2, rows, n, d): the embeddings and each layer, read from the left and from the right.

        Args:
            ids: (rows, n), padded at the end.
            real: (rows, n) 1 for tokens, 0 for padding.
        """
        count, at = real.sum(1, keepdim=True), torch.arange(ids.shape[1], device=ids.device)
        flip = torch.where(at < count, count - 1 - at, at)[..., None]  # its own inverse
        embedded: Tensor = self.embed(ids)
        directions = []
        for lstms, turned in ((self.left, False), (self.right, True)):
            x = embedded.take_along_dim(flip, 1) if turned else embedded
            layers = [x]
            for number, lstm in enumerate(lstms):
                x = lstm(x)[0] + (x if number else 0)
                layers.append(x)
            states = torch.stack(layers)
            directions.append(states.take_along_dim(flip[None], 2) if turned else states)
        return torch.stack(directions, dim=1)

    def predicting(self, ids: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
        """Last states (m, d) that predict a neighbor, of the direction from the left and from the right.

        The first predict ``ids[:, 1:]``, the others ``ids[:, :-1]``, where both tokens are real.
        """
        left, right = self.states(ids, real)[-1]
        pairs = real[:, 1:].bool()
        return left[:, :-1][pairs], right[:, 1:][pairs]
