r"""A text processed in segments with a memory, as by Transformer-XL (Dai et al., 2019, arXiv 1901.02860).

The tokens of segment :math:`\tau` attend to earlier ones of the segment, and to each layer's cached states of the last
M tokens before it. Without the memory (M = 0) segments are independent. The surprisal of a token:

.. math:: -\log_2 p(x_t \mid x_{<t} \text{ within the segment and the memory})

A cached state itself depends on the memory at its computation, so each further layer extends the receptive field by up
to M tokens.

Shapes: n tokens, L layers, H heads, q tokens of a segment, K keys: those of the memory and the segment.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from core.arrays import Doubles
from core.checkpoints.families.architectures import has
from core.checkpoints.spec import Checkpoint
from core.errors import InputTooLong, InputUnusable, OutOfRange
from core.language.starts import prompt
from core.language.tokens import describe
from core.language.types import Token
from core.lazy import Tensor, torch
from core.run.model import Model, Output, call
from core.run.run import Edit, Run, Site, recording, run
from core.words import counted

SEGMENT = 64
"""The default length of a segment in tokens."""
MAX_READ = 1_024
"""The most tokens of `compare`, which takes three passes, one of them with all attention weights."""


@dataclass(frozen=True, slots=True)
class MemoryReading:
    """A text with and without the memory."""

    tokens: tuple[Token, ...]
    """The n tokens with a surprisal, without the token that begins a text."""
    segment: int
    memory: int
    with_memory: Doubles
    """(n,) bits."""
    without: Doubles
    """(n,) bits."""
    furthest_key: tuple[int, ...]
    """For each layer, the distance in tokens to the furthest key with any weight."""
    furthest_influence: tuple[int, ...]
    """For each number of layers from the top, the receptive field of the last token, in tokens."""


def has_memory(model: Model) -> bool:
    """Whether a model has a memory of states: the XLNet class of transformers with causal attention."""
    return has(model.config, "memory")


def longest_memory(model: Model) -> int | None:
    """The most tokens of the memory; None for all."""
    return int(model.config.mem_len) if model.config.mem_len else None


def run_segments(
    model: Model,
    ids: Tensor,
    mems: Sequence[Tensor] | None = None,
    *,
    segment: int | list[int] = SEGMENT,
    memory: int | None = None,
    **arguments: object,
) -> Iterator[Output]:
    """The model's output for each segment of ``ids`` (rows, n), one after the other.

    Args:
        mems: ``mems`` of the output before, if any.
        segment: tokens per segment, or the length of each segment.
        memory: tokens of the memory, at most the model's own, which is the default.
    """
    for segment_ids in torch.split(ids, segment, dim=1):
        out = call(model, input_ids=segment_ids, mems=mems, use_mems=True, **arguments)
        if memory is not None:
            out.mems = [state[-memory:] for state in out.mems or ()] if memory else None
        mems = out.mems
        yield out


def run_text(
    model: Model,
    inputs: Mapping[str, Any],
    keep: Collection[str],
    *,
    segment: int = SEGMENT,
    memory: int | None = None,
    edits: Mapping[Site, Edit] | None = None,
) -> Run:
    """The run of a text; of a text longer than a segment, for a model with a memory, the runs of its segments as one.

    There a key in the memory is that of its own segment, and what lies before the memory is masked.

    Args:
        inputs: as of `core.run.run.run`.
        keep: names of sites.
        segment, memory: as of :func:`run_segments`.
        edits: as of `core.run.run.run`.
    """
    ids = inputs["input_ids"]
    if not has_memory(model) or inputs.get("mems") is not None or ids.shape[1] <= segment:
        return run(model, inputs, keep=keep, edits=edits)
    outputs = run_segments(model, ids, segment=segment, memory=memory)
    sizes, runs = [], []
    for part in torch.split(ids, segment, dim=1):
        with recording(keep, edits) as recorded:
            next(outputs)
        sizes.append(part.shape[1])
        runs.append(recorded)
    joined = Run(frozenset(keep), products=runs[0].products)
    for site in runs[0].tensors:
        parts = [recorded.tensors[site] for recorded in runs]
        if site.name.partition(".")[0] in ("terms", "scores", "mask", "pattern"):
            joined.tensors[site] = _placed(parts, ids.shape[1])
        elif site.name in ("q", "k", "v"):  # the keys and values of the memory stand first
            segment_parts = (part[:, :, -size:] for part, size in zip(parts, sizes, strict=True))
            joined.tensors[site] = torch.cat(list(segment_parts), dim=2)
        else:
            joined.tensors[site] = torch.cat(parts, dim=1)
    return joined


def _placed(parts: Sequence[Tensor], n: int) -> Tensor:
    """(R, H, n, n) from parts (R, H, q, K), whose last key is at the position of their last query; 0 elsewhere."""
    square = parts[0].new_zeros(*parts[0].shape[:2], n, n)
    end = 0
    for part in parts:
        end += part.shape[2]
        square[:, :, end - part.shape[2] : end, end - part.shape[3] : end] = part
    return square


def costs(model: Model, ids: Sequence[int], *, segment: int = SEGMENT, memory: int | None = None) -> Doubles:
    """The surprisal in bits (n - 1,) of all tokens but the first, given the context in the segment and the memory."""
    with torch.inference_mode():
        inputs = torch.tensor([list(ids)], device=model.device)
        log_probs: list[float] = []
        for number, out in enumerate(run_segments(model, inputs[:, :-1], segment=segment, memory=memory)):
            logs = out.logits[0].float().log_softmax(-1)
            first = number * segment + 1
            labels = inputs[0, first : first + len(logs)]
            log_probs += logs.gather(1, labels[:, None])[:, 0].tolist()
    return np.asarray(-np.array(log_probs) / np.log(2), dtype=np.float64)


def weights(model: Model, ids: Sequence[int], *, segment: int, memory: int | None) -> npt.NDArray[np.bool_]:
    """(L, n, n) True where any head of a layer assigns weight to the key (column) for the query (row)."""
    inputs = {"input_ids": torch.tensor([list(ids)], device=model.device)}
    recorded = run_text(model, inputs, {"pattern"}, segment=segment, memory=memory)
    attended = [pattern[0].amax(0) > 0 for pattern in recorded.layers("decoder", "pattern")]
    return np.asarray(torch.stack(attended).cpu().numpy(), dtype=np.bool_)


def influence(attended: npt.NDArray[np.bool_]) -> tuple[int, ...]:
    """The receptive field of the last token, in tokens back, through the top layer, the top two, ... all.

    Args:
        attended: (L, n, n) from `weights`.
    """
    size = attended.shape[1]
    reached = np.zeros(size, dtype=np.bool_)
    reached[-1] = True
    furthest: list[int] = []
    for layer in attended[::-1]:
        reached = reached | layer[reached].any(axis=0)
        furthest.append(size - 1 - int(np.flatnonzero(reached)[0]))
    return tuple(furthest)


def compare(checkpoint: Checkpoint, text: str, *, segment: int = SEGMENT, memory: int | None = None) -> MemoryReading:
    """Process ``text`` in segments, with the memory and without.

    Raises:
        InputUnusable: the model has no memory.
        InputEmpty: nothing readable in the text.
        InputTooLong: more than `MAX_READ` tokens.
        OutOfRange: a memory longer than the model's, or a segment that is too short or too long.
    """
    model, tokenizer = checkpoint.model, checkpoint.tokenizer
    if not has_memory(model):
        raise InputUnusable(f"{checkpoint.spec.name} keeps no memory from one segment to the next.")
    longest = longest_memory(model) or MAX_READ
    memory = longest if memory is None else memory
    if not 1 <= memory <= longest:
        raise OutOfRange(f"A memory of {counted(memory, 'token')} does not work here; it may have 1 to {longest:,}.")
    if not 8 <= segment <= 256:
        raise OutOfRange(f"A segment of {counted(segment, 'token')} does not work here; it may have 8 to 256.")
    ids = prompt(checkpoint, text).ids
    if len(ids) > MAX_READ:
        raise InputTooLong(f"This text has {len(ids):,} tokens; up to {MAX_READ:,} are read here. A shorter one works.")
    begin = tokenizer.bos_token_id
    all_ids = ids if begin is None else [int(begin), *ids]  # without such a token the first one is given
    if len(all_ids) < 2:
        raise InputUnusable("A single token has no earlier segment to cache. Type a sentence or more.")
    attended = weights(model, all_ids, segment=segment, memory=memory)
    back = np.arange(len(all_ids))[:, None] - np.arange(len(all_ids))[None, :]
    return MemoryReading(
        describe(tokenizer, all_ids[1:]),
        segment,
        memory,
        costs(model, all_ids, segment=segment, memory=memory),
        costs(model, all_ids, segment=segment, memory=0),
        tuple(int(np.where(layer, back, 0).max()) for layer in attended),
        influence(attended),
    )
