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
from typing import Any

import numpy as np

from core.checkpoints.families import Kind
from core.checkpoints.spec import Checkpoint
from core.errors import InputEmpty, InputTooLong, InputUnusable, OutOfRange
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
from core.patterns import Positions
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
    output: tuple[Token, ...] = ()
    """An encoder-decoder's tokens predicted at ``positions``, where they are known."""
    second: int | None = None
    """The first token of the second of two texts."""
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
    """The inputs of an encoder-decoder over ``source``, with the ids of ``prompt`` and ``output`` in its decoder.

    The prompt has the start token, and a forced language token. The last token of the output is never read, the first
    one of the prompt never predicted.
    """
    ids = torch.tensor([[token.id for token in source]])
    read = [*prompt, *output[:-1]]
    tensors = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "decoder_input_ids": torch.tensor([read])}
    tokens = describe(checkpoint.tokenizer, [*prompt, *output])
    positions = tuple(range(len(prompt) - 1, len(read)))
    return Inputs(checkpoint, tensors, tokens[: len(read)], tuple(source), positions, tokens[len(prompt) :])


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
    if not (asked and checkpoint.spec.offers("two streams")):
        return made
    rank = np.zeros(len(tokens), dtype=np.int64)
    rank[list(masked.positions)] = 1  # no position reads a mask
    return of_query_stream(made, rank, masked.positions[:1])


def of_query_stream(made: Inputs, rank: Positions, targets: Sequence[int]) -> Inputs:
    """XLNet's inputs where ``targets`` are predicted; ``rank`` (n,) is as of `core.language.permuted`."""
    ids = made.tensors["input_ids"]
    tensors = {"input_ids": ids, **permuted.streams(ids, rank, targets)}
    return replace(made, tensors=tensors, positions=tuple(targets), second=None)


def as_typed(checkpoint: Checkpoint, text: str, second: str | None = None) -> Inputs:
    """The tokenizer's own inputs for one text or two, without a task or a control code.

    Raises:
        InputEmpty: there is no text, or no token of it.
        InputTooLong: more tokens than the model has positions.
    """
    tokenizer = checkpoint.tokenizer
    newlines = checkpoint.spec.offers("continues")
    texts = [clean(part, newlines=newlines) for part in (text, second or "") if part is text or part.strip()]
    encoding: Any = tokenizer(*texts, return_offsets_mapping=tokenizer.is_fast, verbose=False)
    ids = encoding["input_ids"]
    check_length(checkpoint, len(ids))
    if set(ids) <= set(tokenizer.all_special_ids) - {tokenizer.unk_token_id, tokenizer.mask_token_id}:
        raise InputEmpty("The tokenizer gives no token for this text. Type a few words, or choose a sample.")
    offsets = encoding.pop("offset_mapping") if tokenizer.is_fast else None
    spans = (texts[0], offsets, encoding.word_ids()) if offsets is not None and len(texts) == 1 else ()
    made = one_text(checkpoint, describe(tokenizer, ids, *spans))
    if newlines:
        return made
    tensors = {name: torch.tensor([values]) for name, values in encoding.items()}
    start = _second(tokenizer, encoding, texts[1]) if len(texts) > 1 else None
    return replace(made, tensors=tensors | made.tensors, second=start)


def _second(tokenizer: Any, encoding: Any, text: str) -> int | None:
    """The first token of the second text; for slow tokenizers its tokens are searched for."""
    if encoding.is_fast:
        halves = encoding.sequence_ids()
        return halves.index(1) if 1 in halves else None
    ids, own = encoding["input_ids"], tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
    starts = [at for at in range(1, len(ids) - len(own) + 1) if own and ids[at : at + len(own)] == own]
    return starts[-1] if starts else None


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
        return pair(checkpoint, request.tokens, request.prompt, output)
    if len(output) < step or (steps and steps[-1].reason == "end"):
        raise OutOfRange(f"The output ends after {counted(len(output), 'token')}; there is no token {step + 1}.")
    return pair(checkpoint, request.tokens, [*request.prompt, *output])


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
