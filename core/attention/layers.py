"""The attention modules of a loaded model: its stacks of layers, and the attention of each layer.

Some architectures have no attention matrix (:data:`INSTEAD`): FNet (Lee-Thorp et al. 2021) mixes tokens by a fixed
transform; state-space models such as Mamba (Gu & Dao 2023), RWKV (Peng et al. 2023) and xLSTM (Beck et al. 2024) carry
a state of fixed size from token to token. Names of modules stand in `core.run.sites`.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.attention.trace import MapKind
from core.checkpoints.spec import Checkpoint
from core.errors import NoAttentionMatrix
from core.language.inputs import Inputs
from core.lazy import Tensor
from core.run.discover import NEAR, count_layers, returned
from core.run.model import Model
from core.run.prepare import AttentionLayer, Plan, Stack, prepare
from core.run.run import Edit, Site, run
from core.run.sites import Blueprint
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


def stacks(checkpoint: Checkpoint) -> tuple[Stack, ...]:
    """The stacks of a model, encoder first."""
    return plan_of(checkpoint).stacks


def plan_of(checkpoint: Checkpoint) -> Plan:
    """What is known of the architecture of a loaded model."""
    return prepare(checkpoint.model, checkpoint.spec.family.sides)


def one_prediction(checkpoint: Checkpoint) -> dict[Site, Edit]:
    """The edit of a pass that is not asked for predictions: the head reads the first position alone."""
    return {Site(stacks(checkpoint)[-1].kind, 0, "final"): lambda states: states[:, :1]}


def has_blueprint(checkpoint: Checkpoint) -> bool:
    """Whether all stacks of a checkpoint have a blueprint."""
    return all(stack.blueprint is not None for stack in stacks(checkpoint))


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


def weights_returned(inputs: Inputs) -> dict[MapKind, list[Tensor]]:
    """The weights that the library returns of a pass, (1, H, Q, K) a layer, by kind.

    Raises:
        NoAttentionMatrix: not every layer has weights, or they are not shares of attention, query by key.
    """
    checkpoint = inputs.checkpoint
    refuse(checkpoint.model.config.model_type)
    output = run(checkpoint.model, {**inputs.tensors, "output_attentions": True}).output
    by_kind = returned(output, checkpoint.spec.family.sides)
    n, last = len(inputs.of_text), len(inputs.tokens)
    shapes = {"encoder": (n, n), "decoder": (last, last), "cross": (last, n)}
    for kind, layers in by_kind.items():
        _check_count(checkpoint.model, layers)
        if any(weights.shape[:1] + weights.shape[2:] != (1, *shapes[kind]) for weights in layers):
            raise NoAttentionMatrix(
                f"{checkpoint.spec.name} has no matrix of attention from every token to every token: it attends within "
                "parts of the text, to a summary of it, or in several streams. Models with full attention work."
            )
        if any((weights < 0).any() or (weights.sum(-1) > 1 + NEAR).any() for weights in layers):
            raise NoAttentionMatrix(
                f"The library returns numbers for the attention of {checkpoint.spec.name} that are no shares: they are "
                "negative, or sum to more than one. Models such as BERT, GPT-2, LLaMA, T5 and BART work."
            )
    return by_kind


def _check_count(model: Model, layers: Sequence[Tensor]) -> None:
    """Raise :class:`core.errors.NoAttentionMatrix` where not every layer has weights."""
    if not layers:
        raise NoAttentionMatrix("This model returns no attention weights. Choose another live model.")
    if not model.config.is_encoder_decoder and len(layers) < (count := count_layers(model.config)):
        raise NoAttentionMatrix(
            f"Attention is in {len(layers)} of {counted(count, 'layer')}; the others carry a state or convolve. "
            "Models with attention in every layer work, such as BERT, GPT-2, LLaMA and T5."
        )
