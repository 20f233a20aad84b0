"""The demo of Longformer: a window and global tokens that the visitor picks, beside full attention of the model."""

from __future__ import annotations

import streamlit as st

from core import session
from core.efficiency.compare import WAYS, Comparison, LongText, MaskedWord, global_positions, prepare
from core.figures.predictions import percent
from core.sparse import windowed as layout
from core.theme import ORANGE, PURPLE
from core.ui.demos.demo import Demo, DemoView
from core.ui.demos.long_text import (
    OWN,
    OWN_TEXT,
    SAMPLE,
    TOKENS,
    Filled,
    Menu,
    below,
    clue_position,
    costs_of,
    filled_masks,
    growth,
    pattern_panel,
    progress_in,
    text_controls,
    text_of,
)
from core.ui.page import theme
from core.ui.param import Text, Toggle

NAME = "Max"
"""What the sample's clue tells."""
_CELLS = 64
"""Cells that the picture has on a side, or a few more."""
SIDE = Menu(name="side", label="Window, each side", low=1, high=1024, options=())
WORDS = Text(
    name="words",
    label="Words that become global",
    most=200,
    width=240,
    placeholder="dog, lamp",
    help="They attend to every token and every token attends to them. Commas between them",
)
START = Toggle(name="start", label="First token global", default=True)


def draw(view: DemoView) -> None:
    """Draw the demo.

    Raises:
        AtlasError: the text or the words do not suit the model.
    """
    from core.sparse.longformer import shape_of, sides_of

    state, checkpoint = view.state, view.checkpoint
    layers, _, positions = shape_of(checkpoint.model)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        sample, length = text_controls(state, positions)
        side = SIDE.with_(options=layout.SIDES, default=sides_of(checkpoint.model)[0]).draw(state)
        words = WORDS.draw(state)
        start = START.draw(state)
    text = text_of(state, checkpoint, sample, length)
    long = prepare(checkpoint, text)
    global_at = global_positions(checkpoint, long, words, start)
    clue = clue_position(checkpoint, long, text, NAME) if sample != OWN else None
    left, right = st.columns([1.15, 1], gap="large")
    with left:
        _pattern(view, long, side, global_at, clue)
        if clue is not None:
            _distance(view, layers, side, global_at, clue, long.masks[0])
    with right:
        waiting = st.empty()
        found = session.window_comparison(view.spec.slug, long, side, global_at, progress_in(waiting))
        waiting.empty()
        costs_of(state, "window", found.sparse, found.full)
        ways = dict(zip(WAYS.values(), (theme().muted, PURPLE, theme().primary, ORANGE), strict=True))
        chosen, masks = list(WAYS).index("chosen"), [_filled(mask) for mask in found.masks]
        filled_masks(view, "window", masks, ways, chosen, long.text, side, global_at, most=4)
    view.try_and_notice()
    _below(view, found, long, side, global_at)


def _pattern(view: DemoView, long: LongText, side: int, global_at: tuple[int, ...], clue: int | None) -> None:
    n = len(long.ids)
    cell = max(1, -(-n // _CELLS))
    one = layout.cost(n, side, global_at)
    pattern_panel(
        view,
        "window",
        f"{len(global_at)} of them global",
        f"Window attention: {one.sparse:,} of {one.full:,} pairs of tokens are computed, a band along the diagonal "
        "and a row and a column for every global token.",
        layout.kinds(n, side, global_at, cell),
        cell,
        long,
        clue,
        listed=(1, 2),
        share=f"{100 * one.share:.1f}",
        cell=cell,
    )


def _distance(view: DemoView, layers: int, side: int, global_at: tuple[int, ...], clue: int, mask: int) -> None:
    """How information can get from the clue to the mask."""
    alone, through = layout.steps(side, (), clue, mask), layout.steps(side, global_at, clue, mask)
    view.say(
        "Distance" if through >= alone else "Distance: through a global token",
        apart=f"{abs(mask - clue):,}",
        windows=f"{alone} {'window' if alone == 1 else 'windows'}",
        layers=layers,
        enough="enough" if alone <= layers else "too few",
        steps=f"{through} {'step' if through == 1 else 'steps'}",
    )


def _filled(mask: MaskedWord) -> Filled:
    best = max(mask.answers, key=lambda answer: answer.probabilities[0])
    moved = f"Your global tokens move {100 * mask.distance:.0f} % of the window's probability to other words."
    full = "Full attention, for which these weights were not trained, predicts"
    said = f"{moved} {full} “{best.text}” ({percent(best.probabilities[0])})."
    return Filled(mask.context, [(one.text, one.probabilities) for one in mask.answers], said)


def _below(view: DemoView, found: Comparison, long: LongText, side: int, global_at: tuple[int, ...]) -> None:
    """Cost against length, formula, and the text."""

    def costs() -> None:
        counts = [layout.cost(n, side, global_at) for n in (256, 512, 1024, 1536, 2048)]
        growth(view.state, counts, found.tokens, "window")
        view.note("Measured", passes=found.full.passes)

    def formula() -> None:
        view.say("Formula", **{"side": side, "both": 2 * side, "global": len(global_at)})
        view.note("Paper")

    named = ", ".join(view.checkpoint.tokenizer.convert_ids_to_tokens([long.ids[at] for at in global_at])) or "none"
    below(long, f"Global: {named}.", {"Cost against length": costs, "Formula": formula})


WINDOW = Demo("window", draw, lambda spec: spec.offers("window"), (OWN_TEXT, SAMPLE, TOKENS, SIDE, WORDS, START))
