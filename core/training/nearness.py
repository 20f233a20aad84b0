r"""How near a word is to a text, in the sense that a sentence encoder was published for.

The base of a masked-token head can know which words belong to a sentence although it was never asked to guess one: the
cosine of two texts' mean vectors is what it was trained on. Taken together with a language model's own guess
:math:`p(w)`, it teaches more than either:

.. math::

    q(w) \propto p(w)\, \exp(\beta \cos(s, w)) \quad \text{for } w \notin C, \qquad q(c) = 0 \text{ for } c \in C,

with :math:`s` the text without its masked words, and :math:`C` the rare words that stand in it: nothing is nearer to a
sentence than its own words, and none of them is missing.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from core.training import optimizers


class Nearness:
    """Cosines between texts and the words of a vocabulary.

    Args:
        encoder: a BertModel, which is only read; words are encoded once, each as a text of its own.
        count: size of the vocabulary.
        begin, end: the tokens that stand around every text.
    """

    def __init__(self, encoder: Any, count: int, begin: int, end: int) -> None:
        self.encoder = encoder.eval().requires_grad_(False)
        parts = []
        for words in torch.split(torch.arange(count), 512):
            ids = torch.stack([torch.full_like(words, begin), words, torch.full_like(words, end)], dim=1)
            parts.append(self._vectors(ids, torch.ones_like(ids)))
        self.words = torch.cat(parts)  # (vocabulary, d)

    def _vectors(self, ids: Tensor, seen: Tensor) -> Tensor:
        """Unit mean vectors (rows, d) of texts (rows, length), of the positions where ``seen`` is 1."""
        with torch.no_grad(), optimizers.mixed(ids.device.type):
            states = self.encoder(input_ids=ids, attention_mask=seen).last_hidden_state
        return functional.normalize((states.float() * seen[..., None]).sum(1), dim=-1)

    def cosines(self, ids: Tensor, mask: Tensor) -> Tensor:
        """(rows, length) ids and masked positions, which are left out, to (rows, vocabulary) cosines."""
        self.encoder.to(ids.device)
        self.words = self.words.to(ids.device)
        return self._vectors(ids, (~mask).long()) @ self.words.T


def together(scores: Tensor, cosines: Tensor, beta: float, unwanted: Tensor) -> Tensor:
    """The distribution q.

    Args:
        scores: (n, vocabulary) scores of the language model.
        cosines: (n, vocabulary) from `Nearness`.
        beta: how much a cosine counts, in nats.
        unwanted: (n, m) tokens C; -1 stands for none.
    """
    scores = scores + beta * cosines
    rows = torch.arange(len(scores), device=scores.device)[:, None].expand_as(unwanted)
    some = unwanted >= 0
    scores[rows[some], unwanted[some]] = -torch.inf
    return scores.softmax(-1)
