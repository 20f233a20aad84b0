"""The attention modules of a loaded model: its stacks of layers, and the attention of each layer.

Some architectures have no attention matrix (:data:`INSTEAD`): FNet (Lee-Thorp et al. 2021) mixes tokens by a fixed
transform; state-space models such as Mamba (Gu & Dao 2023), RWKV (Peng et al. 2023) and xLSTM (Beck et al. 2024) carry
a state of fixed size from token to token. Names of modules stand in `core.attention.architectures.blueprint`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from core.attention.architectures.blueprint import ADAPTERS, TABLE, AttentionNames, Blueprint
from core.attention.trace import MapKind
from core.checkpoints.spec import Checkpoint
from core.errors import InputUnusable, NoAttentionMatrix, ScoresUnreadable
from core.lazy import Tensor, torch
from core.words import counted

_STATE = "{} carries a state of a fixed size from token to token, without attention."
INSTEAD = {
    "fnet": "FNet mixes the tokens by a Fourier transform, the same for every text.",
    "mamba": _STATE.format("Mamba"),
    "mamba2": _STATE.format("Mamba"),
    "falcon_mamba": _STATE.format("Mamba"),
    "rwkv": _STATE.format("RWKV"),
    "xlstm": _STATE.format("xLSTM"),
}


def refuse(model_type: str) -> None:
    """Raise :class:`core.errors.NoAttentionMatrix`, with the mechanism used instead, for a model without attention."""
    if model_type in INSTEAD:
        raise NoAttentionMatrix(f"This model has no attention matrix: {INSTEAD[model_type]}")


@contextmanager
def library_errors(model: Any) -> Iterator[None]:
    """Translate errors of the library's code, which a host's model may cause, to a sentence.

    Raises:
        NoAttentionMatrix: instead of the error.
    """
    try:
        yield
    except InputUnusable as error:  # a host's model says it itself
        raise NoAttentionMatrix(str(error)) from error
    except (RuntimeError, ValueError, TypeError, LookupError, AttributeError, AssertionError) as error:
        raise NoAttentionMatrix(
            f"The library's code for models of the type “{str(model.config.model_type)[:40]}” fails on this text "
            f"({type(error).__name__}). A text of another length may work; other models do."
        ) from error


def weights_of_layers(model: Any, attentions: Sequence[Tensor] | None) -> list[Tensor]:
    """The weights that transformers returns, a tensor for each layer.

    It returns an empty tuple where the attention implementation computes no weights, and fewer tensors than layers
    where some layers have no attention.

    Raises:
        NoAttentionMatrix: not every layer has weights.
    """
    layers = [layer for layer in attentions or () if isinstance(layer, torch.Tensor) and layer.ndim > 1]
    if not layers:
        refuse(model.config.model_type)
        raise NoAttentionMatrix("This model returns no attention weights. Choose another live model.")
    config = model.config
    if not config.is_encoder_decoder:
        own = config if hasattr(config, "num_hidden_layers") else config.get_text_config()
        count = int(getattr(own, "decoder_layers", own.num_hidden_layers))
        if len(layers) < count:
            raise NoAttentionMatrix(
                f"Attention is in {len(layers)} of {counted(count, 'layer')}; the others carry a state or convolve. "
                "Models with attention in every layer work, such as BERT, GPT-2, LLaMA and T5."
            )
    return layers


@dataclass(frozen=True, slots=True)
class Stack:
    """A stack of layers: most models have one, an encoder-decoder two."""

    kind: Literal["encoder", "decoder"]
    type: str
    """The model type of the configuration."""
    config: Any
    prefix: str
    """Path of the base model in the whole model, with a dot at the end, or empty."""

    @property
    def blueprint(self) -> Blueprint | None:
        """The modules of its blocks; None for an architecture without a row."""
        return TABLE.get(self.type, {}).get(self.kind)


@dataclass(frozen=True, slots=True)
class AttentionLayer:
    kind: MapKind
    layer: int
    heads: int
    names: AttentionNames
    stack: Stack
    numbers: tuple[tuple[str, int], ...]
    """The values for the braces of a name."""

    def path(self, name: str) -> str:
        """A name of the blueprint as a path from the whole model."""
        return self.stack.prefix + name.format(**dict(self.numbers))

    @property
    def module(self) -> str:
        """Path of the module that computes scores and weights."""
        return self.path(self.names.module)


def stacks(checkpoint: Checkpoint) -> tuple[Stack, ...]:
    """The stacks of a model, encoder first."""
    model: Any = checkpoint.model
    config = model.config
    if config.model_type == "encoder-decoder":
        return (
            Stack("encoder", config.encoder.model_type, config.encoder, "encoder."),
            Stack("decoder", config.decoder.model_type, config.decoder, f"decoder.{model.decoder.base_model_prefix}."),
        )
    if checkpoint.spec.offers("classifies texts"):
        return (Stack("encoder", ADAPTERS, config, "backbone."),)
    names = (model.base_model_prefix, "model")  # the first is another in a text model cut out of a larger one (Llama 4)
    prefix = next((f"{name}." for name in names if hasattr(model, name)), "")
    return tuple(Stack(side, config.model_type, config, prefix) for side in checkpoint.spec.family.sides)


def has_blueprint(checkpoint: Checkpoint) -> bool:
    """Whether all stacks of a checkpoint have a blueprint.

    Raises:
        NoAttentionMatrix: the architecture has no attention matrix.
    """
    own = stacks(checkpoint)
    for stack in own:
        refuse(stack.type)
    return all(stack.blueprint is not None for stack in own)


def blueprint_of(layer: AttentionLayer) -> Blueprint:
    """The blueprint of the block of an attention.

    Raises:
        NoAttentionMatrix: the architecture has no blueprint.
    """
    if (blueprint := layer.stack.blueprint) is not None:
        return blueprint
    raise NoAttentionMatrix(
        f"The blocks of a model of the type “{layer.stack.type[:40]}” cannot be shown step by step here. Models "
        "such as BERT, GPT-2, LLaMA, T5 and BART can."
    )


def blueprint_layers(checkpoint: Checkpoint) -> dict[MapKind, tuple[AttentionLayer, ...]]:
    """The attention layers of a checkpoint with blueprints, by kind."""
    layers: dict[MapKind, tuple[AttentionLayer, ...]] = {}
    own = stacks(checkpoint)
    for stack in own:
        plan = stack.blueprint
        assert plan is not None
        kinds: dict[MapKind, AttentionNames | None] = {stack.kind: plan.attention}
        if stack.kind == "decoder" and len(own) > 1:
            kinds["cross"] = plan.cross
        for kind, names in kinds.items():
            assert names is not None
            heads = int(getattr(stack.config, names.heads))
            layers[kind] = tuple(
                AttentionLayer(kind, i, heads, names, stack, numbers)
                for i, numbers in enumerate(_numbers(checkpoint.model, stack, names))
            )
    return layers


def _numbers(model: Any, stack: Stack, names: AttentionNames) -> list[tuple[tuple[str, int], ...]]:
    """For each layer the values for the braces of its names."""
    if "{group}" in names.module:
        config = stack.config
        layers, groups, inner = config.num_hidden_layers, config.num_hidden_groups, config.inner_group_num
        return [
            (("group", int(layer / (layers / groups))), ("inner", part))
            for layer in range(layers)
            for part in range(inner)
        ]
    count = len(model.get_submodule(stack.prefix + names.module.partition(".{i}")[0]))
    return [(("i", i),) for i in range(count)]


def unknown_scores(checkpoint: Checkpoint) -> ScoresUnreadable:
    """The error for an architecture whose scores cannot be read."""
    return ScoresUnreadable(
        f"{checkpoint.spec.name} is of the type “{stacks(checkpoint)[0].type[:40]}”, whose queries, keys and heads "
        "cannot be read here. Models such as BERT, GPT-2, LLaMA, T5 and BART work."
    )
