"""Memory of training and generation: weights, gradients and optimizer states; activations; the key-value cache.

**Training without activations.** Rajbhandari et al. 2020 (ZeRO) count, for N parameters and Adam in mixed precision,

    2N  weights in 16 bits  +  2N  gradients in 16 bits  +  12N  weights, mean and variance in 32 bits  =  16N bytes.

Other settings change the summands, not the form of the sum.

**Activations** (Korthikanti et al. 2022), stored by the forward pass for the backward pass. For one layer of the
standard block, s tokens, micro-batch size b, hidden size h, a heads, 2 bytes per value and 1 byte per dropout mask:

    s b h (34 + 5 a s / h)  =  attention 11 sbh + 5 as²b  +  feed-forward 19 sbh  +  two norms 4 sbh

Their 19 holds for a feed-forward size of 4h; with size f it is 3 + 4 f/h, and with a gate, which stores three
tensors of size f instead of two, 3 + 6 f/h. A decoder with cross-attention has the attention part and its norm a second
time. Tensor parallelism over t devices leaves 10 sbh on each (the inputs of blocks and norms, and two masks) and
divides the rest by t; sequence parallelism divides the 10 sbh as well. Recomputation:

    none        all activations are stored
    selective   attention scores are recomputed: without 5 as²b
    full        only the input of each layer is stored: 2 sbh

**The key-value cache** holds the keys and values of earlier tokens, so that a decoder need not recompute them.

    bytes = b · p · Σ over layers of  min(s, w_l) · k_l

b texts, p bytes per value, s tokens, w_l the layer's window (none: s), k_l values per token:

    2 · g · d                 keys and values of g key-value heads of dimension d
    d_c + d_r                 MLA: the key-value latent and the rotary key, from which all heads' keys and values follow

A decoder with cross-attention also caches 2 · g · d values per layer for each token of the source. An encoder has no
cache. A test compares this with the cache of transformers, byte by byte.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.costs.shape import LayerShape, Shape


@dataclass(frozen=True, slots=True)
class Precision:
    """Bytes per parameter of weights, of gradients and of the optimizer's 32-bit copy of the weights."""

    name: str
    weight: float
    gradient: float
    copy: float
    state: float
    """Bytes of one value of an optimizer state."""


@dataclass(frozen=True, slots=True)
class Optimizer:
    """An optimizer with ``numbers`` state values per parameter."""

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
    """Bytes of training states, for all parameters."""

    weights: float
    gradients: float
    optimizer: float

    @property
    def total(self) -> float:
        return self.weights + self.gradients + self.optimizer


def states(parameters: float, optimizer: str = "adam", precision: str = "mixed") -> States:
    """Bytes of the training states of ``parameters`` parameters. Raises KeyError for an unlisted name."""
    kind = PRECISIONS[precision]
    return States(
        weights=kind.weight * parameters,
        gradients=kind.gradient * parameters,
        optimizer=(kind.copy + kind.state * OPTIMIZERS[optimizer].numbers) * parameters,
    )


RECOMPUTE = {
    "none": "none",
    "selective": "selective (attention scores)",
    "full": "full (whole layers)",
}
_WHOLE = 10
"""What tensor parallelism alone does not divide, in sbh: 4 for norms, 2 for masks, 4 for the blocks' inputs."""


def layer(
    stack: LayerShape,
    length: int,
    batch: int,
    *,
    recompute: str = "none",
    tensor: int = 1,
    sequence: bool = False,
    source: int = 0,
) -> float:
    """Bytes of activations that one layer stores on one device.

    Args:
        length, batch: tokens per text, and micro-batch size.
        recompute: a key of ``RECOMPUTE``.
        tensor: tensor-parallel degree; ``sequence``: with sequence parallelism.
        source: tokens of the source, for a decoder with cross-attention.
    """
    sbh = length * batch * stack.width
    if recompute == "full":
        return 2 * sbh / (tensor if sequence else 1)
    unsplit, shared = float(_WHOLE), (8 + (6 if stack.gated else 4) * stack.ffn / stack.width)
    scores = 5 * stack.heads * batch * length * sum(stack.keys(length)) / max(1, stack.layers)
    if stack.cross:
        unsplit, shared = unsplit + 5, shared + 8
        scores += 5 * stack.heads * batch * length * source
    if recompute == "selective":
        scores = 0
    return sbh * (unsplit / (tensor if sequence else 1) + shared / tensor) + scores / tensor


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
    """Bytes of activations that all layers store on one device, without those of the embeddings and the head.

    Pipeline parallelism does not reduce it on the first device, which holds as many micro-batches as there are stages.
    """
    other = length if source is None else source
    return sum(
        stack.layers
        * layer(
            stack,
            length if stack is shape.main else other,
            batch,
            recompute=recompute,
            tensor=tensor,
            sequence=sequence,
            source=other,
        )
        for stack in shape.stacks
    )


def cache_bytes(shape: Shape, tokens: int, *, batch: int = 1, width: float = 2, source: int = 0) -> float:
    """Bytes of the cache of ``batch`` texts of ``tokens`` tokens, with ``width`` bytes per value.

    Args:
        source: tokens of the encoder, for a decoder with cross-attention.
    """
    if not shape.generates:
        return 0
    stack = shape.main
    spans = stack.keys(tokens)
    numbers = sum(min(span, tokens + stack.memory) for span in spans) * stack.cached + stack.layers * stack.constant
    if stack.cross:
        numbers += stack.layers * source * stack.cached
    return float(numbers * batch * width)


def cache_bytes_per_token(shape: Shape, width: float = 2) -> float:
    """Bytes that each further token adds while no window is full."""
    return shape.main.layers * shape.main.cached * width if shape.generates else 0
