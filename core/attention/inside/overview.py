r"""A whole model over one text, from tokens to the output distribution: the tensors of every block, in a few numbers.

    tokens → embeddings → N blocks → the head's distribution over the vocabulary

An encoder predicts masked tokens; where the text has no mask, its last word is masked. A decoder predicts the token
after the text. An encoder-decoder generates its output greedily; its decoder reads that output, shifted right. The
tensors are those of `core.attention.inside.block`, the distributions those of `core.language`, and those after each
layer those of the logit lens.

Legend: L layers, H heads, n tokens, d head dimension. Of each vector the first values are kept, and its norm.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.arrays import Floats
from core.attention.inside.block import Block, Side, blocks
from core.attention.inside.lens import LayerPrediction, by_layer
from core.attention.inside.steps import HEADS, MAPS, Step
from core.attention.scores import attention_layers
from core.attention.trace import frozen
from core.checkpoints.spec import Checkpoint, Feature
from core.errors import InputTooLong
from core.language import starts, translate
from core.language.fill_mask import ask_masks, fill_mask, prepare
from core.language.inputs import Inputs, pair
from core.language.makers import inputs
from core.language.tasks import task_of
from core.language.types import Decoding, MaskPrediction

MAX_TOKENS = 16
"""The most tokens of a side."""
FIRST, FIRST_OF_HEAD = 8, 4
"""Values kept of a vector, and of a head's vector."""
ANSWERS = 8
"""The most probable tokens that are kept of a distribution."""


@dataclass(frozen=True, slots=True, eq=False)
class Tensors:
    """One step in several layers."""

    shape: tuple[int, ...]
    """Of one layer's tensor, in full."""
    values: Floats
    """(L, H, n, n) a map; else the first values of each vector, (L, H, n, 4) or (L, n, 8)."""
    norms: Floats | None
    """(L, n) of the whole vectors, where they are not split into heads."""


@dataclass(frozen=True, slots=True, eq=False)
class Lane:
    side: Side
    tokens: tuple[str, ...]
    ids: tuple[int, ...]
    layers: int
    heads: int
    pre_norm: bool
    embedding: Mapping[str, Tensors]
    """By the slug of the step, in order; L is 1."""
    block: Mapping[str, Tensors]
    """The steps that every block has."""
    end: Mapping[str, Tensors]
    """What follows the last block, such as a final norm; L is 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Overview:
    lanes: tuple[Lane, ...]
    """The one that predicts is the last."""
    answers: tuple[MaskPrediction, ...]
    """The distribution at each predicted position of the last lane."""
    by_layer: tuple[LayerPrediction, ...]
    """The logit lens at the first of these positions; entry 0 is the embeddings."""
    vocabulary: int
    masked_here: str = ""
    """The word that was masked because the text had no mask."""
    prefix: str = ""
    """What an encoder-decoder's task puts before the text."""


def overview(checkpoint: Checkpoint, text: str, task: str | None = None) -> Overview:
    """The run of ``checkpoint`` over ``text``.

    Args:
        task: of an encoder-decoder, by default its first.

    Raises:
        AtlasError: whatever the text or the model does not allow; more than `MAX_TOKENS` tokens.
    """
    size = int(checkpoint.model.config.get_text_config(decoder=True).vocab_size)
    return next(iter(checkpoint.spec.entries(OVERVIEWS)), _of_masks)(checkpoint, text, task, size)


def _of_prompt(checkpoint: Checkpoint, text: str, task: str | None, size: int) -> Overview:
    question = inputs(checkpoint, text, step=0)
    lens = by_layer(question, ANSWERS)
    lane = _lane(question, "decoder")
    last = MaskPrediction(question.position, lens[-1].tokens, lens[-1].probabilities, lens[-1].ids)
    return Overview((lane,), (last,), lens, size)


def _of_masks(checkpoint: Checkpoint, text: str, task: str | None, size: int) -> Overview:
    plain, last = prepare(checkpoint, text), tuple[int, ...]()
    ordinary = [i for i, token in enumerate(plain.tokens) if not token.special and any(map(str.isalnum, token.text))]
    if not plain.positions:
        last = tuple(ordinary[-1:])
    masked = prepare(checkpoint, text, last)
    word = "".join(plain.tokens[position].text for position in masked.positions) if last else ""
    question = ask_masks(masked)
    lane = _lane(question, "encoder")
    return Overview((lane,), fill_mask(checkpoint, text, ANSWERS, last), by_layer(question, ANSWERS), size, word)


def _pair(checkpoint: Checkpoint, text: str, task: str | None, size: int) -> Overview:
    made = starts.prepare(checkpoint, text, task)
    _check(len(made.source))
    room = MAX_TOKENS + 1 - len(made.tokens)  # the last generated token is not read
    steps = tuple(translate.rewrite(checkpoint, text, task, Decoding(max_new_tokens=room)))
    both_texts = pair(checkpoint, made.source, made.ids, steps[-1].ids if steps else ())
    first = len(made.tokens) - 1
    answers = tuple(
        MaskPrediction(
            first + step.index,
            tuple(other.text for other in step.alternatives[:ANSWERS]),
            tuple(other.probability for other in step.alternatives[:ANSWERS]),
            tuple(other.id for other in step.alternatives[:ANSWERS]),
        )
        for step in steps
    )
    lens = by_layer(inputs(checkpoint, text, task, step=0), ANSWERS)
    lanes = tuple(_lane(both_texts, side) for side in ("encoder", "decoder"))
    return Overview(lanes, answers, lens, size, prefix=task_of(checkpoint, task).prefix)


OVERVIEWS: dict[Feature, Callable[[Checkpoint, str, str | None, int], Overview]] = {
    "rewrites": _pair,
    "continues": _of_prompt,
    "predicts masked tokens": _of_masks,
}
"""By what a model does; the last argument is the size of its vocabulary."""


def _check(count: int) -> None:
    if count > MAX_TOKENS:
        raise InputTooLong(
            f"This text has {count:,} tokens; the picture has room for {MAX_TOKENS}. A shorter text works."
        )


def _lane(inputs: Inputs, side: Side) -> Lane:
    layers = attention_layers(inputs.checkpoint)[side]
    tokens = inputs.source if inputs.source and side == "encoder" else inputs.tokens
    _check(len(tokens))
    every = blocks(inputs, side, range(len(layers)))
    return Lane(
        side,
        every[0].tokens,
        tuple(token.id for token in tokens),
        len(layers),
        layers[0].heads,
        every[0].pre_norm,
        {step.slug: _tensors([step]) for step in every[0].steps if step.part == "embedding"},
        _by_slug(every),
        {step.slug: _tensors([step]) for step in every[-1].steps if step.part == "end"},
    )


def _by_slug(every: Sequence[Block]) -> dict[str, Tensors]:
    """The steps of the blocks themselves, each in all layers; of a score that has several terms, their sum alone."""
    steps: dict[str, list[Step]] = {}
    for step in (step for block in every for step in block.steps):
        if step.part not in ("embedding", "end") and not step.name.startswith("scores:"):
            steps.setdefault(step.slug, []).append(step)
    return {slug: _tensors(layers) for slug, layers in steps.items()}


def _tensors(layers: Sequence[Step]) -> Tensors:
    values = np.stack([step.values for step in layers])
    if layers[0].axes == MAPS:
        return Tensors(layers[0].shape, frozen(values), None)
    first = FIRST_OF_HEAD if layers[0].axes == HEADS else FIRST
    norms = None if layers[0].axes == HEADS else frozen(np.linalg.norm(values, axis=-1))
    return Tensors(layers[0].shape, frozen(values[..., :first].copy()), norms)
