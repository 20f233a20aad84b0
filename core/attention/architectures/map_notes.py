"""What a map of an unusual architecture has to say of itself: which layers it shows, and what rows do not sum to.

Some models mix layers of attention with layers that carry a state (Jamba, Griffin) or a convolution; their maps have
the former alone, numbered from 1. Others let every head keep a part of the weight to itself (gpt-oss: a number beside
the scores that no token stands for), so that rows sum to less than one.

Legend: L layers with attention, H heads, Q query tokens, K key tokens.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from core.attention.architectures.model_masks import attending, of_text, side, sides
from core.attention.trace import Floats, MapKind
from core.errors import NoAttentionMatrix

_SINKS = (
    "Rows sum to less than one: every head has a sink, a learnt number beside the scores that takes a share of the "
    "weight and stands for no token."
)
_ROUNDED = 1e-2
"""How far from one a sum may be that is one but for rounding."""
_OTHER = "Rows do not sum to one: they run from {low:.2f} to {high:.2f}, as the model gives them."


def note(model: Any, weights: Floats, kind: MapKind = "decoder") -> str:
    """Sentences on a map (L, H, Q, K) of a model; empty where nothing is unusual.

    Raises:
        NoAttentionMatrix: these are no weights.
    """
    own = side(model.config, kind)
    parts = (
        _numbered(of_text(own), len(weights)),
        _windowed(own) if kind == "encoder" else "",
        _sums(model, weights),
    )
    return " ".join(filter(None, parts))


def _numbered(config: Any, count: int) -> str:
    """Which layers of the model those of the map are, where it has more."""
    if getattr(config, "is_encoder_decoder", False):  # whose number of layers is the encoder's alone
        return ""
    layers = int(getattr(config, "num_hidden_layers", count))
    numbers = attending(config) if layers > count else ()
    if layers <= count:
        return ""
    if len(numbers) != count:
        return f"{count} of the model's {layers} layers have an attention matrix; they are numbered from 1 here."
    true = _listed([number + 1 for number in numbers])
    own = f"Layers 1 to {count} here are the model's layers {true}" if count > 1 else f"Layer 1 here is layer {true}"
    return f"{own}, of {layers}; the others have no attention matrix."


def _windowed(config: Any) -> str:
    """What the layers of an encoder with windows see."""
    near = [side for side in sides(config) if side is not None]
    if not near:
        return ""
    layers = len(sides(config))
    rest = "; the others see the whole text" if len(near) < layers else ""
    return f"{len(near)} of {layers} layers see {near[0]} tokens on each side and compute nothing beyond{rest}."


def _listed(numbers: list[int]) -> str:
    *first, last = (str(number) for number in numbers)
    return f"{', '.join(first)} and {last}" if first else last


def _sums(model: Any, weights: Floats) -> str:
    """What rows sum to, where it is not one; the first head of each layer is looked at."""
    one = weights[:, 0]
    if one.min(initial=0.0) < 0:
        raise NoAttentionMatrix(
            f"For models of the type “{str(model.config.model_type)[:40]}” the library returns scores in place of "
            "weights: some are negative, and rows do not sum to one. Other types, such as BERT, BART and GPT-2, work."
        )
    sums = one.sum(-1)
    if np.abs(sums - 1.0).max(initial=0.0) <= _ROUNDED:
        return ""
    if any(name.endswith(".sinks") for name, _ in model.named_parameters()):
        return _SINKS
    return _OTHER.format(low=float(sums.min()), high=float(sums.max()))
