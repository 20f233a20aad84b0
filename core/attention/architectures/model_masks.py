r"""The attention mask of a configuration, and a note on maps whose rows do not sum to one.

A decoder's token attends to itself and earlier tokens; in layers with a window of w, to the last w tokens:

.. math:: j \le i \quad\text{and}\quad i - j < w

GPT-Neo alternates such layers with full ones (``attention_layers``); newer decoders name them (``layer_types``) or have
them everywhere (``sliding_window`` alone, as Mistral). An encoder with such layers has windows to both sides,
:math:`|i - j| \le w`.

Legend: L layers, H heads, n tokens. numpy alone.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from core.attention.trace import Bools, Floats, MapKind, frozen, map_note
from core.errors import NoAttentionMatrix
from core.patterns import both, causal, mask, window


def windows(config: Any) -> tuple[int | None, ...]:
    """For each layer the window size, the query included; None for full attention."""
    layers = int(config.num_hidden_layers)
    if getattr(config, "model_type", "") == "gpt_neo":
        return tuple(int(config.window_size) if kind == "local" else None for kind in config.attention_layers)
    size = getattr(config, "sliding_window", None)
    if size is None or getattr(config, "use_sliding_window", True) is False:
        return (None,) * layers
    kinds = getattr(config, "layer_types", None) or ["sliding_attention"] * layers
    return tuple(int(size) if "sliding" in kind else None for kind in kinds)


def allowed(config: Any, weights: Floats, kind: MapKind) -> Bools | None:
    """The attention mask of ``weights`` (L, H, n, n) of a self-attention; None for everywhere.

    (1, 1, n, n), or (L, 1, n, n) where layers have windows. Windows that contradict a weight are ignored: the model's
    code does not use that setting.
    """
    side = getattr(config, kind, None)  # an encoder-decoder may have a configuration for each side
    config = side if hasattr(side, "model_type") else config
    own = windows(config if hasattr(config, "num_hidden_layers") else config.get_text_config())
    n = weights.shape[-1]
    rules = [own] if any(own) and len(own) == len(weights) else []
    for rule in [*rules, *([(None,)] if kind == "decoder" else [])]:
        seen = np.stack([_reached(width, n, kind) for width in rule])[:, None]
        if not ((weights > 0) & ~seen).any():
            return seen
    return None


@lru_cache(maxsize=64)
def _reached(width: int | None, n: int, kind: MapKind) -> Bools:
    """(n, n) the keys within ``width`` tokens: before a decoder's query, on both sides of an encoder's."""
    if kind == "encoder":
        return frozen(np.ones((n, n), dtype=np.bool_) if width is None else mask(window(width, width), n))
    return frozen(mask(causal if width is None else both(causal, window(width - 1, 0)), n))


_ROUNDED = 1e-2
"""The tolerance for row sums of one."""


def note(model: Any, weights: Floats) -> str:
    """A sentence on the row sums of a map (L, H, Q, K) where they are not one; measured on the first heads.

    Raises:
        NoAttentionMatrix: these are not attention weights.
    """
    first = weights[:, 0]
    sums = first.sum(-1)
    low, high = float(sums.min(initial=1.0)), float(sums.max(initial=1.0))
    if low >= 1 - _ROUNDED and high <= 1 + _ROUNDED:
        return ""
    if first.min() < 0:
        raise NoAttentionMatrix(
            f"For models of the type “{str(model.config.model_type)[:40]}” the library returns scores in place of "
            "weights: some are negative, and rows do not sum to one. Other types, such as BERT, BART and GPT-2, work."
        )
    if any(name.endswith(".sinks") for name, _ in model.named_parameters()):
        return map_note("sinks")
    return map_note("row sums", low=f"{low:.2f}", high=f"{high:.2f}")
