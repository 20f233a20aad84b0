"""The demo of Longformer: a window and global tokens that the visitor picks, beside full attention of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from core import session
from core.checkpoints.spec import Checkpoint
from core.efficiency.compare import LongText, prepare
from core.figures import sparse as figures
from core.figures.predictions import compared_bars, percent
from core.table import Table
from core.theme import ORANGE, PURPLE
from core.ui.demos.cover import uncovered, verdict
from core.ui.demos.demo import Demo, DemoView
from core.ui.demos.long_text import (
    OWN,
    OWN_TEXT,
    SAMPLE,
    TOKENS,
    Menu,
    below,
    clue_position,
    costs_of,
    growth,
    progress_in,
    text_controls,
    text_of,
)
from core.ui.demos.masking import FIRST, ONE
from core.ui.glossary import terms
from core.ui.page import plain, theme
from core.ui.panel import Panel
from core.ui.param import Text, Toggle

if TYPE_CHECKING:
    from core.efficiency.compare_windows import Guesses, WindowComparison

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


def window_demo(view: DemoView) -> None:
    """Draw the demo.

    Raises:
        AtlasError: the text or the words do not suit the model.
    """
    from core.efficiency.compare_windows import global_positions
    from core.sparse import windowed as layout
    from core.sparse.longformer import shape_of, side_of

    spec, state = view.spec, view.state
    checkpoint = session.checkpoint(spec.slug)
    layers, _, positions = shape_of(checkpoint.model)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        sample, length = text_controls(state, positions)
        side = SIDE.with_(options=layout.SIDES, default=side_of(checkpoint.model)).draw(state)
        words = WORDS.draw(state)
        start = START.draw(state)
    text = text_of(state, checkpoint, sample, length)
    long = prepare(checkpoint, text, positions)
    global_at = global_positions(checkpoint, long, words, start)
    clue = clue_position(checkpoint, long, text, NAME) if sample != OWN else None
    left, right = st.columns([1.15, 1], gap="large")
    with left:
        _pattern(view, long, side, global_at, clue)
        if clue is not None:
            st.markdown(_distance(layers, side, global_at, clue, long.masks[0]))
    with right:
        waiting = st.empty()
        found = session.window_comparison(spec.slug, long, side, global_at, progress_in(waiting))
        waiting.empty()
        costs_of(state, "window", found.window, found.full)
        for number, mask in enumerate(found.masks if _uncovered(view, long, found, side, global_at) else (), 1):
            _answers(view, number, mask)
    view.try_and_notice()
    _below(view, checkpoint, found, long, side, global_at)


def _uncovered(view: DemoView, long: LongText, found: WindowComparison, side: int, global_at: tuple[int, ...]) -> bool:
    """Whether the answers may be drawn, or wait for a guess at the first masked word."""
    from core.efficiency.compare_windows import WAYS

    answers = found.masks[0].words
    at = list(WAYS).index("chosen")

    def judge(guess: str) -> str:
        said = verdict(guess, [word.text for word in answers], [word.chances[at] for word in answers])
        return f"{said} That is with the window and your global tokens."

    question = ("window", view.spec.slug, long.text, side, global_at)
    return uncovered(view.state, question, ONE if len(found.masks) == 1 else FIRST, judge)


def _pattern(view: DemoView, long: LongText, side: int, global_at: tuple[int, ...], clue: int | None) -> None:
    from core.sparse import windowed as layout

    n = len(long.ids)
    cell = max(1, -(-n // _CELLS))
    kinds = layout.kinds(n, side, global_at, cell)
    one = layout.cost(n, side, global_at)
    marks = [(position, "mask") for position in long.masks] + ([(clue, "clue")] if clue is not None else [])
    Panel(
        "window-pattern",
        f"Which tokens attend to which: {n:,} tokens, {len(global_at)} of them global",
        figures.pattern(kinds, cell, theme=theme(), marks=marks, listed=(1, 2)),
        f"Window attention: {one.sparse:,} of {one.full:,} pairs of tokens are computed, a band along the diagonal "
        "and a row and a column for every global token.",
        Table.from_records(figures.pattern_table(kinds, cell, n)),
        note=view.words.part("Pattern", share=f"{100 * one.share:.1f}", cell=cell),
        heading=True,
    ).draw(view.state)


def _distance(layers: int, side: int, global_at: tuple[int, ...], clue: int, mask: int) -> str:
    """One sentence on how information can get from the clue to the mask."""
    from core.sparse import windowed as layout

    apart = abs(mask - clue)
    alone, through = layout.steps(side, (), clue, mask), layout.steps(side, global_at, clue, mask)
    enough = "enough" if alone <= layers else "too few"
    said = (
        f"Clue and mask are {apart:,} tokens apart: {alone} {'window' if alone == 1 else 'windows'}, and the model's "
        f"{layers} layers are {enough} for that."
    )
    if through < alone:
        said += f" Through a global token it takes {through} {'step' if through == 1 else 'steps'}."
    return said


def _answers(view: DemoView, number: int, mask: Guesses) -> None:
    from core.efficiency.compare_windows import WAYS

    best = max(mask.words, key=lambda word: word.chances[0])
    moved = f"Your global tokens move {100 * mask.moved:.0f} % of the window's probability to other words."
    full = f"Full attention, for which these weights were not trained, predicts “{best.text}”"
    st.markdown(f"**What the mask becomes** · {plain(mask.context)}")
    Panel(
        f"window-mask-{number}",
        f"Probabilities of the likeliest words for mask {number}",
        compared_bars(
            list(WAYS.values()),
            [(word.text, word.chances) for word in mask.words[:4]],
            (theme().muted, PURPLE, theme().primary, ORANGE),
            theme=theme(),
        ),
        "Probabilities of the likeliest words for the mask under full attention, under the window with the chosen "
        "global tokens, with the first token, and with none.",
        Table(("Word", *WAYS.values()), tuple((word.text, *word.chances) for word in mask.words)),
        note=f"{terms(moved)} {plain(f'{full} ({percent(best.chances[0])}).')}",
    ).draw(view.state)


def _below(
    view: DemoView,
    checkpoint: Checkpoint,
    found: WindowComparison,
    long: LongText,
    side: int,
    global_at: tuple[int, ...],
) -> None:
    """Cost against length, formula, and the text."""
    from core.sparse import windowed as layout

    def costs() -> None:
        counts = [layout.cost(n, side, global_at) for n in (256, 512, 1024, 1536, 2048)]
        growth(view.state, counts, found.tokens, "window")
        view.note("Measured", passes=found.full.passes)

    def formula() -> None:
        view.say("Formula", **{"side": side, "both": 2 * side, "global": len(global_at)})
        view.note("Paper")

    named = ", ".join(checkpoint.tokenizer.convert_ids_to_tokens([long.ids[at] for at in global_at])) or "none"
    below(long, f"Global: {named}.", {"Cost against length": costs, "Formula": formula})


WINDOW = Demo("window", window_demo, lambda spec: spec.offers("window"), (OWN_TEXT, SAMPLE, TOKENS, SIDE, WORDS, START))
