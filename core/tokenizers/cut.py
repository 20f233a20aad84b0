"""The tokenization of a text by one tokenizer: its tokens with their offsets, their ids decoded, what is lost.

Characters per token show how well a vocabulary covers a language, bytes per token how well it covers a script: a
Chinese character is three bytes in UTF-8, a Latin letter one. Only token counts of parallel texts compare languages.

A round trip may lose capitals, accents, spaces, whole words. A tokenizer is *lossless* when decode(encode(text)) = text
for every text. Byte-level ones are; a WordPiece vocabulary that lowercases, drops accents and collapses spaces is not,
and its model never receives what was lost.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Any, Literal

from core.errors import InputUnusable
from core.language.tokens import DECODERS, continues, read_piece, visible
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


_NEAR = 8
"""The most spaces that a decoder inserts before a token; a match farther away is another token."""


@dataclass(frozen=True, slots=True)
class Lost:
    """The difference between a text and the text decoded from its ids. All zero and empty where there is none."""

    exact: bool
    unknown: tuple[str, ...] = ()
    """The substrings that became unknown tokens, in order."""
    capitals: int = 0
    accents: int = 0
    spaces_inserted: int = 0
    """Positions where spaces were inserted."""
    spaces_removed: int = 0
    """Positions where spaces were removed or became fewer."""
    dropped: int = 0
    """Characters other than spaces that belong to no token."""
    rewritten: tuple[tuple[str, str], ...] = ()
    """Substrings that became something else: (before, after)."""

    def summary(self) -> str:
        """All losses on one line."""
        if self.exact:
            return "lossless round trip"
        counts = (
            (self.capitals, "{} lost", "capital"),
            (self.accents, "{} lost", "accent"),
            (self.spaces_removed, "spaces lost at {}", "position"),
            (self.spaces_inserted, "spaces inserted at {}", "position"),
            (self.dropped, "{} dropped", "character"),
        )
        parts = [said.format(_many(count, word)) for count, said, word in counts if count]
        if self.unknown:
            shown = ", ".join(f"“{_short(word)}”" for word in dict.fromkeys(self.unknown[:12]))
            parts.insert(0, f"{_many(len(self.unknown), 'unknown token')} ({_short(shown, 80)})")
        if self.rewritten:
            before, after = self.rewritten[0]
            more = len(self.rewritten) - 1
            parts.append(f"“{_short(before)}” became “{_short(after)}”" + (f" and {more} more" if more else ""))
        return "; ".join(parts) or "round trip not lossless"


def lost(cut: Tokenization) -> Lost:
    """Compare the text of ``cut`` with the text decoded from its ids."""
    text, decoded = cut.text, cut.decoded
    if text == decoded:
        return Lost(True)
    capitals = accents = spaces_inserted = spaces_removed = dropped = at = cursor = 0
    rewritten = []
    for index, token in enumerate(cut.tokens):
        if token.start < 0 or token.end <= token.start or not token.text:
            continue
        source, readable_text = text[token.start : token.end], token.text
        if index not in cut.unknown and not token.special and source != readable_text:
            readable = "".join(sign for sign in source if unicodedata.category(sign) not in ("Cc", "Cf"))
            dropped += len(source) - len(readable)
            changes = _changes(readable, readable_text)
            if changes is None:
                rewritten.append((source, readable_text))
            else:
                capitals, accents = capitals + changes[0], accents + changes[1]
        index_in_decoded = decoded.find(readable_text, cursor, cursor + len(readable_text) + _NEAR)
        if index_in_decoded < 0:
            at = max(at, token.end)
            continue
        before, after = text[at : token.start], decoded[cursor:index_in_decoded]
        dropped += sum(not sign.isspace() for sign in before)
        spaces_before, spaces_after = len([c for c in before if c.isspace()]), len(after)
        if (not after or after.isspace()) and before != after:
            spaces_inserted, spaces_removed = (
                spaces_inserted + (spaces_after > spaces_before),
                spaces_removed + (spaces_after < spaces_before),
            )
        at, cursor = max(at, token.end), index_in_decoded + len(readable_text)
    rest = text[at:]
    dropped += sum(not sign.isspace() for sign in rest)
    spaces_removed += any(sign.isspace() for sign in rest) and not decoded[cursor:]
    unknown = tuple(text[t.start : t.end] for i, t in enumerate(cut.tokens) if i in cut.unknown)
    return Lost(False, unknown, capitals, accents, spaces_inserted, spaces_removed, dropped, tuple(rewritten))


def _changes(source: str, shown: str) -> tuple[int, int] | None:
    """Numbers of lost capitals and accents; None if ``source`` changed in another way."""
    low = source.lower()
    capitals = sum(letter != lowered for letter, lowered in zip(source, low, strict=False))
    if low == shown:
        return capitals, 0
    bare = _bare(low)
    if bare == shown:
        return capitals, sum(_bare(c) != c for c in unicodedata.normalize("NFC", low))
    return None


def _bare(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")


def _many(count: int, word: str) -> str:
    return f"{count:,} {word}" + ("" if count == 1 else "s")


def _short(text: str, most: int = 16) -> str:
    return visible(text if len(text) <= most else f"{text[: most - 1]}…")
