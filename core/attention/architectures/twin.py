"""A private twin of a shared model: its own modules, the shared model's numbers.

A hook is a property of a module, and a loaded model is shared by all visitors, so nobody may hang one on it. A twin
has module objects of its own that stand in the same tree under the same names; parameters and buffers are the shared
ones, tensor for tensor. It costs a millisecond or two and no memory to speak of, lives as long as its caller wants, and
may be hooked or have a method replaced without anybody else noticing. Its numbers must not be written to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn

_INSTALLED = "_output_capturing_hooks_installed"
"""transformers hangs hooks on a model the first time that attention weights or states are asked of it, and marks it so.
The twin begins without: another thread may be hanging them just now."""


def twin(model: nn.Module) -> nn.Module:
    """A model with modules of its own that computes with the parameters and buffers of ``model``, which is only read.

    What is neither a module, a parameter nor a buffer (configurations above all) is the shared one's own object.
    Modules that occur twice in ``model`` are one in the twin, too. No hooks are taken over.
    """
    return _copied(model, {})


def _copied(module: nn.Module, made: dict[int, nn.Module]) -> nn.Module:
    """The copy of a module and all below it; ``made`` has those that exist, by the identity of the original."""
    if id(module) in made:
        return made[id(module)]
    new: nn.Module = object.__new__(type(module))
    made[id(module)] = new
    # one step for the interpreter, so that no other thread can come between
    own = dict(vars(module))
    own.pop(_INSTALLED, None)
    for name, value in own.items():
        if name.endswith(("_hooks", "_hooks_with_kwargs", "_hooks_always_called")):
            own[name] = type(value)()
    for name in ("_parameters", "_buffers"):
        own[name] = dict(own[name])
    own["_modules"] = {
        name: None if child is None else _copied(child, made) for name, child in dict(own["_modules"]).items()
    }
    vars(new).update(own)
    return new
