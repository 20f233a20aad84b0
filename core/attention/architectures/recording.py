"""A private twin of a shared model, and a record of what went into its modules and what came out, call by call.

A hook is a property of a module, and a loaded model is shared by all visitors, so none may be registered on it. A twin
has module objects of its own that stand in the same tree under the same names; parameters and buffers are the shared
ones, tensor for tensor. It costs a millisecond or two and no memory to speak of, lives as long as its caller wants, and
may be hooked or have a method replaced without anybody else noticing. Its numbers must not be written to.

One pass is computed as the app computes that architecture: a Longformer with its first token global, a BigBird with
full attention where it answers (:func:`run`) and in blocks where its maps are drawn (:func:`run_as_drawn`).
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.checkpoints.families.architectures import has
from core.checkpoints.spec import Checkpoint
from core.errors import NoAttentionMatrix
from core.sparse.layout import Sparsity

if TYPE_CHECKING:
    from torch import Tensor, nn

_INSTALLED = "_output_capturing_hooks_installed"
"""transformers registers hooks on a model at its first pass with attention weights or states, and marks it so.
The twin begins without: another thread may be hanging them just now."""


def twin(model: nn.Module) -> nn.Module:
    """A model with modules of its own that computes with the parameters and buffers of ``model``, which is only read.

    What is neither a module, a parameter nor a buffer (configurations above all) is the shared one's own object.
    Modules that occur twice in ``model`` are one in the twin, too. No hooks are taken over.
    """
    return _twin_of(model, {})


def _twin_of(module: nn.Module, copies: dict[int, nn.Module]) -> nn.Module:
    """The copy of a module and all below it; ``made`` has those that exist, by the identity of the original."""
    if id(module) in copies:
        return copies[id(module)]
    new: nn.Module = object.__new__(type(module))
    copies[id(module)] = new
    # one step for the interpreter, so that no other thread can come between
    own = dict(vars(module))
    own.pop(_INSTALLED, None)
    for name, value in own.items():
        if name.endswith(("_hooks", "_hooks_with_kwargs", "_hooks_always_called")):
            own[name] = type(value)()
    for name in ("_parameters", "_buffers"):
        own[name] = dict(own[name])
    own["_modules"] = {
        name: None if child is None else _twin_of(child, copies) for name, child in dict(own["_modules"]).items()
    }
    vars(new).update(own)
    return new


def private_twin(checkpoint: Checkpoint) -> Any:
    """A twin that computes as the app does; BigBird's attention is full."""
    import torch

    copies: Any = twin(checkpoint.model)
    if has(copies.config, "blocks"):
        with torch.device("meta"):  # the new modules' own numbers are dropped for the shared ones
            copies.base_model.set_attention_type("original_full")
    return copies


@dataclass(frozen=True, slots=True)
class ModuleCall:
    """One call of a module."""

    inputs: dict[str, Any]
    """Arguments by name, those of ``**kwargs`` among them."""
    output: Any
    """Tensors are copies, because some architectures go on to write into theirs."""


class Recorder:
    """The calls of chosen modules of a twin, in order."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.length: int | None = None
        """Tokens of the text, where a model reads more than that: a Reformer fills its last chunk."""
        self._calls: dict[str, list[ModuleCall]] = {}

    def record(self, *paths: str) -> None:
        """Record the calls of these modules from now on."""
        for path in paths:
            if path not in self._calls:
                self._calls[path] = []
                self._hook(path)

    def calls(self, path: str) -> list[ModuleCall]:
        """The calls of a module that is recorded; empty where it was not called."""
        return self._calls[path]

    def _hook(self, path: str) -> None:
        module: Any = self.model.get_submodule(path)
        signature = inspect.signature(module.forward)

        def keep(_: Any, args: Any, kwargs: Any, output: Any) -> None:
            bound = signature.bind(*args, **kwargs).arguments
            self._calls[path].append(ModuleCall({**bound, **bound.pop("kwargs", {})}, _copied(output)))

        module.register_forward_hook(keep, with_kwargs=True)


def _copied(output: Any) -> Any:
    import torch

    if isinstance(output, torch.Tensor):
        return output.clone()
    if type(output) is tuple:
        return tuple(_copied(part) for part in output)
    return output


def run(model: Any, inputs: Mapping[str, Any], **more: Any) -> Any:
    """What a twin returns for ``inputs``, named as its forward pass takes them.

    Raises:
        NoAttentionMatrix: the architecture has no matrix of queries and keys.
    """
    import torch

    config = getattr(model, "config", None)  # the encoder of an FSMT has none
    if has(config, "hashing"):
        raise NoAttentionMatrix(
            "A Reformer sorts the text into buckets and attends within them; that pass cannot run here. Its demo "
            "shows the buckets of your text."
        )
    arguments = dict(inputs) | more
    with torch.inference_mode():
        if has(config, "window"):
            from core.sparse.longformer import states

            return _Scored(model.lm_head, states(model, inputs["input_ids"]))
        for name in ("use_mems", "use_cache"):
            if name in inspect.signature(model.forward).parameters:
                arguments.setdefault(name, False)
        return model(**arguments)


def run_as_drawn(recorder: Recorder, inputs: Mapping[str, Any]) -> None:
    """One pass over ``inputs`` in the shape in which `core.attention.capture` draws it, to be recorded."""
    model: Any = recorder.model
    if has(model.config, "hashing"):
        from core.sparse.reformer import states

        recorder.length = inputs["input_ids"].shape[1]
        states(model, inputs["input_ids"])
    elif has(model.config, "blocks"):
        from core.sparse.bigbird import forward

        forward(model, inputs["input_ids"][0].tolist(), [], blocks_of(model))
    else:
        run(model, inputs, output_attentions=True)


def blocks_of(model: Any) -> Any:
    """BigBird's blocks as its configuration has them, with the seed 0 for the random ones."""
    return Sparsity(block_size=model.config.block_size, random_blocks=model.config.num_random_blocks)


@dataclass(frozen=True, slots=True)
class _Scored:
    """States of a Longformer, and the scores of its head, computed on demand."""

    head: Any
    last_hidden_state: Tensor

    @property
    def logits(self) -> Tensor:
        """(R, n, V)."""
        scores: Tensor = self.head(self.last_hidden_state)
        return scores
