"""A masked word predicted in several ways: three demos of encoders, each with its answers side by side.

XLM predicts it with the translation beside the sentence and without, ALBERT after each pass of its one layer, DeBERTa
without one component of its attention scores.
"""

from __future__ import annotations

import numpy as np
import streamlit as st

from core.attention.disentangled import ScoreComponents, predict_without_components, score_components
from core.attention.inside.lens import lens
from core.figures import block as figures
from core.language import bilingual
from core.language.inputs import Inputs
from core.ui.demos.demo import Demo, DemoView, Prediction, decimals, sample_pills, word_judge
from core.ui.demos.masking import FIRST, MASK, ONE, mask_chips, masked_in
from core.ui.glossary import sentences
from core.ui.page import theme
from core.ui.panel import chart, offer_chart
from core.ui.param import Integer, Text
from core.ui.selection import TOKEN, Selection

SAMPLES = (
    ("The cat sleeps on the chair.", "Le chat dort sur la chaise."),
    ("My sister reads a book in the garden.", "Ma sœur lit un livre dans le jardin."),
    ("I would like a cup of tea.", "Je voudrais une tasse de thé."),
    ("We are going home because it is late.", "Nous rentrons à la maison parce qu'il est tard."),
)
ENGLISH = Text(name="first", label="English", default=SAMPLES[0][0])
FRENCH = Text(name="second", label="French translation", default=SAMPLES[0][1])
TOP_K = 5


def translation_demo(view: DemoView) -> None:
    """XLM: masked words of a sentence pair, predicted with and without the translation."""
    sample_pills(view.state, "Samples", SAMPLES, ENGLISH, FRENCH, tag="pair")
    left, right = st.columns(2, gap="medium")
    with left:
        first = ENGLISH.draw(view.state, tag="pair")
    with right:
        second = FRENCH.draw(view.state, tag="pair")
    joined = bilingual.prepare(view.checkpoint, first, second)
    masked = _masked_tokens(view, joined)
    predictions = view.computed("predicting", bilingual.predict, first, second, masked, TOP_K)
    originals = [
        "" if (token := joined.tokens[prediction.position]).special else token.original for prediction in predictions
    ]
    truth = originals[0] if len(predictions) == 1 else ""
    if view.uncovered(FIRST, word_judge(predictions[0].with_translation, truth), first, second, masked):
        shown = []
        for prediction, original in zip(predictions, originals, strict=True):
            at = f"“{original}” (token {prediction.position + 1}). " if original else ""
            columns: dict[str, object] = {"token": prediction.position + 1, "original": original}
            shown += [
                Prediction(
                    at + view.words.label("beside"), prediction.with_translation, {**columns, "read": "both sentences"}
                ),
                Prediction(at + view.words.label("alone"), prediction.alone, {**columns, "read": "one sentence"}),
            ]
        view.predictions("hidden-tokens", shown, 2, most=8)
        view.try_and_notice()


def _masked_tokens(view: DemoView, joined: Inputs) -> tuple[int, ...]:
    """Draw the chips of both sentences; new sentences start with the second English word masked."""
    tokens = joined.tokens
    starts = [i for i in range(joined.second or 0) if not tokens[i].special and not tokens[i].continuation]
    usual = () if joined.positions else tuple(starts[1:2] or starts)
    slot, label = masked_in(view.state, tokens, usual), view.words.label("chips")
    return mask_chips(tokens, slot, accent=view.spec.branch, label=label, held=joined.positions)


TRANSLATION = Demo(
    "translation",
    translation_demo,
    ("predicts masked tokens", "languages"),
    (ENGLISH, FRENCH, MASK),
)


PASSES_TEXT = Text(
    name="text",
    label="Sentence with [MASK] in place of a word",
    default="Once upon a [MASK] there was a little girl.",
    sentence="masked",
)


def passes_demo(view: DemoView) -> None:
    """ALBERT: one shared layer applied repeatedly, the prediction after each pass, and what sharing saves."""
    text = PASSES_TEXT.draw(view.state, tag="passes")
    passes = view.computed("predicting-after-each-pass", lens, text, k=3)[1:]
    if view.uncovered(ONE, word_judge(passes[-1]), text):
        shown = [Prediction(f"After pass {guess.layer}", guess, {"pass": guess.layer}) for guess in passes]
        view.predictions("passes", shown, len(shown))
        view.try_and_notice()
    _savings(view)


def _savings(view: DemoView) -> None:
    """Draw the parameters of the shared layer and the factorized embeddings, and of what they replace."""
    model = view.checkpoint.model
    layer = sum(p.numel() for p in model.base_model.encoder.albert_layer_groups.parameters())
    passes, vocabulary = model.config.num_hidden_layers, model.config.vocab_size
    narrow, wide = model.config.embedding_size, model.config.hidden_size
    factorized = vocabulary * narrow + narrow * wide
    st.subheader(view.words.label("savings"), anchor=False)
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
    "passes",
    passes_demo,
    ("predicts masked tokens", "shared layers"),
    (PASSES_TEXT,),
)


PARTS_TEXT = Text(
    name="text",
    label="Sentence, perhaps with [MASK] in place of a word",
    default="The dog ran to the [MASK] and the cat slept.",
    sentence="any",
)
COMPONENTS = ("c2c", "c2p", "p2c")
LAYER = Integer(name="layer", label="Layer", default=1, low=1, high=200, width=130)
HEAD = Integer(name="head", label="Head", default=1, low=1, high=256, width=130)


def parts_demo(view: DemoView) -> None:
    """DeBERTa: an attention score as a sum of three components, and the masked word predicted without one of them."""
    text = PARTS_TEXT.draw(view.state, tag="parts")
    masks = 0
    with sentences():
        parts = view.computed("decomposing-the-scores", score_components, text)
        masks = len(parts.masks)
        first = parts.masks[0] if parts.masks else 1
        with st.container(horizontal=True, vertical_alignment="bottom"):
            layer = LAYER.with_(high=parts.scores.shape[0]).draw(view.state) - 1
            head = HEAD.with_(high=parts.scores.shape[2]).draw(view.state) - 1
            selection = Selection(view.state, parts.tokens, special=parts.special, usual=first, tag="parts")
            selection.chips(view.words.label("queries"), accent=view.spec.branch)
        _score_maps(view, parts, layer, head, selection)
        _query_row(view, parts, layer, head, selection.at)
        view.try_and_notice()
    with sentences():
        _without_parts(view, text, masks)


def _score_maps(view: DemoView, parts: ScoreComponents, layer: int, head: int, selection: Selection) -> None:
    """Draw the three components and their sum on one color scale."""
    query, state = selection.at, view.state
    scores = parts.scores[layer, :, head]
    titles = [f"{view.words.label(part)} ({part})" for part in COMPONENTS]
    pictures = [*zip(titles, scores, strict=True), (view.words.label("sum"), scores.sum(axis=0))]
    limit = max(1e-3, max(float(np.abs(values).max()) for _, values in pictures))
    numbers = {"layer": layer + 1, "head": head + 1, "tokens": len(parts.tokens), "query": query + 1}
    with st.container(key="atlas-four"):
        columns = st.columns(4, gap="small")
    for number, (column, (name, values)) in enumerate(zip(columns, pictures, strict=True)):
        with column:
            st.subheader(name, anchor=False)
            ends = {"low": f"{values.min():.2f}", "high": f"{values.max():.2f}"}
            alt = view.words.part("Alt", name=name, **numbers, **ends)
            key = state.key(f"parts.map.{number}")
            alt = f"{alt} “{parts.tokens[int(values[query].argmax())]}”."
            chart(
                figures.score_map(values, parts.tokens, parts.tokens, query, limit, theme=theme()),
                key=key,
                alt=alt,
                **selection.on_map(key, values.shape[1]),
            )
            offer_chart(state, key, name, f"scores-{number + 1}", alt)
    view.note("Scale", limit=f"{limit:.1f}")


def _query_row(view: DemoView, parts: ScoreComponents, layer: int, head: int, query: int) -> None:
    scores = parts.scores[layer, :, head, query]  # (3, n)
    rows = [
        {
            "key": f"{i + 1} {token}",
            "distance": query - i,
            **{name: float(value) for name, value in zip(COMPONENTS, scores[:, i], strict=True)},
            "sum": float(scores[:, i].sum()),
            "weight": float(parts.weights[layer, head, query, i]),
        }
        for i, token in enumerate(parts.tokens)
    ]
    weight = st.column_config.ProgressColumn(format="%.2f", width="small", min_value=0.0, max_value=1.0)
    view.data_table("parts-of-scores", rows, {**decimals(*COMPONENTS, "sum"), "weight": weight})


def _without_parts(view: DemoView, text: str, masks: int) -> None:
    """Draw the predictions of the full model and without each component; they may be covered until a guess."""
    full, *without = view.computed("predicting-without-each-component", predict_without_components, text)
    st.subheader(view.words.label("without"), anchor=False)
    if not view.uncovered(ONE if masks == 1 else FIRST, word_judge(full), text):
        return
    shown = [Prediction("All three components", full, {"left out": "nothing"})]
    for guess in without:
        name = f"Without {view.words.label(guess.component).lower()}"
        shown.append(Prediction(name, guess, {"left out": guess.component}))
    view.predictions("predictions-without-parts", shown, len(shown))
    view.try_and_notice("without")


PARTS = Demo(
    "parts",
    parts_demo,
    ("predicts masked tokens", "disentangled attention"),
    (PARTS_TEXT, LAYER, HEAD, TOKEN),
)
