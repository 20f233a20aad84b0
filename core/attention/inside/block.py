r"""Inside the block: one forward pass of one layer, tensor by tensor, in the order of its architecture.

    after   X ← norm(X + attention(X)),  X ← norm(X + feed-forward(X))      (adapters: `inside.steps.adapter`)
    before  X ← X + attention(norm(X)),  X ← X + feed-forward(norm(X))

The first block begins with the input embeddings and their summands; the last one ends with the final norm, if any. The
last step is the hidden state that transformers returns for the layer.

Legend: n tokens, w hidden size; each step names its axes (`core.attention.inside.steps`).

In the drawing of a block, every sub-layer reads the residual stream and adds its output to it. A norm is on that stream
(post-norm, as in BERT) or in the sub-layer (pre-norm, as in GPT-2). Lane 0 is the residual stream; any other step keeps
its lane until all steps that depend on it are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from core.attention.inside.states import EMBEDDINGS, embedding
from core.attention.inside.steps import (
    ADAPTER,
    Part,
    Scene,
    Step,
    adapter,
    adapter_paths,
    attention,
    feed_forward,
    norm,
    remark,
    step,
)
from core.attention.layers import blueprint_of, one_prediction
from core.attention.scores import KEPT, AttentionScores, attention_layers, scores_of
from core.checkpoints.spec import Checkpoint
from core.errors import OutOfRange
from core.language.adapters import through
from core.language.inputs import Inputs
from core.language.makers import inputs
from core.language.tokens import special_positions
from core.language.types import labels
from core.lazy import Tensor, torch
from core.run.prepare import AttentionLayer
from core.run.run import Kind, Site, run
from core.words import counted

Side = Literal["encoder", "decoder"]
BEFORE = "the layer before"
_PARTS = [f"{half}_adapter_{part}" for half in ADAPTER.values() for part in ("down", "mid", "up", "norm")]
OF_LAYER = (
    *("resid_pre", "resid_mid", "ln1", "ln_cross", "ln2", "attn_out", "mlp_gate", "mlp_pre", "mlp_post", "mlp_out"),
    *_PARTS,
)
OF_STACK = (*EMBEDDINGS.values(), "ln_embed", "embed_proj", "convolution", "ln_final")
"""The sites that a block is shown with."""


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """One layer over one text."""

    type: str
    """The model type of the side."""
    side: Side
    layer: int
    layers: int
    """The number of layers of the side."""
    tokens: tuple[str, ...]
    """Labels of the n input tokens of the side."""
    source: tuple[str, ...]
    """Labels of the keys of cross-attention; empty without it."""
    steps: tuple[Step, ...]
    special: tuple[int, ...]
    """Positions of special tokens in ``tokens``."""
    pre_norm: bool
    """Whether norms are in the sub-layers, not on the residual stream after the sums."""


def block(checkpoint: Checkpoint, text: str, layer: int, side: Side | None = None, task: str | None = None) -> Block:
    """The tensors of layer ``layer``, from 0.

    Args:
        side: of an encoder-decoder; other models have one.
        task: of an encoder-decoder, by default its first, or whose adapters run, by default none.

    Raises:
        OutOfRange: no such layer or side, no adapters for the task.
        NoAttentionMatrix: an architecture without a blueprint.
        InputEmpty, InputTooLong, InputUnusable, UnknownTask: in sentences.
    """
    layers = attention_layers(checkpoint)
    side = side or ("encoder" if "encoder" in layers else "decoder")
    side_layers = layers.get(side, ())
    if not 0 <= layer < len(side_layers):
        raise OutOfRange(
            f"The {side} of {checkpoint.spec.name} has {counted(len(side_layers), 'layer')}, counted from 0; there "
            f"is no layer {layer}."
        )
    target = "" if side == "encoder" else None  # what a decoder reads, no encoder sees
    return blocks(inputs(checkpoint, text, task, target=target), side, (layer,))[0]


def blocks(inputs: Inputs, side: Side, numbers: Sequence[int]) -> tuple[Block, ...]:
    """The layers ``numbers`` (from 0) of one side, recorded in one forward pass.

    Raises:
        NoAttentionMatrix: as :func:`block`.
    """
    checkpoint = inputs.checkpoint
    layers = attention_layers(checkpoint)
    side_layers, across = layers[side], layers.get("cross") if side == "decoder" else None
    if "target_mapping" in inputs.tensors:  # the content stream is shown
        side_layers = tuple(replace(layer, kind="decoder") for layer in side_layers)
    plan = blueprint_of(side_layers[numbers[0]])
    kinds: tuple[Kind, ...] = (side_layers[0].kind, "cross") if across else (side_layers[0].kind,)
    keep = {Site(kind, number, name) for number in numbers for kind in kinds for name in (*KEPT, *OF_LAYER)}
    keep |= {Site(side, number - 1, "resid_mid") for number in numbers}  # a Reformer's first stream
    with through(checkpoint, inputs.task):
        keep |= {Site(side, 0, name) for name in OF_STACK}
        recorded = run(checkpoint.model, inputs.tensors, keep=keep, edits=one_prediction(checkpoint))
    scenes = [
        (Scene(recorded, checkpoint.model, plan, attn, inputs.task), across[attn.layer] if across else None)
        for attn in (side_layers[number] for number in numbers)
    ]
    reads = inputs.source if inputs.source and side == "encoder" else inputs.tokens
    special = special_positions(checkpoint.tokenizer, reads)
    source = labels(inputs.source) if across else ()
    with torch.inference_mode():
        steps = [_steps(*scene, last=scene[0].attn.layer == len(side_layers) - 1) for scene in scenes]
    return tuple(
        Block(
            *(scene.attn.stack.type, side, scene.attn.layer, len(side_layers), labels(reads), source),
            *(tuple(own_steps), special, plan.pre_norm),
        )
        for (scene, _), own_steps in zip(scenes, steps, strict=True)
    )


def _steps(scene: Scene, crossing: AttentionLayer | None, *, last: bool) -> list[Step]:
    plan, attn = scene.plan, scene.attn
    if plan.streams == 2:
        return _reversible(scene, last=last)
    stream = scene.at("resid_pre")
    note = remark("layer before", layer=attn.layer)
    steps = (
        [step("embedding", "input", "X", stream, note=note, outside=BEFORE, residual=True)]
        if attn.layer
        else embedding(scene, len(stream))
    )
    first = at = steps[-1].slug
    for part, name in plan.norms.items():
        if part == "cross-attention" and crossing is None:
            continue
        path, read = attn.path(name), at
        if plan.pre_norm:
            steps.append(norm(scene, part, path, at))
            read = steps[-1].slug
        if part == "feed-forward":
            steps += feed_forward(scene, read)
        else:
            layer = crossing if part == "cross-attention" and crossing is not None else attn
            steps += attention(scene, part, layer, _scores(scene, layer), read)
        adapter_path = adapter_paths(scene.task, attn.layer)[part] if scene.task is not None else ""
        if adapter_path:
            steps += adapter(scene, part, path.rpartition(".")[0], steps[-1])
        stream, output = stream + _tensor(steps[-1]), steps[-1]
        steps.append(_sum(part, "X + Y", stream, (at, output.slug), remark("residual")))
        if not plan.pre_norm:
            # a task's norm has the path of the encoder's norm in the tree
            module, site = (f"{adapter_path}.norm", f"{ADAPTER[part]}_adapter_norm") if adapter_path else (path, "")
            normed = norm(scene, part, module, steps[-1].slug, site=site, residual=True)
            steps.append(replace(normed, path=path))
            stream = _tensor(normed)
        at = steps[-1].slug
    if (convolution := scene.existing(plan.convolution)) and attn.layer == 0:
        formula, note = r"\mathrm{norm}(X + \phi(\mathrm{conv}(X_0)))", remark("convolution")
        more: dict[str, Any] = {"path": convolution, "sources": (first, at), "residual": True}
        steps.append(step("end", "convolution", formula, scene.of_stack("convolution"), note=note, **more))
    if last and (final := scene.existing(plan.final)):
        steps.append(norm(scene, "end", final, steps[-1].slug, "final norm", residual=True))
    return steps


def _scores(scene: Scene, layer: AttentionLayer) -> AttentionScores:
    scores = scores_of(scene.recorded, layer.kind, layer.layer)
    return replace(scores, shared=hasattr(scene.module(layer.module), "query_key"))


def _sum(part: Part, formula: str, values: Tensor, sources: tuple[str, str], note: str) -> Step:
    return step(part, "residual", formula, values, note=note, sources=sources, residual=True)


def _reversible(scene: Scene, *, last: bool) -> list[Step]:
    """A Reformer's block, whose sub-layers read one stream and add to the other."""
    plan, attn = scene.plan, scene.attn
    attends, feeds = plan.norms.values()
    second = scene.at("resid_pre")
    if attn.layer == 0:
        first = second
        steps = embedding(scene, len(second))
        came: dict[str, Any] = {"sources": (steps[-1].slug,)}
        begin = remark("both begin")
    else:
        first = scene.at("resid_mid", attn.layer - 1)
        steps = []
        came = {"outside": BEFORE}
        begin = remark("layer before", layer=attn.layer)
    first_step = step(
        "embedding", "first stream", "X_1", first, note=f"{begin} {remark('added to')}", residual=True, **came
    )
    second_step = step("embedding", "second stream", "X_2", second, note=f"{begin} {remark('read')}", **came)
    steps += [first_step, second_step, norm(scene, "attention", attn.path(attends), second_step.slug)]
    steps += attention(scene, "attention", attn, _scores(scene, attn), steps[-1].slug)
    first, output = first + _tensor(steps[-1]), steps[-1].slug
    first_step = _sum("attention", "Y_1 = X_1 + Y", first, (first_step.slug, output), remark("first stream"))
    steps += [first_step, norm(scene, "feed-forward", attn.path(feeds), first_step.slug)]
    steps += feed_forward(scene, steps[-1].slug)
    second, output = second + _tensor(steps[-1]), steps[-1].slug
    note = remark("second stream")
    second_step = _sum("feed-forward", "Y_2 = X_2 + Y", second, (second_step.slug, output), note)
    steps.append(second_step)
    if last:
        both = torch.cat([first, second], dim=-1)
        more: dict[str, Any] = {"sources": (first_step.slug, second_step.slug), "residual": True}
        joined = step("end", "both streams", "X = [Y_1; Y_2]", both, note=remark("joined"), **more)
        steps += [joined, norm(scene, "end", attn.path(plan.final), joined.slug, "final norm", residual=True)]
    return steps


def _tensor(previous: Step) -> Tensor:
    return torch.from_numpy(previous.values.copy())


@dataclass(frozen=True, slots=True)
class Wire:
    """A step in the drawing of a block."""

    slug: str
    """The step in a link: ``attention-weights``."""
    of: tuple[int, ...]
    """The numbers of the steps that it is computed from."""
    outside: str
    """An input that is no step of the block; may be empty."""
    lane: int


def wires(steps: Sequence[Step]) -> tuple[Wire, ...]:
    """One for each step, in their order."""
    number = {entry.slug: i for i, entry in enumerate(steps)}
    sources = [tuple(number[source] for source in entry.sources) for entry in steps]
    last = {source: i for i, of in enumerate(sources) for source in of}
    lanes: list[int] = []
    for i, entry in enumerate(steps):
        taken = {lanes[j] for j in range(i) if last.get(j, -1) > i or (last.get(j) == i and j not in sources[i])}
        lanes.append(0 if entry.residual else next(lane for lane in range(1, len(steps) + 2) if lane not in taken))
    zipped = zip(steps, sources, lanes, strict=True)
    return tuple(Wire(entry.slug, of, entry.outside, lane) for entry, of, lane in zipped)
