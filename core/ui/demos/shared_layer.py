"""ALBERT's demo: one layer used over and over, what it would answer after each pass, and what sharing saves."""

from __future__ import annotations

import streamlit as st

from core.attention.inside.lens import guesses_by_layer
from core.checkpoints.spec import Checkpoint
from core.language.fill_mask import prepare
from core.ui.data_table import data_table
from core.ui.demos.cover import verdict
from core.ui.demos.demo import Demo, DemoView, Prediction
from core.ui.demos.masking import ONE
from core.ui.param import Text

TEXT = Text(
    name="text", label="Sentence with [MASK] in place of a word", default="Once upon a [MASK] there was a little girl."
)


def draw(view: DemoView) -> None:
    """Draw the demo."""
    text = TEXT.draw(view.state, tag="passes")
    passes = view.computed("Predicting after each pass", guesses_by_layer, view.computed("", prepare, text))[1:]
    last = passes[-1]
    if view.uncovered(ONE, lambda guess: verdict(guess, last.tokens, last.probabilities), text):
        shown = [Prediction(f"After pass {guess.layer}", guess, {"pass": guess.layer}) for guess in passes]
        view.predictions("passes", "Predictions after each pass", shown, len(shown))
        view.try_and_notice()
    _savings(view)


def _savings(view: DemoView) -> None:
    layer, passes, vocabulary, narrow, wide = view.computed("", _sizes)
    st.markdown("**What sharing and factorizing save**")
    own = "without sharing and factorization"
    data_table(
        [
            {"": "layers", "here": f"1 × {layer:,}", own: f"{passes} × {layer:,} = {passes * layer:,}"},
            {
                "": "embeddings",
                "here": f"{vocabulary:,} × {narrow} + {narrow} × {wide} = {vocabulary * narrow + narrow * wide:,}",
                own: f"{vocabulary:,} × {wide} = {vocabulary * wide:,}",
            },
        ],
        "shared-parameters",
        alt="Parameters of the shared layer and the factorized embeddings, and of what they replace",
    )
    view.note("Savings")


def _sizes(checkpoint: Checkpoint) -> tuple[int, int, int, int, int]:
    """Parameters of the shared layer, passes, vocabulary, dimensions of the embeddings and of the layers."""
    model = checkpoint.model
    config = model.config
    layer = sum(p.numel() for p in model.base_model.encoder.albert_layer_groups.parameters())
    return layer, config.num_hidden_layers, config.vocab_size, config.embedding_size, config.hidden_size


PASSES = Demo(
    "passes", draw, lambda spec: spec.offers("predicts masked tokens") and spec.offers("shared layers"), (TEXT,)
)
