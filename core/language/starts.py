"""What a generation starts from: a decoder's prompt; an encoder-decoder's source, with its decoder's first tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.checkpoints.spec import Checkpoint
from core.errors import InputTooLong, InputUnusable, OutOfRange
from core.language.codes import codes_of
from core.language.inputs import Inputs, one_text, pair
from core.language.tasks import Task, task_of
from core.language.text import clean, clean_prompt
from core.language.tokens import check_length, describe, max_tokens, tokenize
from core.language.types import Token
from core.run.model import Model

MAX_CHARS = 5_000
MAX_SOURCE_TOKENS = 512
"""The most source tokens where a model's positions have no limit (relative positions, as of T5)."""


def start(checkpoint: Checkpoint, text: str, task: str | None = None) -> Inputs:
    """The start of a generation from ``text``, a prompt or an encoder-decoder's source (by default for its first task).

    Raises:
        AtlasError: the text or the task does not fit the model.
    """
    return prepare(checkpoint, text, task) if checkpoint.spec.offers("rewrites") else prompt(checkpoint, text)


def prompt(checkpoint: Checkpoint, text: str, code: str | None = None) -> Inputs:
    """A prompt that leaves a position for a new token.

    A checkpoint with control codes needs one: ``code``, else the code at the start of the prompt, else the first of the
    card.
    """
    checkpoint.spec.demand("continues", "A prompt")
    text = clean_prompt(text, MAX_CHARS)
    tokenizer = checkpoint.tokenizer
    tokens = list(tokenize(checkpoint, text))
    if len(tokens) > 1 and tokens[-1].id == tokenizer.eos_token_id:
        tokens.pop()  # some tokenizers add an end token, and a finished text is not continued
    if codes := codes_of(checkpoint):
        if code is not None and code not in codes:
            raise OutOfRange(f"{checkpoint.spec.name} has no code “{code}”. Its codes: {', '.join(codes)}.")
        typed = tokens.pop(0).id if tokens[0].id in codes.values() else next(iter(codes.values()))
        tokens[:0] = describe(tokenizer, [typed if code is None else codes[code]])
    limit = max_tokens(checkpoint)
    if limit is not None and len(tokens) >= limit:
        raise InputTooLong(
            f"This prompt has {len(tokens):,} tokens; {checkpoint.spec.name} has positions for {limit:,}, prompt and "
            f"continuation together. A prompt of about {limit // 2:,} words or fewer works."
        )
    return one_text(checkpoint, tokens, [len(tokens) - 1], text)


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
