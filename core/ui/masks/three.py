"""Three things that are called a mask, side by side on one sentence: causal mask, padding mask, masked token."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from core import patterns
from core.attention.masks.axes import MOST, one_text
from core.figures.masks import mask_map
from core.ui.masks.reach import chosen_place
from core.ui.page import theme
from core.ui.panel import Panel
from core.ui.section import View
from core.ui.text_table import TextTable, text_table

PADDED = 3
MASK = "[MASK]"
_DRAWN = 24
"""Tokens that are drawn: three pictures share the page's width."""
_ROWS = (
    ("What it is", "a rule over pairs", "a rule over keys", "a token of the input"),
    (
        "What it hides",
        "the future, from every token before it",
        "filling, from every token",
        "one word, from the whole model",
    ),
    (
        "Where it acts",
        "in the scores of attention, before softmax",
        "in the scores of attention, before softmax",
        "in the input, before the first layer",
    ),
    (
        "Why",
        "or the next token could be read off",
        "or texts of a batch would see their own filling",
        "to have something to ask: the word is the target",
    ),
    ("When", "in training and in use", "whenever texts are batched", "in pretraining, and where a blank is filled"),
    ("Who has it", "GPT, LLaMA, the decoders of T5 and BART", "every model", "BERT, RoBERTa, ALBERT"),
)


def three(view: View, tokens: Sequence[str], color: str) -> None:
    """Draw the part; the link carries ``place``, the token that is masked."""
    tokens = tuple(tokens[: min(_DRAWN, MOST - PADDED)])
    n = len(tokens)
    view.say("Three")
    place = chosen_place(tokens, n // 2, "The token that is masked", color, view.state)
    padded = one_text(tokens, PADDED).keys
    hidden = (*tokens[:place], MASK, *tokens[place + 1 :])
    shown = (
        ("Causal mask", patterns.mask(patterns.causal, n), tokens),
        ("Padding mask", patterns.mask(patterns.padding(n), len(padded)), padded),
        ("Masked token", np.ones((n, n), dtype=np.bool_), hidden),
    )
    for column, (title, allowed, names) in zip(st.columns(3), shown, strict=True):
        words = view.words.part(f"Three: {title.lower()}", padded=PADDED)
        with column:
            Panel(
                title.lower().replace(" ", "-"),
                title,
                mask_map(allowed, names, names, color, of=title, theme=theme()),
                f"{title} over {len(names)} tokens. {words}",
                note=words,
                heading=True,
            ).draw(view.state)
    view.try_and_notice("three")
    text_table(
        TextTable(
            ("", "Causal mask", "Padding mask", "Masked token"),
            _ROWS,
            "Three masks beside each other",
            (16, 28, 28, 28),
        )
    )
