r"""Attention of an architecture without a blueprint, recorded at the library's attention function.

Nearly all modules of transformers delegate the last part of attention to a function that their configuration names
(``AttentionInterface``), and pass it queries and keys as they enter the scores: normalized, rotated, with shared key
heads. On a copy of the model (`core.attention.architectures.recording`) the modules' configurations name our function,
which calls the original one, so that every number is unchanged, and records the call. The recorded call must reproduce
the library's weights: with the factor f, and where present the cap c, the bias b, the mask m and the sink z,

.. math::

    s_{ij} = c \tanh\frac{f\, q_i \cdot k_j}{c} + b_{ij} + m_{ij}, \qquad
    A_{ij} = \frac{e^{s_{ij}}}{e^{z_i} + \sum_k e^{s_{ik}}}

is recomputed and compared with the weights of a pass without hooks. If any weight differs by more than :data:`NEAR`,
nothing is shown. The same comparison decides whether a module's sinks take part in its softmax, as they do in gpt-oss.

Legend: R rows, H heads, n tokens, Q queries, K keys, d head dimension, v that of a value.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

from core.attention.architectures.layout import stacks, unknown_scores, weights_of_layers
from core.attention.architectures.recording import private_twin, run
from core.attention.architectures.scores import AttentionScores, spread
from core.attention.trace import MapKind, map_note
from core.checkpoints.spec import Checkpoint
from core.errors import NoAttentionMatrix
from core.lazy import Tensor, nn, torch, transformers
from core.run.prepare import AttentionLayer
from core.run.sites import AttentionNames

NEAR = 1e-4
"""The largest allowed difference between recomputed weights and those of the library."""
NAME = "atlas_hooked"
"""The name under which our function is registered in transformers; only copies of models use it."""
_HOOK = "_atlas_hook"
_DEFAULT = "eager_attention_forward"
"""The default attention function of transformers' modules."""
_MASKED = -1e4
"""The largest value of an attention mask at a masked key; larger values are a bias."""
_PROBE = "One, two, three."

_layers: WeakKeyDictionary[nn.Module, dict[MapKind, tuple[AttentionLayer, ...]]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class AttentionCall:
    """The inputs and outputs of one call of the attention function."""

    path: str
    """The module that called."""
    query: Tensor  # (R, H, Q, d)
    key: Tensor  # (R, fewer heads, K, d)
    value: Tensor  # (R, fewer heads, K, v)
    mask: Tensor | None  # (R, H or 1, Q, K), added to the scores
    factor: float
    more: dict[str, Any]
    """Other keyword arguments, and the module's own sinks where it has some."""
    attention_output: Tensor  # (R, Q, H, v)
    weights: Tensor  # (R, H, Q, K)


def hooked_scores(
    checkpoint: Checkpoint, inputs: Mapping[str, Any]
) -> dict[MapKind, list[tuple[AttentionLayer, AttentionScores]]]:
    """Every attention of one pass, layer by layer, by kind; inputs as in `core.attention.architectures.vectors`.

    Raises:
        NoAttentionMatrix: the architecture's attention calls no function, or its calls do not explain the library's
            weights.
    """
    plain, hooked = private_twin(checkpoint), private_twin(checkpoint)
    calls: list[AttentionCall] = []
    for path, module in hooked.named_modules():
        if _default_of(module) is not None:
            register_attention_hook(module, path, calls.append)
    expected = returned_weights(checkpoint, plain, inputs)
    returned = returned_weights(checkpoint, hooked, inputs)
    read: dict[MapKind, list[tuple[AttentionLayer, AttentionScores]]] = {}
    own = stacks(checkpoint)
    with torch.inference_mode():
        for kind, layers in expected.items():
            stack = replace(own[0 if kind == "encoder" else -1], prefix="")
            for number, (weights, again) in enumerate(zip(layers, returned[kind], strict=True)):
                call = next((call for call in calls if call.weights is again), None)
                scores = None if call is None else _explained(call, weights[0])
                if call is None or scores is None:
                    raise unknown_scores(checkpoint)
                names = AttentionNames(module=call.path, out="", parts="", score="hooked")
                read.setdefault(kind, []).append(
                    (AttentionLayer(kind, number, len(scores.query), names, stack, ()), scores)
                )
    return read


def hooked_layers(checkpoint: Checkpoint) -> dict[MapKind, tuple[AttentionLayer, ...]]:
    """The attention layers by kind, found in a pass over a few tokens; cached as long as the model.

    Raises:
        NoAttentionMatrix: as :func:`hooked_scores`.
    """
    if (known := _layers.get(checkpoint.model)) is not None:
        return known
    ids = torch.tensor([checkpoint.tokenizer(_PROBE, verbose=False)["input_ids"]])
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    if checkpoint.spec.offers("rewrites"):
        inputs["decoder_input_ids"] = ids[:, :-1]
    scores = hooked_scores(checkpoint, inputs)
    _layers[checkpoint.model] = {kind: tuple(layer for layer, _ in layers) for kind, layers in scores.items()}
    return _layers[checkpoint.model]


def register_attention_hook(module: nn.Module, path: str, hook: Callable[[AttentionCall], Tensor | None]) -> None:
    """Call ``hook`` with every call of the attention function by a module of a twin.

    Its result, (R, Q, H, v), replaces the heads' output; None leaves it.

    Raises:
        NoAttentionMatrix: the module calls no function.
    """
    default = _default_of(module)
    if default is None:
        raise NoAttentionMatrix("This model's heads cannot be reached: its attention does not use AttentionInterface.")
    transformers.AttentionInterface.register(NAME, _attend)
    config: Any = copy.deepcopy(module.config)  # the setter also changes nested configurations
    config._attn_implementation = NAME
    vars(module).update({"config": config, _HOOK: (path, default, hook)})


def _default_of(module: Any) -> Callable[..., Any] | None:
    """The attention function that a module calls by default; None where it calls none."""
    forward = inspect.unwrap(type(module).forward)
    code = getattr(forward, "__code__", None)
    if code is None or "ALL_ATTENTION_FUNCTIONS" not in code.co_names or not hasattr(module, "config"):
        return None
    function: Callable[..., Any] | None = forward.__globals__.get(_DEFAULT)
    return function


def _attend(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None = None,
    scaling: float | None = None,
    **more: Any,
) -> tuple[Tensor, Tensor]:
    """The module's default attention, with its call passed to the hook."""
    path, default, hook = vars(module)[_HOOK]
    arguments = more if scaling is None else more | {"scaling": scaling}
    output, weights = default(module, query, key, value, attention_mask, **arguments)
    if getattr(module, "sinks", None) is not None:
        more.setdefault("sinks", module.sinks)
    factor = query.shape[-1] ** -0.5 if scaling is None else float(scaling)
    changed = hook(AttentionCall(path, query, key, value, attention_mask, factor, more, output, weights))
    return (output if changed is None else changed), weights


def returned_weights(checkpoint: Checkpoint, model: Any, inputs: Mapping[str, Any]) -> dict[MapKind, list[Tensor]]:
    """The weights that the library returns of a pass, (1, H, Q, K) a layer, by kind.

    Args:
        model: a twin of the checkpoint's.

    Raises:
        NoAttentionMatrix: not every layer has weights, or they are not shares of attention, query by key.
    """
    outputs = run(model, inputs, output_attentions=True)
    names: dict[MapKind, str] = dict.fromkeys(checkpoint.spec.family.sides, "attentions")
    if len(names) > 1:
        names = {"encoder": "encoder_attentions", "decoder": "decoder_attentions", "cross": "cross_attentions"}
    found = {kind: weights_of_layers(checkpoint.model, getattr(outputs, name, None)) for kind, name in names.items()}
    n, last = inputs["input_ids"].shape[1], inputs.get("decoder_input_ids", inputs["input_ids"]).shape[1]
    shapes = {"encoder": (n, n), "decoder": (last, last), "cross": (last, n)}
    for kind, layers in found.items():
        if any(weights.shape[:1] + weights.shape[2:] != (1, *shapes[kind]) for weights in layers):
            raise NoAttentionMatrix(
                f"{checkpoint.spec.name} has no matrix of attention from every token to every token: it attends within "
                "parts of the text, to a summary of it, or in several streams. Models with full attention work."
            )
        if any((weights < 0).any() or (weights.sum(-1) > 1 + NEAR).any() for weights in layers):
            raise NoAttentionMatrix(
                f"The library returns numbers for the attention of {checkpoint.spec.name} that are no shares: they are "
                "negative, or sum to more than one. Models such as BERT, GPT-2, LLaMA, T5 and BART work."
            )
    return found


def _explained(call: AttentionCall, weights: Tensor) -> AttentionScores | None:
    """The scores of a call's first row, if their softmax reproduces ``weights`` (H, Q, K); else None."""
    query, heads = call.query[0], call.query.shape[1]
    key, value = spread(call.key[0], heads), spread(call.value[0], heads)
    if (len(key), len(key[0])) != (heads, weights.shape[-1]):
        return None
    cap = call.more.get("softcap")
    content = query @ key.transpose(-1, -2) * call.factor
    terms = {"content": (content / cap).tanh() * cap if cap else content}
    if (bias := call.more.get("position_bias")) is not None:
        terms["position"] = bias[0].expand_as(content)
    allowed = None if call.mask is None else call.mask[0] > _MASKED
    if call.mask is not None and allowed is not None:
        rest = call.mask[0].masked_fill(~allowed, 0.0)
        if rest.any():
            terms["mask"] = rest.expand_as(content)
    output = call.attention_output[0].flatten(1)
    scores = AttentionScores(
        query, key, value, terms, allowed, weights, call.factor, output, note=_note(call, query.shape[-1], terms)
    )
    sinks = call.more.get("s_aux", call.more.get("sinks"))
    total = scores.score
    candidates = [total.softmax(-1)]
    if sinks is not None:  # some models include them in the softmax, others do not
        beside = sinks.reshape(heads, 1, 1).expand(*total.shape[:2], 1)
        candidates.append(torch.cat([total, beside], dim=-1).softmax(-1)[..., :-1])
    return scores if any(torch.allclose(own, weights, rtol=0, atol=NEAR) for own in candidates) else None


def _note(call: AttentionCall, width: int, terms: Collection[str]) -> str:
    """How the score differs from the scaled dot product of the shown queries and keys."""
    parts = [map_note("vectors")]
    if call.key.shape[1] < call.query.shape[1]:
        parts.append(map_note("shared keys"))
    if abs(call.factor - width**-0.5) > 1e-3 * width**-0.5:
        parts.append(map_note("factor", factor=f"{call.factor:.3g}"))
    if "position" in terms:
        parts.append(map_note("distance term"))
    if "mask" in terms:
        parts.append(map_note("mask term"))
    if cap := call.more.get("softcap"):
        parts.append(map_note("softcap", cap=f"{cap:g}"))
    return " ".join(parts)
