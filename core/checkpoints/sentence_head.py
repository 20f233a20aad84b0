r"""A masked-token head that hears the sentence twice: from the place of the mask, and as a whole.

A published sentence encoder knows what a text is about; an update that teaches it to guess words at a place forgets a
part of that. So the encoder is kept beside its updated copy. With :math:`h` the updated copy's state at the mask and
:math:`g` the usual head's own layer, the score of word :math:`w` is

.. math::

    z_w = \underbrace{e_w \cdot g(h) + b_w}_{\text{what fits the place}}
        + \underbrace{e_w \cdot A s}_{\text{what the sentence is about}}
        - \underbrace{\gamma_w [w \in \text{sentence}]}_{\text{what has been said}},
    \qquad \gamma_w = \log(1 + e^{v \cdot e_w + c}),

where :math:`s` is the published encoder's unit mean state over the tokens that are not masked, :math:`e_w` the word's
vector, and :math:`A, v, c` are learnt. The sum of scores is a product of distributions (Hinton, 2002). What a word
costs that stands in the sentence already is read from its vector: little for "the", much for "bread".

Shapes: d width, V vocabulary entries.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import BertForMaskedLM, BertModel

READER = "sentence.reader."
"""What the names of the published encoder's weights begin with in the state of a `SentenceBert`."""


class SentenceHead(nn.Module):
    """What a sentence as a whole adds to the scores of its missing words.

    Args:
        reader: the published encoder, which is only read.
        mask: id of the mask token, which the reader does not see.
    """

    def __init__(self, reader: Any, mask: int) -> None:
        super().__init__()
        width = reader.config.hidden_size
        self.reader = reader.eval().requires_grad_(False)
        self.mask = mask
        self.about = nn.Linear(width, width, bias=False)
        self.repeated = nn.Linear(width, 1)

    def vectors(self, ids: Tensor, attend: Tensor) -> Tensor:
        """(rows, length) ids, attended where ``attend`` is 1, to unit vectors s (rows, d)."""
        read = attend * (ids != self.mask)
        with torch.no_grad():
            states = self.reader(input_ids=ids, attention_mask=read).last_hidden_state
        return functional.normalize((states.float() * read[..., None]).sum(1), dim=-1)

    def scores(self, vectors: Tensor, ids: Tensor, attend: Tensor, words: Tensor) -> Tensor:
        """What is added to the scores of every missing word of a row, (rows, V).

        Args:
            vectors: (rows, d) s.
            ids, attend: (rows, length) the text that s was read from.
            words: (V, d) the vectors e.
        """
        about: Tensor = self.about(vectors) @ words.T
        cost = functional.softplus(self.repeated(words[ids]))[..., 0] * attend  # (rows, length)
        return about.scatter(1, ids, about.gather(1, ids) - cost.to(about.dtype))

    def forward(self, ids: Tensor, attend: Tensor, words: Tensor) -> Tensor:
        """`scores` of a text from its ids alone."""
        return self.scores(self.vectors(ids, attend), ids, attend, words)


class SentenceBert(BertForMaskedLM):  # type: ignore[misc]
    """BERT's masked language model with a `SentenceHead`, for the mask ``config.mask_token_id``."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        reader = BertModel(config, add_pooling_layer=False)
        self.sentence = SentenceHead(reader, config.mask_token_id)

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None, **rest: Any) -> Any:
        """As BertForMaskedLM's, from ids."""
        attend = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        out = super().forward(input_ids=input_ids, attention_mask=attend, **rest)
        words = self.get_output_embeddings().weight
        out.logits = out.logits + self.sentence(input_ids, attend, words)[:, None]
        return out
