"""A private twin of a shared model, and a record of the inputs and outputs of its modules, call by call.

Visitors share a loaded model, so no hook may be registered on it. A twin has its own module objects in the same tree,
but shares all parameters and buffers. It takes a millisecond or two and hardly any memory, and its hooks and replaced
methods do not affect the shared model. Its tensors must not be written to.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.checkpoints.families.architectures import has
from core.checkpoints.spec import Checkpoint
from core.errors import NoAttentionMatrix
from core.lazy import nn, torch
from core.run import prepare
from core.sparse import reformer

_INSTALLED = "_output_capturing_hooks_installed"
"""transformers sets this when it registers hooks at the first pass with attention weights or states. The twin starts
without it, since another thread may be registering them right now."""


def twin(model: nn.Module) -> nn.Module:
    """A model with modules of its own that computes with the parameters and buffers of ``model``, which is only read.

    All other attributes, such as configurations, are the same objects. A module that occurs twice in ``model`` is one
    module in the twin, too. Hooks are not copied but for those of `core.run`.
    """
    return _twin_of(model, {})


def _twin_of(module: nn.Module, copies: dict[int, nn.Module]) -> nn.Module:
    """The copy of a module and its descendants; ``copies`` has the existing ones by ``id`` of the original."""
    if id(module) in copies:
        return copies[id(module)]
    new: nn.Module = object.__new__(type(module))
    copies[id(module)] = new
    # atomic under the GIL, so no other thread can interfere
    own = dict(vars(module))
    own.pop(_INSTALLED, None)
    ours = {
        key
        for name in ("_forward_hooks", "_forward_pre_hooks")
        for key, hook in own[name].items()
        if hook.__module__ == prepare.__name__
    }
    for name, value in own.items():
        if name.endswith(("_hooks", "_hooks_with_kwargs", "_hooks_always_called")):
            own[name] = type(value)((key, hook) for key, hook in value.items() if key in ours)
    for name in ("_parameters", "_buffers"):
        own[name] = dict(own[name])
    own["_modules"] = {
        name: None if child is None else _twin_of(child, copies) for name, child in dict(own["_modules"]).items()
    }
    vars(new).update(own)
    return new


def private_twin(checkpoint: Checkpoint) -> Any:
    """A twin of the checkpoint's model."""
    return twin(checkpoint.model)


@dataclass(frozen=True, slots=True)
class ModuleCall:
    inputs: dict[str, Any]
    """Arguments by name, ``**kwargs`` included."""
    output: Any
    """With copies of tensors, because some architectures write into theirs later."""


class Recorder:
    """The calls of chosen modules of a twin, in order."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.length: int | None = None
        """Tokens of the text where the model pads it: a Reformer fills its last chunk."""
        self._calls: dict[str, list[ModuleCall]] = {}

    def record(self, *paths: str) -> None:
        """Record the calls of these modules from now on."""
        for path in paths:
            if path not in self._calls:
                self._calls[path] = []
                self._hook(path)

    def calls(self, path: str) -> list[ModuleCall]:
        """The calls of a recorded module; empty where it was not called."""
        return self._calls[path]

    def _hook(self, path: str) -> None:
        module: Any = self.model.get_submodule(path)
        signature = inspect.signature(module.forward)

        def store(_: Any, args: Any, kwargs: Any, output: Any) -> None:
            bound = signature.bind(*args, **kwargs).arguments
            self._calls[path].append(ModuleCall({**bound, **bound.pop("kwargs", {})}, _copied(output)))

        module.register_forward_hook(store, with_kwargs=True)


def _copied(output: Any) -> Any:
    if isinstance(output, torch.Tensor):
        return output.clone()
    if type(output) is tuple:
        return tuple(_copied(part) for part in output)
    return output


def run(model: Any, inputs: Mapping[str, Any], **more: Any) -> Any:
    """The output of a twin for ``inputs``, the arguments of its forward pass by name.

    Raises:
        NoAttentionMatrix: the architecture has no matrix of queries and keys.
    """
    config = getattr(model, "config", None)  # the encoder of an FSMT has none
    if has(config, "hashing"):
        raise NoAttentionMatrix(
            "A Reformer sorts the text into buckets and attends within them; that pass cannot run here. Its demo "
            "shows the buckets of your text."
        )
    arguments = dict(inputs) | more
    with torch.inference_mode():
        for name in ("use_mems", "use_cache"):
            if name in inspect.signature(model.forward).parameters:
                arguments.setdefault(name, False)
        return model(**arguments)


def run_as_drawn(recorder: Recorder, inputs: Mapping[str, Any]) -> None:
    """One recorded pass over ``inputs`` with the attention that `core.attention.capture` shows."""
    model: Any = recorder.model
    if has(model.config, "hashing"):
        recorder.length = inputs["input_ids"].shape[1]
        reformer.states(model, inputs["input_ids"])
    else:
        run(model, inputs, output_attentions=True)
