"""Attention modules of ours, for architectures whose modules do not call transformers' attention interface.

Each is a subclass of the library's module with the same parameters, whose forward pass calls `core.run.attend`. When a
model is prepared, its modules become instances of them, so that every pass of the model is the one that is recorded.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

MODULES = {
    "big_bird": "blocks",
    "deberta-v2": "disentangled",
    "gpt_neo": "local",
    "longformer": "window",
    "openai-gpt": "local",
    "reformer": "reformer",
    "xlm": "xlm",
    "xlnet": "two_streams",
}
"""The module of this package by the model type."""
COMPONENTS = ("c2c", "c2p", "p2c")
"""The terms of DeBERTa's scores: content to content, content to position, position to content."""
TWO_STREAM = ("content", "position", "content bias", "position bias")
"""The four terms of Transformer-XL's scores, of which XLNet's has a fifth for segments."""


def install(model_type: str, modules: Iterable[Any]) -> None:
    """Make the modules of a stack ours by their class, where its type needs it, and set what the library's may have."""
    name = MODULES.get(model_type)
    if name is None:
        return
    ours = import_module(f"core.run.odd.{name}")
    for module in modules:
        module.__class__ = ours.OURS.get(type(module), type(module))
        for attribute, value in getattr(ours, "ATTRIBUTES", {}).items():
            if hasattr(module, attribute):
                setattr(module, attribute, value)
