"""Sequence-to-sequence generation by an encoder-decoder, its cross-attention, and translation through English.

    p(y | x) = Π_t p(y_t | y_<t, x)

The encoder processes the source x once; the decoder generates y token by token and attends to all of x through
cross-attention, with queries from the decoder and keys and values from the encoder:

    cross = softmax(Q_decoder K_encoderᵀ / √d)          one row per output token, one column per source token

A prefix of the text, or the first token of the output, selects the task (`core.language.tasks`).

Pivoting: a translation between two languages that the model was trained on with English alone takes two trained steps,

    z = argmax p(z | x, English)        y = argmax p(y | z, target)

instead of y = argmax p(y | x, target). M2M-100 (Fan et al. 2020, arXiv 2010.11125) was trained on pairs without English
to avoid it: distinctions that English lacks (Sie or du, grammatical gender) are lost.

Shapes: L layers, H heads, T output tokens, S source tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.arrays import Floats
from core.checkpoints.spec import Checkpoint
from core.errors import InputEmpty, InputTooLong, InputUnusable, NoAttentionMatrix
from core.language.decoding.reader import Start
from core.language.generate import prompted, steps
from core.language.inputs import Inputs, pair
from core.language.tasks import Task, task_of, tasks
from core.language.text import clean
from core.language.tokens import check_length, describe, max_tokens
from core.language.types import Decoding, GenerationStep, Token
from core.run.model import Model, call

if TYPE_CHECKING:
    from torch import Tensor

MAX_CHARS = 5_000
MAX_SOURCE_TOKENS = 512
"""The most source tokens where a model's positions have no limit (relative positions, as of T5)."""


@dataclass(frozen=True, slots=True, eq=False)
class Alignment:
    """Cross-attention of a finished output; row t is the step that generated token t."""

    source: tuple[Token, ...]
    target: tuple[Token, ...]
    weights: Floats  # (L, H, T, S), rows sum to one, read-only


def prepare(checkpoint: Checkpoint, text: str, task: str | None) -> Inputs:
    """``text`` as the source for a task, by default the first, and the first tokens of the decoder.

    Offsets count in the text without its prefix.

    Raises:
        InputEmpty, InputTooLong: nothing readable, or too many tokens.
        InputUnusable: all of its tokens are unknown.
        UnknownTask: the checkpoint has no such task.
    """
    chosen = task_of(checkpoint, task)
    typed = clean(text, MAX_CHARS)
    tokenizer = checkpoint.tokenizer
    full_text = chosen.prefix + typed
    offsets: Sequence[tuple[int, int]] | None = None
    words: Sequence[int | None] | None = None
    if chosen.opens:
        encoded = tokenizer(
            full_text, add_special_tokens=False, return_offsets_mapping=tokenizer.is_fast, verbose=False
        )
        ids = [_id_of(checkpoint, chosen.opens), *map(int, encoded["input_ids"]), int(tokenizer.eos_token_id)]
        if tokenizer.is_fast:
            offsets, words = [(0, 0), *encoded["offset_mapping"], (0, 0)], [None, *encoded.word_ids(), None]
    elif tokenizer.is_fast:
        encoded = tokenizer(full_text, return_offsets_mapping=True, verbose=False)
        ids, offsets, words = list(encoded["input_ids"]), encoded["offset_mapping"], encoded.word_ids()
    else:
        ids = [int(i) for i in tokenizer(full_text, verbose=False)["input_ids"]]
    if chosen.respells:
        _check_bytes(checkpoint, len(ids))
    check_length(checkpoint, len(ids))
    if len(ids) > MAX_SOURCE_TOKENS:
        raise InputTooLong(
            f"This text has {len(ids):,} tokens; at most {MAX_SOURCE_TOKENS} are taken here. Try a part."
        )
    if offsets is not None:  # those of the prefix are empty
        before = len(chosen.prefix)
        offsets = [(max(start - before, 0), max(end - before, 0)) for start, end in offsets]
    tokens = describe(tokenizer, ids, typed, offsets, words)
    if not chosen.respells:  # no byte is unknown
        _check_words(checkpoint, typed, tokens)
    return pair(checkpoint, tokens, _prompt(checkpoint, chosen), text=typed)


def answer_tokens(made: Inputs, answer: str) -> tuple[Token, ...]:
    """The output tokens of the text ``answer``, framed as a target but for what is read before; none for no text."""
    if not answer:
        return ()
    model, tokenizer = made.checkpoint.model, made.checkpoint.tokenizer
    fast = {"return_offsets_mapping": tokenizer.is_fast, "verbose": False}
    encoded = tokenizer(text_target=answer, add_special_tokens=len(made.tokens) == 1, **fast)
    spans = (answer, encoded["offset_mapping"], encoded.word_ids()) if tokenizer.is_fast else ()
    tokens = describe(tokenizer, encoded["input_ids"], *spans)
    tokens = tokens[1:] if tokens[0].id in made.ids else tokens
    ends = (model.generation_config.eos_token_id, tokenizer.eos_token_id, tokenizer.sep_token_id)
    end = next((token for token in ends if token is not None), None)
    end = end[0] if isinstance(end, list) else end
    return tokens if end is None or tokens[-1].id == end else (*tokens, *describe(tokenizer, [end]))


def rewrite(
    checkpoint: Checkpoint,
    text: str,
    task: str | None,
    decoding: Decoding | None = None,
    *,
    forced: Sequence[int] = (),
) -> Iterator[GenerationStep]:
    """Generate the output for ``text``, step by step; stop iterating to stop the generation.

    Errors of :func:`prepare` are raised before the first step.
    """
    return steps(checkpoint, start(checkpoint, text, task), decoding or Decoding(), forced=forced)


def start(checkpoint: Checkpoint, text: str, task: str | None = None) -> Start:
    """The start of a generation from ``text``, a prompt or an encoder-decoder's source (by default for its first task).

    Raises:
        AtlasError: the text or the task does not fit the model.
    """
    if not checkpoint.spec.offers("rewrites"):
        return prompted(checkpoint, text)
    made, limit = prepare(checkpoint, text, task), max_tokens(checkpoint)
    source = tuple(token.id for token in made.source)
    return Start(made.ids, source, None if limit is None else limit - len(made.tokens))


def align(checkpoint: Checkpoint, text: str, task: str, ids: tuple[int, ...]) -> Alignment:
    """Cross-attention of the output ``ids``, computed in a single pass, for any decoding strategy.

    Raises:
        InputEmpty: there is no output, or as :func:`prepare`.
        NoAttentionMatrix: the model returns no cross-attention.
    """
    import torch

    if not ids:
        raise InputEmpty("Nothing was generated, so there is nothing to align.")
    made = prepare(checkpoint, text, task)
    inputs = pair(checkpoint, made.source, made.ids, ids)
    with torch.inference_mode():
        model = checkpoint.model
        out = call(model, **inputs.tensors, output_attentions=True, use_cache=False)
        layers: list[Tensor] = [layer for layer in out.cross_attentions or () if layer is not None]
        if not layers or any(layer.shape[-2:] != (len(inputs.tokens), len(inputs.source)) for layer in layers):
            raise NoAttentionMatrix(f"{checkpoint.spec.name} gives no cross-attention weights of tokens by tokens.")
        # the query of the first output token is the last token of the prompt
        weights = torch.stack([layer[0, :, inputs.position :] for layer in layers]).float().numpy().copy()
    weights.setflags(write=False)
    return Alignment(inputs.source, inputs.output, weights)


def _id_of(checkpoint: Checkpoint, token: str) -> int:
    token_id = checkpoint.tokenizer.convert_tokens_to_ids(token)
    assert isinstance(token_id, int)
    return token_id


def _prompt(checkpoint: Checkpoint, task: Task) -> tuple[int, ...]:
    """The start token, and the forced first token, if any: a language, or that of the configuration."""
    start, first = start_token(checkpoint.model), _setting(checkpoint.model, "forced_bos_token_id")
    if start is None:
        raise InputUnusable(
            f"{checkpoint.spec.name} does not say which token its decoder starts from, so it cannot generate. "
            "A configuration with decoder_start_token_id works."
        )
    forced = _id_of(checkpoint, task.answers) if task.answers else first
    return (start,) if forced is None or int(forced) == start else (start, int(forced))


def start_token(model: Model) -> int | None:
    """The decoder's start token; without one, the token that begins a text (T5Gemma)."""
    decoder_start = _setting(model, "decoder_start_token_id")
    begin = _setting(model, "bos_token_id") if decoder_start is None else decoder_start
    return None if begin is None else int(begin)


def _setting(model: Model, name: str) -> Any:
    """The value in the generation configuration, else in the model's; None where both lack it."""
    settings = (getattr(config, name, None) for config in (getattr(model, "generation_config", None), model.config))
    return next((value for value in settings if value is not None), None)


def _check_bytes(checkpoint: Checkpoint, count: int) -> None:
    """Raise InputTooLong, in bytes, for too many ids; one of them is the end token."""
    limit = max_tokens(checkpoint)
    if limit is not None and count > limit:
        raise InputTooLong(
            f"This text has {count - 1:,} bytes; {checkpoint.spec.name} takes up to {limit - 1:,}. A sentence works."
        )


def _check_words(checkpoint: Checkpoint, text: str, tokens: Sequence[Token]) -> None:
    """Raise InputUnusable where all tokens of a text are unknown; those of a slow tokenizer have no places."""
    tokenizer = checkpoint.tokenizer
    ids = [token.id for token in tokens if token.start >= 0]
    ids = ids or tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
    special = {*tokenizer.all_special_ids}
    if not any(str(tokenizer.convert_ids_to_tokens(i)).strip("▁Ġ# ") for i in ids if i not in special):
        raise InputUnusable(
            f"{checkpoint.spec.name} has none of these characters in its vocabulary: each becomes the unknown token. "
            "Type a few words in one of its languages, or choose a sample."
        )


PIVOT = "en"


def pivot_tasks(checkpoint: Checkpoint, task: str) -> tuple[str, str] | None:
    """The tasks to English and from it; None where ``task`` is no translation, has English, or a task is missing.

    Raises:
        UnknownTask: the checkpoint has no such task.
    """
    languages = task_of(checkpoint, task).languages
    if languages is None or PIVOT in languages:
        return None
    pair = (f"{languages[0]}-{PIVOT}", f"{PIVOT}-{languages[1]}")
    offered = {candidate.slug for candidate in tasks(checkpoint)}
    return pair if offered.issuperset(pair) else None


def translate_along(
    checkpoint: Checkpoint, text: str, route: Sequence[str], decoding: Decoding | None = None
) -> tuple[str, ...]:
    """Translate ``text`` with the first task of ``route``, the result with the next one, and so on.

    Returns:
        The text after each task.

    Raises:
        InputEmpty: an output that a task should translate is empty; else as :func:`rewrite`.
    """
    texts = [text]
    for task in route:
        if not texts[-1] and len(texts) > 1:
            raise InputEmpty(
                "The first step generated no English, so there is nothing to translate from there. Try other words."
            )
        texts.append(_last(rewrite(checkpoint, texts[-1], task, decoding)))
    return tuple(texts[1:])


def _last(steps_of: Iterator[GenerationStep]) -> str:
    text = ""
    for step in steps_of:
        text = step.text
    return text.strip()
