"""What projections gave to one attention, cut into heads: queries, keys and values before positions touch them.

Which part of a projection is meant is written as in `core.attention.architectures.layout`.

Legend: H heads, n tokens, d width of a head, w width of all heads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.attention.architectures.axes import usual
from core.attention.architectures.layout import Place
from core.attention.architectures.watch import Watch
from core.errors import NoAttentionMatrix

if TYPE_CHECKING:
    from torch import Tensor


_QUARTERS = 4
"""Into how many parts CodeGen cuts its projection first: it was trained on four processors, each with its heads."""


def module_of(watch: Watch, place: Place) -> Any:
    """The module that computes scores and weights."""
    return watch.model.get_submodule(place.module)


def called(watch: Watch, place: Place, count: int) -> None:
    """Raises :class:`NoAttentionMatrix` where settings take the place of modules that are looked at."""
    names = [name.partition(":")[0] for name in place.names.parts.split()]
    for path in (place.path(place.names.out), *(f"{place.module}.{name}" for name in names)):
        if len(watch.calls(path)) <= count:
            raise NoAttentionMatrix(
                f"At its settings this model of the type “{place.stack.type[:40]}” passes by its own projections, so "
                "that its queries and keys cannot be seen. Its maps can."
            )


def clip_of(own: Any) -> float | None:
    """What the numbers of queries, keys and values are held within (OLMo, MPT)."""
    found = getattr(own, "clip_qkv", None) or getattr(getattr(own, "config", None), "clip_qkv", None)
    return float(found) if found else None


def made_by(watch: Watch, place: Place, name: str, count: int) -> Tensor:
    """(n, w) what a projection gave for the first row."""
    name, _, part = name.partition(":")
    back = watch.calls(f"{place.module}.{name}")[count].back
    if isinstance(back, tuple):  # I-BERT's numbers come with what they are to be multiplied by
        back = back[0]
    tokens_first = place.stack.type == "led" and place.names.score == "long"
    whole = back[:, 0] if tokens_first else first_row(usual(back, place.names.order))
    if not part:
        return whole
    number, parts = (int(n) for n in part.rstrip("bghm").split("/"))
    if part[-1] in "hm":
        pieces = place.heads if part.endswith("h") else _QUARTERS
        cut: Tensor = whole.unflatten(-1, (pieces, -1)).chunk(parts, dim=-1)[number].flatten(-2)  # type: ignore[no-untyped-call]
        return cut
    if part.endswith("b"):
        own = module_of(watch, place)
        bundles = int(next(getattr(own, name) for name in ("num_kv_heads", "kv_heads") if hasattr(own, name)))
        width = whole.shape[-1] // (place.heads + (parts - 1) * bundles)
        each = whole.reshape(len(whole), bundles, -1, width)  # (n, bundles, heads of one and its key and value, d)
        found: Tensor = (each[:, :, : 1 - parts] if number == 0 else each[:, :, [number - parts]]).flatten(1)
        return found
    if part.endswith("g"):
        heads = (place.heads, *[int(place.stack.config.num_key_value_heads)] * (parts - 1))
        width = whole.shape[-1] // sum(heads)
        return whole[..., width * sum(heads[:number]) : width * sum(heads[: number + 1])]
    return whole.chunk(parts, dim=-1)[number]


def first_row(tensor: Tensor) -> Tensor:
    """The first row of a batch; BigBird in blocks reads one text without such an axis."""
    return tensor[0] if tensor.dim() > 2 else tensor


def by_head(vectors: Tensor, width: int) -> Tensor:
    """(n, w) to (H, n, d)."""
    return vectors.reshape(len(vectors), -1, width).transpose(0, 1)


def norms_of(watch: Watch, place: Place) -> list[Any]:
    """The norms of queries and keys; empty where the model has none."""
    own = module_of(watch, place)
    return [getattr(own, name) for name in place.names.norms.split() if getattr(own, name, None) is not None]


def normed(norm: Any, vectors: Tensor) -> Tensor:
    """(H, n, d) every head's vectors through the same norm, all heads' numbers through one (OLMo 2), or one for each.

    StableLM has a list of norms, Cohere one with factors (H, d).
    """
    if hasattr(norm, "norms"):
        each: Tensor = norm(vectors[None])[0]
        return each
    if norm.weight.dim() > 1:
        apart: Tensor = norm(vectors.transpose(0, 1)).transpose(0, 1)
        return apart
    if norm.weight.shape[-1] == vectors.shape[-1]:
        same: Tensor = norm(vectors)
        return same
    return by_head(norm(vectors.transpose(0, 1).flatten(1)), vectors.shape[-1])


def spread(vectors: Tensor, heads: int) -> Tensor:
    """(fewer heads, n, d) repeated to (H, n, d)."""
    return vectors.repeat_interleave(heads // len(vectors), dim=0)
