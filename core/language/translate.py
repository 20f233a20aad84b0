"""Text in, text out: what an encoder-decoder can be asked for, and its answer token by token.

    p(y | x) = Π_t p(y_t | y_<t, x)

The encoder reads the whole input x once; the decoder writes y one token at a time and at every step looks back at all
of x through cross-attention, whose queries come from the decoder and whose keys and values from the encoder:

    cross = softmax(Q_decoder K_encoderᵀ / √d)          one row for each token written, one column for each token read

Which task is meant stands in the text, or in the first token of the output (`core.language.tasks`).

Legend: L layers, H heads, T tokens written, S tokens read.

Translation by way of English: where a model saw two languages with English only, two known steps instead of one.

    z = argmax p(z | x, English)        y = argmax p(y | z, target)

against y = argmax p(y | x, target) at once. The way through a third language is called pivoting; M2M-100 (Fan et al.
2020, arXiv 2010.11125) was trained on pairs without English in order not to need it. What English does not say (Sie or
du, a word's gender) is lost on the way; what the model never practiced is not asked of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.checkpoints.spec import Checkpoint
from core.errors import InputEmpty, InputTooLong, InputUnusable, NoAttentionMatrix
from core.language.decoding.reader import Start
from core.language.generate import prompted, steps
from core.language.tasks import Task, task_of, tasks
from core.language.text import clean
from core.language.tokens import check_length, describe, max_tokens
from core.language.types import Decoding, GenerationStep, Token

if TYPE_CHECKING:
    from torch import Tensor

MAX_CHARS = 5_000
MAX_SOURCE_TOKENS = 512
"""The longest input, where a model's positions (relative ones, as T5's) set no bound."""


@dataclass(frozen=True, slots=True)
class Request:
    """A text as the model gets it."""

    task: Task
    text: str
    """The cleaned text with its prefix."""
    tokens: tuple[Token, ...]
    """What the encoder reads, S tokens; offsets count in ``text``."""
    prompt: tuple[int, ...]
    """What the decoder starts from."""

    @property
    def source(self) -> tuple[int, ...]:
        """The encoder's ids."""
        return tuple(token.id for token in self.tokens)


@dataclass(frozen=True, slots=True, eq=False)
class Alignment:
    """Cross-attention of a finished output: row t belongs to the token that was written at step t."""

    source: tuple[Token, ...]
    target: tuple[Token, ...]
    weights: NDArray[np.float32]  # (L, H, T, S), rows sum to one, read-only


def prepare(checkpoint: Checkpoint, text: str, task: str) -> Request:
    """Tokenise ``text`` for a task.

    Raises:
        InputEmpty, InputTooLong: nothing readable, or more than the model or this page takes.
        InputUnusable: not one token of it is in the vocabulary.
        UnknownTask: the checkpoint does not offer it.
    """
    chosen = task_of(checkpoint, task)
    typed = clean(text, MAX_CHARS)
    tokenizer: Any = checkpoint.tokenizer
    whole = chosen.prefix + typed
    offsets: Sequence[tuple[int, int]] | None = None
    words: Sequence[int | None] | None = None
    if chosen.opens:
        encoded = tokenizer(whole, add_special_tokens=False, return_offsets_mapping=tokenizer.is_fast, verbose=False)
        ids = [_id_of(checkpoint, chosen.opens), *map(int, encoded["input_ids"]), int(tokenizer.eos_token_id)]
        if tokenizer.is_fast:
            offsets, words = [(0, 0), *encoded["offset_mapping"], (0, 0)], [None, *encoded.word_ids(), None]
    elif tokenizer.is_fast:
        encoded = tokenizer(whole, return_offsets_mapping=True, verbose=False)
        ids, offsets, words = list(encoded["input_ids"]), encoded["offset_mapping"], encoded.word_ids()
    else:
        ids = [int(i) for i in tokenizer(whole, verbose=False)["input_ids"]]
    if chosen.respells:
        _check_bytes(checkpoint, len(ids))
    check_length(checkpoint, len(ids))
    if len(ids) > MAX_SOURCE_TOKENS:
        raise InputTooLong(
            f"This text has {len(ids):,} tokens; at most {MAX_SOURCE_TOKENS} are taken here. Try a part."
        )
    if not chosen.respells:  # no byte is unknown
        _check_words(checkpoint, typed)
    return Request(chosen, whole, tuple(describe(tokenizer, ids, whole, offsets, words)), _prompt(checkpoint, chosen))


def rewrite(
    checkpoint: Checkpoint,
    text: str,
    task: str,
    decoding: Decoding | None = None,
    *,
    forced: Sequence[int] = (),
) -> Iterator[GenerationStep]:
    """The answer to ``text``, yielding each step as soon as it is computed; stop iterating to stop the model.

    Errors of :func:`prepare` are raised before the first step. The shared model is not changed.
    """
    return steps(checkpoint, start(checkpoint, text, task), decoding or Decoding(), forced=forced)


def start(checkpoint: Checkpoint, text: str, task: str | None = None) -> Start:
    """What is written after the prompt ``text``, or by an encoder-decoder in answer to it (its first task by default).

    Raises:
        AtlasError: the text or the task does not suit the model.
    """
    if not checkpoint.model.config.is_encoder_decoder:
        return prompted(checkpoint, text)
    request, limit = prepare(checkpoint, text, task or tasks(checkpoint)[0].slug), max_tokens(checkpoint)
    return Start(request.prompt, request.source, None if limit is None else limit - len(request.prompt))


def align(checkpoint: Checkpoint, request: Request, ids: Sequence[int]) -> Alignment:
    """Cross-attention of the output ``ids``, read once more in a single pass; the same for greedy and beam search.

    Raises:
        InputEmpty: there is no output.
        NoAttentionMatrix: the model returns no cross-attention.
    """
    import torch

    if not ids:
        raise InputEmpty("Nothing was generated, so there is nothing to align.")
    read = [*request.prompt, *ids[:-1]]
    with torch.inference_mode():
        source = torch.tensor([list(request.source)])
        model: Any = checkpoint.model
        out = model(
            input_ids=source,
            attention_mask=torch.ones_like(source),
            decoder_input_ids=torch.tensor([read]),
            output_attentions=True,
            use_cache=False,
        )
        layers: list[Tensor] = [layer for layer in out.cross_attentions or () if layer is not None]
        if not layers or any(layer.shape[-2:] != (len(read), source.shape[1]) for layer in layers):
            raise NoAttentionMatrix(f"{checkpoint.spec.name} gives no cross-attention weights of tokens by tokens.")
        start = len(request.prompt) - 1  # the last token of the prompt is what the first written token comes from
        weights = torch.stack([layer[0, :, start:] for layer in layers]).float().numpy().copy()
    weights.setflags(write=False)
    return Alignment(request.tokens, tuple(describe(checkpoint.tokenizer, list(ids))), weights)


def _id_of(checkpoint: Checkpoint, token: str) -> int:
    token_id = checkpoint.tokenizer.convert_tokens_to_ids(token)
    assert isinstance(token_id, int)
    return token_id


def _prompt(checkpoint: Checkpoint, task: Task) -> tuple[int, ...]:
    """The start token, and what the output has to begin with: a language, or what the checkpoint always forces."""
    start, first = start_token(checkpoint.model), _said(checkpoint.model, "forced_bos_token_id")
    if start is None:
        raise InputUnusable(
            f"{checkpoint.spec.name} does not say which token its decoder starts from, so it cannot generate. "
            "A configuration with decoder_start_token_id works."
        )
    forced = _id_of(checkpoint, task.answers) if task.answers else first
    return (start,) if forced is None or int(forced) == start else (start, int(forced))


def start_token(model: Any) -> int | None:
    """The token that an encoder-decoder's decoder reads first: its own, or that which begins a text (T5Gemma)."""
    own = _said(model, "decoder_start_token_id")
    begin = _said(model, "bos_token_id") if own is None else own
    return None if begin is None else int(begin)


def _said(model: Any, name: str) -> Any:
    """What the settings for writing say, or else the configuration; None where neither does."""
    settings = (getattr(config, name, None) for config in (getattr(model, "generation_config", None), model.config))
    return next((value for value in settings if value is not None), None)


def _check_bytes(checkpoint: Checkpoint, count: int) -> None:
    """Refuse a text that is too long, counted as the model reads it; one id is the end of the text."""
    limit = max_tokens(checkpoint)
    if limit is not None and count > limit:
        raise InputTooLong(
            f"This text has {count - 1:,} bytes; {checkpoint.spec.name} takes up to {limit - 1:,}. A sentence works."
        )


def _check_words(checkpoint: Checkpoint, text: str) -> None:
    """Refuse a text of which the vocabulary knows nothing: the model would answer to nothing."""
    tokenizer: Any = checkpoint.tokenizer
    ids = tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
    nothing = {*tokenizer.all_special_ids}
    pieces = [str(tokenizer.convert_ids_to_tokens(i)).strip("▁Ġ# ") for i in ids if i not in nothing]
    if not any(pieces):
        raise InputUnusable(
            f"{checkpoint.spec.name} has none of these characters in its vocabulary: each becomes the unknown token. "
            "Type a few words in one of its languages, or choose a sample."
        )


PIVOT = "en"


@dataclass(frozen=True, slots=True)
class Through:
    """A translation in two steps."""

    middle: str
    """The English in the middle."""
    end: str
    """The translation of that."""


def steps_through(checkpoint: Checkpoint, task: str) -> tuple[str, str] | None:
    """The two tasks that lead through English, or None: English is one side, no translation, or a step is missing.

    Raises:
        UnknownTask: the checkpoint does not offer ``task``.
    """
    languages = task_of(checkpoint, task).languages
    if languages is None or PIVOT in languages:
        return None
    pair = (f"{languages[0]}-{PIVOT}", f"{PIVOT}-{languages[1]}")
    offered = {candidate.slug for candidate in tasks(checkpoint)}
    return pair if offered.issuperset(pair) else None


def through(checkpoint: Checkpoint, text: str, pair: tuple[str, str], decoding: Decoding | None = None) -> Through:
    """Translate ``text`` with the first task of ``way`` and the result with the second.

    Raises:
        InputEmpty: the first step wrote nothing; else as :func:`core.language.translate.rewrite`.
    """
    middle = _last(rewrite(checkpoint, text, pair[0], decoding))
    if not middle:
        raise InputEmpty(
            "The first step generated no English, so there is nothing to translate from there. Try other words."
        )
    return Through(middle, _last(rewrite(checkpoint, middle, pair[1], decoding)))


def _last(steps_of: Iterator[GenerationStep]) -> str:
    text = ""
    for step in steps_of:
        text = step.text
    return text.strip()
