"""The demo of Longformer: a window and global tokens that the visitor picks, beside full attention of the model."""

from __future__ import annotations

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from core import session
from core.checkpoints.spec import Checkpoint
from core.efficiency import windowed as layout
from core.efficiency.compare import LongText, prepare
from core.efficiency.compare_windows import WAYS, Guesses, WindowComparison, global_positions
from core.errors import AtlasError
from core.figures import sparse as figures
from core.figures.predictions import compared_bars, percent
from core.links import parameters as link
from core.theme import ORANGE, PURPLE
from core.ui.chart import chart
from core.ui.data_table import data_table
from core.ui.demos.cover import uncovered, verdict
from core.ui.demos.cover_masks import FIRST, ONE
from core.ui.demos.demo import Demo, DemoView
from core.ui.demos.long_text import (
    OWN,
    amount,
    choose,
    clue_position,
    megabytes,
    progress_in,
    seconds,
    text_controls,
    text_of,
)
from core.ui.demos.sparse import LONG
from core.ui.glossary import terms, told
from core.ui.links import PageState
from core.ui.notices import warned
from core.ui.page import plain, theme
from core.ui.param import Carried
from core.ui.text_box import text_box

NAME = "Max"
"""What the sample's clue tells."""
_CELLS = 64
"""Cells that the picture has on a side, or a few more."""


def window_demo(view: DemoView) -> None:
    """Draw the whole demo; reads and writes sample, tokens, text, side, start and words."""
    spec, state = view.spec, view.state
    from core.efficiency.longformer import shape_of, side_of

    checkpoint = session.checkpoint(spec.slug)
    layers, _, positions = shape_of(checkpoint.model)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        sample, length = text_controls(state, positions)
        side = choose(state, "Window, each side", "side", layout.SIDES, side_of(checkpoint.model))
        words = text_box(
            state,
            "words",
            "Words that become global",
            max_chars=200,
            width=240,
            placeholder="dog, lamp",
            help="They see every token and every token sees them. Commas between them",
        )
        start = st.toggle("First token global", state.text("start", "yes") == "yes", key=state.key("start"))
    state.set(start=None if start else "no")
    text = text_of(state, checkpoint, sample, length)
    try:
        long = prepare(checkpoint, text, positions)
        global_at = global_positions(checkpoint, long, words, start)
    except AtlasError as error:
        warned(str(error), icon=":material/info:")
        return
    clue = clue_position(checkpoint, long, text, NAME) if sample != OWN else None
    left, right = st.columns([1.15, 1], gap="large")
    with left:
        kinds, cell = _picture(long, side, global_at, clue, state)
        if clue is not None:
            st.markdown(_way(layers, side, global_at, clue, long.masks[0]))
    with right:
        waiting = st.empty()
        found = session.window_comparison(spec.slug, long, side, global_at, progress_in(waiting))
        waiting.empty()
        _numbers(found)
        shown = _uncovered(checkpoint, long, found, side, global_at, state)
        for mask in found.masks if shown else ():
            _answers(mask, state)
    told(
        "**Try** the clue in the middle of the log, then write the dog's name into the box of global words: it "
        "becomes a place that every token sees. Then switch the first token off."
    )
    told(
        "**Notice** that a wider window costs more for every token, a global token only one row and one column. What "
        "the model was not trained with, other windows and other global tokens, it may use badly."
    )
    _tabs(checkpoint, found, long, side, global_at, figures.pattern_table(kinds, cell, len(long.ids)), state, shown)


def _uncovered(
    checkpoint: Checkpoint,
    long: LongText,
    found: WindowComparison,
    side: int,
    global_at: tuple[int, ...],
    state: PageState,
) -> bool:
    """Whether the answers may be drawn, or wait for a guess at the first hidden word."""
    answers = found.masks[0].words
    at = list(WAYS).index("chosen")

    def judge(guess: str) -> str:
        said = verdict(guess, [word.text for word in answers], [word.chances[at] for word in answers])
        return f"{said} That is with the window and your global tokens."

    question = ("window", checkpoint.spec.slug, long.text, side, global_at)
    return uncovered(state, question, ONE if len(found.masks) == 1 else FIRST, judge)


def _picture(
    long: LongText, side: int, global_at: tuple[int, ...], clue: int | None, state: PageState
) -> tuple[NDArray[np.uint8], int]:
    n = len(long.ids)
    cell = max(1, -(-n // _CELLS))
    kinds = layout.kinds(n, side, global_at, cell)
    one = layout.cost(n, side, global_at)
    st.markdown(f"**Which tokens see which** · {n:,} tokens, {len(global_at)} of them global")
    marks = [(position, "mask") for position in long.masks] + ([(clue, "clue")] if clue is not None else [])
    chart(
        figures.pattern(kinds, cell, theme=theme(), marks=marks, listed=(1, 2)),
        key=state.key("window.pattern"),
        alt=f"Window attention: {one.sparse:,} of {one.full:,} pairs of tokens are computed, a band along the diagonal "
        "and a row and a column for every global token.",
    )
    st.caption(
        f"The same in every layer and head: {100 * one.share:.1f} % of all pairs are computed. A cell stands for "
        f"{cell} × {cell} tokens and has a colour where one of its pairs is computed."
    )
    return kinds, cell


def _way(layers: int, side: int, global_at: tuple[int, ...], clue: int, mask: int) -> str:
    """One sentence on how the clue can reach the mask."""
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


def _numbers(found: WindowComparison) -> None:
    """Scores, time and memory: window beside full."""
    window, full = found.window, found.full
    rows = (
        ("Scores computed", amount(window.scores), amount(full.scores)),
        ("Time in attention", seconds(window.attention_seconds), seconds(full.attention_seconds)),
        ("Memory, one head", megabytes(window.peak_bytes), megabytes(full.peak_bytes)),
    )
    lines = [f"| {name} | **{one}** | {other} |" for name, one, other in rows]
    st.markdown("\n".join(("| | window | full |", "|:--|--:|--:|", *lines)))


def _answers(mask: Guesses, state: PageState) -> None:
    st.markdown(f"**What the mask becomes** · {plain(mask.context)}")
    chart(
        compared_bars(
            list(WAYS.values()),
            [(word.text, word.chances) for word in mask.words[:4]],
            (theme().muted, PURPLE, theme().primary, ORANGE),
            theme=theme(),
        ),
        key=state.key(f"window.answers.{mask.position}"),
        alt="Probabilities of the likeliest words for the mask under full attention, under the window with the chosen "
        "global tokens, with the first token, and with none.",
    )
    best = max(mask.words, key=lambda word: word.chances[0])
    moved = f"Your global tokens move {100 * mask.moved:.0f} % of the window's probability to other words."
    st.caption(
        f"{terms(moved)} Full attention, for which these weights were not trained, says “{plain(best.text)}” "
        f"({percent(best.chances[0])})."
    )


def _tabs(
    checkpoint: Checkpoint,
    found: WindowComparison,
    long: LongText,
    side: int,
    global_at: tuple[int, ...],
    pattern: list[dict[str, object]],
    state: PageState,
    shown: bool,
) -> None:
    growth, formula, tables, text = st.tabs(["Cost against length", "Formula", "As tables", "The text"])
    costs = [layout.cost(n, side, global_at) for n in (256, 512, 1024, 1536, 2048)]
    with growth:
        chart(
            figures.cost_curve(costs, found.tokens, "window", theme=theme()),
            key=state.key("window.curve"),
            alt="Scores of one head against the length: full attention grows with the square, the window along a line.",
        )
        data_table(figures.cost_table(costs), "window-costs", alt="Scores of one head by the length of the text")
    with formula:
        st.latex(
            r"h_i = \operatorname{softmax}\!\left(\frac{q_i\,[K_G\;K_{i-w..i+w}]^{\top}}{\sqrt{d}}\right)"
            r"[V_G\;V_{i-w..i+w}] \qquad \text{scores} \approx (2w + 1 + g)\,n + g\,n"
        )
        told(
            f"- $h_i$: what a head makes of token $i$; $q_i$: its query; $K$, $V$: keys and values; $d$: width of a "
            f"head; $n$: tokens\n"
            f"- $w = {side}$: reach of the window on one side. transformers and the paper count both sides: "
            f"{2 * side}\n- $G$: the $g = {len(global_at)}$ global tokens. Their own queries, keys and values have "
            "projections of their own, which began as copies of the window's."
        )
        st.caption("Beltagy et al. 2020, “Longformer: The Long-Document Transformer”, arXiv 2004.05150.")
    with tables:
        data_table(
            [
                {
                    "Attention": name,
                    "Scores (all layers and heads)": m.scores,
                    "Passes": m.passes,
                    "Attention, seconds": round(m.attention_seconds, 3),
                    "Whole pass, seconds": round(m.seconds, 3),
                    "Peak of one head, bytes": m.peak_bytes,
                    "Scores of a layer, bytes": m.layer_bytes,
                }
                for name, m in (("window", found.window), ("full", found.full))
            ],
            "window-measured",
            alt="What the window and full attention cost on this text",
        )
        st.caption(
            f"Scores are counted. Seconds are the median of {found.full.passes} passes on this server now. Both sides "
            "are plain matrix products: fused kernels would make both faster."
        )
        for number, mask in enumerate(found.masks if shown else (), 1):
            rows = [{"Word": w.text, **dict(zip(WAYS.values(), w.chances, strict=True))} for w in mask.words]
            data_table(rows, f"window-mask-{number}", alt=f"Probabilities of the likeliest words for mask {number}")
        data_table(pattern, "window-pattern", alt="The blocks of keys that each block of queries sees")
    with text:
        tokenizer = checkpoint.tokenizer
        named = ", ".join(tokenizer.convert_ids_to_tokens([long.ids[at] for at in global_at])) or "none"
        st.caption(f"{found.tokens:,} tokens. Global: {plain(named)}.")
        st.text(long.text)


WINDOW = Demo(
    "window",
    window_demo,
    lambda spec: spec.offers("window"),
    (
        *LONG,
        Carried(name="side", label="Tokens to each side", as_=link.Integer(None, 1, 1024)),
        Carried(name="words", label="Words that are global", as_=link.Text()),
        Carried(name="start", label="First token global", as_=link.Choice("yes", ("yes", "no"))),
    ),
)
