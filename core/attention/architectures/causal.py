r"""Who may look at whom, as the configuration says: in a decoder, and in an encoder with windows.

A decoder's token sees itself and what came before it; in layers with a window of w, no more than the last w tokens, and
in layers with chunks of c, no more than those of its own chunk:

.. math:: j \le i \quad\text{and}\quad i - j < w \quad\text{or}\quad \lfloor i / c \rfloor = \lfloor j / c \rfloor

GPT-Neo has such layers in turn with whole ones (``attention_layers``), newer decoders by name (``layer_types``) or in
every layer (``sliding_window`` alone, as Mistral). A ModernBERT has windows to both sides, :math:`|i - j| \le w / 2`
(``local_attention``). Layers that carry a state in place of attention have no matrix and are left out.

Legend: L layers, n tokens. numpy alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from core.attention.architectures.older import WHOLE
from core.attention.patterns import Pattern, both, causal, full, mask, window
from core.attention.trace import Bools

_BOTH_SIDES = frozenset({"modernbert"})


def of_text(config: Any) -> Any:
    """The configuration of the part that reads text, of a model that takes pictures or sound, too."""
    return config if hasattr(config, "num_hidden_layers") else config.get_text_config()


def attending(config: Any) -> tuple[int, ...]:
    """The layers that have attention, from 0: all, but in models that mix them with layers of other kinds."""
    config = of_text(config)
    kinds = getattr(config, "layer_types", None) or ()
    found = tuple(
        i for i, kind in enumerate(kinds) if "linear" not in kind and ("attention" in kind or kind == "hybrid")
    )
    return found or tuple(range(int(config.num_hidden_layers)))


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
    return tuple(int(size) if kind == "sliding_attention" else None for kind in kinds)


def allowed(config: Any, n: int) -> Bools:
    """Where a decoder computes weights: (1, 1, n, n), or (L, 1, n, n) where layers differ or have windows."""
    config = of_text(config)
    if getattr(config, "model_type", "") in WHOLE:
        return mask(full, n)[None, None]
    reaches, chunks = windows(config), _chunks(config)
    if not any(reaches) and not any(chunks):
        return mask(causal, n)[None, None]
    patterns: list[Pattern] = []
    for layer in attending(config):
        near = causal if reaches[layer] is None else both(causal, window((reaches[layer] or 1) - 1, 0))
        patterns.append(near if chunks[layer] is None else both(near, _chunk(chunks[layer] or 1)))
    return np.stack([mask(pattern, n) for pattern in patterns])[:, None]


def sides(config: Any) -> tuple[int | None, ...]:
    """For each layer of an encoder how many tokens it sees on each side; None for all. Empty without windows."""
    if config.model_type not in _BOTH_SIDES or "sliding_attention" not in config.layer_types:
        return ()
    near = int(config.local_attention) // 2
    return tuple(near if kind == "sliding_attention" else None for kind in config.layer_types)


def around(config: Any, n: int) -> Bools | None:
    """Where an encoder computes weights, (L, 1, n, n); None for everywhere."""
    reaches = sides(config)
    if not reaches:
        return None
    patterns = [full if near is None else window(near, near) for near in reaches]
    return np.stack([mask(pattern, n) for pattern in patterns])[:, None]


def _chunks(config: Any) -> tuple[int | None, ...]:
    """For each layer how many tokens a chunk has that it stays in (Llama 4); None for all."""
    size = getattr(config, "attention_chunk_size", None)
    kinds = getattr(config, "layer_types", None) or [""] * int(config.num_hidden_layers)
    return tuple(int(size) if size and kind == "chunked_attention" else None for kind in kinds)


def _chunk(size: int) -> Pattern:
    def allows(query: Any, key: Any) -> Any:
        return np.asarray(query // size == key // size)

    return allows
