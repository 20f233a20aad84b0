r"""The hidden states of every token after every layer.

Entry 0 is the input of the first block; the last one has passed the final norm, if any. A Reformer's two streams are
concatenated.

The input of the first block is the sum of embeddings, and the steps after it:

.. math:: X_t = E[w_t] + P[t] + G[s_t], \qquad h^{(0)}_t = \mathrm{norm}(X_t)

for BERT (Devlin et al. 2018): token, position and segment embeddings. Other models lack some: RoBERTa has one segment,
GPT-2 no norm here, T5 no position embeddings; XLM adds language embeddings.

Legend: L layers, n tokens, w hidden size (twice that of a stream in a Reformer).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from core.attention.inside.steps import Scene, Step, exists, norm, remark, step
from core.attention.layers import blueprint_of, stacks
from core.attention.scores import attention_layers
from core.checkpoints.families.architectures import has
from core.errors import InputUnusable
from core.language.inputs import Inputs
from core.lazy import Tensor, torch
from core.run.model import Model
from core.run.prepare import Stack
from core.run.run import Kind, Run, Site, run


def by_layer(inputs: Inputs, side: Literal["encoder", "decoder"] | None = None) -> Tensor:
    """(L + 1, n, w) states; with a ``target_mapping`` those of XLNet's query stream, whose n is the number of targets.

    Args:
        side: of an encoder-decoder, by default the decoder; other models have one.

    Raises:
        InputUnusable: states of different sizes, as some OPTs have them, or of fewer tokens, as Funnel's.
    """
    stack = stacks(inputs.checkpoint)[0 if side == "encoder" else -1]
    if stack.blueprint is None:
        return _of_the_library(inputs, side)
    part, arguments = part_of(inputs, side)
    return states_of(run(part, arguments, keep=STATES), stack)


STATES = frozenset({"resid_pre", "resid_mid", "resid_post", "mlp_out", "convolution", "ln_final"})
"""The sites that :func:`states_of` reads."""


def states_of(recorded: Run, stack: Stack) -> Tensor:
    """(L + 1, n, w) states of the first row of a run that kept :data:`STATES`, of a stack with a blueprint."""
    kind: Kind = "query" if Site("query", 0, "resid_pre") in recorded.tensors else stack.kind
    if has(stack.config, "hashing"):
        states = _of_two_streams(recorded)
    else:
        states = recorded.layers(kind, "resid_pre")[:1] + recorded.layers(kind, "resid_post")
    for site, name in ((1, "convolution"), (-1, "ln_final")):  # DeBERTa's follows its first layer
        if Site(kind, 0, name) in recorded.tensors and not has(stack.config, "hashing"):
            states[site] = recorded[kind, 0, name]
    return torch.stack([state[0] for state in states])


def part_of(inputs: Inputs, side: str | None) -> tuple[Model, dict[str, Tensor]]:
    """The part of a model that reads, and its inputs: the whole of an encoder-decoder, unless its encoder is asked."""
    model = inputs.checkpoint.model
    if not inputs.source:
        return getattr(model, "base_model", model), inputs.tensors
    if side != "encoder":
        return model, inputs.tensors
    return model.get_encoder(), {name: inputs.tensors[name] for name in ("input_ids", "attention_mask")}


def _of_two_streams(recorded: Run) -> list[Tensor]:
    """Attention adds to a Reformer's first stream, the feed-forward part to the second; the last has no norm yet."""
    second, first = recorded.layers("decoder", "resid_pre"), recorded.layers("decoder", "resid_mid")
    last = second[-1] + recorded.layers("decoder", "mlp_out")[-1]
    pairs = zip((second[0], *first), (*second, last), strict=True)
    return [torch.cat(pair, dim=-1) for pair in pairs]


def _of_the_library(inputs: Inputs, side: str | None) -> Tensor:
    """The states of an architecture whose layers have no names here, as transformers returns them."""
    checkpoint = inputs.checkpoint
    part, arguments = part_of(inputs, side)
    output = run(part, {**arguments, "output_hidden_states": True}).output
    decodes = inputs.source and side != "encoder"
    hidden_states: Sequence[Tensor] = output.decoder_hidden_states if decodes else output.hidden_states
    if "target_mapping" in arguments:  # XLNet alternates both streams
        hidden_states = hidden_states[1::2]
    if not all(isinstance(state, torch.Tensor) for state in hidden_states):
        raise InputUnusable(
            f"{checkpoint.spec.name} has several states for its text after each layer, so that a token has no "
            "single one. Models whose layers have a state for every token work, such as BERT."
        )
    if len({state.shape[-1] for state in hidden_states}) > 1:
        raise InputUnusable(
            f"{checkpoint.spec.name} projects its states to another size after the last layer, so that layers "
            "cannot be compared here. Models whose states have one size work, such as GPT-2."
        )
    if len({state.shape[1] for state in hidden_states}) > 1:
        raise InputUnusable(
            f"{checkpoint.spec.name} pools neighboring tokens between its layers, so that a token has no state "
            "after each of them. Models whose layers have a state for every token work, such as BERT."
        )
    return torch.stack([state[0] for state in hidden_states])


EMBEDDINGS = {"token": "embed", "position": "pos_embed", "segment": "type_embed", "language": "lang_embed"}
"""The site of each summand of the input embeddings."""
SUMMANDS = {
    "token": (r"E[w_t]", "the tokens of the text"),
    "position": (r"P[t]", "their positions"),
    "segment": (r"G[s_t]", "their segments"),
    "language": (r"L[\ell_t]", "the language of the text"),
}
"""Formula, and the index of the embedding."""


def embedding_of(inputs: Inputs) -> tuple[Step, ...]:
    """The steps of :func:`embedding`; of an encoder-decoder those of the encoder.

    Raises:
        NoAttentionMatrix: the architecture is not known here.
    """
    attn = next(iter(attention_layers(inputs.checkpoint).values()))[0]
    plan = blueprint_of(attn)
    part, arguments = part_of(inputs, "encoder")
    recorded = run(part, arguments, keep={*EMBEDDINGS.values(), "ln_embed", "embed_proj"})
    with torch.inference_mode():
        return tuple(embedding(Scene(recorded, inputs.checkpoint.model, plan, attn), len(inputs.of_text)))


def embedding(scene: Scene, length: int) -> list[Step]:
    """The steps of the embedding of ``length`` tokens: its summands, the sum, and the steps after it."""
    plan, attn = scene.plan, scene.attn
    steps: list[Step] = []
    for name, path in ((name, attn.path(path)) for name, path in plan.embedding.items()):
        formula, outside = SUMMANDS[name]
        values = _summand(scene, name, path, length)
        if values is None:
            continue
        if name == "token" and _scaled(scene, path):
            formula = rf"\sqrt w\, {formula}"
            values = values * values.shape[-1] ** 0.5 if plan.scale else values
        values = values.expand(length, -1)
        more: dict[str, Any] = {"path": path, "outside": outside, "residual": not steps}
        steps.append(step("embedding", name, formula, values, note=remark(name), **more))
    if len(steps) > 1:
        total = torch.stack([torch.from_numpy(summand.values.copy()) for summand in steps]).sum(0)
        formula = "X = " + " + ".join(summand.formula for summand in steps)
        sources = tuple(summand.slug for summand in steps)
        steps.append(step("embedding", "sum", formula, total, sources=sources, residual=True))
    for name, path in ((name, attn.path(path)) for name, path in plan.after_embedding.items()):
        if exists(scene.model, path):
            before = steps[-1].slug
            if name == "norm":
                steps.append(norm(scene, "embedding", path, before, residual=True))
            else:
                note = remark("projection")
                values = scene.of_stack("embed_proj")
                steps.append(
                    step("embedding", name, "X W", values, note=note, path=path, sources=(before,), residual=True)
                )
    return steps


def _summand(scene: Scene, name: str, path: str, length: int) -> Tensor | None:
    """(n or 1, w) a summand of the input embeddings; None where the model lacks it or did not use it."""
    if exists(scene.model, path):
        return scene.of_stack(EMBEDDINGS[name]) if scene.has(EMBEDDINGS[name]) else None
    backbone, _, name = path.rpartition(".")
    buffer: Tensor | None = getattr(scene.module(backbone), name, None)  # CTRL's sinusoids
    return None if buffer is None else buffer[:length]


def _scaled(scene: Scene, path: str) -> bool:
    """Whether token embeddings are multiplied by √w, by the model or by their own module."""
    setting = scene.plan.scale
    if setting:
        return setting == "always" or bool(getattr(scene.attn.stack.config, setting))
    return float(getattr(scene.module(path), "embed_scale", 1.0) or 1.0) != 1.0
