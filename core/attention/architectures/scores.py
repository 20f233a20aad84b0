r"""Scores as each architecture publishes them, made anew of the queries and keys that entered them.

    weights = softmax( sum of the terms, where a key may be seen )

==============  ====================================================================================================
plain           :math:`q_i \cdot k_j / \sqrt d` (Vaswani et al. 2017)
biased          :math:`q_i \cdot k_j + b_{j-i}`, a number for the bucket of the distance (T5: Raffel et al. 2020)
causal          as plain, where the module itself hides what comes later (GPT: Radford et al. 2018)
local           :math:`q_i \cdot k_j`, in every other layer for the last tokens only (GPT-Neo: Black et al. 2021)
turned          :math:`R_i q_i \cdot R_j k_j / \sqrt d`, pairs of numbers turned by an angle that grows with the
                position (Su et al. 2021), of all or the first numbers of a head, where several heads may share a key
                (Ainslie et al. 2023), and queries and keys may be normed first (Henry et al. 2020); some layers of
                some models do not turn them (Kazemnejad et al. 2023)
capped          as turned, with :math:`c \tanh(s / c)` in place of a score s, which keeps it between -c and c
                (Bello et al. 2016; Gemma 2: Riviere et al. 2024)
paired          as turned, but pairs of neighbours, and only the first numbers of a head (GPT-J), or all of them
                (RoFormer: Su et al. 2021, which may turn the values, too)
neighbours      the same, of all or the first numbers of a head, in turn with layers that do not turn (Cohere, GLM)
placed          :math:`q_i \cdot k_j / \sqrt d + b_{j-i}`, T5's bias beside a scaled product (MPNet: Song et al. 2020)
sloped          :math:`q_i \cdot k_j / \sqrt d + m_h j`, ALiBi with a slope for each head (Press et al. 2021): the same
                row as with :math:`m_h (j - i)`, by which the paper writes it; Falcon divides both terms by
                :math:`\sqrt d` (BLOOM: Scao et al. 2022; MPT, Falcon), and turns in place of it where it has no slopes
disentangled    content and distance by themselves: `core.attention.architectures.disentangled`
two-stream      content, distance, segment, with biases: `core.attention.architectures.relative`
windowed        :math:`q_i \cdot k_j / \sqrt d` in a window, :math:`q^g_i \cdot k^g_j / \sqrt d` in the row of a global
                token (Longformer: Beltagy et al. 2020)
hashed          :math:`q_i \cdot \hat q_j / \sqrt d + \ln m_{ij}` where a key is met in :math:`m_{ij} > 0` rounds, with
                :math:`\hat q_j` the query of unit mean square; in every other layer plain and near
                (Reformer: Kitaev et al. 2020; `core.attention.architectures.hashed`)
blocks          :math:`q_i \cdot k_j / \sqrt d` in blocks near, global and drawn (BigBird: Zaheer et al. 2020)
long            encoders of encoder-decoders for long texts: `core.attention.architectures.longscores`
asked           as the model's own call says, of architectures without an entry: `core.attention.architectures.asked`
particular      types with ways of their own: `core.attention.architectures.particular`
==============  ====================================================================================================

Legend: H heads, Q queries, K keys, d width of a head, w width of all heads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from core.attention.architectures import hashed, longscores, particular, rotary
from core.attention.architectures.attends import Score
from core.attention.architectures.axes import usual
from core.attention.architectures.disentangled import PARTS, position_scores
from core.attention.architectures.layout import Place
from core.attention.architectures.projections import (
    by_head,
    called,
    clip_of,
    first_row,
    made_by,
    module_of,
    normed,
    norms_of,
    spread,
)
from core.attention.architectures.relative import stream
from core.attention.architectures.watch import Call, Watch, blocks_of
from core.errors import NoAttentionMatrix

if TYPE_CHECKING:
    from torch import Tensor

_GLOBAL = ("query_global", "key_global", "value_global")
_HIDDEN = -1e30
"""What a mask that holds slopes, too, is below where a key is hidden."""


_LATER = ("long", "particular")
"""Kinds of scores whose weights are not the last thing that the module returns."""


@dataclass(frozen=True, slots=True)
class Attended:
    """One attention over one text, all of it from the first row of the batch."""

    query: Tensor  # (H, Q, d), as it enters the score's first term
    key: Tensor  # (H, K, d), repeated where heads share keys
    value: Tensor  # (H, K, d)
    terms: dict[str, Tensor]  # (H, Q, K) each, scaled: their sum is the score
    seen: Tensor | None  # (H or 1, Q, K) True where a key may be seen; None for everywhere
    weights: Tensor | None  # (H, Q, K), as the model computed them; None where it keeps them to itself
    factor: float
    """What the product of query and key was multiplied by."""
    mixed: Tensor | None = None  # (Q, w), as it enters the output's projection
    cap: float | None = None
    """What the terms are held within: ``c * tanh(term / c)``."""
    before_norm: tuple[Tensor, Tensor] | None = None
    """(H, Q, d) queries and (fewer heads, K, d) keys before norms of their own."""
    before_turn: tuple[Tensor, Tensor] | None = None
    """(H, Q, d) queries and (fewer heads, K, d) keys before positions turned them."""
    shared: bool = False
    """Whether a key is its query, brought to one length (Reformer)."""
    at: tuple[Tensor, Tensor, Tensor] | None = None
    """Longformer's queries (H, g, d), keys and values (H, K, d) of global tokens."""
    sink: Tensor | None = None
    """(H, Q or 1) a score beside those of a row that stands for no token (gpt-oss)."""

    @property
    def score(self) -> Tensor:
        """(H, Q, K) the sum of the terms, minus infinity where no key may be seen."""
        total = sum(self.terms.values(), start=next(iter(self.terms.values())) * 0)
        return total if self.seen is None else total.masked_fill(~self.seen, float("-inf"))

    @property
    def attends(self) -> Tensor:
        """(H, Q, K) the softmax of the score, in which a sink takes part where there is one."""
        import torch

        if self.sink is None:
            return self.score.softmax(-1)
        beside = self.sink[..., None].expand(*self.score.shape[:2], 1)
        return torch.cat([self.score, beside], dim=-1).softmax(-1)[..., :-1]


def look(watch: Watch, place: Place) -> None:
    """Look at everything that :func:`attended` reads."""
    watch.on(place.module)
    if place.names.out:
        watch.on(place.path(place.names.out))
    watch.on(*(f"{place.module}.{name.partition(':')[0]}" for name in place.names.parts.split()))
    if place.names.score == "hashed":
        watch.on(*(f"{place.module}.{name}" for name in hashed.projections(module_of(watch, place))))
    if place.names.score == "windowed":
        watch.on(*(f"{place.module}.{name}" for name in _GLOBAL))


def attended(watch: Watch, place: Place, count: int = 0, *, asking: bool = False) -> Attended:
    """What a layer's attention did in a run that :func:`look` has looked at.

    Args:
        count: which call of its modules is meant, where layers share them.
        asking: XLNet's query stream.

    Raises:
        NoAttentionMatrix: a variant whose scores are not known here.
    """
    calls = watch.calls(place.module)
    call = calls[count] if calls else Call({}, (None,))  # parts of sparse attention are called one by one
    if place.names.score == "two-stream":
        return _two_stream(module_of(watch, place), call, asking=asking)
    if place.names.score == "hashed":
        return _hashed(watch, place, call)
    called(watch, place, count)
    own = longscores.rows(place, watch.source)
    made = particular.rows(place, [made_by(watch, place, name, count)[own] for name in place.names.parts.split()])
    width = made[0].shape[-1] // place.heads
    query, key, value = (by_head(vectors, width) for vectors in made)
    before_norm = None
    if norms := norms_of(watch, place):
        before_norm = query, key
        query, key = (normed(norm, vectors) for norm, vectors in zip(norms, before_norm, strict=True))
    if clip := clip_of(module_of(watch, place)):
        query, key, value = (vectors.clamp(-clip, clip) for vectors in (query, key, value))
    factor = {"root": width**-0.5, "one": 1.0}.get(place.names.scale) or float(module_of(watch, place).scaling)
    met = Attended(
        query,
        key,
        value,
        {"content": query @ spread(key, place.heads).transpose(-1, -2) * factor},
        _seen(call.given.get(place.names.mask)),
        None if place.names.score in _LATER or call.back[-1] is None else call.back[-1][0],
        factor,
        _mixed(watch, place, -1 if own.start else count)[own],
        before_norm=before_norm,
    )
    return _FINISHED[place.names.score](met, call, watch, place)


def _mixed(watch: Watch, place: Place, number: int) -> Tensor:
    """(Q, w) what a call of the output's projection read."""
    given = next(iter(watch.calls(place.path(place.names.out))[number].given.values()))
    return first_row(usual(given, place.names.order))


def _seen(mask: Any) -> Tensor | None:
    """(H or 1, Q or 1, K) where a key may be seen, of a mask that is added: 0 there, hugely negative elsewhere."""
    if mask is None:
        return None
    found: Tensor = (mask[None] if mask.dim() < 3 else mask[0]) > -1  # FSMT's is one for all texts
    return found


def _plain(met: Attended, call: Call, watch: Watch, place: Place) -> Attended:
    if len(met.key) == place.heads:
        return met
    return replace(met, key=spread(met.key, place.heads), value=spread(met.value, place.heads))


def _biased(met: Attended, call: Call, watch: Watch, place: Place) -> Attended:
    """The bias comes back between the output and the weights; a cross-attention's is zero and left out.

    Every layer of a UMT5 has one of its own, which stays within.
    """
    if call.given.get("key_value_states") is not None or call.given.get("encoder_hidden_states") is not None:
        return met
    if len(call.back) > 2:
        return replace(met, terms=met.terms | {"position": call.back[1][0]})
    own, (queries, keys) = module_of(watch, place), (met.query.shape[1], met.key.shape[1])
    return replace(met, terms=met.terms | {"position": own.compute_bias(queries, keys)[0]})


def _placed(met: Attended, call: Call, watch: Watch, place: Place) -> Attended:
    return replace(met, terms=met.terms | {"position": call.given["position_bias"][0]})


def _sloped(met: Attended, call: Call, watch: Watch, place: Place) -> Attended:
    """The slopes times the keys' places come in as (H, 1, K), or so for every row.

    An MPT's mask is True where a key is hidden; that of a Falcon has the slopes once more, and they count twice.
    """
    import torch

    slopes = call.given.get("alibi", call.given.get("position_bias"))
    if slopes is None:
        other = _turned if "position_embeddings" in call.given else _plain  # an MPT may have neither
        return other(met, call, watch, place)
    falcon, mask = place.stack.type == "falcon", call.given.get(place.names.mask)
    term = slopes.reshape(-1, 1, slopes.shape[-1])[: place.heads, :, -met.key.shape[1] :]
    term = (term * met.factor if falcon else term).expand_as(met.terms["content"])
    if mask is None:
        return replace(_plain(met, call, watch, place), terms=met.terms | {"position": term})
    seen = ~mask[0] if mask.dtype == torch.bool else mask[0] > _HIDDEN
    if falcon:
        term = term + mask[0].masked_fill(~seen, 0.0)
    return replace(_plain(met, call, watch, place), terms=met.terms | {"position": term}, seen=seen)


def _local(met: Attended, call: Call, watch: Watch, place: Place) -> Attended:
    """What may be seen is a buffer of the module, and beside it there is the usual mask."""
    queries, keys = met.query.shape[1], met.key.shape[1]
    near = module_of(watch, place).bias[0, :, keys - queries : keys, :keys].bool()
    return replace(met, seen=near if met.seen is None else near & met.seen)


def _turned(met: Attended, call: Call, watch: Watch, place: Place) -> Attended:
    if not _turns(module_of(watch, place), place):
        return replace(met, key=spread(met.key, place.heads), value=spread(met.value, place.heads))
    cos, sin = (part[0] for part in call.given["position_embeddings"])
    return _after_turn(met, lambda vectors: rotary.halves(vectors, cos, sin))


def _turns(own: Any, place: Place) -> bool:
    """Whether a layer turns its queries and keys; in some models those that see the whole text do not."""
    if place.stack.type == "cohere2":
        return own.sliding_window is not None
    if place.stack.type == "exaone4":
        return own.sliding_window is None or bool(own.is_sliding)
    if place.stack.type == "esm":
        return bool(own.position_embedding_type == "rotary")
    return bool(getattr(own, "use_rope", True))


def _neighbours(met: Attended, call: Call, watch: Watch, place: Place) -> Attended:
    """Angles come in each twice: side by side, or the second time behind all others."""
    import torch

    if not _turns(module_of(watch, place), place):
        return replace(met, key=spread(met.key, place.heads), value=spread(met.value, place.heads))
    cos, sin = (part[0] for part in call.given["position_embeddings"])
    half = cos.shape[-1] // 2
    if torch.equal(cos[..., :half], cos[..., half:]):
        cos, sin = (part[..., :half].repeat_interleave(2, dim=-1) for part in (cos, sin))
    return _after_turn(met, lambda vectors: rotary.neighbours(vectors, cos, sin))


def _capped(met: Attended, call: Call, watch: Watch, place: Place) -> Attended:
    turned, cap = _turned(met, call, watch, place), module_of(watch, place).attn_logit_softcapping
    if not cap:
        return turned
    return replace(turned, terms={"content": (turned.terms["content"] / cap).tanh() * cap}, cap=float(cap))


def _paired(met: Attended, call: Call, watch: Watch, place: Place) -> Attended:
    own = module_of(watch, place)
    given = call.given.get("sinusoidal_pos")
    sines = own.embed_positions[call.given["position_ids"][0]] if given is None else given[0, 0]
    sin, cos = sines.repeat_interleave(2, dim=-1).chunk(2, dim=-1)
    turned = _after_turn(met, lambda vectors: rotary.neighbours(vectors, cos, sin))
    if not getattr(own, "rotary_value", False):
        return turned
    return replace(turned, value=rotary.neighbours(met.value, cos, sin))


def _after_turn(met: Attended, turn: Callable[[Tensor], Tensor]) -> Attended:
    """With queries and keys turned, and what several heads share repeated for each."""
    query, key = turn(met.query), spread(turn(met.key), len(met.query))
    return replace(
        met,
        query=query,
        key=key,
        value=spread(met.value, len(met.query)),
        terms={"content": query @ key.transpose(-1, -2) * met.factor},
        before_turn=(met.query, met.key),
    )


def _disentangled(met: Attended, call: Call, watch: Watch, place: Place) -> Attended:
    own, table = module_of(watch, place), call.given.get("rel_embeddings")
    if hasattr(own, "q_bias"):  # of version 1, beside the projection that makes all three
        (query,), (value,) = (by_head(bias[None], met.query.shape[-1])[None] for bias in (own.q_bias, own.v_bias))
        query = met.query + query
        content = query @ met.key.transpose(-1, -2) * met.factor
        met = replace(met, query=query, value=met.value + value, terms={"content": content})
    seen = call.given["attention_mask"][0].bool()
    if table is None and not own.pos_att_type:
        return replace(met, seen=seen)
    if table is None or sorted(own.pos_att_type) != sorted(PARTS[1:]):
        raise NoAttentionMatrix("This model's attention scores cannot be taken apart into content and position here.")
    factor = (len(PARTS) * met.query.shape[-1]) ** -0.5
    content = met.query @ met.key.transpose(-1, -2) * factor
    apart = position_scores(met.query[None], met.key[None], own, table)
    terms = dict(zip(PARTS, (content, *(part[0] for part in apart)), strict=True))
    return replace(met, terms=terms, seen=seen, factor=factor)


def _windowed(met: Attended, call: Call, watch: Watch, place: Place) -> Attended:
    """Rows of global tokens have projections of their own; the weights are not kept by the pass and computed here."""
    import torch

    from core.efficiency.longformer import GLOBAL
    from core.efficiency.windowed import allowed

    width, side = met.query.shape[-1], module_of(watch, place).one_sided_attn_window_size
    query, key, value = (by_head(watch.calls(f"{place.module}.{name}")[0].back[0], width) for name in _GLOBAL)
    rows = torch.tensor(GLOBAL)
    content = met.terms["content"].index_copy(1, rows, query @ key.transpose(-1, -2) * met.factor)
    made = replace(
        met,
        terms={"content": content},
        seen=allowed(met.query.shape[1], side, GLOBAL)[None],
        at=(query, key, value),
    )
    return replace(made, weights=made.score.softmax(-1))


def _blocks(met: Attended, call: Call, watch: Watch, place: Place) -> Attended:
    """Which blocks are drawn differs from head to head; the weights are not kept by the pass and computed here."""
    import torch

    from core.attention.patterns import mask

    sparsity, n = blocks_of(watch.model), met.query.shape[1]
    seen = [torch.from_numpy(mask(sparsity.pattern(n, place.layer, head), n)) for head in range(place.heads)]
    made = replace(met, seen=torch.stack(seen))
    return replace(made, weights=made.score.softmax(-1))


def _long(met: Attended, call: Call, watch: Watch, place: Place) -> Attended:
    return longscores.finished(met, call, module_of(watch, place), place)


def _particular(met: Attended, call: Call, watch: Watch, place: Place) -> Attended:
    return particular.finished(met, call, module_of(watch, place), place)


def _hashed(watch: Watch, place: Place, call: Call) -> Attended:
    """What fills the last chunk is left out; the weights are not kept by the pass and computed here."""
    own, n = module_of(watch, place), watch.length
    made = {name: first_row(watch.calls(f"{place.module}.{name}")[0].back)[:n] for name in hashed.projections(own)}
    met = hashed.met(own, {name: by_head(one, one.shape[-1] // place.heads) for name, one in made.items()})
    found = Attended(
        met.query,
        met.key,
        met.value,
        met.terms,
        met.seen,
        None,
        met.factor,
        first_row(call.back.hidden_states)[:n],
        shared=hashed.hashes(own),
    )
    return replace(found, weights=found.score.softmax(-1))


def _two_stream(own: Any, call: Call, *, asking: bool) -> Attended:
    """Of the query stream only the rows that are asked for."""
    found = stream(own, call.given, asking=asking)
    weights: Tensor | None = None
    if len(call.back) > 2:
        both = call.back[2]
        kept = both if not isinstance(both, tuple) else both[int(asking)]
        weights = kept.permute(2, 3, 0, 1)[0]
    asked = call.given.get("target_mapping") if asking else None
    if asked is None:
        return Attended(found.query, found.key, found.value, found.terms, found.seen, weights, float(own.scale))
    rows = asked[..., 0].argmax(-1)  # (m, n, 1 row) ones where a target stands
    return Attended(
        found.query[:, rows],
        found.key,
        found.value,
        {name: term[:, rows] for name, term in found.terms.items()},
        None if found.seen is None else found.seen[:, rows],
        None if weights is None else weights[:, rows],
        float(own.scale),
    )


_FINISHED: dict[Score, Callable[[Attended, Call, Watch, Place], Attended]] = {
    "plain": _plain,
    "biased": _biased,
    "causal": _local,
    "local": _local,
    "turned": _turned,
    "capped": _capped,
    "paired": _paired,
    "neighbours": _neighbours,
    "placed": _placed,
    "sloped": _sloped,
    "disentangled": _disentangled,
    "windowed": _windowed,
    "blocks": _blocks,
    "long": _long,
    "particular": _particular,
}
