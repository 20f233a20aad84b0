r"""Disentangled attention (He et al., 2020): a score is a sum of what two words are and of how far apart they stand.

With content vectors :math:`H` and a table of vectors :math:`P` for distances, token i scores token j as

.. math:: s_{ij} = \frac{1}{\sqrt{3d}} \bigl( q_i \cdot k_j + q_i \cdot k^r_{\delta(i,j)} + q^r_{\delta(i,j)} \cdot
    k_j \bigr), \qquad q = H W_q,\; k = H W_k,\; q^r = P W^r_q,\; k^r = P W^r_k

content to content, content to position, position to content; :math:`\delta(i,j) = i - j`, held within the table. The
paper looks :math:`q^r` up by :math:`\delta(j,i)`; its released models, and transformers, by :math:`\delta(i,j)`. From
version 2 on, :math:`W^r` may be the content's own :math:`W` (``share_att_key``).

transformers gathers the entries of the last two terms one by one. Here they are read off as a view: scores of token i
against all distances, sorted from far left to far right, stand one column further right in each following row, so that
a row that is one number shorter brings them under each other. The result is the same number for number, and the
backward pass costs no scatter.

For a text the parts of every score are shown, and a masked token predicted without one of them.

Legend: H heads, n tokens, d width of a head, L layers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MethodType
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from collections.abc import Collection

    from torch import Tensor

PARTS = ("c2c", "c2p", "p2c")
"""Content to content, content to position, position to content: the parts of a score, in this order."""


def by_distance(scores: Tensor) -> Tensor:
    """(..., n, 2n) scores against distances to (..., n, n), whose entry (i, j) was in column ``j - i + n - 1``.

    The columns are distances in rising or falling order, -(n - 1) to n - 1, and one more that is never read.
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
        attention: transformers' DisentangledSelfAttention of DeBERTa's second version, both parts on.
        table: (2 * span, width) vectors of the distances, or of their buckets, from -span to span - 1.
    """
    import torch
    from transformers.models.deberta_v2.modeling_deberta_v2 import make_log_bucket_position

    n, span = query.shape[-2], len(table) // 2
    scale = 1 / math.sqrt(len(PARTS) * query.shape[-1])
    to_key, to_query = _projections(attention)
    rising = torch.arange(-(n - 1), n + 1, device=table.device)
    if getattr(attention, "position_buckets", 0) > 0:  # far distances share a vector
        rising = make_log_bucket_position(rising, attention.position_buckets, attention.max_relative_positions).long()
    near = table[(rising + span).clamp(0, 2 * span - 1)]
    heads = (2 * n, attention.num_attention_heads, -1)
    keys = (to_key(near) * scale).view(heads).permute(1, 2, 0)
    queries = (to_query(near) * scale).view(heads).permute(1, 2, 0)
    # seen from token i the distance i - j falls with j, seen from token j it rises with i
    falling = keys.flip(-1).roll(-1, -1)
    return by_distance(query @ falling), by_distance(key @ queries).transpose(-1, -2)


def _projections(attention: Any) -> tuple[Any, Any]:
    """What makes keys and queries of distances: the content's own projections where they are shared."""
    if attention.share_att_key:
        return attention.key_proj, attention.query_proj
    return attention.pos_key_proj, attention.pos_query_proj


@dataclass(frozen=True, slots=True)
class Reading:
    """What a model computed over one text."""

    states: Tensor
    """(1, n, width) of the last layer."""
    scores: Tensor
    """(L, 3, H, n, n) parts of every score, in the order of `PARTS`; computed also where they were left out."""
    weights: Tensor
    """(L, H, n, n) what the parts that were kept give after the softmax."""


def supported(model: Any) -> bool:
    """Whether `read` can take the model's scores apart."""
    config = model.config
    return bool(
        config.model_type == "deberta-v2"
        and getattr(config, "relative_attention", False)
        and sorted(config.pos_att_type or ()) == sorted(PARTS[1:])
    )


def read(model: Any, ids: Tensor, parts: Collection[str] = PARTS) -> Reading:
    """Runs a DeBERTa base model over one text, its scores the sum of the parts in ``parts``; the model is not changed.

    Args:
        model: transformers' DebertaV2ForMaskedLM, in evaluation mode.
        ids: (1, n).

    Raises:
        NoAttentionMatrix: the model's scores have no such parts.
    """
    import torch

    if not supported(model):
        raise NoAttentionMatrix("This model's attention scores cannot be taken apart into content and position here.")
    own: Any = twin(model)
    included = [PARTS.index(part) for part in PARTS if part in parts]
    scores: list[Tensor] = []

    def bias(attention: Any, query: Tensor, key: Tensor, _: Tensor, table: Tensor, factor: int) -> Tensor:
        """(H, n, n) what the library adds to the content's scores, for its (H, n, d) queries and keys."""
        content = query @ (key.transpose(-1, -2) / math.sqrt(factor * query.shape[-1]))
        position = position_scores(query[None], key[None], attention, table)
        scores.append(torch.stack([content, *(part[0] for part in position)]))
        return scores[-1][included].sum(dim=0) - content

    for layer in own.base_model.encoder.layer:
        layer.attention.self.disentangled_attention_bias = MethodType(bias, layer.attention.self)
    with torch.no_grad():
        out = own.base_model(input_ids=ids, output_attentions=True)
    return Reading(out.last_hidden_state, torch.stack(scores), torch.cat(out.attentions))


MOST = 40
"""Tokens of a text that is drawn."""
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """One text; L layers, H heads, n tokens."""

    tokens: tuple[str, ...]
    """Labels of what the model reads, masks included."""
    scores: Floats
    """(L, 3, H, n, n) content to content, content to position, position to content; scaled, before the softmax."""
    weights: Floats
    """(L, H, n, n) the softmax of their sum."""
    masks: tuple[int, ...]
    """Where the model reads a mask."""


@dataclass(frozen=True, slots=True)
class Without:
    """Guesses for the first mask."""

    part: str
    """The part of `PARTS` that was left out of every score of every layer; empty for none."""
    tokens: tuple[str, ...]
    probabilities: tuple[float, ...]


def parts_of(checkpoint: Checkpoint, text: str) -> Parts:
    """The scores of ``text``, taken apart.

    Raises:
        InputEmpty, InputTooLong: nothing readable, or more tokens than the model's positions or `MOST`.
        NoAttentionMatrix: the model's scores have no such parts.
    """
    ids, masks = _ids(checkpoint, text)
    reading = read(checkpoint.model, ids)
    return Parts(
        labels(checkpoint.tokenizer, ids[0].tolist()),
        frozen(reading.scores.float().numpy()),
        frozen(reading.weights.float().numpy()),
        masks,
    )


def guesses_without(checkpoint: Checkpoint, text: str, k: int = 5) -> tuple[Without, ...]:
    """The ``k`` top predictions for the first mask of ``text``: of the whole model, and without each term of the score.

    Raises:
        InputUnusable: no mask in the text.
        InputEmpty, InputTooLong, NoAttentionMatrix: as :func:`parts_of`.
    """
    ids, masks = _ids(checkpoint, text)
    if not masks:
        raise InputUnusable("There is no mask in this text. Type [MASK] in place of a word to see it predicted.")
    model: Any = checkpoint.model
    head = word_head(model)
    assert head is not None  # both have one
    out = []
    for left in ("", *PARTS):
        states = read(model, ids, [part for part in PARTS if part != left]).states
        best = head(states[:, [masks[0]]])[0, 0].detach().float().softmax(-1).topk(k)
        words = tuple(label(checkpoint.tokenizer, i) for i in best.indices.tolist())
        out.append(Without(left, words, tuple(best.values.tolist())))
    return tuple(out)


def _ids(checkpoint: Checkpoint, text: str) -> tuple[Any, tuple[int, ...]]:
    """(1, n) ids of the text with its masks, and where these stand."""
    import torch

    masked = prepare(checkpoint, text)
    if len(masked.ids) > MOST:
        raise InputTooLong(
            f"This text has {len(masked.ids):,} tokens; the parts of its scores are drawn for up to {MOST}. "
            f"A sentence of about {MOST // 2} words or fewer works."
        )
    return torch.tensor([masked.ids]), masked.positions
