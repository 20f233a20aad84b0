"""What the forward pass keeps for the way back, after Korthikanti et al. 2022.

For one layer of the standard block, s tokens, b texts, width h, a heads, 16 bits a number and a byte a mask:

    s b h (34 + 5 a s / h)  =  attention 11 sbh + 5 as²b  +  feed-forward 19 sbh  +  two norms 4 sbh

Their 19 holds for a feed-forward block of 4h; with width f it is 3 + 4 f/h, and with a gate, which keeps three
tensors of f instead of two, 3 + 6 f/h. A decoder that looks at an encoder has the attention part and its norm a second
time. Over t devices (tensor parallelism) 10 sbh stays whole, the inputs of blocks and norms and two masks, and the
rest is divided by t; sequence parallelism divides that, too. Recomputation:

    none        everything is kept
    selective   the scores are computed again: without 5 as²b
    full        only each layer's input is kept: 2 sbh
"""

from __future__ import annotations

from core.costs.shape import Shape, Stack

RECOMPUTE = {
    "none": "nothing: keep everything",
    "selective": "the scores of attention",
    "full": "whole layers",
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
