"""Hooks on a twin: what went into its modules and what came out, call by call.

One pass is computed as the app computes that architecture: a Longformer with its first token global, a BigBird with
full attention where it answers (:func:`run`) and in blocks where its maps are drawn (:func:`drawn`).
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.attention.architectures.longer import reads_long, settle
from core.attention.architectures.twin import twin
from core.checkpoints.spec import Checkpoint
from core.errors import NoAttentionMatrix

if TYPE_CHECKING:
    from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a module."""

    given: dict[str, Any]
    """Arguments by name, those of ``**kwargs`` among them."""
    back: Any
    """What it returned; tensors are copies, because some architectures go on to write into theirs."""


class Watch:
    """The calls of chosen modules of a model of one's own, in order."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.length: int | None = None
        """Tokens of the text, where a model reads more than that: a Reformer fills its last chunk."""
        self.source: int | None = None
        """The same of an encoder-decoder's encoder: an LED fills its last window."""
        self._calls: dict[str, list[Call]] = {}

    def on(self, *paths: str) -> None:
        """Look at these modules from now on."""
        for path in paths:
            if path not in self._calls:
                self._calls[path] = []
                self._hang(path)

    def calls(self, path: str) -> list[Call]:
        """The calls of a module that is looked at; empty where it was not called."""
        return self._calls[path]

    def _hang(self, path: str) -> None:
        module: Any = self.model.get_submodule(path)
        signature = inspect.signature(module.forward)

        def keep(_: Any, args: Any, kwargs: Any, back: Any) -> None:
            bound = signature.bind(*args, **kwargs).arguments
            given = {**bound, **bound.pop("kwargs", {})}
            self._calls[path].append(Call(given, _copied(back)))

        module.register_forward_hook(keep, with_kwargs=True)


def _copied(back: Any) -> Any:
    import torch

    if isinstance(back, torch.Tensor):
        return back.clone()
    if type(back) is tuple:
        return tuple(_copied(part) for part in back)
    return back


def private(checkpoint: Checkpoint) -> Any:
    """A twin that computes as the app does; BigBird's sees everything."""
    import torch

    made: Any = twin(checkpoint.model)
    if made.config.model_type == "big_bird":
        with torch.device("meta"):  # the new modules' own numbers are dropped for the shared ones
            made.base_model.set_attention_type("original_full")
    return made


def run(model: Any, inputs: Mapping[str, Any], **asked: Any) -> Any:
    """What a model of one's own returns for ``inputs``, named as its forward pass takes them.

    Raises:
        NoAttentionMatrix: the architecture has no matrix of queries and keys.
    """
    import torch

    kind = model.config.model_type
    if kind == "reformer":
        raise NoAttentionMatrix(
            "A Reformer sorts the text into buckets and looks within them; that pass cannot be asked here. Its demo "
            "shows the buckets of your text."
        )
    if kind == "bigbird_pegasus":
        settle(model, inputs["input_ids"].shape[1])
    given = dict(inputs) | asked
    with torch.inference_mode():
        if kind == "longformer":
            from core.efficiency.longformer import states

            return _Scored(model.lm_head, states(model, inputs["input_ids"]))
        if kind == "xlnet":
            given = {"use_mems": False} | given
        elif "use_cache" in inspect.signature(model.forward).parameters:
            given["use_cache"] = False
        return model(**given)


def drawn(watch: Watch, inputs: Mapping[str, Any]) -> None:
    """One pass over ``inputs`` in the shape in which `core.attention.capture` draws it, for hooks to look at."""
    model: Any = watch.model
    if model.config.model_type == "reformer":
        from core.efficiency.reformer import states

        watch.length = inputs["input_ids"].shape[1]
        states(model, inputs["input_ids"])
    elif model.config.model_type == "big_bird":
        from core.efficiency.bigbird import forward

        forward(model, inputs["input_ids"][0].tolist(), [], blocks_of(model))
    else:
        if reads_long(model):
            watch.source = inputs["input_ids"].shape[1]
        run(model, inputs, output_attentions=True)


def blocks_of(model: Any) -> Any:
    """BigBird's blocks as its configuration has them, with the seed 0 for the random ones."""
    from core.efficiency.layout import Sparsity

    return Sparsity(block_size=model.config.block_size, random_blocks=model.config.num_random_blocks)


@dataclass(frozen=True, slots=True)
class _Scored:
    """States of a Longformer, and the scores of its head where they are asked for."""

    head: Any
    last_hidden_state: Tensor

    @property
    def logits(self) -> Tensor:
        """(R, n, V)."""
        scores: Tensor = self.head(self.last_hidden_state)
        return scores
