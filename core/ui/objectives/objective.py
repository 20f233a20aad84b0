"""One objective on one sentence: the input above the targets."""

from __future__ import annotations

import streamlit as st

from core.objectives import causal
from core.ui.links import PageState
from core.ui.tables import Table, table

SENTENCE = "The king gave his daughter a golden ring."


def objective(state: PageState) -> None:
    """Draw the sentence, what the model reads and what it is asked."""
    text = st.text_input("Your sentence", value=state.text("text", SENTENCE), max_chars=400, key=state.key("text"))
    state.set(text=text if text != SENTENCE else None)
    example = causal.corrupt(text.split(), "<s>")
    rows = tuple((cell.token, cell.target or "") for cell in example.source)
    table(Table(("input", "target"), rows, "Each place of the input and its target", (50, 50)))
