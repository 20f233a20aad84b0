"""The tokenizers of this installation: every different ``tokenizer.json`` of the live models, each once.

Models that share the same file are listed together, and the first of them names the tokenizer. Three more are for
comparison: characters, whole words from a closed list, and a plain BPE vocabulary trained for this app.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from tokenizers import Tokenizer

from core.checkpoints import registry
from core.checkpoints.spec import CheckpointSpec
from core.checkpoints.tokenizer_file import is_failure, refuse_failing_tokenizer, refuse_slow_tokenizer
from core.errors import CheckpointRefused
from core.settings import ASSETS

Family = Literal["words", "wordpiece", "letter-bpe", "bpe", "unigram", "bytes", "characters"]
FAMILIES: dict[Family, str] = {
    "words": "Whole words",
    "wordpiece": "WordPiece",
    "letter-bpe": "BPE",
    "bpe": "Byte-level BPE",
    "unigram": "Unigram",
    "bytes": "Bytes",
    "characters": "Characters",
}
"""The name of each kind, in the order of the page."""

_BYTES_MOST = 260
"""A byte-level vocabulary of at most this size has no merges: it is the 256 bytes and a few special tokens."""
_MODELS: dict[str, Family] = {"WordPiece": "wordpiece", "BPE": "bpe", "Unigram": "unigram"}
PLAIN_BPE = Path(__file__).resolve().parents[2] / "assets" / "tokenizers" / "bpe" / "tokenizer.json"
"""Plain BPE, which no model here uses (`lab.tokenizers`)."""


@dataclass(frozen=True, slots=True)
class TokenizerInfo:
    slug: str
    """The first model that uses it, or ``words``, ``bpe`` or ``characters``."""
    name: str
    family: Family
    size: int
    """Entries of the vocabulary; 0 for characters, which need no list."""
    models: tuple[str, ...]
    """Names of the models that use it."""
    file: Path | None
    stamp: tuple[int, int] = (0, 0)
    """Size and time of the file: a changed file is another tokenizer."""

    @property
    def title(self) -> str:
        """Kind and model: ``WordPiece of MiniLM``."""
        return FAMILIES[self.family] + (f" of {self.name}" if self.models else "")


def known() -> tuple[TokenizerInfo, ...]:
    """Every different tokenizer, by kind; within a kind the one that most models share first."""
    base, *first = registry.first("tokenizers-named")  # the base's whole words make the closed list
    files: dict[str, list[tuple[CheckpointSpec, Path, tuple[int, int]]]] = {}
    for spec in registry.available():
        path = _file(spec)
        if path is not None:
            stamp = _stamp(path)
            files.setdefault(_digest(path, stamp), []).append((spec, path, stamp))
    infos = []
    for users in files.values():
        names = tuple(spec.short_name for spec, _, _ in users)
        # A model that was trained with this very vocabulary names it before one that only borrowed it.
        spec, path, stamp = min(users, key=lambda user: (user[0].slug != base, user[0].slug not in first))
        family = family_of(path, stamp)
        if family is not None:
            infos.append(TokenizerInfo(spec.slug, spec.short_name, family, _size(path, stamp), names, path, stamp))
    words = next((info for info in infos if info.slug == base), None)
    if words is not None:
        count = len(whole_words(words))
        infos.append(TokenizerInfo("words", "Whole words", "words", count, (), words.file, words.stamp))
    if PLAIN_BPE.is_file():
        stamp = _stamp(PLAIN_BPE)
        infos.append(TokenizerInfo("bpe", "BPE", "letter-bpe", _size(PLAIN_BPE, stamp), (), PLAIN_BPE, stamp))
    infos.append(TokenizerInfo("characters", "Characters", "characters", 0, (), None))
    order = list(FAMILIES)
    return tuple(sorted(infos, key=lambda info: (order.index(info.family), -len(info.models), info.slug not in first)))


def engine(info: TokenizerInfo) -> Tokenizer:
    """The library's tokenizer, loaded once; it neither pads nor cuts short.

    Raises:
        CheckpointRefused: the file cannot be read.
    """
    assert info.file is not None
    return _engine(info.file, info.stamp)


@lru_cache(maxsize=32)
def data(info: TokenizerInfo) -> dict[str, Any]:
    """The ``model`` part of the tokenizer's file: vocabulary, merges, scores."""
    assert info.file is not None
    model: dict[str, Any] = json.loads(info.file.read_text(encoding="utf-8"))["model"]
    return model


@lru_cache(maxsize=16)
def ranks(info: TokenizerInfo) -> Mapping[tuple[str, str], int]:
    """The merges of a BPE vocabulary and the number of each, from 0."""
    # Older files write a merge as one string with a space between its halves.
    pairs = [tuple(row.split(" ", 1)) if isinstance(row, str) else tuple(row) for row in data(info)["merges"]]
    return {(str(left), str(right)): rank for rank, (left, right) in enumerate(pairs)}


def end_of_word(info: TokenizerInfo) -> str:
    """The suffix of a word's last token in a plain BPE vocabulary; empty in others."""
    return str(getattr(engine(info).model, "end_of_word_suffix", None) or "")


@lru_cache(maxsize=16)
def piece_scores(info: TokenizerInfo) -> Mapping[str, float]:
    """The natural logarithm of the probability of every piece of a Unigram vocabulary."""
    return {str(piece): float(score) for piece, score in data(info)["vocab"]}


@lru_cache(maxsize=4)
def whole_words(info: TokenizerInfo) -> Mapping[str, int]:
    """The tokens of a WordPiece vocabulary that begin a word and are not special, with their ids."""
    vocabulary: dict[str, int] = engine(info).get_vocab(with_added_tokens=False)
    return {
        piece: number
        for piece, number in vocabulary.items()
        if not piece.startswith("##") and not (piece.startswith("[") and piece.endswith("]") and len(piece) > 2)
    }


@lru_cache(maxsize=64)
def family_of(path: Path, stamp: tuple[int, int]) -> Family | None:
    """The kind of the tokenizer in a file; None for an unsupported kind or an unreadable file."""
    try:
        tokenizer = _engine(path, stamp)
    except CheckpointRefused:
        return None
    family = _MODELS.get(type(tokenizer.model).__name__)
    if family == "bpe" and getattr(tokenizer.model, "end_of_word_suffix", None):
        return "letter-bpe"
    if family == "bpe" and type(tokenizer.decoder).__name__ != "ByteLevel":
        return None
    if family == "bpe" and tokenizer.get_vocab_size(with_added_tokens=False) <= _BYTES_MOST:
        return "bytes"
    return family


def _stamp(path: Path) -> tuple[int, int]:
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns


def _file(spec: CheckpointSpec) -> Path | None:
    if not spec.ready or spec.source == "hub":
        return None
    path = Path(spec.location) / "tokenizer.json"
    return path if path.is_file() else None


@lru_cache(maxsize=256)
def _digest(path: Path, stamp: tuple[int, int]) -> str:
    return sha256(path.read_bytes()).hexdigest()


@lru_cache(maxsize=64)
def _engine(path: Path, stamp: tuple[int, int]) -> Tokenizer:
    if not path.is_relative_to(ASSETS):
        refuse_slow_tokenizer(path)
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except BaseException as error:  # the library raises a bare Exception for a corrupt file, or panics
        if not is_failure(error):
            raise
        raise CheckpointRefused(f"The tokenizer in {path.parent.name} cannot be read.") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    refuse_failing_tokenizer(path.parent.name, lambda text: tokenizer.encode(text).ids, tokenizer.decode)
    return tokenizer


@lru_cache(maxsize=64)
def _size(path: Path, stamp: tuple[int, int]) -> int:
    return int(_engine(path, stamp).get_vocab_size(with_added_tokens=False))
