"""ALBERT's demo: one layer used over and over, what it would answer after each pass, and what sharing saves."""

from __future__ import annotations

import streamlit as st

from core.attention.inside.lens import guesses_by_layer
from core.language.fill_mask import prepare
from core.ui.demos.demo import Demo, DemoView, Prediction, word_judge
from core.ui.demos.masking import ONE
from core.ui.param import Text

TEXT = Text(
    name="text", label="Sentence with [MASK] in place of a word", default="Once upon a [MASK] there was a little girl."
)


def draw(view: DemoView) -> None:
    """Draw the demo."""
    text = TEXT.draw(view.state, tag="passes")
    passes = view.computed("Predicting after each pass", guesses_by_layer, view.computed("", prepare, text))[1:]
    if view.uncovered(ONE, word_judge(passes[-1]), text):
        shown = [Prediction(f"After pass {guess.layer}", guess, {"pass": guess.layer}) for guess in passes]
        view.predictions("passes", shown, len(shown))
        view.try_and_notice()
    _savings(view)


def _savings(view: DemoView) -> None:
    """The parameters of the shared layer and of the factorized embeddings, and of what they replace."""
    model = view.checkpoint.model
    layer = sum(p.numel() for p in model.base_model.encoder.albert_layer_groups.parameters())
    passes, vocabulary = model.config.num_hidden_layers, model.config.vocab_size
    narrow, wide = model.config.embedding_size, model.config.hidden_size
    factorized = vocabulary * narrow + narrow * wide
    st.markdown(f"**{view.words.label('savings')}**")
    full = "without sharing and factorization"
    rows = [
        {"": "layers", "here": f"1 × {layer:,}", full: f"{passes} × {layer:,} = {passes * layer:,}"},
        {
            "": "embeddings",
            "here": f"{vocabulary:,} × {narrow} + {narrow} × {wide} = {factorized:,}",
            full: f"{vocabulary:,} × {wide} = {vocabulary * wide:,}",
        },
    ]
    view.data_table("shared-parameters", rows)
    view.note("Savings")


PASSES = Demo(
    "passes", draw, lambda spec: spec.offers("predicts masked tokens") and spec.offers("shared layers"), (TEXT,)
)
