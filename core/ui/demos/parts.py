"""DeBERTa's demo: an attention score as a sum of three parts, and the masked word predicted without one of them."""

from __future__ import annotations

import numpy as np
import streamlit as st

from core.attention.architectures.disentangled import Parts, guesses_without, parts_of
from core.figures.attention import score_map
from core.ui.chart import chart
from core.ui.demos.demo import Demo, DemoView, Prediction, decimals, word_judge
from core.ui.demos.masking import FIRST, ONE
from core.ui.notices import sentences
from core.ui.page import theme
from core.ui.param import Choice, Integer, Text

TEXT = Text(
    name="text",
    label="Sentence, perhaps with [MASK] in place of a word",
    default="The dog ran to the [MASK] and the cat slept.",
)
NAMES = ("c2c", "c2p", "p2c")
LAYER = Integer(name="layer", label="Layer", default=1, low=1, high=200, width=130)
HEAD = Integer(name="head", label="Head", default=1, low=1, high=256, width=130)
TOKEN = Choice(name="token", label="Query", options={}, width=190)


def draw(view: DemoView) -> None:
    """Draw the demo."""
    text = TEXT.draw(view.state, tag="parts")
    masks = 0
    with sentences():
        parts = view.computed("Decomposing the scores", parts_of, text)
        masks = len(parts.masks)
        first = parts.masks[0] if parts.masks else 1
        with st.container(horizontal=True, vertical_alignment="bottom"):
            layer = LAYER.with_(high=parts.scores.shape[0]).draw(view.state) - 1
            head = HEAD.with_(high=parts.scores.shape[2]).draw(view.state) - 1
            tokens = {str(n): f"{n} {token}" for n, token in enumerate(parts.tokens, 1)}
            menu = TOKEN.with_(options=tokens, default=str(first + 1))
            query = int(menu.draw(view.state, tag=str(len(tokens)))) - 1
        _maps(view, parts, layer, head, query)
        _row(view, parts, layer, head, query)
        view.try_and_notice()
    with sentences():
        _masked(view, text, masks)
    view.how_it_works()


def _maps(view: DemoView, parts: Parts, layer: int, head: int, query: int) -> None:
    """The three parts and their sum, all on one scale of colors."""
    scores = parts.scores[layer, :, head]
    titles = [f"{view.words.label(part)} ({part})" for part in NAMES]
    pictures = [*zip(titles, scores, strict=True), (view.words.label("sum"), scores.sum(axis=0))]
    limit = max(1e-3, max(float(np.abs(values).max()) for _, values in pictures))
    for number, (column, (name, values)) in enumerate(zip(st.columns(4, gap="small"), pictures, strict=True)):
        with column:
            st.markdown(f"**{name}**")
            chart(
                score_map(values, parts.tokens, query, limit, theme=theme()),
                key=view.state.key(f"parts.map.{number}"),
                alt=f"{name}: layer {layer + 1}, head {head + 1}, scores of {len(parts.tokens)} tokens, from "
                f"{values.min():.2f} to {values.max():.2f}. For the query {parts.tokens[query]} the key "
                f"{parts.tokens[int(values[query].argmax())]} has the highest score.",
            )
    view.note("Scale", limit=f"{limit:.1f}")


def _row(view: DemoView, parts: Parts, layer: int, head: int, query: int) -> None:
    """The query's row as a table."""
    scores = parts.scores[layer, :, head, query]  # (3, n)
    rows = [
        {
            "key": f"{i + 1} {token}",
            "distance": query - i,
            **{name: float(value) for name, value in zip(NAMES, scores[:, i], strict=True)},
            "sum": float(scores[:, i].sum()),
            "weight": float(parts.weights[layer, head, query, i]),
        }
        for i, token in enumerate(parts.tokens)
    ]
    weight = st.column_config.ProgressColumn(format="%.2f", width="small", min_value=0.0, max_value=1.0)
    view.data_table("parts-of-scores", rows, {**decimals(*NAMES, "sum"), "weight": weight})


def _masked(view: DemoView, text: str, masks: int) -> None:
    """The masked word, of the whole model and without each component; it may wait for a guess, which no score tells."""
    whole, *without = view.computed("Predicting without each component", guesses_without, text)
    st.markdown(f"**{view.words.label('without')}**")
    if not view.uncovered(ONE if masks == 1 else FIRST, word_judge(whole), text):
        return
    shown = [Prediction("All three components", whole, {"left out": "nothing"})]
    for guess in without:
        name = f"Without {view.words.label(guess.part).lower()}"
        shown.append(Prediction(name, guess, {"left out": guess.part}))
    view.predictions("guesses-without-parts", shown, len(shown))
    view.try_and_notice("without")


PARTS = Demo(
    "parts",
    draw,
    lambda spec: spec.offers("predicts masked tokens") and spec.offers("disentangled attention"),
    (TEXT, LAYER, HEAD, TOKEN),
)
