"""One word in many sentences: its vectors as points, layer by layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from core import session
from core.checkpoints.spec import CheckpointSpec
from core.figures import vectors as pictures
from core.ui.glossary import noted, told
from core.ui.heads.pictures import saved_as
from core.ui.links import within
from core.ui.vectors.frame import VectorsView, model_menu
from core.ui.vectors.sentences import asked, found, sentences_box, word_box
from core.ui.vectors.word_below import below
from core.vectors.occurrences import Occurrence, WordVectors
from core.vectors.plane import FEWEST, PERPLEXITY, Plane, perplexity_for

if TYPE_CHECKING:
    from core.ui.links import PageState

STATIC = -1
MAPS = {"components": "Components", "neighbours": "t-SNE"}


def one_word(view: VectorsView) -> None:
    """Draw the whole section; reads and writes word, text, layer, map, seed and show.

    Raises:
        AtlasError: what was typed, or the model, does not allow it.
    """
    state = view.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        spec = model_menu(view)
        word_box(state)
        kind = _map_menu(state)
    left, right = st.columns([1.55, 1], gap="large")
    sentences_box(state, right)
    typed = asked(state)
    with left:
        made = found(spec, typed)
        seed = state.number("seed") if kind == "neighbours" else None
        planes = session.planes(spec.slug, typed.word, typed.text, seed)
        stop = _stop(made, state)
        if kind == "neighbours" and len(made.own.found) < FEWEST:
            noted(f"t-SNE needs {FEWEST} occurrences; these are principal components.")
        _picture(made, planes[stop + 1], stop, spec, state)
    told(
        "**Try** moving the layer from *static* upwards, and a word of your own. **Notice** that one vector becomes "
        "many: a static table has one for all senses, and each layer adds more of what stands around the word."
    )
    below(state, spec, made, typed, stop, planes)


def name_of(stop: int, layers: int) -> str:
    """What a stop of the slider is called."""
    if stop == STATIC:
        return "static"
    return "embeddings" if stop == 0 else f"layer {stop}" + (", the last" if stop == layers else "")


def _stop(made: WordVectors, state: PageState) -> int:
    """The stop of the slider, -1 for the table itself; by default the last layer."""
    layers = made.own.layers
    stops = list(range(STATIC, layers + 1))
    wanted = within(state, "Layer", state.number("layer", layers), STATIC, layers)
    stop = st.select_slider(
        "Layer",
        stops,
        value=wanted,
        format_func=lambda at: name_of(at, layers),
        key=state.key(f"layer.{layers}"),
    )
    state.set(layer=None if stop == layers else stop)
    return int(stop)


def _map_menu(state: PageState) -> str:
    kind = st.segmented_control(
        "Plane",
        list(MAPS),
        format_func=MAPS.__getitem__,
        default=state.text("map", "components"),
        required=True,
        key=state.key("map"),
        help="Principal components keep what varies most; t-SNE keeps who is near whom",
    )
    state.set(map=kind)
    slot = state.key("seed")
    st.session_state.setdefault(slot, state.number("seed"))
    if kind == "neighbours":
        st.button("Again", key=state.key("again"), on_click=_again, args=(slot,), help="Another start of t-SNE")
    state.set(seed=st.session_state[slot])
    return str(kind)


def _again(slot: str) -> None:
    st.session_state[slot] = (st.session_state[slot] + 1) % 1000


def _picture(made: WordVectors, plane: Plane, stop: int, spec: CheckpointSpec, state: PageState) -> None:
    points = [
        pictures.Point(float(x), float(y), one.name, one.line.sense, cut(one))
        for one, (x, y) in zip(made.own.found, plane.points, strict=True)
    ]
    titles = ("", "")
    if plane.shares is not None and sum(plane.shares) > 0:
        first, second = (
            f"component {i + 1}: {100 * share:.0f} % of the variance" for i, share in enumerate(plane.shares)
        )
        titles = (first, second)
    st.plotly_chart(
        pictures.plane(points, titles, dark=st.context.theme.type == "dark"),
        key=state.key("plane"),
        config=saved_as(f"atlas-{spec.slug}-vectors"),
        alt=f"{len(points)} vectors of one word ({name_of(stop, made.own.layers)} of {spec.name}) on a plane; the "
        "table of distances below says which are near each other.",
    )
    st.caption(_said(made, plane, stop, spec))


def _said(made: WordVectors, plane: Plane, stop: int, spec: CheckpointSpec) -> str:
    count = len(made.own.found)
    if stop == STATIC:
        spots = len({one.ids for one in made.own.found})
        if spots > 1:
            return (
                f"The table of {spec.name} has one vector for each piece, and this word is written in {spots} ways "
                f"here (a capital, a space before it): {count} occurrences on {spots} spots. Numbers are lines."
            )
        return (
            f"The table of {spec.name} has one vector for the word, so its {count} occurrences lie on one spot, "
            "whatever their sentences say. Numbers are lines."
        )
    if count == 1:
        return "One occurrence is one point. Add a sentence with the word to have something to compare it with."
    if plane.shares is not None:
        return (
            f"{count} occurrences, {made.own.vectors.shape[-1]} numbers each; the plane shows "
            f"{100 * sum(plane.shares):.0f} % of what they differ by. Numbers are lines."
        )
    return (
        f"{count} occurrences, perplexity {perplexity_for(count, PERPLEXITY):.1f}. Only who is near whom means "
        "something here: sizes of groups and distances between them do not, and another start draws another map."
    )


def cut(one: Occurrence) -> tuple[str, str, str]:
    """A sentence cut at its word."""
    return one.text[: one.start], one.text[one.start : one.end], one.text[one.end :]
