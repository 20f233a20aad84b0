r"""Heads that transformers lacks: span boundaries, a sentence vector, the order of two texts.

SpanBERT's span-boundary objective (Joshi et al., 2020) predicts a masked token from both tokens beside its span:

.. math::

    y_i = f(h_{s-1}, h_{e+1}, p_{i-s+1}), \qquad f = g_2 \circ g_1, \quad
    g_k(x) = \mathrm{norm}(\mathrm{GELU}(W_k x))

with the last states of both boundaries and an embedding of the token's distance from the left one. The logits of
:math:`y_i` are those of the output layer that masked tokens have.

The second predicts masked tokens from a sentence vector, too. A published sentence encoder represents the topic of a
text; an update that trains it to predict masked tokens loses a part of that. So the published encoder is used beside
its updated copy. With :math:`h` the updated copy's state at the mask and :math:`g` the transform of the usual head, the
logit of token :math:`w` is

.. math::

    z_w = \underbrace{e_w \cdot g(h) + b_w}_{\text{usual head}}
        + \underbrace{e_w \cdot A s}_{\text{topic}}
        - \underbrace{\gamma_w [w \in \text{sentence}]}_{\text{repetition}},
    \qquad \gamma_w = \log(1 + e^{v \cdot e_w + c}),

where :math:`s` is the published encoder's normalized mean state over the tokens that are not masked, :math:`e_w` the
token embedding, and :math:`A, v, c` are learned. Adding logits multiplies distributions (Hinton, 2002). The penalty of
a token that is in the sentence already depends on its embedding: small for "the", large for "bread".

Shapes: d hidden size, V vocabulary size.

StructBERT's (Wang et al., 2020) is for two texts: B after A, before A, or from another text.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import BertForMaskedLM, BertForPreTraining, BertModel

MOST = 24
"""Distances with an embedding of their own; further tokens have the last."""


class BoundaryHead(nn.Module):
    """The function f."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.distances = nn.Embedding(MOST, width)
        layers = (nn.Sequential(nn.Linear(n * width, width), nn.GELU(), nn.LayerNorm(width)) for n in (3, 1))
        self.layers = nn.Sequential(*layers)

    def forward(self, states: Tensor, rows: Tensor, left: Tensor, right: Tensor, distance: Tensor) -> Tensor:
        """(m, d) y of m tokens, from states (rows, n, d); the other arguments are (m,), the distance from 1."""
        near = self.distances(distance.clamp(max=MOST) - 1).to(states.dtype)
        result: Tensor = self.layers(torch.cat([states[rows, left], states[rows, right], near], dim=-1))
        return result


class BoundaryBert(BertForMaskedLM):  # type: ignore[misc]
    """BertForMaskedLM with a `BoundaryHead`."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.boundary = BoundaryHead(config.hidden_size)


READER = "sentence.reader."
"""The prefix of the published encoder's weights in the state dict of a `SentenceBert`."""


class SentenceHead(nn.Module):
    """The topic and repetition terms of the logits.

    Args:
        reader: the published encoder, frozen.
        mask: id of the mask token, which the reader does not attend to.
    """

    def __init__(self, reader: Any, mask: int) -> None:
        super().__init__()
        width = reader.config.hidden_size
        self.reader = reader.eval().requires_grad_(False)
        self.mask = mask
        self.about = nn.Linear(width, width, bias=False)
        self.repeated = nn.Linear(width, 1)

    def vectors(self, ids: Tensor, attend: Tensor) -> Tensor:
        """Unit vectors s (rows, d) of ids (rows, length); ``attend`` is 0 at padding."""
        read = attend * (ids != self.mask)
        with torch.no_grad():
            states = self.reader(input_ids=ids, attention_mask=read).last_hidden_state
        return functional.normalize((states.float() * read[..., None]).sum(1), dim=-1)

    def scores(self, vectors: Tensor, ids: Tensor, attend: Tensor, words: Tensor) -> Tensor:
        """The terms (rows, V) that are added to the logits of every masked token of a row.

        Args:
            vectors: s, (rows, d).
            ids, attend: the text of s, (rows, length).
            words: the token embeddings e, (V, d).
        """
        about: Tensor = self.about(vectors) @ words.T
        cost = functional.softplus(self.repeated(words[ids]))[..., 0] * attend  # (rows, length)
        return about.scatter(1, ids, about.gather(1, ids) - cost.to(about.dtype))

    def forward(self, ids: Tensor, attend: Tensor, words: Tensor) -> Tensor:
        """`scores` from the ids alone."""
        return self.scores(self.vectors(ids, attend), ids, attend, words)


class SentenceBert(BertForMaskedLM):  # type: ignore[misc]
    """BertForMaskedLM with a `SentenceHead`, for the mask ``config.mask_token_id``."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        reader = BertModel(config, add_pooling_layer=False)
        self.sentence = SentenceHead(reader, config.mask_token_id)

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None, **rest: Any) -> Any:
        """The output of BertForMaskedLM with the added terms."""
        attend = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        out = super().forward(input_ids=input_ids, attention_mask=attend, **rest)
        words = self.get_input_embeddings().weight  # tied to the output layer, whose integers are no such matrix
        out.logits = out.logits + self.sentence(input_ids, attend, words)[:, None]
        return out


ORDERS = 3


class OrdersBert(BertForPreTraining):  # type: ignore[misc]
    """BertForPreTraining whose head for pairs has an output for each order."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.cls.seq_relationship = nn.Linear(config.hidden_size, ORDERS)
