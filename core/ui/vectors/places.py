"""How a model knows places: five ways, each as a picture and as similarity by distance."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from core.ui.glossary import told
from core.ui.text_table import TextTable, text_table
from core.ui.vectors.frame import VectorsView
from core.ui.vectors.places_added import learned, sinusoidal
from core.ui.vectors.places_scores import linear, relative
from core.ui.vectors.places_turned import rotary

KINDS = {
    "learned": "Learned",
    "sinusoidal": "Sinusoidal",
    "relative": "Relative",
    "rotary": "Rotary",
    "linear": "ALiBi",
}
_DRAWN: dict[str, Callable[[VectorsView], None]] = {
    "learned": learned,
    "sinusoidal": sinusoidal,
    "relative": relative,
    "rotary": rotary,
    "linear": linear,
}
_WAYS = (
    ("Learned", "added to the word", "the place", "as many as the table has rows", "BERT, RoBERTa, GPT-2, BART"),
    ("Sinusoidal", "added to the word", "the place", "any, in principle", "the 2017 Transformer, CTRL, M2M-100"),
    (
        "Relative",
        "added to the score",
        "the distance, in some the words too",
        "any: far distances share",
        "T5 (a number); Transformer-XL, XLNet, DeBERTa (vectors)",
    ),
    ("Rotary", "turns queries and keys", "the distance, through the words", "any, in principle", "LLaMA, GPT-J"),
    ("ALiBi", "added to the score", "the distance", "any", "none here"),
)


def places(view: VectorsView) -> None:
    """Draw the whole section; reads and writes kind, and what the kind has.

    Raises:
        AtlasError: what was typed, or the model, does not allow it.
    """
    state = view.state
    kind = st.segmented_control(
        "Kind",
        list(KINDS),
        format_func=KINDS.__getitem__,
        default=state.text("kind", "learned"),
        required=True,
        key=state.key("kind"),
        label_visibility="collapsed",
    )
    state.set(kind=kind)
    _DRAWN[str(kind)](view)
    st.markdown("**Five ways side by side**")
    text_table(
        TextTable(
            ("Way", "Where", "Depends on", "Places", "Who has it"),
            _WAYS,
            "Five ways to know places",
            (12, 19, 23, 20, 26),
        )
    )
    told(
        "Without any of them a Transformer would see a sentence as a bag: attention takes a sum over tokens, and a sum "
        "has no order. A decoder's causal mask alone gives away some of it."
    )
