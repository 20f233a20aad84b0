"""A text as the input of a model, made by the maker of the model's family.

    masked-lm, permutation-lm   the text with its masks; XLNet's query stream has the masks as its targets
    replaced-token              the text
    causal-lm                   the prompt
    seq2seq-lm                  the source for a task, and the output that the decoder reads
    adapters                    the text for a task, or alone

Legend: n tokens, S source tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.checkpoints.families import Kind
from core.checkpoints.spec import Checkpoint
from core.errors import InputTooLong, InputUnusable, OutOfRange
from core.language import adapters, permuted, translate
from core.language.fill_mask import MAX_CHARS, MaskedText, prepare
from core.language.generate import prompt_ids
from core.language.replaced import detector_probabilities
from core.language.segments import SEGMENT, has_memory
from core.language.tasks import tasks
from core.language.text import clean
from core.language.tokens import check_length, describe, own_language, tokenize
from core.language.types import Decoding, Token
from core.lazy import Tensor, torch
from core.settings import settings
from core.words import counted

MAX_GENERATED = 24
"""The most tokens that an encoder-decoder generates as its decoder's input."""
DISCRIMINATOR_CLASSES = ("replaced", "original")
"""The two classes of a discriminator."""


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
    answers: tuple[str, ...] = ()
    """Names of the predicted classes; empty for the vocabulary."""
    task: str | None = None
    """The task whose adapters are used, if any."""

    @property
    def position(self) -> int:
        """The first predicted position; 0 where the head reads all tokens."""
        return self.positions[0] if self.positions else 0

    @property
    def of_text(self) -> tuple[Token, ...]:
        """The tokens of the text: of an encoder-decoder, those of its source."""
        return self.source or self.tokens

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(token.label for token in self.tokens)

    @property
    def source_labels(self) -> tuple[str, ...]:
        return tuple(token.label for token in self.source)


def inputs(checkpoint: Checkpoint, text: str, task: str | None = None, step: int | None = None) -> Inputs:
    """What ``checkpoint`` reads of ``text``, and what it predicts there.

    Args:
        task: of an encoder-decoder, by default its first; or whose adapters are used, by default none, but the first
            where a prediction is asked.
        step: asks for a prediction: the first mask, the token most probably replaced, the next token or the class; of
            an encoder-decoder the token of its greedy output with this number, from 0. By default its decoder reads the
            whole output, of at most `MAX_GENERATED` tokens.

    Raises:
        InputEmpty, InputTooLong: nothing readable, or more tokens than the model or the settings allow.
        InputUnusable: a prediction is asked, and there is no mask.
        OutOfRange: an unknown step or unknown adapters.
        UnknownTask: the checkpoint has no such task.
    """
    made = MAKERS[checkpoint.spec.kind](checkpoint, text, task, step)
    check_size(checkpoint, max(len(made.tokens), len(made.source)))
    return made


def check_size(checkpoint: Checkpoint, count: int) -> None:
    """Raise :class:`InputTooLong` above the limit of tokens, which for a Transformer-XL is one segment."""
    most = SEGMENT if has_memory(checkpoint.model) else settings().max_attention_tokens
    if count > most:
        why = f", which {checkpoint.spec.name} reads as one segment" if most == SEGMENT else ""
        raise InputTooLong(
            f"This text has {count:,} tokens; up to {most} are analyzed{why}. A text of about {most * 2 // 3} words "
            "or fewer works."
        )


def one_text(checkpoint: Checkpoint, tokens: Sequence[Token], positions: Sequence[int] = ()) -> Inputs:
    """The inputs of a single stack, or of the encoder of two, over ``tokens``."""
    ids = torch.tensor([[token.id for token in tokens]])
    tensors = {"input_ids": ids, **own_language(checkpoint.model, ids)}
    return Inputs(checkpoint, tensors, tuple(tokens), positions=tuple(positions))


def pair(checkpoint: Checkpoint, source: Sequence[Token], prompt: Sequence[int], output: Sequence[int] = ()) -> Inputs:
    """The inputs of an encoder-decoder over ``source``, whose decoder reads ``prompt`` and ``output``, ids both.

    It predicts from the last token of the prompt on.
    """
    read = [*prompt, *output]
    ids = torch.tensor([[token.id for token in source]])
    tensors = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "decoder_input_ids": torch.tensor([read])}
    tokens, positions = describe(checkpoint.tokenizer, read), tuple(range(len(prompt) - 1, len(read)))
    return Inputs(checkpoint, tensors, tokens, tuple(source), positions)


def with_masks(checkpoint: Checkpoint, masked: MaskedText, *, asked: bool = True) -> Inputs:
    """The inputs of ``masked``, whose masks are predicted.

    Raises:
        InputUnusable: a prediction is asked, and no token is masked.
    """
    if asked and not masked.positions:
        raise InputUnusable("There is no mask in this text. Type [MASK] in place of a word.")
    tokens = tuple(
        replace(token, start=before.start, end=before.end)
        for token, before in zip(describe(checkpoint.tokenizer, masked.ids), masked.tokens, strict=True)
    )
    made = one_text(checkpoint, tokens, masked.positions)
    return _of_query_stream(made) if asked and checkpoint.spec.offers("two streams") else made


def _of_query_stream(made: Inputs) -> Inputs:
    """XLNet's inputs where no position reads a mask, and the first one is the target."""
    rank = np.zeros(len(made.tokens), dtype=np.int64)
    rank[list(made.positions)] = 1
    streams = permuted.streams(made.tensors["input_ids"], rank, made.positions[:1])
    return replace(made, tensors=made.tensors | streams)


def _masked(checkpoint: Checkpoint, text: str, task: str | None, step: int | None) -> Inputs:
    return with_masks(checkpoint, prepare(checkpoint, text), asked=step is not None)


def _with_replacements(checkpoint: Checkpoint, text: str, task: str | None, step: int | None) -> Inputs:
    tokens = tokenize(checkpoint, clean(text, MAX_CHARS))
    check_length(checkpoint, len(tokens))
    if step is None:
        return one_text(checkpoint, tokens)
    chances = detector_probabilities(checkpoint, [token.id for token in tokens])
    ordinary = [i for i, token in enumerate(tokens) if not token.special] or list(range(len(tokens)))
    made = one_text(checkpoint, tokens, [max(ordinary, key=chances.__getitem__)])
    return replace(made, answers=DISCRIMINATOR_CLASSES)


def _prompt(checkpoint: Checkpoint, text: str, task: str | None, step: int | None) -> Inputs:
    tokens = describe(checkpoint.tokenizer, prompt_ids(checkpoint, text))
    return one_text(checkpoint, tokens, [len(tokens) - 1])


def _with_output(checkpoint: Checkpoint, text: str, task: str | None, step: int | None) -> Inputs:
    task = task or tasks(checkpoint)[0].slug
    request = translate.prepare(checkpoint, text, task)
    check_size(checkpoint, len(request.tokens))
    if step is not None and not 0 <= step < (most := settings().max_attention_tokens):
        raise OutOfRange(f"There is no token {step} here: tokens are counted from 0 to {most - 1}.")
    room = MAX_GENERATED if step is None else step
    steps = list(translate.rewrite(checkpoint, text, task, Decoding(max_new_tokens=room))) if room else []
    output = steps[-1].ids if steps else ()
    if step is None:
        return pair(checkpoint, request.tokens, request.prompt, output[:-1])  # the last token is not read
    if len(output) < step or (steps and steps[-1].reason == "end"):
        raise OutOfRange(f"The output ends after {counted(len(output), 'token')}; there is no token {step + 1}.")
    made = pair(checkpoint, request.tokens, request.prompt, output)
    return replace(made, positions=made.positions[-1:])


def _classified(checkpoint: Checkpoint, text: str, task: str | None, step: int | None) -> Inputs:
    if step is None:
        return replace(_masked(checkpoint, text, task, step), task=task)
    chosen, _, tensors = adapters.prepare(checkpoint, text, task or adapters.tasks(checkpoint)[0].slug)
    tokens = describe(checkpoint.tokenizer, tensors["input_ids"][0].tolist())
    return Inputs(checkpoint, tensors, tokens, answers=chosen.answers, task=chosen.slug)


Maker = Callable[[Checkpoint, str, str | None, int | None], Inputs]
MAKERS: dict[Kind, Maker] = {
    "masked-lm": _masked,
    "permutation-lm": _masked,
    "replaced-token": _with_replacements,
    "causal-lm": _prompt,
    "seq2seq-lm": _with_output,
    "adapters": _classified,
}
"""By family; arguments as of :func:`inputs`."""
