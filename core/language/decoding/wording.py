"""How a tokeniser's ids read, remembered for the length of one generation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.language.tokens import join_bytes, leaves_bytes, read_piece, style


class Wording:
    """How a tokeniser's ids read, remembered for the length of one generation."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._style = style(tokenizer)
        self._special = set(tokenizer.all_special_ids)
        self._leaves_bytes = leaves_bytes(tokenizer)
        self._known: dict[int, str] = {}

    def token(self, token_id: int) -> str:
        """One token as it reads, a leading space included."""
        if token_id not in self._known:
            piece = str(self._tokenizer.convert_ids_to_tokens(token_id))
            text, leading, marked = (piece, False, False)
            if token_id not in self._special:
                text, leading, marked = read_piece(piece, self._style)
            self._known[token_id] = ("##" if marked else " " if leading else "") + text
        return self._known[token_id]

    def text(self, ids: Sequence[int]) -> str:
        """All of ``ids`` as text, without special tokens and without half a character at the end."""
        text = self._tokenizer.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return (join_bytes(text) if self._leaves_bytes else str(text)).rstrip("\ufffd")
