r"""The attention mask that a configuration stands for: of a decoder, and of an encoder with windows.

A decoder's token attends to itself and to what came before it; in layers with a window of w, to no more than the last w
tokens:

.. math:: j \le i \quad\text{and}\quad i - j < w

GPT-Neo has such layers in turn with whole ones (``attention_layers``), newer decoders by name (``layer_types``) or in
every layer (``sliding_window`` alone, as Mistral). An encoder with such layers has windows to both sides,
:math:`|i - j| \le w`. Layers that carry a state in place of attention have no matrix and are left out.

What a map of an unusual architecture has to say of itself: which layers it shows, and what rows do not sum to.

Some models mix layers of attention with layers that carry a state (Jamba, Griffin) or a convolution; their maps have
the former alone, numbered from 1. Others let every head keep a part of the weight to itself (gpt-oss: a number beside
the scores that no token stands for), so that rows sum to less than one.

Legend: L layers, n tokens. numpy alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from core.attention.trace import Bools, Floats, MapKind, frozen
from core.errors import NoAttentionMatrix
from core.patterns import both, causal, full, mask, window


def of_text(config: Any) -> Any:
    """The configuration of the part that reads text, of a model that takes pictures or sound, too."""
    return config if hasattr(config, "num_hidden_layers") else config.get_text_config()


def side(config: Any, kind: MapKind) -> Any:
    """The configuration of one side of an encoder-decoder that has one for each; the whole one of other models."""
    own = getattr(config, "encoder" if kind == "encoder" else "decoder", None)
    return own if hasattr(own, "model_type") else config


def attending(config: Any) -> tuple[int, ...]:
    """The layers that have attention, from 0: all, but in models that mix them with layers of other kinds."""
    config = of_text(config)
    kinds = getattr(config, "layer_types", None) or ()
    found = tuple(
        i for i, kind in enumerate(kinds) if "linear" not in kind and ("attention" in kind or kind.startswith("hybrid"))
    )
    return found or tuple(range(int(config.num_hidden_layers)))


def attention_layers_of(config: Any, attentions: Sequence[Any] | None, kind: MapKind) -> list[Any]:
    """Of what the library returns for each layer what is attention: not None, nor what takes the place of attention."""
    layers = [layer for layer in attentions or () if layer is not None]
    mixed = kind == "decoder" and not config.is_encoder_decoder and getattr(of_text(config), "layer_types", None)
    own = attending(config) if mixed else ()
    return [layers[number] for number in own] if 0 < len(own) < len(layers) and own[-1] < len(layers) else layers


def windows(config: Any) -> tuple[int | None, ...]:
    """For each layer how many tokens it sees, itself included; None for all."""
    config = of_text(config)
    layers = int(config.num_hidden_layers)
    if getattr(config, "model_type", "") == "gpt_neo":
        return tuple(int(config.window_size) if kind == "local" else None for kind in config.attention_layers)
    size = getattr(config, "sliding_window", None)
    if size is None or getattr(config, "use_sliding_window", True) is False:
        return (None,) * layers
    kinds = getattr(config, "layer_types", None) or ["sliding_attention"] * layers
    return tuple(int(size) if "sliding" in kind else None for kind in kinds)  # Inkling's are "hybrid_sliding"


def allowed(config: Any, n: int) -> Bools:
    """Where a decoder computes weights: (1, 1, n, n), or (L, 1, n, n) where layers differ or have windows."""
    config = of_text(config)
    reaches = windows(config)
    if not any(reaches):
        return _reaching(None, n)[None, None]
    own = [reaches[layer] for layer in attending(config)]
    return np.stack([_reaching(reach, n) for reach in own])[:, None]


@lru_cache(maxsize=64)
def _reaching(tokens: int | None, n: int) -> Bools:
    """(n, n): what came before, no further back than ``tokens``."""
    return frozen(mask(causal if tokens is None else both(causal, window(tokens - 1, 0)), n))


def agreeing(rule: Bools | None, weights: Floats) -> Bools | None:
    """``rule`` for a map (L, H, n, n), unless it is for other layers or a weight stands where it says there is none.

    Then the rule is none of this model's (a setting that its code does not read): what is left is that a token sees
    what came before, where the weights agree, or None.
    """

    def denied(seen: Bools) -> bool:
        return len(seen) not in (1, len(weights)) or bool(((weights > 0) & ~seen).any())

    if rule is None or not denied(rule):
        return rule
    queries, keys = weights.shape[-2:]
    plain = _reaching(None, keys)[None, None]
    return None if queries != keys or denied(plain) else plain


def sides(config: Any) -> tuple[int | None, ...]:
    """For each layer of an encoder how many tokens it sees on each side; empty where layers have no kinds."""
    kinds = getattr(config, "layer_types", None) or ()
    return tuple(config.sliding_window if kind == "sliding_attention" else None for kind in kinds)


def around(config: Any, n: int) -> Bools | None:
    """Where an encoder computes weights, (L, 1, n, n); None for everywhere."""
    reaches = sides(config)
    if not any(reaches):
        return None
    patterns = [full if near is None else window(near, near) for near in reaches]
    return np.stack([mask(pattern, n) for pattern in patterns])[:, None]


_SINKS = (
    "Rows sum to less than one: every head has a sink, a learned score that takes a share of the "
    "weight and belongs to no token."
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
    layers, near = len(sides(config)), [side for side in sides(config) if side is not None]
    if not near:
        return ""
    rest = "; the others attend to the whole text" if len(near) < layers else ""
    return f"{len(near)} of {layers} layers attend to {near[0]} tokens on each side and compute nothing beyond{rest}."


def _listed(numbers: list[int]) -> str:
    *first, last = (str(number) for number in numbers)
    return f"{', '.join(first)} and {last}" if first else last


def _sums(model: Any, weights: Floats) -> str:
    """What rows sum to, where it is not one; the first head of each layer is looked at."""
    one = weights[:, 0]
    sums = one.sum(-1)
    low, high = float(sums.min(initial=1.0)), float(sums.max(initial=1.0))
    if low >= 1 - _ROUNDED and high <= 1 + _ROUNDED:
        return ""
    if one.min() < 0:
        raise NoAttentionMatrix(
            f"For models of the type “{str(model.config.model_type)[:40]}” the library returns scores in place of "
            "weights: some are negative, and rows do not sum to one. Other types, such as BERT, BART and GPT-2, work."
        )
    if any(name.endswith(".sinks") for name, _ in model.named_parameters()):
        return _SINKS
    return _OTHER.format(low=low, high=high)
