"""What training and generating keep in memory: weights, gradients and optimizer; activations; the key-value cache.

**Training without activations.** Rajbhandari et al. 2020 (ZeRO) count, for N parameters and Adam in mixed precision,

    2N  weights in 16 bits  +  2N  gradients in 16 bits  +  12N  weights, mean and variance in 32 bits  =  16N bytes.

Other settings change the summands, not the sum's form.

**Activations** (Korthikanti et al. 2022), what the forward pass keeps for the backward pass. For one layer of the
standard block, s tokens, b texts, width h, a heads, 16 bits a number and a byte a mask:

    s b h (34 + 5 a s / h)  =  attention 11 sbh + 5 as²b  +  feed-forward 19 sbh  +  two norms 4 sbh

Their 19 holds for a feed-forward block of 4h; with width f it is 3 + 4 f/h, and with a gate, which keeps three
tensors of f instead of two, 3 + 6 f/h. A decoder that looks at an encoder has the attention part and its norm a second
time. Over t devices (tensor parallelism) 10 sbh stays whole, the inputs of blocks and norms and two masks, and the
rest is divided by t; sequence parallelism divides that, too. Recomputation:

    none        everything is kept
    selective   the scores are computed again: without 5 as²b
    full        only each layer's input is kept: 2 sbh

**The key-value cache**: what a decoder keeps of every token, so that it need not be computed again.

    bytes = b · p · Σ over layers of  min(s, w_l) · k_l

b texts, p bytes a number, s tokens, w_l the layer's window (none: s), k_l numbers a token leaves there:

    2 · g · d                 keys and values of g heads with d numbers each (g = heads without sharing)
    d_c + d_r                 DeepSeek's latent and its rotary key, from which all heads' keys and values follow

A decoder that looks at an encoder keeps that side's keys and values too, 2 · g · d for each token read. An encoder
keeps nothing. This is the layout of the library's own cache, which a test compares byte by byte.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.costs.shape import Shape, Stack


@dataclass(frozen=True, slots=True)
class Precision:
    """Bytes of a weight and of a gradient, and whether the optimizer keeps a copy of the weights in 32 bits."""

    name: str
    weight: float
    gradient: float
    copy: float
    state: float
    """Bytes of each number that the optimizer keeps."""


@dataclass(frozen=True, slots=True)
class Optimizer:
    """``numbers`` that the optimizer keeps for each parameter."""

    name: str
    numbers: int


PRECISIONS = {
    "mixed": Precision("mixed: 16 bits, 32-bit copy", 2, 2, 4, 4),
    "full": Precision("32 bits throughout", 4, 4, 0, 4),
    "half": Precision("16 bits throughout", 2, 2, 0, 2),
}
OPTIMIZERS = {
    "adam": Optimizer("Adam: mean and variance", 2),
    "momentum": Optimizer("SGD with momentum", 1),
    "sgd": Optimizer("SGD without momentum", 0),
}


@dataclass(frozen=True, slots=True)
class States:
    """Bytes, for all parameters."""

    weights: float
    gradients: float
    optimizer: float

    @property
    def total(self) -> float:
        """All three."""
        return self.weights + self.gradients + self.optimizer


def states(parameters: float, optimizer: str = "adam", precision: str = "mixed") -> States:
    """Bytes that ``parameters`` parameters take in training; KeyError for a name that is not listed."""
    kind, kept = PRECISIONS[precision], OPTIMIZERS[optimizer]
    return States(
        weights=kind.weight * parameters,
        gradients=kind.gradient * parameters,
        optimizer=(kind.copy + kind.state * kept.numbers) * parameters,
    )


RECOMPUTE = {
    "none": "none",
    "selective": "selective (attention scores)",
    "full": "full (whole layers)",
}
_WHOLE = 10
"""sbh that tensor parallelism alone leaves on every device: 4 for norms, 2 for masks, 4 for the blocks' inputs."""


def layer(
    stack: Stack,
    length: int,
    batch: int,
    *,
    recompute: str = "none",
    tensor: int = 1,
    sequence: bool = False,
    source: int = 0,
) -> float:
    """Bytes that one layer keeps on one device.

    Args:
        length, batch: tokens of a text, and texts of a micro-batch.
        recompute: a key of ``RECOMPUTE``.
        tensor: devices that share the layer's matrices; ``sequence``: they share the rest along the text, too.
        source: tokens of the other side, for a decoder that looks at one.
    """
    sbh = length * batch * stack.width
    if recompute == "full":
        return 2 * sbh / (tensor if sequence else 1)
    whole, shared = float(_WHOLE), (8 + (6 if stack.gated else 4) * stack.ffn / stack.width)
    scores = 5 * stack.heads * batch * length * sum(stack.keys(length)) / max(1, stack.layers)
    if stack.cross:
        whole, shared = whole + 5, shared + 8
        scores += 5 * stack.heads * batch * length * source
    if recompute == "selective":
        scores = 0
    return sbh * (whole / (tensor if sequence else 1) + shared / tensor) + scores / tensor


def activations(
    shape: Shape,
    length: int,
    batch: int,
    *,
    recompute: str = "none",
    tensor: int = 1,
    sequence: bool = False,
    source: int | None = None,
) -> float:
    """Bytes that all layers keep on one device; the embeddings' and the head's own are left out.

    Pipelines do not make it less on the first device: it holds as many micro-batches as there are stages.
    """
    other = length if source is None else source
    return sum(
        stack.layers
        * layer(
            stack,
            other if stack.side == "encoder" and shape.kind == "encoder-decoder" else length,
            batch,
            recompute=recompute,
            tensor=tensor,
            sequence=sequence,
            source=other,
        )
        for stack in shape.stacks
    )


def cache_bytes(shape: Shape, tokens: int, *, batch: int = 1, width: float = 2, source: int = 0) -> float:
    """Bytes that ``batch`` texts of ``tokens`` tokens keep, with ``width`` bytes a number.

    Args:
        source: tokens that the encoder has read, for a decoder that looks at one.
    """
    stack = shape.stack("decoder")
    if stack is None:
        return 0
    spans = stack.keys(tokens)
    numbers = sum(min(span, tokens + stack.memory) for span in spans) * stack.kept + stack.layers * stack.constant
    if stack.cross:
        numbers += stack.layers * source * stack.kept
    return float(numbers * batch * width)


def cache_bytes_per_token(shape: Shape, width: float = 2) -> float:
    """Bytes that one further token adds while no window is full."""
    stack = shape.stack("decoder")
    return 0 if stack is None else stack.layers * stack.kept * width
