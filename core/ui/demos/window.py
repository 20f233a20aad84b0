"""The demo of Longformer: sliding-window attention with selected global tokens, beside full attention."""

from __future__ import annotations

from functools import partial

import streamlit as st

from core import session
from core.efficiency.compare import VARIANTS, Comparison, LongText, MaskedWord, compare_windows, global_positions
from core.figures.labels import percent as share_of
from core.figures.predictions import percent
from core.sparse import windowed as layout
from core.sparse.longformer import shape_of, sides_of
from core.theme import ORANGE, PURPLE
from core.ui.demos.demo import Demo, DemoView, Menu
from core.ui.demos.long_text import (
    OWN_TEXT,
    SAMPLE,
    TOKENS,
    below,
    costs_of,
    far_facts,
    filled_masks,
    growth,
    long_text,
    pattern_picture,
    text_controls,
)
from core.ui.page import theme
from core.ui.param import Text, Toggle

NAME = "Max"
"""The word of the sample's clue."""
_CELLS = 64
"""The approximate number of cells on a side of the figure."""
SIDE = Menu(name="side", label="Window, each side", low=1, high=1024)
WORDS = Text(name="words", label="Global words", most=200, width=240, placeholder="dog, lamp")
START = Toggle(name="start", label="First token global", default=True)


def draw(view: DemoView) -> None:
    checkpoint = view.checkpoint
    layers, _, positions = shape_of(checkpoint.model)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        sample, length = text_controls(view, positions)
        side = SIDE.with_(options=layout.SIDES, default=sides_of(checkpoint.model)[0]).draw(view.state)
        words = view.control(WORDS)
        settings = view.settings(START)
    start = settings[START.name]
    long, clue = long_text(view, sample, length, NAME)
    global_at = global_positions(checkpoint, long, words, start)
    left, right = st.columns([1.15, 1], gap="large")
    with left:
        _pattern(view, long, side, global_at, clue)
        if clue is not None:
            _distance(view, layers, side, global_at, clue, long.masks[0])
    with right:
        waiting = st.empty()
        compared = session.measured(
            ("windows", view.spec.slug, session.files(view.spec.slug), long.ids, side, global_at),
            lambda: compare_windows(checkpoint, long, side, global_at, progress=waiting.progress),
            waiting.progress,
            part=True,
        )
        waiting.empty()
        costs_of(view, "window", compared.sparse, compared.full)
        colors = dict(zip(VARIANTS.values(), (theme().muted, PURPLE, theme().primary, ORANGE), strict=True))
        chosen = list(VARIANTS).index("chosen")
        filled_masks(
            view,
            "window",
            compared.masks,
            partial(_comment, view),
            colors,
            chosen,
            long.text,
            side,
            global_at,
            covered=settings["cover"],
            most=4,
        )
    view.try_and_notice()
    _below(view, compared, long, side, global_at)


def _pattern(view: DemoView, long: LongText, side: int, global_at: tuple[int, ...], clue: int | None) -> None:
    n = len(long.ids)
    cell, scores = max(1, -(-n // _CELLS)), layout.cost(n, side, global_at)
    pattern_picture(
        view,
        "window-pattern",
        layout.kinds(n, side, global_at, cell),
        cell,
        long,
        clue,
        listed=(1, 2),
        globals=len(global_at),
        sparse=f"{scores.sparse:,}",
        full=f"{scores.full:,}",
        share=share_of(scores.share),
        cell=cell,
    )


def _distance(view: DemoView, layers: int, side: int, global_at: tuple[int, ...], clue: int, mask: int) -> None:
    """Draw how many layers information from the clue needs to reach the mask."""
    alone, through = layout.steps(side, (), clue, mask), layout.steps(side, global_at, clue, mask)
    view.say(
        "Distance" if through >= alone else "Distance: through a global token",
        apart=f"{abs(mask - clue):,}",
        alone=alone,
        layers=layers,
        enough="enough" if alone <= layers else "too few",
        through=through,
    )


def _comment(view: DemoView, mask: MaskedWord) -> str:
    best = max(mask.answers, key=lambda answer: answer.probabilities[0])
    moved = view.words.part("Moved", share=share_of(mask.distance))
    return f"{moved} “{best.text}” ({percent(best.probabilities[0])})."


def _below(view: DemoView, comparison: Comparison, long: LongText, side: int, global_at: tuple[int, ...]) -> None:
    """Draw cost against length, the formula, and the text."""

    def costs() -> None:
        counts = [layout.cost(n, side, global_at) for n in (256, 512, 1024, 1536, 2048)]
        growth(view, counts, comparison.tokens, "window")
        view.note("Measured", passes=comparison.full.passes)

    def formula() -> None:
        view.say("Formula", **{"side": side, "both": 2 * side, "global": len(global_at)})
        view.note("Paper")

    named = ", ".join(view.checkpoint.tokenizer.convert_ids_to_tokens([long.ids[at] for at in global_at])) or "none"
    below(
        view,
        long,
        f"Global: {named}.",
        {"Cost against length": costs, "Formula": formula, "Far facts": partial(far_facts, view)},
    )


WINDOW = Demo("window", draw, lambda spec: spec.offers("window"), (OWN_TEXT, SAMPLE, TOKENS, SIDE, WORDS, START))
