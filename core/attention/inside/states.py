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

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from core.attention.architectures.layout import blueprint_of, stacks
from core.attention.architectures.recording import Recorder, private_twin, run
from core.attention.architectures.vectors import attention_layers
from core.attention.inside.steps import Scene, Step, exists, norm, remark, step
from core.checkpoints.families.architectures import has
from core.checkpoints.spec import Checkpoint
from core.errors import InputUnusable
from core.lazy import Tensor, torch
from core.run.prepare import AttentionLayer
from core.sparse.reformer import states as hashed


def by_layer(
    checkpoint: Checkpoint, model: Any, inputs: Mapping[str, Any], side: Literal["encoder", "decoder"] | None = None
) -> Tensor:
    """(L + 1, n, w) states of one row.

    Args:
        model: a private twin of the checkpoint's model, as `core.attention.architectures.recording.private_twin` makes
            it.
        inputs: one row, named as the forward pass takes them; the encoder of an encoder-decoder needs no more than
            ``input_ids`` and ``attention_mask``. With a ``target_mapping`` the states are those of XLNet's query
            stream, whose n is the number of targets.
        side: of an encoder-decoder, by default the decoder; other models have one.

    Raises:
        InputUnusable: states of different sizes, as some OPTs have them, or of fewer tokens, as Funnel's.
    """
    stack = stacks(checkpoint)[-1]
    with torch.inference_mode():
        if has(stack.config, "hashing"):
            return _reversible(model, attention_layers(checkpoint)["decoder"], inputs)
        if not checkpoint.spec.offers("rewrites"):
            hidden_states: Sequence[Tensor] = run(model.base_model, inputs, output_hidden_states=True).hidden_states
        elif side == "encoder":
            read = {name: inputs[name] for name in ("input_ids", "attention_mask") if name in inputs}
            hidden_states = run(model.get_encoder(), read, output_hidden_states=True).hidden_states
        else:
            hidden_states = run(model, inputs, output_hidden_states=True).decoder_hidden_states
        if "target_mapping" in inputs:  # XLNet alternates both streams
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


def _reversible(model: Any, layers: tuple[AttentionLayer, ...], inputs: Mapping[str, Any]) -> Tensor:
    """A Reformer has two streams: attention adds to the first, the feed-forward part to the second.

    Here no norm follows the last block yet.
    """
    ids = inputs["input_ids"]
    recorder = Recorder(model)
    begin = layers[0].path("embeddings")
    adds = [(layer.path(layer.names.out), layer.path("encoder.layers.{i}.feed_forward")) for layer in layers]
    recorder.record(begin, *(path for pair in adds for path in pair))
    hashed(model, ids)

    def of(path: str) -> Tensor:
        output: Tensor = recorder.calls(path)[0].output[0][: ids.shape[1]]
        return output

    first = second = of(begin)
    states = [torch.cat((first, second), dim=-1)]
    for attention, forward in adds:
        first = first + of(attention)
        second = second + of(forward)
        states.append(torch.cat((first, second), dim=-1))
    return torch.stack(states)


SUMMANDS = {
    "token": (r"E[w_t]", "the tokens of the text"),
    "position": (r"P[t]", "their positions"),
    "segment": (r"G[s_t]", "their segments"),
    "language": (r"L[\ell_t]", "the language of the text"),
}
"""Formula, and the index of the embedding."""


def embedding_of(checkpoint: Checkpoint, inputs: Mapping[str, Any]) -> tuple[Step, ...]:
    """The steps of :func:`embedding` for one row of inputs, named as the forward pass takes them.

    Of an encoder-decoder the encoder reads.

    Raises:
        NoAttentionMatrix: the architecture is not known here.
    """
    attn = next(iter(attention_layers(checkpoint).values()))[0]
    plan = blueprint_of(attn)
    recorder = Recorder(private_twin(checkpoint))
    scene = Scene(recorder, plan, attn, 0)
    paths = [attn.path(name) for name in (*plan.embedding.values(), *plan.after_embedding.values())]
    recorder.record(*(path for path in paths if exists(recorder.model, path)))
    recorder.length = int(inputs["input_ids"].shape[1])
    by_layer(checkpoint, recorder.model, inputs, "encoder")
    with torch.inference_mode():
        return tuple(embedding(scene, recorder.length))


def embedding(scene: Scene, length: int) -> list[Step]:
    """The steps of the embedding of ``length`` tokens: its summands, the sum, and the steps after it."""
    plan, attn = scene.plan, scene.attn
    steps: list[Step] = []
    for name, path in ((name, attn.path(path)) for name, path in plan.embedding.items()):
        formula, outside = SUMMANDS[name]
        values = _summand(scene, path, length)
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
        if exists(scene.recorder.model, path):
            before = steps[-1].slug
            if name == "norm":
                steps.append(norm(scene, "embedding", path, before, residual=True))
            else:
                note = remark("projection")
                values = scene.out(path)
                steps.append(
                    step("embedding", name, "X W", values, note=note, path=path, sources=(before,), residual=True)
                )
    return steps


def _summand(scene: Scene, path: str, length: int) -> Tensor | None:
    """(n or 1, w) a summand of the input embeddings; None where the model lacks it or did not use it."""
    if exists(scene.recorder.model, path):
        return scene.out(path) if scene.recorder.calls(path) else None
    backbone, _, name = path.rpartition(".")
    buffer: Tensor | None = getattr(scene.module(backbone), name, None)  # CTRL's sinusoids
    return None if buffer is None else buffer[:length]


def _scaled(scene: Scene, path: str) -> bool:
    """Whether token embeddings are multiplied by √w, by the model or by their own module."""
    setting = scene.plan.scale
    if setting:
        return setting == "always" or bool(getattr(scene.attn.stack.config, setting))
    return float(getattr(scene.module(path), "embed_scale", 1.0) or 1.0) != 1.0
