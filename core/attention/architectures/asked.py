r"""Attention of an architecture that stands in no table: seen where its own code asks for it.

Nearly all modules of transformers leave the last part of attention to a function that their configuration names
(``AttentionInterface``), and give it queries and keys as they enter the scores: after norms, turned, several heads
sharing a key. On a twin of the model (`core.attention.architectures.twin`) that name can be one of ours: the function
calls what the module would have called, so that every number stays, and tells what it was given. What it was given
must then explain what the library returns: with the factor f, the cap c, the bias b, the mask m and the sink z of
those that there are,

.. math::

    s_{ij} = c \tanh\frac{f\, q_i \cdot k_j}{c} + b_{ij} + m_{ij}, \qquad
    A_{ij} = \frac{e^{s_{ij}}}{e^{z_i} + \sum_k e^{s_{ik}}}

is computed anew and held against the weights of a pass that nobody looked into. Where they differ in any number by more
than :data:`NEAR`, nothing is shown. Whether a module's sinks take part in its weights is decided so, too: gpt-oss has
them in the sum, other models beside it.

Legend: R rows, H heads, n tokens, Q queries, K keys, d width of a head, of a value v.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from core.attention.architectures.attends import Attends
from core.attention.architectures.causal import kept
from core.attention.architectures.layout import Place, Stack, stacks, unknown
from core.attention.architectures.scores import Attended
from core.attention.architectures.watch import private, run
from core.attention.trace import MapKind
from core.checkpoints.spec import Checkpoint
from core.errors import NoAttentionMatrix

if TYPE_CHECKING:
    from torch import Tensor, nn

NEAR = 1e-4
"""How far weights that are computed anew may be from those of the library."""
SHARED = "Several heads share a key; it is shown once for each of them."
_TOLD = "_told_to"
_DEFAULT = "eager_attention_forward"
"""What every module of transformers calls where no other function is named."""
_HIDDEN = -1e4
"""What a mask is at most where a key is hidden; what it adds elsewhere is a bias."""
_PROBE = "One, two, three."


class _Name(str):
    """What the function is called among transformers' own; only twins ask for it.

    It computes what the usual one does and passes for it: some modules look at the name to decide what goes into the
    mask (DeepSeek-V3.2).
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return other == "eager" or str.__eq__(self, other)  # type: ignore[arg-type]

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


NAME = _Name("told_to_the_atlas")
_known: WeakKeyDictionary[nn.Module, dict[MapKind, tuple[Place, ...]]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Told:
    """One call of attention: what it was given, and what it gave."""

    path: str
    """The module that asked."""
    query: Tensor  # (R, H, Q, d)
    key: Tensor  # (R, fewer heads, K, d)
    value: Tensor  # (R, fewer heads, K, v)
    mask: Tensor | None  # (R, H or 1, Q, K), added to the scores
    factor: float
    more: dict[str, Any]
    """What else was given, by name, and the module's own sinks where it has some."""
    mixed: Tensor  # (R, Q, H, v)
    weights: Tensor  # (R, H, Q, K)


def each(checkpoint: Checkpoint, inputs: Mapping[str, Any]) -> dict[MapKind, list[tuple[Place, Attended]]]:
    """Every attention of one pass, layer by layer, by kind; arguments as `core.attention.architectures.vectors.each`.

    Raises:
        NoAttentionMatrix: the architecture's attention asks for no function, or what it asks does not explain the
            library's weights.
    """
    import torch

    alone, watched = private(checkpoint), private(checkpoint)
    calls: list[Told] = []
    for path, module in watched.named_modules():
        if _asks(module) is not None:
            listen(module, path, calls.append)
    expected = _weights(checkpoint, run(alone, inputs, output_attentions=True))
    given = _weights(checkpoint, run(watched, inputs, output_attentions=True))
    found: dict[MapKind, list[tuple[Place, Attended]]] = {}
    with torch.inference_mode():
        for stack in stacks(checkpoint):
            for kind in ("decoder", "cross") if stack.kind == "decoder" else ("encoder",):
                layers = zip(expected.get(kind, ()), given.get(kind, ()), strict=True)  # type: ignore[call-overload]
                for number, (weights, own) in enumerate(layers):
                    told = next((call for call in calls if call.weights is own), None)
                    met = None if told is None else _explained(told, weights[0])
                    if told is None or met is None:
                        raise unknown(checkpoint, stack)
                    names = Attends(told.path, "", "", "asked", note=_note(told, met))
                    whole = Stack(stack.kind, stack.type, stack.config, "")
                    place = Place(kind, number, len(met.query), names, whole, ())  # type: ignore[arg-type]
                    found.setdefault(kind, []).append((place, met))  # type: ignore[arg-type]
    if not found:
        raise unknown(checkpoint, stacks(checkpoint)[0])
    return found


def places(checkpoint: Checkpoint) -> dict[MapKind, tuple[Place, ...]]:
    """Where attention stands, by kind and layer, as a pass over a few tokens shows it; kept as long as the model is.

    Raises:
        NoAttentionMatrix: as :func:`each`.
    """
    import torch

    if (found := _known.get(checkpoint.model)) is not None:
        return found
    ids = torch.tensor([checkpoint.tokenizer(_PROBE, verbose=False)["input_ids"]])
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    if checkpoint.spec.kind == "seq2seq-lm":
        inputs["decoder_input_ids"] = ids[:, :-1]
    try:
        made = each(checkpoint, inputs)
    except (RuntimeError, ValueError, TypeError, LookupError, AttributeError) as error:
        raise unknown(checkpoint, stacks(checkpoint)[0]) from error
    found = {kind: tuple(place for place, _ in layers) for kind, layers in made.items()}
    _known[checkpoint.model] = found
    return found


def listen(module: nn.Module, path: str, told: Callable[[Told], Tensor | None]) -> None:
    """From now on ``told`` hears of every call of a module of a model of one's own.

    What it returns, (R, Q, H, v), goes on in place of the heads' values; None leaves them.

    Raises:
        NoAttentionMatrix: the module asks for no function.
    """
    from transformers import AttentionInterface

    eager = _asks(module)
    if eager is None:
        raise NoAttentionMatrix("This model's heads cannot be reached: its attention is computed in a way of its own.")
    AttentionInterface.register(NAME, _attend)
    own = copy.copy(module.config)
    own._attn_implementation_internal = NAME  # type: ignore[union-attr]
    vars(module).update({"config": own, _TOLD: (path, eager, told)})


def _asks(module: Any) -> Callable[..., Any] | None:
    """What a module would call by itself, where it asks for a function at all."""
    forward = inspect.unwrap(type(module).forward)
    code = getattr(forward, "__code__", None)
    if code is None or "ALL_ATTENTION_FUNCTIONS" not in code.co_names or not hasattr(module, "config"):
        return None
    found: Callable[..., Any] | None = forward.__globals__.get(_DEFAULT)
    return found


def _attend(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None = None,
    scaling: float | None = None,
    **more: Any,
) -> tuple[Tensor, Tensor]:
    """What the module's own code computes, told to who listens."""
    path, eager, told = vars(module)[_TOLD]
    given = more if scaling is None else more | {"scaling": scaling}
    mixed, weights = eager(module, query, key, value, attention_mask, **given)
    if getattr(module, "sinks", None) is not None:
        more.setdefault("sinks", module.sinks)
    factor = query.shape[-1] ** -0.5 if scaling is None else float(scaling)
    call = Told(path, query, key, value, attention_mask, factor, more, mixed, weights)
    changed = told(call)
    return (mixed if changed is None else changed), weights


def _weights(checkpoint: Checkpoint, outputs: Any) -> dict[MapKind, list[Tensor]]:
    """What the library returns, (1, H, Q, K) a layer, by kind."""
    config = checkpoint.model.config
    names: dict[MapKind, str] = {"decoder" if checkpoint.spec.kind == "causal-lm" else "encoder": "attentions"}
    if getattr(config, "is_encoder_decoder", False):
        names = {"encoder": "encoder_attentions", "decoder": "decoder_attentions", "cross": "cross_attentions"}
    return {kind: kept(config, getattr(outputs, name, None), kind) for kind, name in names.items()}


def _explained(told: Told, weights: Tensor) -> Attended | None:
    """The first row of a call, where it explains ``weights`` (H, Q, K)."""
    import torch

    query, heads = told.query[0], told.query.shape[1]
    key, value = (one[0].repeat_interleave(heads // one.shape[1], dim=0) for one in (told.key, told.value))
    if (len(key), len(key[0])) != (heads, weights.shape[-1]):
        return None
    cap = told.more.get("softcap")
    content = query @ key.transpose(-1, -2) * told.factor
    terms = {"content": (content / cap).tanh() * cap if cap else content}
    if (bias := told.more.get("position_bias")) is not None:
        terms["position"] = bias[0].expand_as(content)
    seen = None if told.mask is None else told.mask[0] > _HIDDEN
    if told.mask is not None and seen is not None:
        rest = told.mask[0].masked_fill(~seen, 0.0)
        if rest.any():
            terms["mask"] = rest.expand_as(content)
    sinks = told.more.get("s_aux", told.more.get("sinks"))
    for sink in [None] if sinks is None else [None, _by_row(sinks, heads)]:
        met = Attended(
            query,
            key,
            value,
            terms,
            seen,
            weights,
            told.factor,
            told.mixed[0].flatten(1),
            cap=float(cap) if cap else None,
            sink=sink,
        )
        if torch.allclose(met.attends, weights, rtol=0, atol=NEAR):
            return met
    return None


def _by_row(sinks: Tensor, heads: int) -> Tensor:
    """(H, Q or 1) of sinks (H,), or of one for every row, (R, H, Q, 1)."""
    return sinks[0, ..., 0] if sinks.dim() == 4 else sinks.reshape(heads, -1)


def _note(told: Told, met: Attended) -> str:
    """What the score is, beside the product of what is shown."""
    parts = ["Queries and keys are shown as the scores are made of them, after norms and turns where there are some."]
    if told.key.shape[1] < told.query.shape[1]:
        parts.append(SHARED)
    root = met.query.shape[-1] ** -0.5
    if abs(met.factor - root) > 1e-3 * root:
        parts.append(f"Their product is multiplied by {met.factor:.3g}, not divided by the root of the width.")
    if "position" in met.terms:
        parts.append("The score has one more term, a number for the distance.")
    if "mask" in met.terms:
        parts.append("The score has one more term, which the mask brings.")
    return " ".join(parts)


def together(places_of_kind: Sequence[Place]) -> str:
    """The notes of all layers, each sentence once."""
    sentences = [f"{part.rstrip('.')}." for place in places_of_kind for part in place.names.note.split(". ")]
    return " ".join(dict.fromkeys(sentences))
