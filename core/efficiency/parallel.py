r"""A layer split among devices as in Megatron-LM (Shoeybi et al. 2019), with the weights of a live model.

The first matrix of each half is split by columns, the second by rows, so that nothing is exchanged between them:

.. math:: Z = \sum_i \operatorname{attention}(X W_{qkv,i})\,W_{o,i} + b_o \qquad
          Z = \sum_i \operatorname{GELU}(X W_{1,i} + b_{1,i})\,W_{2,i} + b_2

Device i holds a / t heads and f / t columns. The two sums are all-reduces of n h values; the backward pass has two
more. Norms, biases of the outputs and the residual stream are on every device.

Legend: n tokens, h hidden size, a heads, f feed-forward size, t tensor-parallel degree.
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from core import checkpoints
from core.checkpoints.families.architectures import has
from core.checkpoints.spec import Checkpoint
from core.errors import InputEmpty, OutOfRange
from core.language.text import clean
from core.lazy import Tensor, torch

MAX_TOKENS = 64
BYTES = 4
"""Of a value in float32, in which the models run here."""


@dataclass(frozen=True, slots=True, eq=False)
class Share:
    """What one device holds of a layer, in torch's order (in, out)."""

    heads: int
    qkv: Tensor
    """(h, 3 h / t): columns of whole heads."""
    qkv_bias: Tensor
    output: Tensor
    """(h / t, h): rows."""
    first: Tensor
    """(h, f / t): columns."""
    first_bias: Tensor
    second: Tensor
    """(f / t, h): rows."""

    @property
    def parameters(self) -> int:
        """Values of all its matrices and biases."""
        return sum(x.numel() for x in (self.qkv, self.qkv_bias, self.output, self.first, self.first_bias, self.second))

    def attention(self, states: Tensor) -> Tensor:
        """(n, h) normalized states to (n, h), this device's summand of the attention output."""
        n = len(states)
        query, key, value = (
            part.reshape(n, self.heads, -1).transpose(0, 1) for part in (states @ self.qkv + self.qkv_bias).chunk(3, -1)
        )
        scores = (query @ key.mT) * query.shape[-1] ** -0.5
        causal = torch.ones(n, n, dtype=torch.bool).tril()
        weights = torch.softmax(scores.masked_fill(~causal, -torch.inf), dim=-1)
        return (weights @ value).transpose(0, 1).reshape(n, -1) @ self.output

    def feed_forward(self, states: Tensor) -> Tensor:
        """(n, h) normalized states to (n, h), this device's summand of the feed-forward output."""
        from torch.nn.functional import gelu

        return gelu(states @ self.first + self.first_bias, approximate="tanh") @ self.second


def split(block: Any, heads: int, degree: int) -> tuple[Share, ...]:
    """The shares of a GPT-2 block.

    Raises:
        OutOfRange: the heads or the feed-forward columns cannot be divided equally.
    """
    width, inner = block.attn.c_proj.weight.shape[1], block.mlp.c_fc.weight.shape[1]
    if not 1 <= degree <= heads or heads % degree or inner % degree:
        fitting = ", ".join(str(t) for t in range(1, heads + 1) if heads % t == 0 and inner % t == 0)
        raise OutOfRange(f"{heads} heads cannot be divided equally among {degree} devices; these can: {fitting}.")
    joint = block.attn.c_attn.weight.reshape(width, 3, degree, -1)  # by query, key, value, then by device
    bias = block.attn.c_attn.bias.reshape(3, degree, -1)
    output = block.attn.c_proj.weight.chunk(degree, dim=0)
    first, first_bias = block.mlp.c_fc.weight.chunk(degree, dim=1), block.mlp.c_fc.bias.chunk(degree)
    second = block.mlp.c_proj.weight.chunk(degree, dim=0)
    return tuple(
        Share(
            heads // degree,
            joint[:, :, i].reshape(width, -1),
            bias[:, i].reshape(-1),
            output[i],
            first[i],
            first_bias[i],
            second[i],
        )
        for i in range(degree)
    )


@dataclass(frozen=True, slots=True)
class SplitLayer:
    """One layer computed in parts and joined."""

    degree: int
    tokens: int
    width: int
    heads: int
    inner: int
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


def layer_input(checkpoint: Checkpoint, text: str, layer: int) -> tuple[Any, Tensor]:
    """A block of the model, and the (n, h) states that it reads for a text.

    Raises:
        InputEmpty: the text has no tokens.
        OutOfRange: no such layer, or an architecture whose blocks are not GPT-2's.
    """
    model = checkpoint.model
    if not has(model.config, "joint projection"):
        raise OutOfRange(f"The blocks of {checkpoint.spec.name} are not laid out as GPT-2's. Choose another model.")
    if not 0 <= layer < model.config.n_layer:
        raise OutOfRange(f"{checkpoint.spec.name} has layers 1 to {model.config.n_layer}, not {layer + 1}.")
    ids = checkpoint.tokenizer(clean(text), verbose=False)["input_ids"][:MAX_TOKENS]
    if not ids:
        raise InputEmpty("There is no text to read. Type some.")
    with torch.inference_mode():
        read = model.transformer(torch.tensor([ids]), output_hidden_states=True, use_cache=False)
    return model.transformer.h[layer], read.hidden_states[layer][0]


def split_layer(checkpoint: Checkpoint, text: str, layer: int, degree: int) -> SplitLayer:
    """Compute a layer whole and in ``degree`` parts over the first :data:`MAX_TOKENS` tokens of a text.

    Args:
        layer: from 0.

    Raises:
        InputEmpty, OutOfRange: as :func:`layer_input` and :func:`split`.
    """
    block, states = layer_input(checkpoint, text, layer)
    config = checkpoint.model.config
    shares, (unsplit,) = split(block, config.n_head, degree), split(block, config.n_head, 1)
    with torch.inference_mode():
        normalized = block.ln_1(states)
        attention = _sum([share.attention(normalized) for share in shares]) + block.attn.c_proj.bias
        after = states + attention
        summands = [share.feed_forward(block.ln_2(after)) for share in shares]
        joined = after + _sum(summands) + block.mlp.c_proj.bias
        own_attention, own = whole(block, states)
    return SplitLayer(
        degree=degree,
        tokens=len(states),
        width=config.n_embd,
        heads=config.n_head,
        inner=unsplit.first.shape[1],
        parameters=shares[0].parameters,
        whole=unsplit.parameters,
        attention_error=float((attention - own_attention).abs().max()),
        layer_error=float((joined - own).abs().max()),
        largest=float(own.abs().max()),
    )


def whole(block: Any, states: Tensor) -> tuple[Tensor, Tensor]:
    """The attention output and the layer's output (n, h), by the library's own modules, unsplit."""
    causal = torch.full((len(states), len(states)), -torch.inf).triu(1)
    attention = block.attn(block.ln_1(states)[None], attention_mask=causal[None, None])[0][0]
    after = states + attention
    return attention, after + block.mlp(block.ln_2(after[None]))[0]


def _sum(summands: list[Tensor]) -> Tensor:
    """The all-reduce: every device has the sum afterwards."""
    return torch.stack(summands).sum(0)


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


def _work(rank: int, degree: int, port: int, slug: str, text: str, layer: int, reports: Any) -> None:
    """One process: its share of the layer, two all-reduces, and the difference from the whole layer."""
    import torch.distributed as dist

    checkpoint = checkpoints.load(slug)
    block, states = layer_input(checkpoint, text, layer)
    share = split(block, checkpoint.model.config.n_head, degree)[rank]
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    dist.init_process_group("gloo", rank=rank, world_size=degree)
    seconds = 0.0

    def reduce(summand: Tensor) -> Tensor:
        nonlocal seconds
        began = perf_counter()
        dist.all_reduce(summand)
        seconds += perf_counter() - began
        return summand

    with torch.no_grad():
        after = states + reduce(share.attention(block.ln_1(states))) + block.attn.c_proj.bias
        joined = after + reduce(share.feed_forward(block.ln_2(after))) + block.mlp.c_proj.bias
        error = float((joined - whole(block, states)[1]).abs().max())
    dist.destroy_process_group()
    reports.put(
        (
            rank,
            f"  process {rank}: {share.heads} heads, {share.parameters:,} parameters, 2 all-reduces in "
            f"{1000 * seconds:.1f} ms, largest error {error:.1e}",
        )
    )
