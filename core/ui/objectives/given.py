"""What the visitor typed, ready for an objective: cleaned, cut, with the tokens that the model's format has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import streamlit as st

from core import session
from core.language.text import clean
from core.language.types import Token
from core.ui.objectives.entry import Given

if TYPE_CHECKING:
    from core.language.tokens import Style

MAX_CHARS = 600
"""A few sentences: what a picture token by token can show."""


def given(slug: str, text: str, seed: int, options: Mapping[str, int | str]) -> Given:
    """Raises InputEmpty and InputTooLong with a sentence for the page."""
    vocabulary, frame = _vocabulary(slug)
    return Given(slug, clean(text, MAX_CHARS), seed, options, lambda part: cut(slug, part), vocabulary, frame)


def question(entry: str, asked: Given) -> tuple[object, ...]:
    """What a guess belongs to: the text and the settings, without what is chosen in the picture itself."""
    return entry, asked.slug, asked.text, asked.seed, sorted(asked.options.items())


@st.cache_data(max_entries=256, ttl=3600.0, show_spinner=False)
def cut(slug: str, text: str) -> tuple[Token, ...]:
    """The pieces of ``text`` without tokens of the format."""
    from core.language.tokens import tokenise

    return tokenise(session.checkpoint(slug), text, special=False)


@st.cache_data(max_entries=32, ttl=3600.0, show_spinner="Loading the model")
def _vocabulary(slug: str) -> tuple[tuple[str, ...], dict[str, str]]:
    tokenizer = session.checkpoint(slug).tokenizer
    special = set(tokenizer.all_special_tokens)
    pieces = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    named = {
        "mask": tokenizer.mask_token,
        "cls": tokenizer.cls_token,
        "sep": tokenizer.sep_token,
        "begin": tokenizer.bos_token,
        "unknown": tokenizer.unk_token,
    }
    frame = {use: str(token) for use, token in named.items() if token is not None}
    return tuple(piece for piece, _ in pieces if piece not in special), frame


@st.cache_data(max_entries=32, ttl=3600.0, show_spinner=False)
def style(slug: str) -> Style:
    """How the tokeniser writes its pieces."""
    from core.language.tokens import style

    return style(session.checkpoint(slug).tokenizer)
