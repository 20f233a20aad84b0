"""One text as the input of a model.

Legend: n tokens, S source tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.checkpoints.spec import Checkpoint
from core.language.tokens import describe, own_language
from core.language.types import Token
from core.lazy import Tensor, torch


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """One text as a model reads it."""

    checkpoint: Checkpoint
    tensors: dict[str, Tensor]
    """One row, by the argument names of the forward pass."""
    tokens: tuple[Token, ...]
    """The n tokens; of an encoder-decoder, those that its decoder reads."""
    source: tuple[Token, ...] = ()
    """An encoder-decoder's S source tokens."""
    positions: tuple[int, ...] = ()
    """Where the head reads ``tokens`` to predict; empty where nothing is predicted, or a class from all of them."""
    output: tuple[Token, ...] = ()
    """An encoder-decoder's tokens predicted at ``positions``, where they are known."""
    text: str = ""
    """The cleaned text, in which the offsets of its tokens count; empty where they are unknown."""
    second: int | None = None
    """The first token of the second of two texts."""
    answers: tuple[str, ...] = ()
    """Names of the predicted classes; empty for the vocabulary."""
    task: str | None = None
    """The task whose adapters are used, if any."""
    notes: tuple[str, ...] = ()
    """Sentences on what is read otherwise than it was typed."""

    @property
    def ids(self) -> tuple[int, ...]:
        """Those of ``tokens``."""
        return tuple(token.id for token in self.tokens)

    @property
    def source_ids(self) -> tuple[int, ...]:
        """Those of ``source``."""
        return tuple(token.id for token in self.source)

    @property
    def position(self) -> int:
        """The first predicted position; 0 where the head reads all tokens."""
        return self.positions[0] if self.positions else 0

    @property
    def of_text(self) -> tuple[Token, ...]:
        """The tokens of the text: of an encoder-decoder, those of its source."""
        return self.source or self.tokens


def one_text(checkpoint: Checkpoint, tokens: Sequence[Token], positions: Sequence[int] = (), text: str = "") -> Inputs:
    """The inputs of a single stack, or of the encoder of two, over ``tokens``."""
    ids = torch.tensor([[token.id for token in tokens]])
    tensors = {"input_ids": ids, **own_language(checkpoint.model, ids)}
    return Inputs(checkpoint, tensors, tuple(tokens), positions=tuple(positions), text=text)


def pair(
    checkpoint: Checkpoint, source: Sequence[Token], prompt: Sequence[int], output: Sequence[int] = (), text: str = ""
) -> Inputs:
    """The inputs of an encoder-decoder over ``source``, with the ids of ``prompt`` and ``output`` in its decoder.

    The prompt has the start token, and a forced language token. The last token of the output is never read, the first
    one of the prompt never predicted.
    """
    ids = torch.tensor([[token.id for token in source]])
    read = [*prompt, *output[:-1]]
    tensors = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "decoder_input_ids": torch.tensor([read])}
    tokens = describe(checkpoint.tokenizer, [*prompt, *output])
    positions = tuple(range(len(prompt) - 1, len(read)))
    return Inputs(checkpoint, tensors, tokens[: len(read)], tuple(source), positions, tokens[len(prompt) :], text)
