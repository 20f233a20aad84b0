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
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import regex
from rapidfuzz.distance import Indel

from core.errors import InputUnusable
from core.language.tokens import DECODERS, continues, read_piece, whole_spans
from core.language.types import Token
from core.tokenizers.known import TokenizerInfo, data, engine, whole_words
from core.tokenizers.samples import whole
from core.words import WORDS, bare, counted, graphemes, visible

UNKNOWN_WORD = "[UNK]"
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
    tokenizer = engine(info)
    encoded = tokenizer.encode(text, add_special_tokens=False)
    added = {number for number, token in tokenizer.get_added_tokens_decoder().items() if token.special}
    style = DECODERS.get(type(tokenizer.decoder).__name__, "plain")
    name = unknown_piece(info)
    unknown = None if name is None else tokenizer.token_to_id(name)
    ids, words, offsets = encoded.ids, encoded.word_ids, whole_spans(text, encoded.offsets)
    tokens: list[Token] = []
    strange = set()
    for i, number in enumerate(ids):
        start, end = offsets[i]
        piece = str(tokenizer.id_to_token(number))
        if number == unknown and text[start:end] != piece:
            strange.add(i)
            while start < end and text[start].isspace() and not text[start:end].isspace():
                start += 1
            tokens.append(Token(number, piece, piece, start, end, replaced=text[start:end]))
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
    model = engine(info).model
    if info.family != "unigram":
        return None if model.unk_token is None else str(model.unk_token)
    piece = data(info)
    return None if piece.get("unk_id") is None else str(piece["vocab"][piece["unk_id"]][0])


def _words(info: TokenizerInfo, text: str) -> Tokenization:
    """Lowercased words and punctuation marks, each in the list or unknown; spaces are dropped."""
    listed = whole_words(info)
    tokens = []
    strange = set()
    for i, match in enumerate(WORDS.finditer(text)):
        word = match.group().lower()
        number = listed.get(word)
        if number is None:
            strange.add(i)
            tokens.append(Token(-1, UNKNOWN_WORD, UNKNOWN_WORD, match.start(), match.end(), replaced=match.group()))
        else:
            tokens.append(Token(number, word, word, *match.span()))
    return Tokenization(info, text, tuple(tokens), frozenset(strange), " ".join(token.piece for token in tokens))


def measured(tokenization: Tokenization, measure: Measure, english: Tokenization) -> float:
    """The measure of one text; ``english`` is the same text in English by the same tokenizer."""
    if measure == "tokens":
        return tokenization.count / max(1, english.count)
    return tokenization.characters if measure == "characters" else tokenization.bytes


def normalized(info: TokenizerInfo, text: str) -> str:
    """What the tokenizer's normalizer makes of ``text``, without spaces and marks of spaces around it."""
    normalizer = engine(info).normalizer
    return text if normalizer is None else str(normalizer.normalize_str(text)).strip(" ▁")


def words(info: TokenizerInfo, text: str) -> tuple[str, ...]:
    """The words of ``text`` after normalization and pre-tokenization, the input of the tokenizer's algorithm.

    Byte-level BPE gets a space before the text, as inside a sentence.

    Raises:
        AtlasError: there is no text, it is too long, or nothing is left after pre-tokenization.
    """
    typed = whole(text, MOST).strip()
    tokenizer = engine(info)
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


@dataclass(frozen=True, slots=True)
class Lost:
    """The difference between a text and the text decoded from its ids. All zero and empty where there is none."""

    exact: bool
    unknown: tuple[str, ...] = ()
    """The substrings that became unknown tokens, in order."""
    capitals: int = 0
    """Characters that lost their upper case."""
    accents: int = 0
    """Marks dropped from Latin, Greek and Cyrillic letters."""
    marks: int = 0
    """Marks dropped from other letters, such as vowel signs."""
    composed: int = 0
    """Characters spelled with other code points, to Unicode the same characters."""
    spaces_inserted: int = 0
    """Positions where spaces were inserted."""
    spaces_removed: int = 0
    """Positions where spaces were removed or became fewer."""
    dropped: int = 0
    """Characters other than spaces that belong to no token."""
    rewritten: tuple[tuple[str, str], ...] = ()
    """Characters that became something else: (before, after)."""

    def summary(self) -> str:
        """All losses on one line."""
        if self.exact:
            return "lossless round trip"
        counts = (
            (self.capitals, "{} lost", "capital"),
            (self.accents, "{} lost", "accent"),
            (self.marks, "{} lost", "combining mark"),
            (self.composed, "{} with other code points", "character"),
            (self.spaces_removed, "spaces lost at {}", "position"),
            (self.spaces_inserted, "spaces inserted at {}", "position"),
            (self.dropped, "{} dropped", "character"),
        )
        parts = [said.format(counted(count, word)) for count, said, word in counts if count]
        if self.unknown:
            shown = ", ".join(f"“{_short(word)}”" for word in dict.fromkeys(self.unknown[:12]))
            parts.insert(0, f"{counted(len(self.unknown), 'unknown token')} ({_short(shown, 80)})")
        if self.rewritten:
            before, after = self.rewritten[0]
            more = len(self.rewritten) - 1
            parts.append(f"“{_short(before)}” became “{_short(after)}”" + (f" and {more} more" if more else ""))
        return "; ".join(parts) or "round trip not lossless"


@dataclass(frozen=True, slots=True)
class _Character:
    """A character as readers count them, or an unknown token, with what the alignment compares."""

    text: str
    keys: tuple[str, ...]
    """Its letters and marks without case and compatibility forms; of an unknown token one key, that no letter has."""

    @property
    def unknown(self) -> bool:
        return self.keys == _UNKNOWN


_UNKNOWN = ("unknown",)


def lost(cut: Tokenization) -> Lost:
    """Compare the text of ``cut`` with the text decoded from its ids, character by character.

    The alignment has the fewest insertions and deletions (Indel distance) of letters and marks without case and
    compatibility forms; then each character is compared with what it became.
    """
    text, decoded = cut.text, cut.decoded
    if text == decoded:
        return Lost(True)
    strange = [cut.tokens[index] for index in sorted(cut.unknown)]
    pieces = {token.piece for token in strange}
    before = _characters(text, pieces, [(token.start, token.end) for token in strange])
    after = _characters(decoded, pieces)
    became, between = _aligned(before, after)
    counts: Counter[str] = Counter()
    rewritten: list[tuple[str, str]] = []
    for old, new in between:
        removed, inserted = (sum(c.isspace() for c in part) for part in (old, new))
        counts["spaces_removed"] += removed > inserted
        counts["spaces_inserted"] += inserted > removed
        gone, come = ("".join(c for c in part if not c.isspace()) for part in (old, new))
        if come:
            rewritten.append((gone, come))
        else:
            counts["dropped"] += sum(not c.isspace() for c in old)
    for character, now in zip(before, became, strict=True):
        if now and not character.unknown and not _count_changes(character.text, now, counts):
            rewritten.append((character.text, now))
    return Lost(False, tuple(text[t.start : t.end] for t in strange), **counts, rewritten=tuple(rewritten))


def _characters(text: str, pieces: Collection[str], unknown: Sequence[tuple[int, int]] = ()) -> list[_Character]:
    """The characters of ``text``; its spans ``unknown``, and ``pieces`` wherever they are written, are one each."""
    literal = "|".join(map(re.escape, pieces))
    spans = sorted({*unknown, *(match.span() for match in (re.finditer(literal, text) if literal else ()))})
    characters, at = [], 0
    for start, end in (*spans, (len(text), len(text))):
        characters += [_Character(sign, _keys(sign)) for sign in graphemes(text[at:start])]
        if start < end and start >= at:
            characters.append(_Character(text[start:end], _UNKNOWN))
        at = max(at, end)
    return characters


def _keys(character: str) -> tuple[str, ...]:
    if character.isspace():
        return (" ",)
    return tuple(unicodedata.normalize("NFKD", unicodedata.normalize("NFD", character).casefold()))


def _aligned(
    before: Sequence[_Character], after: Sequence[_Character]
) -> tuple[list[str], list[tuple[list[str], list[str]]]]:
    """What each character of ``before`` became, empty for nothing; and what was removed and inserted between these."""
    left, right = ([(key, at) for at, c in enumerate(part) for key in c.keys] for part in (before, after))
    parts: list[list[int]] = [[] for _ in before]
    source: dict[int, int] = {}  # of each character of after the one of before that it came from
    for step in Indel.opcodes([key for key, _ in left], [key for key, _ in right]):
        if step.tag == "equal":
            for i, j in zip(range(step.src_start, step.src_end), range(step.dest_start, step.dest_end), strict=True):
                source.setdefault(right[j][1], left[i][1])
                parts[left[i][1]].append(right[j][1])
    became = ["".join(c.text for c in after[min(indices) : max(indices) + 1]) if indices else "" for indices in parts]
    inside = {at for indices in parts if indices for at in range(min(indices), max(indices) + 1)}
    between: defaultdict[int, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    last = -1  # the last character of before that became something
    for at, indices in enumerate(parts):
        if indices:
            last = at
        else:
            between[last][0].append(before[at].text)
    last = -1
    for at, character in enumerate(after):
        last = source.get(at, last)
        if at not in inside:
            between[last][1].append(character.text)
    return became, [between[at] for at in sorted(between)]


def _count_changes(old: str, new: str, counts: Counter[str]) -> bool:
    """Count what a character lost; False if it changed in another way."""
    if old == new:
        return True
    if unicodedata.normalize("NFD", old) == unicodedata.normalize("NFD", new):
        counts["composed"] += 1
        return True
    letter, marks, hidden = _apart(old)
    new_letter, new_marks, new_hidden = _apart(new)
    if new_letter not in (letter, letter.lower()) or new_marks > marks or new_hidden > hidden or old.isspace():
        return False
    counts["capitals"] += new_letter != letter
    counts["accents" if _ACCENTED.match(letter) else "marks"] += marks - new_marks
    counts["dropped"] += hidden - new_hidden
    return True


_ACCENTED = regex.compile(r"[\p{Latin}\p{Greek}\p{Cyrillic}]")


def _apart(character: str) -> tuple[str, int, int]:
    """The letter of a character, the number of its marks that take no room, and of its control characters."""
    letters = bare(character)
    visible_ones = "".join(c for c in letters if unicodedata.category(c) not in ("Cc", "Cf"))
    return visible_ones, len(unicodedata.normalize("NFD", character)) - len(letters), len(letters) - len(visible_ones)


def _short(text: str, most: int = 16) -> str:
    return visible(text if len(text) <= most else f"{text[: most - 1]}…")
