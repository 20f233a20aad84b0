"""One text through one model, with every token's vector after every layer.

In an encoder-decoder this is the encoder, with the text as its first task formats it. In CTRL the text follows a
control code, as in all of its training.

Legend: L layers, n tokens, w hidden size.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.arrays import Floats
from core.attention.inside.states import by_layer
from core.checkpoints.spec import Checkpoint, CheckpointSpec
from core.errors import InputUnusable
from core.language.inputs import Inputs
from core.language.makers import inputs
from core.language.text import clean
from core.language.types import Token

MAX_CHARS = 400


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """One text with its hidden states; the array is read-only."""

    text: str
    """The cleaned text, without a task prefix or a control code."""
    tokens: tuple[Token, ...]
    """All n of them; ``start`` and ``end`` are offsets in ``text``, -1 for tokens outside it."""
    states: Floats  # (L + 1, n, w)


def readable(spec: CheckpointSpec) -> bool:
    """Whether :func:`read_states` can run a checkpoint: adapters have no layers of their own."""
    return spec.ready and not spec.offers("classifies texts")


def read_states(checkpoint: Checkpoint, text: str) -> Reading:
    """Run ``checkpoint`` over ``text``.

    Raises:
        InputEmpty, InputTooLong: nothing readable, or more than `MAX_CHARS`, or tokens than the settings or
            the model allow.
        InputUnusable: a tokenizer without offsets, or a model without layers of its own.
    """
    inputs = inputs_of(checkpoint, text)
    states = by_layer(inputs, "encoder").float().cpu().numpy().copy()
    states.setflags(write=False)
    return Reading(inputs.text, inputs.of_text, states)


def inputs_of(checkpoint: Checkpoint, text: str) -> Inputs:
    """What is read of ``text``, by an encoder-decoder's encoder alone; errors as :func:`read_states`."""
    if not readable(checkpoint.spec):
        raise InputUnusable(
            f"{checkpoint.spec.name} has the layers of another model and small adapters between them. Choose that "
            "model itself."
        )
    if not checkpoint.tokenizer.is_fast:
        raise InputUnusable(
            f"The tokenizer of {checkpoint.spec.name} does not say where its tokens are in the text, so a word's "
            "vector cannot be found."
        )
    return inputs(checkpoint, clean(text, MAX_CHARS), target="", joined=True)
