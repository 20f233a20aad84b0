"""What a tokeniser does before it cuts: normalise the text and split it into words, which are then cut one by one."""

from __future__ import annotations

from typing import Any

from core.errors import InputUnusable
from core.tokenizers.known import Known, engine
from core.tokenizers.samples import whole

MOST = 40
"""Characters of a word that is followed step by step."""


def words(one: Known, text: str) -> tuple[str, ...]:
    """The words of ``text`` as the tokeniser's algorithm gets them.

    Byte-level BPE gets a blank before the text, as if it stood inside a sentence.

    Raises:
        AtlasError: there is no text, it is too long, or nothing of it reaches the algorithm.
    """
    typed = whole(text, MOST).strip()
    engine_: Any = engine(one)
    prepared = f" {typed}" if one.family in ("bpe", "bytes") and typed else typed
    if engine_.normalizer is not None:
        prepared = engine_.normalizer.normalize_str(prepared)
    if engine_.pre_tokenizer is None:
        parts = [prepared] if prepared else []
    else:
        parts = [word for word, _ in engine_.pre_tokenizer.pre_tokenize_str(prepared) if word]
    if not typed or not parts:
        raise InputUnusable("Nothing of this text reaches the algorithm: type a word, letters or digits.")
    return tuple(parts)
