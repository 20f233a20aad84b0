r"""A layer split among devices as in Megatron-LM (Shoeybi et al. 2019), with modules and weights of a live model.

The first matrices of each half are split by columns, the last by rows, so that nothing is exchanged between them:

.. math:: Z = \sum_i \operatorname{attention}(X W_{qkv,i})\,W_{o,i} + b_o \qquad
          Z = \sum_i \phi(X W_{1,i} + b_{1,i})\,W_{2,i} + b_2 \qquad
          Z = \sum_i \bigl(\phi(X W_{g,i}) \odot X W_{1,i}\bigr)\,W_{2,i}

Device i holds a / t heads and f / t columns. Where several heads share a key, it holds the keys that its heads read: of
k < t key heads t / k devices have a copy each. The two sums are all-reduces of n h values; the backward pass has two
more. Norms, biases of the outputs and the residual stream are on every device.

Legend: n tokens, h hidden size, a heads, k key heads, f feed-forward size, t tensor-parallel degree, φ the activation.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.queues import Queue
from time import perf_counter
from typing import Any

from core import checkpoints
from core.attention.layers import blueprint_of
from core.attention.scores import attention_layers, by_head, rotate
from core.checkpoints.spec import Checkpoint, CheckpointSpec
from core.errors import InputEmpty, OutOfRange
from core.language.inputs import one_text
from core.language.text import clean
from core.language.tokens import describe
from core.lazy import Tensor, functional, nn, torch
from core.run.attend import attend
from core.run.model import Module
from core.run.prepare import AttentionLayer
from core.run.run import Site, run
from core.run.sites import TABLE, Blueprint
from core.words import counted

MAX_TOKENS = 64
BYTES = 4
"""Of a value in float32, in which the models run here."""
_SCORES = ("dot_product", "rope")


def splits(spec: CheckpointSpec) -> bool:
    """Whether the layers of a model can be split: one stack with plain or rotary attention, each layer with modules of
    its own."""
    side = spec.family.side
    plan = None if side == "encoder-decoder" else TABLE.get(spec.architecture or "", {}).get(side)
    return bool(
        plan
        and plan.attention.score in _SCORES
        and "{i}." in plan.attention.module
        and not spec.offers("classifies texts")
    )


class Layer:
    """A layer of a live model, and its own pass over the first :data:`MAX_TOKENS` tokens of a text."""

    def __init__(self, checkpoint: Checkpoint, text: str, layer: int) -> None:
        """
        Raises:
            InputEmpty: there is no text.
            OutOfRange: no such layer, counted from 0, or one that cannot be split.
        """
        spec = checkpoint.spec
        if not splits(spec):
            raise OutOfRange(f"The layers of {spec.name} cannot be split here. Choose a model such as GPT-2 or LLaMA.")
        (layers,) = attention_layers(checkpoint).values()
        if not 0 <= layer < len(layers):
            raise OutOfRange(f"{spec.name} has layers 1 to {len(layers)}, not {layer + 1}.")
        if not clean(text).strip():
            raise InputEmpty("There is no text to read. Type some.")
        self.attn: AttentionLayer = layers[layer]
        self.plan: Blueprint = blueprint_of(self.attn)
        self.model = checkpoint.model
        ids = checkpoint.tokenizer(clean(text), verbose=False)["input_ids"][:MAX_TOKENS]
        inputs = one_text(checkpoint, describe(checkpoint.tokenizer, ids))
        kind = self.attn.kind
        keep = {Site(kind, layer, name) for name in ("resid_pre", "mask", "attn_out", "resid_post")}
        recorded = run(self.model, inputs.tensors, keep=keep)
        self.states: Tensor = recorded[kind, layer, "resid_pre"][0]
        self.mask: Tensor = recorded[kind, layer, "mask"]
        self.factor: float = recorded.products[kind, layer].factor
        self.rotation: tuple[Tensor, Tensor] | None = None
        if self.attn.names.score == "rope":
            with torch.inference_mode():
                cos, sin = self.model.base_model.rotary_emb(self.states[None], torch.arange(len(ids))[None])
                self.rotation = cos[0], sin[0]
        self.outputs: tuple[Tensor, Tensor] = (
            recorded[kind, layer, "attn_out"][0],
            recorded[kind, layer, "resid_post"][0],
        )
        """(n, h) the attention output and the layer's output, of the library's own modules."""

    def module(self, name: str) -> Any:
        """A module by its name in the blueprint."""
        return self.model.get_submodule(self.attn.path(name))

    @property
    def firsts(self) -> list[Any]:
        """The first matrices of the feed-forward half: one, or with a gate two, the gate first."""
        names = (self.plan.gate, *self.plan.inner)
        paths = dict(self.model.named_modules())
        return [paths[self.attn.path(name)] for name in names if name and self.attn.path(name) in paths]

    @property
    def activation(self) -> str:
        """Its name in transformers."""
        return str(getattr(self.attn.stack.config, self.plan.activation, self.plan.activation))

    @property
    def key_heads(self) -> int:
        """k."""
        return int(getattr(self.attn.stack.config, "num_key_value_heads", None) or self.attn.heads)

    def split(self, degree: int) -> list[Share]:
        """The shares of all devices.

        Raises:
            OutOfRange: heads or feed-forward columns cannot be divided equally.
        """
        heads, keys, inner = self.attn.heads, self.key_heads, _matrix(self.firsts[0]).shape[0]

        def fits(t: int) -> bool:
            return heads % t == 0 and inner % t == 0 and (keys % t == 0 or t % keys == 0)

        if not 1 <= degree <= heads or not fits(degree):
            fitting = ", ".join(str(t) for t in range(1, heads + 1) if fits(t))
            raise OutOfRange(
                f"{counted(heads, 'head')} cannot be divided equally among {degree} devices; these can: {fitting}."
            )
        return [Share(self, rank, degree) for rank in range(degree)]

    def joined(self, shares: Sequence[Share], all_reduce: Callable[[list[Tensor]], Tensor]) -> tuple[Tensor, Tensor]:
        """(n, h) the attention output and the layer's output, from the summands of the shares."""
        first, second = (self.module(self.plan.norms[half]) for half in ("attention", "feed-forward"))
        before, states = self.plan.pre_norm, self.states
        normed = first(states) if before else states
        attention = all_reduce([share.attention(normed) for share in shares]) + _bias(self.module(self.attn.names.out))
        after = states + attention if before else first(states + attention)
        normed = second(after) if before else after
        fed = all_reduce([share.feed_forward(normed) for share in shares]) + _bias(self.module(self.plan.outer))
        return attention, after + fed if before else second(after + fed)


@dataclass(frozen=True, slots=True)
class Shard:
    """One device's columns or rows of a projection."""

    weight: Tensor  # (out, in)
    bias: Tensor | None

    def __call__(self, states: Tensor) -> Tensor:
        return functional.linear(states, self.weight, self.bias)


class Share:
    """What one device holds of a layer: some columns or rows of its matrices."""

    def __init__(self, layer: Layer, rank: int, degree: int) -> None:
        names, heads = layer.attn.names, layer.attn.heads
        self.layer, self.heads, self.key_heads = layer, heads // degree, max(1, layer.key_heads // degree)
        projections = dict.fromkeys(f"{names.module}.{part.partition(':')[0]}" for part in names.parts.split())
        joint = 1 if len(projections) > 1 else 3  # one matrix for query, key and value
        self.columns = [
            _columns(layer.module(name), rank, degree, layer.key_heads if number else heads, joint)
            for number, name in enumerate(projections)
        ]
        self.output = _rows(layer.module(names.out), rank, degree)
        self.firsts = [_columns(module, rank, degree, degree) for module in layer.firsts]
        self.last = _rows(layer.module(layer.plan.outer), rank, degree)

    @property
    def parameters(self) -> int:
        """Values of all its matrices, and of the biases of columns."""
        columns = [*self.columns, *self.firsts]
        biases = sum(part.bias.numel() for part in columns if part.bias is not None)
        return biases + sum(part.weight.numel() for part in (*columns, self.output, self.last))

    def attention(self, states: Tensor) -> Tensor:
        """(n, h) states to (n, h), this device's summand of the attention output."""
        projected = [part(states) for part in self.columns]
        if len(projected) == 1:
            projected = list(projected[0].chunk(3, dim=-1))
        query, key, value = (by_head(part, projected[0].shape[-1] // self.heads) for part in projected)
        if self.layer.rotation is not None:
            query, key = (rotate(vectors, *self.layer.rotation) for vectors in (query, key))
        module = self.layer.module(self.layer.plan.outer)  # any: the run is over
        z, _ = attend(module, query[None], key[None], value[None], self.layer.mask, self.layer.factor)
        return self.output(z[0].flatten(1))

    def feed_forward(self, states: Tensor) -> Tensor:
        """(n, h) states to (n, h), this device's summand of the feed-forward output."""
        from transformers.activations import ACT2FN

        first, *others = (part(states) for part in self.firsts)
        active = ACT2FN[self.layer.activation](first)
        return self.last(active * others[0] if others else active)


def _columns(module: Module, rank: int, degree: int, groups: int, joint: int = 1) -> Shard:
    """The outputs of one device's group of ``groups``, in each of ``joint`` matrices side by side."""
    groups = min(groups, degree)
    at = rank * groups // degree
    weight, bias = _matrix(module), getattr(module, "bias", None)
    weight = weight.reshape(joint, groups, -1, weight.shape[1])[:, at].flatten(0, 1)
    return Shard(weight, None if bias is None else bias.detach().reshape(joint, groups, -1)[:, at].flatten())


def _rows(module: Module, rank: int, degree: int) -> Shard:
    """The inputs of one device; the bias is added once, to the sum."""
    return Shard(_matrix(module).chunk(degree, dim=1)[rank], None)


def _matrix(module: Module | Shard) -> Tensor:
    """(out, in), where GPT-2's layers store (in, out)."""
    weight: Tensor = module.weight.detach()
    return weight if isinstance(module, nn.Linear) else weight.T


def _bias(module: Module) -> Tensor | float:
    return 0.0 if getattr(module, "bias", None) is None else module.bias.detach()


@dataclass(frozen=True, slots=True)
class SplitLayer:
    """One layer computed in parts and joined."""

    degree: int
    tokens: int
    width: int
    heads: int
    key_heads: int
    head_width: int
    inner: int
    gated: bool
    activation: str
    parameters: int
    """Of one device, without norms and output biases."""
    whole: int
    """Of the layer, likewise."""
    attention_error: float
    """The largest absolute difference between the joined attention output and the layer's own."""
    layer_error: float
    """Likewise of the layer's output."""
    largest: float
    """The largest absolute value of the layer's output, to compare the errors with."""

    @property
    def reduced_bytes(self) -> int:
        """Bytes of one all-reduce: n h values."""
        return self.tokens * self.width * BYTES

    @property
    def sent_bytes(self) -> float:
        """Bytes that each device sends for one all-reduce around a ring."""
        return 2 * (self.degree - 1) / self.degree * self.reduced_bytes


def split_layer(checkpoint: Checkpoint, text: str, layer: int, degree: int) -> SplitLayer:
    """Compute a layer whole and in ``degree`` parts over the first :data:`MAX_TOKENS` tokens of a text.

    Args:
        layer: from 0.

    Raises:
        InputEmpty, OutOfRange: as :class:`Layer` and :meth:`Layer.split`.
    """
    unsplit_layer = Layer(checkpoint, text, layer)
    shares, (unsplit,) = unsplit_layer.split(degree), unsplit_layer.split(1)
    with torch.inference_mode():
        joined = unsplit_layer.joined(shares, lambda summands: torch.stack(summands).sum(0))
    errors = [
        float((output - theirs).abs().max()) for output, theirs in zip(joined, unsplit_layer.outputs, strict=True)
    ]
    tokens, width = unsplit_layer.states.shape
    return SplitLayer(
        degree=degree,
        tokens=tokens,
        width=width,
        heads=unsplit_layer.attn.heads,
        key_heads=unsplit_layer.key_heads,
        head_width=unsplit.output.weight.shape[1] // unsplit_layer.attn.heads,
        inner=unsplit.last.weight.shape[1],
        gated=len(unsplit.firsts) > 1,
        activation=unsplit_layer.activation,
        parameters=shares[0].parameters,
        whole=unsplit.parameters,
        attention_error=errors[0],
        layer_error=errors[1],
        largest=float(unsplit_layer.outputs[1].abs().max()),
    )


def run_demo(slug: str, text: str, layer: int, degree: int) -> str:
    """The same layer in ``degree`` real processes that exchange summands by torch.distributed (gloo); a report."""
    from multiprocessing import get_context

    expected = split_layer(checkpoints.load(slug), text, layer, degree)  # also refuses what cannot be split
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = get_context("spawn")
    reports = context.Queue()
    workers = [
        context.Process(target=_work, args=(rank, degree, port, slug, text, layer, reports)) for rank in range(degree)
    ]
    for worker in workers:
        worker.start()
    lines = sorted(reports.get(timeout=300) for _ in workers)
    for worker in workers:
        worker.join()
    return "\n".join(
        [
            f"Layer {layer + 1} of {slug} over {expected.tokens} tokens in {degree} processes (gloo):",
            *(line for _, line in lines),
            f"Each all-reduce adds {degree} × {expected.reduced_bytes:,} bytes; the largest output is "
            f"{expected.largest:.2f}.",
        ]
    )


def _work(rank: int, degree: int, port: int, slug: str, text: str, layer: int, reports: Queue[object]) -> None:
    """One process: its share of the layer, two all-reduces, and the difference from the whole layer."""
    import torch.distributed as dist

    unsplit_layer = Layer(checkpoints.load(slug), text, layer)
    share = unsplit_layer.split(degree)[rank]
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    dist.init_process_group("gloo", rank=rank, world_size=degree)
    seconds = 0.0

    def all_reduce(summands: list[Tensor]) -> Tensor:
        nonlocal seconds
        began = perf_counter()
        (summand,) = summands
        dist.all_reduce(summand)
        seconds += perf_counter() - began
        return summand

    with torch.no_grad():
        error = float((unsplit_layer.joined([share], all_reduce)[1] - unsplit_layer.outputs[1]).abs().max())
    dist.destroy_process_group()
    reports.put(
        (
            rank,
            f"  process {rank}: {share.heads} heads, {share.parameters:,} parameters, 2 all-reduces in "
            f"{1000 * seconds:.1f} ms, largest error {error:.1e}",
        )
    )
