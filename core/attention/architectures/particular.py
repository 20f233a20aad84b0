r"""Scores of types that go ways of their own, or whose library code returns something else than weights.

    SqueezeBERT     :math:`q_i \cdot k_j / \sqrt d`; the library returns these scores (Iandola et al. 2020, arXiv
                    2006.11316)
    I-BERT          :math:`q_i \cdot k_j / \sqrt d`; every part comes with the factor of its whole numbers (Kim et al.
                    2021, arXiv 2101.01321)
    Funnel          :math:`\frac{1}{\sqrt d} \bigl( (q_i + u) \cdot k_j + (q_i + v) \cdot r_{i-j} + (q_i + w) \cdot
                    g_{ij} \bigr)`, as XLNet's (`core.attention.architectures.relative`); the first token has no
                    distance and no segment (Dai et al. 2020, arXiv 2006.03236)
    Nyströmformer   :math:`q_i \cdot k_j / \sqrt d` where there are as many landmarks as tokens, and a convolution over
                    values beside it (Xiong et al. 2021, arXiv 2102.03902)
    ProphetNet      :math:`q_i \cdot k_j / \sqrt d`, and in the decoder :math:`+ b_{i,j-i}`, which a projection of the
                    query's state gives for the bucket of the distance (Qi et al. 2020, arXiv 2001.04063); which of
                    its streams is meant: `core.language.returned`
    YOSO            the logarithm of a probability: `core.attention.architectures.collisions`

Legend: H heads, Q queries, K keys, n tokens, d width of a head, w width of all heads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from core.attention.architectures import collisions
from core.attention.architectures.layout import Place
from core.attention.architectures.watch import Call
from core.attention.architectures.without import refuse_settings
from core.language.returned import reading, writing
from core.language.returned import weights as returned

if TYPE_CHECKING:
    from torch import Tensor

    from core.attention.architectures.scores import Attended


def rows(place: Place, made: Sequence[Tensor]) -> list[Tensor]:
    """Queries, keys and values (n, w) with the rows that belong to the map."""
    config = place.stack.config
    match place.stack.type, place.kind:
        case "prophetnet", "decoder":
            return [part[reading(config, len(part))] for part in made]
        case "prophetnet", "cross":
            return [made[0][writing(config, len(made[0]))], *made[1:]]
    return list(made)


def finished(met: Attended, call: Call, own: Any, place: Place) -> Attended:
    """``met`` with its weights, further terms, and what may be seen.

    Raises:
        NoAttentionMatrix: a Nyströmformer whose landmarks are fewer than its tokens.
    """
    match place.stack.type:
        case "nystromformer":
            refuse_settings(place.stack.config)
            return replace(met, weights=call.back[1][0])
        case "squeezebert":
            return replace(met, weights=call.back["attention_score"][0].softmax(-1))
        case "ibert":
            return replace(met, weights=call.back[0][1][0])
        case "funnel":
            return _funnel(met, call, own)
        case "prophetnet" if place.kind == "decoder":
            return _prophet(met, call, own)
        case "prophetnet":
            (weights,) = returned(place.stack.config, place.kind, [call.back[1]])
            return replace(met, weights=weights[0])
        case "yoso":
            return _yoso(met, own)
    raise AssertionError(f"{place.stack.type} has no scores of its own")


def _funnel(met: Attended, call: Call, own: Any) -> Attended:
    """The library's own tables of distances and segments, met by the queries."""
    distances, segments, _, apart = call.given["attention_inputs"]
    asked = met.query.transpose(0, 1)[None] * own.scale  # (1, Q, H, d)
    query = met.query + own.r_w_bias[:, None]
    position = own.relative_positional_attention(distances, asked, met.key.shape[1], apart)
    terms = {"content": query @ met.key.transpose(-1, -2) * met.factor, "position": position[0]}
    if segments is not None:
        terms["segment"] = own.relative_token_type_attention(segments, asked, apart)[0]
    return replace(met, query=query, terms=terms, weights=call.back[1][0])


def _prophet(met: Attended, call: Call, own: Any) -> Attended:
    """The main stream, with the library's own buckets of distances."""
    weights, given = call.back[1], call.given
    position = own.get_main_relative_pos_embeddings(
        given["hidden_states"][:, : weights.shape[2]],
        weights,
        given["position_ids"],
        given["main_relative_position_buckets"],
    )
    return replace(met, terms=met.terms | {"position": position[0]}, weights=weights[0])


def _yoso(met: Attended, own: Any) -> Attended:
    """The library returns no weights; they are computed here."""
    query, key = collisions.directions(met.query), collisions.directions(met.key)
    product, score = query @ key.transpose(-1, -2), collisions.scores(query, key, int(own.hash_code_len))
    terms = {"content": product, "angle": score - product}
    return replace(met, query=query, key=key, terms=terms, weights=score.softmax(-1), factor=1.0)
