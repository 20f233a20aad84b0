"""Features: a text by the directions of a sparse autoencoder, the top texts of one, and the next token without it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import streamlit as st

from core import session
from core.attention.tokens import short
from core.checkpoints.spec import CheckpointSpec
from core.figures.interventions import feature_map
from core.figures.labels import percent
from core.figures.predictions import compared_bars
from core.interventions.features import (
    CONTROLS,
    ENOUGH,
    OFTEN,
    SHOWN,
    Features,
    Judged,
    Measured,
    Text,
    measured,
    read_features,
    stored,
    switch_off,
    top_texts,
)
from core.links import parameters as link
from core.table import Table
from core.theme import mixed
from core.ui.attention.setup import draw_model
from core.ui.interventions.setup import MODEL
from core.ui.page import plain, theme
from core.ui.panel import Panel, offer_table
from core.ui.param import Carried
from core.ui.param import Text as TextBox
from core.ui.picker import nothing_runs
from core.ui.section import Section, View
from core.ui.selection import clicks
from core.ui.slot import Slot

LEARNED = MODEL.with_(fits=lambda spec: spec.slug in stored())
STORY = TextBox(name="told", label="Text", default="Once upon a time", most=300, sentence="plain")
AT = Carried(name="feature", label="Feature and token", as_=link.Integers(high=100_000, most=2))


def features(view: View) -> None:
    state = view.state
    if nothing_runs(LEARNED.offered()):
        return
    spec = draw_model(view, LEARNED)
    known = measured(spec.slug)
    with view.controls():
        text = STORY.with_(default=view.words.label("example")).draw(state, tag=spec.slug)
    found = session.computed("running-the-model", read_features, spec.slug, text)
    slot = _at(found, known, (spec.slug, text), view)
    feature, token = slot.get()
    left, right = st.columns([1.35, 1], gap="medium")
    with left:
        _map(found, feature, token - 1, known, spec, view, slot)
        _texts(session.computed("reading", top_texts, spec.slug, feature), feature, known, view)
    with right:
        _without(found, text, feature, token - 1, spec, view)
    view.try_and_notice()
    _how(known, session.checkpoint(spec.slug).model.config.hidden_size, view)
    _judged(known, view)


def _how(known: Measured, width: int, view: View) -> None:
    """Explain the autoencoder with what was measured, and how its features were named."""
    named = [judged for judged in known.judged if judged.named]
    view.how_it_works(
        "How it works",
        *(["Names"] if known.judged else []),
        width=width,
        features=f"{known.features:,}",
        layer=known.layer + 1,
        trained=f"{known.trained / 1e6:.1f}",
        tokens=f"{known.tokens:,}",
        alive=f"{known.alive:,}",
        active=f"{known.active:.0f}",
        explained=percent(known.explained),
        clean=f"{known.clean:.2f}",
        reconstructed=f"{known.reconstructed:.2f}",
        mean=f"{known.mean:.2f}",
        missed=percent((known.reconstructed - known.clean) / (known.mean - known.clean)),
        drawn=len(known.judged),
        named=len(named),
        words=sum(bool(judged.token) for judged in named),
        enough=ENOUGH,
        often=OFTEN,
        shown=SHOWN,
    )


def _judged(known: Measured, view: View) -> None:
    """Offer what a reader made of the features drawn at random."""
    columns: dict[str, Sequence[Any]] = {
        "feature": [judged.feature for judged in known.judged],
        "best name": [judged.name for judged in known.judged],
        f"right, of {SHOWN}": [judged.right for judged in known.judged],
        "named": ["yes" if judged.named else "no" for judged in known.judged],
    }
    offer_table(view.state, Table.from_columns(columns), view.words.label("judged"), "judged-features")


def _at(found: Features, known: Measured, owner: tuple[str, str], view: View) -> Slot[tuple[int, int]]:
    """The selected feature, and the token from 1: first the strongest cell of a row that is active at less than half of
    the tokens, behind the first token, whose state is unlike all others."""
    count = len(found.tokens)
    rare = (found.activations > 0).mean(axis=1, keepdims=True) < 0.5
    cells = np.where(rare & (np.arange(count) > 0), found.activations, -1)
    row, token = divmod(int(cells.argmax()), count)

    def refusal(at: tuple[int, int]) -> str:
        fits = len(at) == 2 and at[0] < known.features and 1 <= at[1] <= count
        return "" if fits else view.words.part("No cell", last=f"{known.features - 1:,}", tokens=count)

    return Slot(view.state, AT, (found.features[row], token + 1), owner=owner, refusal=refusal)


def _name(feature: int, known: Measured) -> str:
    judged = _verdict(feature, known)
    return f"{feature}: {judged.name}" if judged and judged.named else str(feature)


def _verdict(feature: int, known: Measured) -> Judged | None:
    return next((judged for judged in known.judged if judged.feature == feature), None)


def _map(
    found: Features,
    feature: int,
    token: int,
    known: Measured,
    spec: CheckpointSpec,
    view: View,
    slot: Slot[tuple[int, int]],
) -> None:
    """Draw the strongest features of the text, token by token; a click selects a feature and a token."""
    rows, columns = found.activations.shape
    names, listed = [_name(row, known) for row in found.features], list(found.features)
    selected = (listed.index(feature), token) if feature in listed else None
    table: dict[str, Sequence[Any]] = {
        "feature": [row for row in listed for _ in found.tokens],
        "token": list(found.tokens) * rows,
        "activation": np.round(found.activations, 2).ravel().tolist(),
    }
    strongest = divmod(int(found.activations.argmax()), columns)
    panel = Panel(
        f"{spec.slug}-features",
        view.words.label("map"),
        feature_map(found.activations, names, [short(name, 12) for name in found.tokens], selected, theme=theme()),
        view.words.part(
            "Alt: map", rows=rows, tokens=columns, feature=names[strongest[0]], token=found.tokens[strongest[1]]
        ),
        Table.from_columns(table),
        heading=True,
        note=view.words.part("Explained", share=percent(found.explained)),
    )

    def choose(at: int) -> None:
        row, column = divmod(at, columns)
        slot.set((listed[row], column + 1))

    panel.draw(view.state, **clicks(panel.key(view.state), rows * columns, choose))


def _without(found: Features, text: str, feature: int, token: int, spec: CheckpointSpec, view: View) -> None:
    """Draw the next token with everything, without the feature, and without random directions."""
    off = session.computed("running-the-model", switch_off, spec.slug, text, feature, token)
    answers = [change.token for change in off.changes]
    values = {
        "model": [change.before for change in off.changes],
        "without the feature": [change.after for change in off.changes],
        "without a random direction": list(off.control),
    }
    words = list(zip(answers, zip(*values.values(), strict=True), strict=True))
    st.subheader(view.words.part("After", token=f"“{plain(short(found.tokens[token], 20))}”"), anchor=False)
    view.say(
        "Changed",
        bits=f"{off.bits:.3f}",
        control=f"{sum(off.control_bits) / CONTROLS:.3f}",
        most=f"{max(off.control_bits):.3f}",
        count=CONTROLS,
    )
    Panel(
        "without-a-feature",
        view.words.label("distribution"),
        compared_bars(list(values), words, theme().categorical, theme=theme()),
        view.words.part("Alt: distribution")
        + "".join(f" {name} {percent(a)} → {percent(b)}," for name, (a, b, _) in words),
        Table.from_columns({"next token": answers, **values}),
    ).draw(view.state)


def _texts(texts: tuple[Text, ...], feature: int, known: Measured, view: View) -> None:
    """Draw a feature's name, how it was judged, and its top texts, the token marked."""
    judged = _verdict(feature, known)
    st.subheader(view.words.part("Feature", feature=_name(feature, known)), anchor=False)
    if not texts:
        view.say("Never active")
        return
    color = theme().selection
    mark = f"background:{mixed(theme().ground, color, 0.22)};color:inherit;border-bottom:2px solid {color}"
    st.html(
        "".join(
            f'<p dir="auto" style="margin:0 0 .6em;overflow-wrap:anywhere;line-height:1.5">'
            f'<span style="color:{theme().muted}">{text.activation:.0f}</span> {escape(text.before)}'
            f"{' ' * text.token.startswith(' ')}"  # outside of the mark, or it would begin at the end of a line
            f'<mark style="{mark}">{escape(text.token.strip() or "⏎")}</mark>{escape(text.after)}</p>'
            for text in texts
        )
    )
    if judged:
        view.note("Judged: named" if judged.named else "Judged: not named", right=judged.right, shown=SHOWN)
    else:
        view.note("Judged: not drawn")
    columns: dict[str, Sequence[Any]] = {
        "activation": [round(text.activation, 1) for text in texts],
        "before": [text.before for text in texts],
        "token": [text.token for text in texts],
        "after": [text.after for text in texts],
    }
    offer_table(view.state, Table.from_columns(columns), view.words.label("texts"), "top-texts")


FEATURES = Section("features", features, (STORY, AT))
