"""Three things that are called a mask, side by side on one sentence: causal mask, padding mask, masked token."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from core.attention import patterns
from core.attention.masks.axes import MOST, one_text
from core.figures.masks import mask_map
from core.ui.chart import chart
from core.ui.chips import token_chips
from core.ui.glossary import told
from core.ui.links import PageState
from core.ui.page import theme
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


def three(tokens: Sequence[str], state: PageState, colour: str) -> None:
    """Draw the section; reads and writes ``place``, the token that is masked."""
    tokens = tuple(tokens[: min(_DRAWN, MOST - PADDED)])
    n = len(tokens)
    told(
        "One word, three things. The first two say who may **look at whom**; the third changes **what stands there**. "
        "They are independent: a batch of BERT has the second and the third, a batch of GPT the first and the second."
    )
    place = min(state.number("place", n // 2), n - 1)
    picked = token_chips(
        tokens,
        selected=(place,),
        key=state.key("masks.masked"),
        accent=colour,
        label="The token that is masked",
        clearable=False,
    )
    place = picked[0] if picked else place
    state.set(place=None if place == n // 2 else place)
    padded = one_text(tokens, PADDED).keys
    hidden = (*tokens[:place], MASK, *tokens[place + 1 :])
    shown = (
        (
            "Causal mask",
            patterns.mask(patterns.causal, n),
            tokens,
            "A triangle: each row sees the tokens up to its own.",
        ),
        (
            "Padding mask",
            patterns.mask(patterns.padding(n), len(padded)),
            padded,
            f"The last {PADDED} columns are blank: nobody sees what only fills.",
        ),
        (
            "Masked token",
            np.ones((n, n), dtype=np.bool_),
            hidden,
            f"Nothing is blank: all see {MASK}, whose word is gone from the input.",
        ),
    )
    for column, (title, allowed, names, words) in zip(st.columns(3), shown, strict=True):
        with column:
            told(f"**{title}**")
            chart(
                mask_map(allowed, names, names, colour, of=title, theme=theme()),
                key=state.key(f"masks.three.{title}"),
                config={"displaylogo": False},
                alt=f"{title} over {len(names)} tokens. {words}",
            )
            st.caption(words)
    told(
        "**Try** another token to mask, with a click above. **Notice** that the third picture stays full: a masked "
        "token is not hidden from attention, its word is hidden from the input."
    )
    text_table(
        TextTable(
            ("", "Causal mask", "Padding mask", "Masked token"),
            _ROWS,
            "Three masks beside each other",
            (16, 28, 28, 28),
        )
    )
