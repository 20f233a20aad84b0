"""torch, transformers and plotly's graph objects, each imported when one of its names is first used.

Pages that only read start without them, so no module of ours that such a page imports may import them at its top. It
takes these names instead: ``from core.lazy import torch``. What runs while a module is imported (a base class, a
decorator) would import them at once; such a module is imported inside the function that needs it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["Tensor", "functional", "go", "import_drawing", "import_models", "nn", "torch", "transformers"]


class _Lazy:
    """Stands for a module."""

    def __init__(self, name: str) -> None:
        self._name, self._module = name, None  # type: Any, Any

    def __getattr__(self, name: str) -> Any:
        self._module = self._module or import_module(self._name)
        return getattr(self._module, name)


def import_drawing() -> None:
    """Import what figures need: pandas, too, which plotly takes for whole while another thread still imports it."""
    for name in ("pandas", "plotly.graph_objects"):
        import_module(name)


def import_models() -> None:
    """Import what models need: seconds, for which other threads wait again and again."""
    for name in ("torch", "transformers.modeling_utils"):
        import_module(name)


if TYPE_CHECKING:
    import plotly.graph_objects as go
    import torch
    import transformers
    from torch import Tensor, nn
    from torch.nn import functional
else:
    torch, nn, functional = map(_Lazy, ("torch", "torch.nn", "torch.nn.functional"))
    go, transformers = map(_Lazy, ("plotly.graph_objects", "transformers"))
    Tensor = "Tensor"  # for annotations alone
