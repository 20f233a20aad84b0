r"""Disentangled attention (He et al., 2020): a score is the sum of terms for content and for relative position.

With content vectors :math:`H` and relative position embeddings :math:`P`, the score of query i and key j is

.. math:: s_{ij} = \frac{1}{\sqrt{3d}} \bigl( q_i \cdot k_j + q_i \cdot k^r_{\delta(i,j)} + q^r_{\delta(i,j)} \cdot
    k_j \bigr), \qquad q = H W_q,\; k = H W_k,\; q^r = P W^r_q,\; k^r = P W^r_k

content to content, content to position, position to content, with :math:`\delta(i,j) = i - j`, clipped to the table.
The paper indexes :math:`q^r` by :math:`\delta(j,i)`; its released models, and transformers, by :math:`\delta(i,j)`.
From version 2 on, :math:`W^r` may be the content's :math:`W` (``share_att_key``).

transformers gathers the entries of the last two terms one by one. Here they are a view (the relative shift of Dai et
al., 2019): in the (n, 2n) scores against sorted distances, each row is shifted by one column, so reading the memory
with rows of 2n - 1 aligns them. The values are identical, and the backward pass needs no scatter.

Legend: H heads, n tokens, d head dimension, L layers.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from types import MethodType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.attention.architectures.recording import twin
from core.attention.tokens import labels
from core.attention.trace import frozen
from core.checkpoints.families.architectures import word_head
from core.checkpoints.spec import Checkpoint
from core.errors import InputTooLong, InputUnusable, NoAttentionMatrix
from core.language.fill_mask import prepare
from core.language.tokens import label
from core.lazy import Tensor, torch

COMPONENTS = ("c2c", "c2p", "p2c")
"""The terms of a score: content to content, content to position, position to content."""


def by_distance(scores: Tensor) -> Tensor:
    """(..., n, 2n) scores against distances to (..., n, n), whose entry (i, j) was in column ``j - i + n - 1``.

    The columns are distances in ascending or descending order, -(n - 1) to n - 1, and an unused one.
    """
    n = scores.shape[-2]
    flat = scores.flatten(-2)[..., n - 1 : n - 1 + n * (2 * n - 1)]
    rows = flat.view(*scores.shape[:-2], n, 2 * n - 1)
    return rows[..., :n]


def position_scores(query: Tensor, key: Tensor, attention: Any, table: Tensor) -> tuple[Tensor, Tensor]:
    """Content to position and position to content, both (rows, H, n, n) and scaled.

    Args:
        query: (rows, H, n, d) of the content, not scaled.
        key: likewise.
        attention: transformers' DisentangledSelfAttention of DeBERTa-v2, with both position terms.
        table: (2 * span, w) embeddings of the distances, or of their buckets, from -span to span - 1.
    """
    from transformers.models.deberta_v2.modeling_deberta_v2 import make_log_bucket_position

    n, span = query.shape[-2], len(table) // 2
    scale = 1 / math.sqrt(len(COMPONENTS) * query.shape[-1])
    to_key, to_query = _projections(attention)
    rising = torch.arange(-(n - 1), n + 1, device=table.device)
    if getattr(attention, "position_buckets", 0) > 0:  # far distances share a vector
        rising = make_log_bucket_position(rising, attention.position_buckets, attention.max_relative_positions).long()
    near = table[(rising + span).clamp(0, 2 * span - 1)]
    heads = (2 * n, attention.num_attention_heads, -1)
    keys = (to_key(near) * scale).view(heads).permute(1, 2, 0)
    queries = (to_query(near) * scale).view(heads).permute(1, 2, 0)
    # the distance i - j decreases with j and increases with i
    falling = keys.flip(-1).roll(-1, -1)
    return by_distance(query @ falling), by_distance(key @ queries).transpose(-1, -2)


def _projections(attention: Any) -> tuple[Any, Any]:
    """The projections of relative position embeddings to keys and queries, which may be the content's own."""
    if attention.share_att_key:
        return attention.key_proj, attention.query_proj
    return attention.pos_key_proj, attention.pos_query_proj


@dataclass(frozen=True, slots=True)
class ScoredPass:
    """The scores and states of one forward pass."""

    states: Tensor
    """(1, n, width) of the last layer."""
    scores: Tensor
    """(L, 3, H, n, n) terms of every score, in the order of `COMPONENTS`, ablated ones included."""
    weights: Tensor
    """(L, H, n, n) the softmax of the terms that were not ablated."""


def supported(model: Any) -> bool:
    """Whether `read` can decompose the model's scores."""
    config = model.config
    return bool(
        config.model_type == "deberta-v2"
        and getattr(config, "relative_attention", False)
        and sorted(config.pos_att_type or ()) == sorted(COMPONENTS[1:])
    )


def read(model: Any, ids: Tensor, parts: Collection[str] = COMPONENTS) -> ScoredPass:
    """Run a DeBERTa base model over one text with the score terms in ``parts`` alone; the model is not changed.

    Args:
        model: transformers' DebertaV2ForMaskedLM, in evaluation mode.
        ids: (1, n).

    Raises:
        NoAttentionMatrix: the model's scores have no such terms.
    """
    if not supported(model):
        raise NoAttentionMatrix("This model's attention scores cannot be taken apart into content and position here.")
    own: Any = twin(model)
    included = [COMPONENTS.index(part) for part in COMPONENTS if part in parts]
    scores: list[Tensor] = []

    def bias(attention: Any, query: Tensor, key: Tensor, _: Tensor, table: Tensor, factor: int) -> Tensor:
        """(H, n, n) the bias that the library adds to the content scores, from (H, n, d) queries and keys."""
        content = query @ (key.transpose(-1, -2) / math.sqrt(factor * query.shape[-1]))
        position = position_scores(query[None], key[None], attention, table)
        scores.append(torch.stack([content, *(part[0] for part in position)]))
        return scores[-1][included].sum(dim=0) - content

    for layer in own.base_model.encoder.layer:
        layer.attention.self.disentangled_attention_bias = MethodType(bias, layer.attention.self)
    with torch.no_grad():
        out = own.base_model(input_ids=ids, output_attentions=True)
    return ScoredPass(out.last_hidden_state, torch.stack(scores), torch.cat(out.attentions))


MOST = 40
"""The most tokens of a text."""
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class ScoreComponents:
    """The score terms of one text."""

    tokens: tuple[str, ...]
    """Labels of the input tokens, masks included."""
    scores: Floats
    """(L, T, H, n, n), scaled, before the softmax: content to content, content to position, position to content."""
    weights: Floats
    """(L, H, n, n) the softmax of their sum."""
    masks: tuple[int, ...] = ()
    """Positions of the mask tokens."""


@dataclass(frozen=True, slots=True)
class ComponentAblation:
    """The predictions for the first mask without one term."""

    component: str
    """The term of `COMPONENTS` that was ablated in every score of every layer; empty for none."""
    tokens: tuple[str, ...]
    probabilities: tuple[float, ...]


def score_components(checkpoint: Checkpoint, text: str) -> ScoreComponents:
    """The terms of the scores of ``text``.

    Raises:
        InputEmpty, InputTooLong: nothing readable, or more tokens than the model's positions or `MOST`.
        NoAttentionMatrix: the model's scores have no such terms.
    """
    ids, masks = _ids(checkpoint, text)
    reading = read(checkpoint.model, ids)
    return ScoreComponents(
        labels(checkpoint.tokenizer, ids[0].tolist()),
        frozen(reading.scores.float().numpy()),
        frozen(reading.weights.float().numpy()),
        masks,
    )


def predict_without_components(checkpoint: Checkpoint, text: str, k: int = 5) -> tuple[ComponentAblation, ...]:
    """The ``k`` top predictions for the first mask of ``text``: of the whole model, and without each term.

    Raises:
        InputUnusable: no mask in the text.
        InputEmpty, InputTooLong, NoAttentionMatrix: as :func:`score_components`.
    """
    ids, masks = _ids(checkpoint, text)
    if not masks:
        raise InputUnusable("There is no mask in this text. Type [MASK] in place of a word to see it predicted.")
    model: Any = checkpoint.model
    head = word_head(model)
    assert head is not None  # both model classes have one
    out = []
    for ablated in ("", *COMPONENTS):
        states = read(model, ids, [part for part in COMPONENTS if part != ablated]).states
        best = head(states[:, [masks[0]]])[0, 0].detach().float().softmax(-1).topk(k)
        words = tuple(label(checkpoint.tokenizer, i) for i in best.indices.tolist())
        out.append(ComponentAblation(ablated, words, tuple(best.values.tolist())))
    return tuple(out)


def _ids(checkpoint: Checkpoint, text: str) -> tuple[Any, tuple[int, ...]]:
    """(1, n) ids of the text, and the positions of its masks."""
    masked = prepare(checkpoint, text)
    if len(masked.ids) > MOST:
        raise InputTooLong(
            f"This text has {len(masked.ids):,} tokens; the parts of its scores are drawn for up to {MOST}. "
            f"A sentence of about {MOST // 2} words or fewer works."
        )
    return torch.tensor([masked.ids]), masked.positions
