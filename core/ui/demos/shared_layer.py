"""ALBERT's demo: one layer used over and over, what it would answer after each pass, and what sharing saves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from core import session
from core.ui.data_table import data_table
from core.ui.demos.cover import uncovered, verdict
from core.ui.demos.demo import Demo, DemoView, ranked
from core.ui.demos.masking import ONE
from core.ui.param import Text

if TYPE_CHECKING:
    from core.attention.inside.lens import LayerPrediction

TEXT = Text(
    name="text", label="Sentence with [MASK] in place of a word", default="Once upon a [MASK] there was a little girl."
)


def draw(view: DemoView) -> None:
    """Draw the demo."""
    state, spec = view.state, view.spec
    text = TEXT.draw(state, tag="passes")
    passes = _predictions(spec.slug, text)[1:]
    last = passes[-1]
    question = ("passes", spec.slug, text)
    if uncovered(state, question, ONE, lambda guess: verdict(guess, last.tokens, last.probabilities)):
        scale = max(guess.probabilities[0] for guess in passes)
        for column, guess in zip(st.columns(len(passes), gap="medium"), passes, strict=True):
            with column:
                view.guesses(f"pass-{guess.layer}", f"After pass {guess.layer}", guess, scale=scale)
        rows = [row for guess in passes for row in ranked(guess, **{"pass": guess.layer})]
        view.table("passes", "Predictions after each pass", rows)
        view.try_and_notice()
    _savings(view)


def _savings(view: DemoView) -> None:
    layer, passes, vocabulary, narrow, wide = _sizes(view.spec.slug)
    st.markdown("**What sharing and factorizing save**")
    own = "with layers of their own and wide embeddings"
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


@session.cached("Reading after each pass")
def _predictions(slug: str, text: str) -> tuple[LayerPrediction, ...]:
    from core.attention.inside.lens import guesses_by_layer
    from core.language.fill_mask import prepare

    checkpoint = session.checkpoint(slug)
    return guesses_by_layer(checkpoint, prepare(checkpoint, text))


@session.cached()
def _sizes(slug: str) -> tuple[int, int, int, int, int]:
    """Parameters of the shared layer, passes, vocabulary, dimensions of the embeddings and of the layers."""
    model = session.checkpoint(slug).model
    config = model.config
    layer = sum(p.numel() for p in model.base_model.encoder.albert_layer_groups.parameters())
    return layer, config.num_hidden_layers, config.vocab_size, config.embedding_size, config.hidden_size


PASSES = Demo("passes", draw, lambda spec: spec.offers("fills masks") and spec.offers("shared layers"), (TEXT,))
