"""The tokenization of a text by one tokenizer: its tokens with their offsets, and the text decoded from their ids.

Characters per token show how well a vocabulary covers a language, bytes per token how well it covers a script: a
Chinese character is three bytes in UTF-8, a Latin letter one. Only token counts of parallel texts compare languages.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from core.errors import InputUnusable
from core.language.tokens import DECODERS, continues, read_piece
from core.language.types import Token
from core.tokenizers.known import TokenizerInfo, data, engine, whole_words
from core.tokenizers.samples import whole

UNKNOWN_WORD = "[UNK]"
_WORD = re.compile(r"\w+|[^\w\s]")
MOST = 40
"""Characters of a word that is tokenized step by step."""
Measure = Literal["characters", "bytes", "tokens"]
MEASURES: dict[Measure, str] = {
    "characters": "characters per token",
    "bytes": "bytes per token",
    "tokens": "tokens relative to English",
}


@dataclass(frozen=True, slots=True)
class Tokenization:
    """The tokens of a text, without the special tokens that a model adds."""

    by: TokenizerInfo
    text: str
    tokens: tuple[Token, ...]
    unknown: frozenset[int]
    """Indices of unknown tokens."""
    decoded: str
    """The text decoded from the ids."""

    @property
    def count(self) -> int:
        """The number of tokens."""
        return len(self.tokens)

    @property
    def characters(self) -> float:
        """Characters of the text for each token."""
        return len(self.text) / max(1, self.count)

    @property
    def bytes(self) -> float:
        """Bytes of the text in UTF-8 for each token."""
        return len(self.text.encode()) / max(1, self.count)


def cut(info: TokenizerInfo, text: str) -> Tokenization:
    """Tokenize ``text`` with the tokenizer ``info``.

    Args:
        text: any text that UTF-8 can encode, see :func:`core.tokenizers.samples.whole`.
    """
    if info.family == "characters":
        characters = tuple(Token(ord(c), c, c, i, i + 1) for i, c in enumerate(text))
        return Tokenization(info, text, characters, frozenset(), text)
    if info.family == "words":
        return _words(info, text)
    tokenizer: Any = engine(info)
    encoded = tokenizer.encode(text, add_special_tokens=False)
    added = {number for number, token in tokenizer.get_added_tokens_decoder().items() if token.special}
    style = DECODERS.get(type(tokenizer.decoder).__name__, "plain")
    name = unknown_piece(info)
    unknown = None if name is None else tokenizer.token_to_id(name)
    ids, words, offsets = encoded.ids, encoded.word_ids, encoded.offsets
    tokens: list[Token] = []
    strange = set()
    for i, number in enumerate(ids):
        start, end = offsets[i]
        piece = str(tokenizer.id_to_token(number))
        if number == unknown and text[start:end] != piece:
            strange.add(i)
            while start < end and text[start].isspace():
                start += 1
            tokens.append(Token(number, piece, piece, start, end))
            continue
        if number in added:
            tokens.append(Token(number, piece, piece, start, end, special=True))
            continue
        shown, leading, marked = read_piece(piece, style)
        if leading and start < end and text[start].isspace() and shown:
            start += 1
        before = tokens[-1] if tokens else None
        same = i > 0 and words[i] is not None and words[i] == words[i - 1]
        on = marked or continues(style, before, shown, leading, same and info.family != "bytes")
        tokens.append(Token(number, piece, shown, start, end, False, on, leading))
    return Tokenization(info, text, tuple(tokens), frozenset(strange), tokenizer.decode(ids, skip_special_tokens=False))


def unknown_piece(info: TokenizerInfo) -> str | None:
    """The unknown token of a vocabulary; None where every text can be encoded."""
    if info.family == "words":
        return UNKNOWN_WORD
    if info.family not in ("wordpiece", "letter-bpe", "unigram"):
        return None
    model: Any = engine(info).model
    if info.family != "unigram":
        return None if model.unk_token is None else str(model.unk_token)
    piece = data(info)
    return None if piece.get("unk_id") is None else str(piece["vocab"][piece["unk_id"]][0])


def _words(info: TokenizerInfo, text: str) -> Tokenization:
    """Lowercased words and punctuation marks, each in the list or unknown; spaces are dropped."""
    listed = whole_words(info)
    tokens = []
    strange = set()
    for i, match in enumerate(_WORD.finditer(text)):
        word = match.group().lower()
        number = listed.get(word)
        if number is None:
            strange.add(i)
            tokens.append(Token(-1, UNKNOWN_WORD, UNKNOWN_WORD, *match.span()))
        else:
            tokens.append(Token(number, word, word, *match.span()))
    return Tokenization(info, text, tuple(tokens), frozenset(strange), " ".join(token.piece for token in tokens))


def measured(tokenization: Tokenization, measure: Measure, english: Tokenization) -> float:
    """The measure of one text; ``english`` is the same text in English by the same tokenizer."""
    if measure == "tokens":
        return tokenization.count / max(1, english.count)
    return tokenization.characters if measure == "characters" else tokenization.bytes


def words(info: TokenizerInfo, text: str) -> tuple[str, ...]:
    """The words of ``text`` after normalization and pre-tokenization, the input of the tokenizer's algorithm.

    Byte-level BPE gets a space before the text, as inside a sentence.

    Raises:
        AtlasError: there is no text, it is too long, or nothing is left after pre-tokenization.
    """
    typed = whole(text, MOST).strip()
    tokenizer: Any = engine(info)
    prepared = f" {typed}" if info.family in ("bpe", "bytes") and typed else typed
    if tokenizer.normalizer is not None:
        prepared = tokenizer.normalizer.normalize_str(prepared)
    if tokenizer.pre_tokenizer is None:
        parts = [prepared]
    else:
        parts = [word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(prepared)]
    parts = list(filter(None, parts))
    if not typed or not parts:
        raise InputUnusable("Nothing of this text reaches the algorithm: type a word, letters or digits.")
    return tuple(parts)
