"""ALBERT's demo: one layer used over and over, what it would answer after each pass, and what sharing saves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from core import session
from core.checkpoints.spec import CheckpointSpec
from core.figures.predictions import bars_alt, guess_bars
from core.ui.chart import chart
from core.ui.data_table import data_table
from core.ui.demos.cover import uncovered, verdict
from core.ui.demos.cover_masks import ONE
from core.ui.demos.demo import Demo, DemoView
from core.ui.glossary import told
from core.ui.page import accent, sentences, theme
from core.ui.text_box import text_box

if TYPE_CHECKING:
    from core.attention.inside.lens import LayerPrediction
    from core.ui.links import PageState

TEXT = "Once upon a [MASK] there was a little girl."


def shared_layer_demo(view: DemoView) -> None:
    """Draw the demo; the sentence is kept in the page's state."""
    spec, state = view.spec, view.state
    text = text_box(state, "text", "Sentence with [MASK] in place of a word", TEXT, key="depth.text")
    with sentences():
        passes = _answers(spec.slug, text)[1:]
        last = passes[-1]

        def judge(guess: str) -> str:
            return verdict(guess, last.tokens, last.probabilities)

        shown = uncovered(state, ("passes", spec.slug, text), ONE, judge)
        if shown:
            _pictures(passes, state)
        _savings(spec)
        if shown:
            _table(passes)


def _pictures(passes: tuple[LayerPrediction, ...], state: PageState) -> None:
    """Bars after each pass, on one scale."""
    scale = max(guess.probabilities[0] for guess in passes)
    for column, guess in zip(st.columns(len(passes), gap="medium"), passes, strict=True):
        with column:
            title = f"After pass {guess.layer}"
            st.caption(title)
            chart(
                guess_bars(
                    guess.tokens,
                    guess.probabilities,
                    accent("encoder"),
                    scale=scale,
                    theme=theme(),
                ),
                key=state.key(f"depth.{guess.layer}"),
                alt=bars_alt(guess.tokens, guess.probabilities, title),
            )
    told(
        "**Try** a sentence whose missing word depends on one far away.\n\n"
        "**Notice** that the same weights are at work in every pass: what changes is what they are given. The "
        "head was trained for the last pass alone, so the earlier answers are readings on the way."
    )


def _savings(spec: CheckpointSpec) -> None:
    layer, passes, vocabulary, narrow, wide = _sizes(spec.slug)
    st.markdown("**What sharing and factorising save**")
    rows = [
        ("layers", f"1 × {layer:,}", f"{passes} × {layer:,} = {passes * layer:,}"),
        (
            "word vectors",
            f"{vocabulary:,} × {narrow} + {narrow} × {wide} = {vocabulary * narrow + narrow * wide:,}",
            f"{vocabulary:,} × {wide} = {vocabulary * wide:,}",
        ),
    ]
    data_table(
        [{"": name, "here": here, "with layers of their own and wide vectors": there} for name, here, there in rows],
        "shared-parameters",
        alt="Parameters of the shared layer and the factorised word vectors, and of what they replace",
    )
    st.caption(
        "Parameters, counted in the loaded model. Every pass costs as much time as a layer of its own would: sharing "
        "saves memory, not work. Lan et al. 2019, arXiv:1909.11942."
    )


def _table(passes: tuple[LayerPrediction, ...]) -> None:
    with st.expander("The guesses as a table"):
        data_table(
            [
                {"pass": guess.layer, "rank": rank, "guess": token, "probability": chance}
                for guess in passes
                for rank, (token, chance) in enumerate(zip(guess.tokens, guess.probabilities, strict=True), 1)
            ],
            "passes",
            alt="Guesses after each pass with their probabilities",
            column_config={"probability": st.column_config.NumberColumn(format="%.4f")},
        )


@st.cache_data(max_entries=128, ttl=3600.0, show_spinner="Reading after each pass")
def _answers(slug: str, text: str) -> tuple[LayerPrediction, ...]:
    from core.attention.inside.lens import guesses_by_layer
    from core.language.fill_mask import prepare

    checkpoint = session.checkpoint(slug)
    return guesses_by_layer(checkpoint, prepare(checkpoint, text))


@st.cache_data(max_entries=16, ttl=3600.0, show_spinner=False)
def _sizes(slug: str) -> tuple[int, int, int, int, int]:
    """Parameters of the shared layer, passes, vocabulary, width of the word vectors, width of the layers."""
    model = session.checkpoint(slug).model
    config = model.config
    layer = sum(p.numel() for p in model.base_model.encoder.albert_layer_groups.parameters())
    return layer, config.num_hidden_layers, config.vocab_size, config.embedding_size, config.hidden_size


PASSES = Demo("passes", shared_layer_demo, lambda spec: spec.offers("fills masks") and spec.offers("shared layers"))
