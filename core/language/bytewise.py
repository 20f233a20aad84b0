"""A text as bytes and as pieces: what noise costs a model that reads bytes, and one that reads subwords.

A subword vocabulary has whole pieces for spellings that were frequent; a wrong letter breaks them up into shorter and
rarer ones, or into the unknown token. Bytes have no such pieces to lose (Xue et al., 2022).
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Any

from core.checkpoints.spec import Checkpoint
from core.language.tokens import label


@dataclass(frozen=True, slots=True)
class Character:
    """One character of a text."""

    text: str
    name: str
    """Its name in Unicode, or ``U+....`` where it has none."""
    bytes: tuple[int, ...]
    """In UTF-8; one to four."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A clean and a noisy text as one tokeniser cuts them, its frame left out."""

    reader: str
    """The model whose tokeniser it is."""
    clean: tuple[str, ...]
    noisy: tuple[str, ...]
    unknown: int
    """How many tokens of the noisy text are the unknown one."""

    @property
    def growth(self) -> float:
        """Tokens of the noisy text for each of the clean one."""
        return len(self.noisy) / max(1, len(self.clean))


def characters(text: str) -> tuple[Character, ...]:
    """The characters of ``text`` with their bytes."""
    return tuple(
        Character(c, unicodedata.name(c, f"U+{ord(c):04X}"), tuple(c.encode("utf-8", errors="replace"))) for c in text
    )


def cut(checkpoint: Checkpoint, clean: str, noisy: str) -> Cut:
    """Both texts by the checkpoint's tokeniser."""
    tokenizer: Any = checkpoint.tokenizer

    def ids(text: str) -> list[int]:
        found: list[int] = tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
        return found

    before, after = ids(clean), ids(noisy)
    return Cut(
        checkpoint.spec.name,
        tuple(label(tokenizer, i) for i in before),
        tuple(label(tokenizer, i) for i in after),
        sum(i == tokenizer.unk_token_id for i in after),
    )
