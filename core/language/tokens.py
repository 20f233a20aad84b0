"""Readable tokens of any tokenizer, the largest number of input tokens, and language embeddings.

Vocabularies mark the boundaries of words in four ways:

* WordPiece (BERT): ``##`` starts a token that continues a word; spaces are not encoded.
* byte-level BPE (GPT-2, RoBERTa): every byte is a printable character, ``Ġ`` is the space before a word.
* SentencePiece, Unigram or BPE (T5, XLM-R, Llama): ``▁`` is the space before a word. With byte fallback, characters
  outside the vocabulary are bytes: ``<0x0A>`` is a newline.
* BPE with an end-of-word mark (GPT, XLM): ``</w>`` ends a word; a token without it is continued.

Learned positions are a table with a row for each input token. RoBERTa and its relatives count positions from
``padding_idx + 1``, so their table has two more rows. Models with relative positions alone (T5) have no such limit; the
length of the tokenizer or the checkpoint applies, if there is one.

XLM adds a language embedding to every token: that of ``lang_id`` in the configuration, a value of ``lang2id``, for a
single text (Lample & Conneau 2019, arXiv 1901.07291).
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal
from weakref import WeakKeyDictionary

from core.checkpoints.families.architectures import has, positions_of
from core.checkpoints.spec import Checkpoint
from core.errors import InputTooLong
from core.language.types import MaskPrediction, Token
from core.lazy import Tensor, torch, transformers
from core.run.model import Model
from core.words import in_word, is_mark, visible

Style = Literal["wordpiece", "byte-level", "sentencepiece", "end-of-word", "plain"]

DECODERS: dict[str, Style] = {
    "WordPiece": "wordpiece",
    "ByteLevel": "byte-level",
    "Metaspace": "sentencepiece",
    "BPEDecoder": "end-of-word",
}
"""The style of a vocabulary by the class of its decoder in the tokenizers library."""


def byte_alphabet() -> dict[str, int]:
    """The characters of byte-level BPE with their bytes: printable ones unchanged, the others from U+0100, in order."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(b): b for b in printable} | {chr(0x100 + i): b for i, b in enumerate(others)}


_BYTES = byte_alphabet()
_SENTINEL = "<extra_id_"  # of T5, typed where a span is missing, as a mask is
_FALLBACK = re.compile(r"<0x([0-9A-F]{2})>")
_FALLBACKS = re.compile(r"(?:<0x[0-9A-F]{2}>)+")


@dataclass(frozen=True, slots=True)
class _Vocabulary:
    """The cached properties of a tokenizer that reading a token needs."""

    style: Style
    special: frozenset[int]
    """All special tokens."""
    frame: frozenset[int]
    """Special tokens without the unknown token, which is a word of the text, unless it also begins or ends texts."""
    unknown: int | None
    mask: int | None


_known: WeakKeyDictionary[transformers.PreTrainedTokenizerBase, _Vocabulary] = WeakKeyDictionary()


def _vocabulary(tokenizer: transformers.PreTrainedTokenizerBase) -> _Vocabulary:
    if (vocabulary := _known.get(tokenizer)) is None:
        special = frozenset(tokenizer.all_special_ids)
        around = {tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id}
        unknown, mask = tokenizer.unk_token_id, tokenizer.mask_token_id
        vocabulary = _Vocabulary(_style(tokenizer), special, special - ({unknown} - around), unknown, mask)
        _known[tokenizer] = vocabulary
    return vocabulary


def style(tokenizer: transformers.PreTrainedTokenizerBase) -> Style:
    """The style of the vocabulary of ``tokenizer``."""
    return _vocabulary(tokenizer).style


def _style(tokenizer: transformers.PreTrainedTokenizerBase) -> Style:
    decoder: Any = getattr(getattr(tokenizer, "backend_tokenizer", None), "decoder", None)
    name = type(decoder).__name__
    if name == "Sequence":
        parts = json.loads(decoder.__getstate__())["decoders"]
        name = next((part["type"] for part in parts if part["type"] in DECODERS), name)
        if any(part["type"] == "ByteFallback" for part in parts):
            name = "Metaspace"
    if name in DECODERS:
        return DECODERS[name]
    unknown = tokenizer.unk_token_id

    def knows(piece: str) -> bool:
        token_id = tokenizer.convert_tokens_to_ids(piece)
        return token_id is not None and token_id != unknown

    probes: tuple[tuple[str, Style], ...] = (
        ("##s", "wordpiece"),
        ("Ġ", "byte-level"),
        ("▁", "sentencepiece"),
        ("e</w>", "end-of-word"),
    )
    return next((name for piece, name in probes if knows(piece)), "plain")


@lru_cache(maxsize=16_384)
def read_piece(piece: str, kind: Style) -> tuple[str, bool, bool]:
    """``(text, leading space, continuation mark)`` of a vocabulary entry; an incomplete character is ``‹f0 9f›``."""
    if kind == "wordpiece":
        return (piece[2:], False, True) if piece.startswith("##") and len(piece) > 2 else (piece, False, False)
    if kind == "sentencepiece":
        if byte := _FALLBACK.fullmatch(piece):
            code = int(byte[1], 16)
            return chr(code) if code < 0x80 else f"‹{code:02x}›", False, False
        return (piece[1:].replace("▁", " "), True, False) if piece.startswith("▁") else (piece, False, False)
    if kind == "end-of-word":
        return piece.removesuffix("</w>"), False, False
    if kind == "byte-level" and all(c in _BYTES for c in piece):
        raw = bytes(_BYTES[c] for c in piece)
        leading = raw.startswith(b" ")
        try:
            return raw[leading:].decode("utf-8"), leading, False
        except UnicodeDecodeError:
            return f"‹{raw[leading:].hex(' ')}›", leading, False
    return piece, False, False


def pieces_of(tokenizer: transformers.PreTrainedTokenizerBase, ids: Sequence[int]) -> list[str]:
    """The vocabulary entries of ``ids``. A model may have rows for more ids than its tokenizer: ``‹id 50260›``."""
    numbers = [int(number) for number in ids]
    try:
        pieces = tokenizer.convert_ids_to_tokens(numbers)
    except (LookupError, TypeError):  # as a slow tokenizer does
        return [_piece(tokenizer, number) for number in numbers]
    return [piece or _piece(tokenizer, number) for piece, number in zip(pieces, numbers, strict=True)]


def _piece(tokenizer: transformers.PreTrainedTokenizerBase, number: int) -> str:
    piece = _known_piece(tokenizer, number)
    return f"‹id {number}›" if piece is None else piece


def _known_piece(tokenizer: transformers.PreTrainedTokenizerBase, number: int) -> str | None:
    try:
        piece = tokenizer.convert_ids_to_tokens(number)
    except (LookupError, TypeError):  # as a slow tokenizer does
        return None
    return None if piece is None else str(piece)


def known_ids(tokenizer: transformers.PreTrainedTokenizerBase, ids: Sequence[int]) -> list[int]:
    """``ids`` without those that the tokenizer has no entry for, which a slow one cannot decode."""
    size = len(tokenizer)
    return [i for i in ids if i < size or _known_piece(tokenizer, i) is not None]


def leaves_bytes(tokenizer: transformers.PreTrainedTokenizerBase) -> bool:
    """Whether ``tokenizer`` has byte tokens that its decoder leaves as ``<0x0A>`` in the text."""
    newline = tokenizer.convert_tokens_to_ids("<0x0A>")
    return newline not in (None, tokenizer.unk_token_id) and tokenizer.decode([newline]) == "<0x0A>"


def join_bytes(text: str) -> str:
    """``text`` with sequences of ``<0x0A>`` decoded to characters."""
    return _FALLBACKS.sub(lambda match: bytes.fromhex(_FALLBACK.sub(r"\1", match[0])).decode("utf-8", "replace"), text)


def tokenize(checkpoint: Checkpoint, text: str, *, special: bool = True) -> tuple[Token, ...]:
    """The input tokens of ``text``, with or without ``special`` tokens."""
    tokenizer = checkpoint.tokenizer
    if tokenizer.is_fast:
        # verbose=False: callers check the length themselves, with a message on the page.
        encoded = tokenizer(text, add_special_tokens=special, return_offsets_mapping=True, verbose=False)
        return describe(tokenizer, encoded["input_ids"], text, encoded["offset_mapping"], encoded.word_ids())
    return describe(tokenizer, tokenizer(text, add_special_tokens=special, verbose=False)["input_ids"])


def describe(
    tokenizer: transformers.PreTrainedTokenizerBase,
    ids: Sequence[int],
    text: str = "",
    offsets: Sequence[tuple[int, int]] | None = None,
    words: Sequence[int | None] | None = None,
) -> tuple[Token, ...]:
    """The tokens of ``ids``; ``offsets`` and ``words`` (word numbers) come from a fast tokenizer."""
    vocabulary = _vocabulary(tokenizer)
    kind, frame, unknown = vocabulary.style, vocabulary.frame, vocabulary.unknown
    pieces = pieces_of(tokenizer, ids)
    tokens: list[Token] = []
    spans = [(-1, -1)] * len(pieces) if offsets is None else whole_spans(text, offsets)
    for i, (token_id, piece) in enumerate(zip(ids, pieces, strict=True)):
        is_special = int(token_id) in frame
        start, end = spans[i]
        while 0 <= start < end and text[start].isspace():
            start += 1
        if start >= end:
            start = end = -1
        if is_special:
            tokens.append(Token(int(token_id), piece, piece, start, end, special=True))
            continue
        shown, leading, marked = read_piece(piece, kind)
        if not shown:
            start = end = -1  # a space alone, perhaps one that the tokenizer added before the text
        before = tokens[-1] if tokens else None
        same = words is not None and i > 0 and words[i] is not None and words[i] == words[i - 1]
        goes_on = marked or continues(kind, before, shown, leading, same)
        replaced, why = None, ""
        if token_id == unknown and text[max(0, start) : max(0, end)] != piece:
            replaced = text[max(0, start) : max(0, end)]
            why = _why_unknown(tokenizer, replaced)
        tokens.append(Token(int(token_id), piece, shown, start, end, False, goes_on, leading, replaced, why))
    return tuple(tokens)


def special_positions(tokenizer: transformers.PreTrainedTokenizerBase, tokens: Sequence[Token]) -> tuple[int, ...]:
    """The positions of special tokens, but for masks and T5's sentinels, which stand for words of the text."""
    mask = _vocabulary(tokenizer).mask
    return tuple(
        i
        for i, token in enumerate(tokens)
        if token.special and token.id != mask and not token.piece.startswith(_SENTINEL)
    )


def _why_unknown(tokenizer: transformers.PreTrainedTokenizerBase, word: str) -> str:
    model = getattr(getattr(tokenizer, "backend_tokenizer", None), "model", None)
    limit = getattr(model, "max_input_chars_per_word", 0)
    return f"is longer than {limit} characters" if 0 < limit < len(word) else "is not in the vocabulary"


def shortened(word: str) -> str:
    """A word of a visitor, as a sentence quotes it."""
    word = visible(word)
    return word if len(word) <= 30 else word[:29] + "…"


def remarks(tokenizer: transformers.PreTrainedTokenizerBase, typed: str, tokens: Sequence[Token]) -> list[str]:
    """Sentences on what a model reads otherwise than a visitor may think: line breaks, marks, unknown words.

    Args:
        typed: the text before cleaning.
        tokens: of the cleaned text.
    """
    said = []
    if len(typed.strip().splitlines()) > 1:
        said.append("This model reads a line break as a space.")
    if typed.endswith(" ") and tokens and not (tokens[-1].special or tokens[-1].text.strip()):
        said.append("The blank at the end is a token of its own; most words of this vocabulary bring their own blank.")
    mask = _vocabulary(tokenizer).mask
    typed_marks = (t for t in tokens if t.special and t.end > t.start >= 0)
    for marker in dict.fromkeys(t.piece for t in typed_marks if t.id != mask and not t.piece.startswith(_SENTINEL)):
        said.append(f"“{marker}” is a special token of this model; it reads the mark, not the letters.")
    for token in tokens:
        if token.replaced:
            said.append(f"“{shortened(token.replaced)}” {token.why}, so the model reads {token.piece} in its place.")
    return list(dict.fromkeys(said))


def whole_spans(text: str, offsets: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """``offsets`` with the marks and joiners after them that a normalizer dropped, which belong to no other token."""
    if text.isascii():  # without marks
        return list(offsets)
    starts = {start for start, end in offsets if start < end}
    spans = []
    for start, end in offsets:
        if start < end:
            while end < len(text) and end not in starts and is_mark(text[end]):
                end += 1
        spans.append((start, end))
    return spans


def words(tokens: Sequence[Token]) -> tuple[int, ...]:
    """The word number of each token; tokens of one word share it."""
    numbers: list[int] = []
    for token in tokens:
        numbers.append(numbers[-1] if token.continuation and numbers else (numbers[-1] + 1 if numbers else 0))
    return tuple(numbers)


def label(tokenizer: transformers.PreTrainedTokenizerBase, token_id: int) -> str:
    """The short label of a vocabulary entry: ``the``, ``##ing``, ``⏎``; that of an empty one is ``␣``."""
    if token_id in _vocabulary(tokenizer).special:
        return _piece(tokenizer, token_id)
    text, leading, marked = read_piece(_piece(tokenizer, token_id), style(tokenizer))
    return ("##" if marked else "") + visible(text) or ("␣" if leading else "∅")


def likeliest(
    tokenizer: transformers.PreTrainedTokenizerBase, positions: Sequence[int], probabilities: Tensor, k: int
) -> tuple[MaskPrediction, ...]:
    """The ``k`` most probable tokens at each of M ``positions``, from probabilities (M, V)."""
    best = probabilities.topk(min(k, probabilities.shape[-1]))
    return tuple(
        MaskPrediction(position, tuple(label(tokenizer, i) for i in ids), tuple(values), tuple(ids))
        for position, ids, values in zip(positions, best.indices.tolist(), best.values.tolist(), strict=True)
    )


def continues(kind: Style, before: Token | None, text: str, leading: bool, same_word: bool) -> bool:
    """Whether a token without a continuation mark continues the word before it."""
    if before is None or before.special or leading:
        return False
    if kind == "end-of-word":
        return not before.piece.endswith("</w>")
    if kind == "byte-level":
        return same_word or (text.startswith("‹") and before.text.endswith("›"))
    if kind == "sentencepiece":
        if before.leading_space and not before.text:
            return True  # the space before a word as a token of its own
        # "fork," is one word for SentencePiece; a visitor who masks "fork" means the letters.
        return bool(text and before.text) and in_word(before.text[-1]) and in_word(text[0])
    return False


class Wording:
    """The text of token ids, cached for one generation."""

    def __init__(self, tokenizer: transformers.PreTrainedTokenizerBase) -> None:
        self._tokenizer = tokenizer
        self._style, self._special = style(tokenizer), _vocabulary(tokenizer).special
        self._leaves_bytes = leaves_bytes(tokenizer)
        self._known: dict[int, str] = {}

    def token(self, token_id: int) -> str:
        """The text of a token, with its leading space."""
        if token_id not in self._known:
            piece = _piece(self._tokenizer, token_id)
            text, leading, marked = (piece, False, False)
            if token_id not in self._special:
                text, leading, marked = read_piece(piece, self._style)
            # One string for all generations: cached results hold ten tokens for each step.
            self._known[token_id] = sys.intern(("##" if marked else " " if leading else "") + text)
        return self._known[token_id]

    def text(self, ids: Sequence[int]) -> str:
        """The text of ``ids``, without special tokens and without an incomplete character at the end."""
        decodable = known_ids(self._tokenizer, ids)
        text = self._tokenizer.decode(decodable, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return (join_bytes(text) if self._leaves_bytes else str(text)).rstrip("\ufffd")


_UNSTATED = 1_000_000
"""transformers sets ``model_max_length`` to a huge number where no length is known."""


def max_tokens(checkpoint: Checkpoint) -> int | None:
    """The largest number of input tokens, special ones included; None without a limit."""
    limits = [int(n) for n in (checkpoint.spec.max_positions, checkpoint.tokenizer.model_max_length) if n]
    limits = [n for n in (*limits, *_positions(checkpoint.model)) if 0 < n < _UNSTATED]
    return min(limits) if limits else None


_tables: WeakKeyDictionary[Model, tuple[int, ...]] = WeakKeyDictionary()


def _positions(model: Model) -> tuple[int, ...]:
    """The positions of a model's stacks, 0 for a stack without a limit."""
    if (positions := _tables.get(model)) is None:
        config = model.config
        parts = (config, getattr(config, "encoder", None), getattr(config, "decoder", None))
        # n_positions of T5 is a training length, not a table.
        tables = (part for part in parts if part is not None and not hasattr(part, "relative_attention_num_buckets"))
        positions = tuple(positions_of({"model_type": part.model_type, **vars(part)}) or 0 for part in tables)
        _tables[model] = positions
    return positions


def check_length(checkpoint: Checkpoint, count: int) -> None:
    """Raise :class:`InputTooLong`, with both numbers, unless ``count`` tokens fit the model."""
    limit = max_tokens(checkpoint)
    if limit is None or count <= limit:
        return
    raise InputTooLong(
        f"This text has {count:,} tokens; {checkpoint.spec.name} has positions for {limit:,}. "
        f"A text of about {max(1, limit * 2 // 3):,} words or fewer works."
    )


def speaks(model: Model) -> bool:
    """Whether the model adds a language embedding to every token."""
    config = model.config
    return bool(has(config, "languages") and config.use_lang_emb and config.n_langs > 1)


def own_language(model: Model, ids: Tensor) -> dict[str, Tensor]:
    """What a model that `speaks` needs beside ``ids`` (rows, n) of one language: its own, as its configuration says."""
    return {"langs": torch.full_like(ids, int(model.config.lang_id or 0))} if speaks(model) else {}
