"""What the demos of long texts share: the text and its length, the cost of attention, and the tabs below."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from core.efficiency import samples
from core.efficiency.compare import AttentionCost, MaskedWord, prepare, token_counter
from core.figures import sparse as figures
from core.figures.labels import sentence, short
from core.figures.predictions import compared_bars
from core.language.inputs import Inputs
from core.patterns.layout import Cost
from core.table import Table
from core.ui.demos.cover import verdict
from core.ui.demos.demo import DemoView, Menu
from core.ui.demos.masking import FIRST, ONE
from core.ui.page import plain, theme
from core.ui.panel import Panel
from core.ui.param import Choice, Text
from core.ui.tables import Cell, TableRow, TextTable, text_table
from core.words import counted

OWN = "own"
SAMPLE = Choice(name="sample", label="Text", options={**samples.SAMPLES, OWN: "Your own text"}, width=260)
TOKENS = Menu(name="tokens", label="Tokens", low=64, high=4096, options=(256, 512, 1024, 2048, 4096))
OWN_TEXT = Text(
    name="text",
    label="Your text, with [MASK] in place of a word",
    default="The capital of France is Paris. Many people visit the tower in [MASK] every summer.",
    height=160,
)


def text_controls(view: DemoView, positions: int) -> tuple[str, int]:
    """Draw the controls: the text, and the length of a sample."""
    state = view.state
    if state.text("text"):
        state.set(sample=OWN)
    sample = view.control(SAMPLE)
    if sample == OWN:
        return OWN, 0
    state.set(text=None)
    lengths = tuple(n for n in TOKENS.options if n <= positions) or (positions,)
    return sample, TOKENS.with_(options=lengths, default=min(1024, lengths[-1])).draw(state)


def long_text(view: DemoView, sample: str, length: int, clue_word: str = "") -> tuple[Inputs, int | None]:
    """The text to run, a sample or the visitor's own, and the position of a sample's clue.

    Args:
        clue_word: the word of the clue whose position is wanted.
    """
    checkpoint = view.checkpoint
    if sample == OWN:
        return prepare(checkpoint, OWN_TEXT.draw(view.state)), None
    text = samples.build(sample, length, token_counter(checkpoint))
    long, at = prepare(checkpoint, text), text.find(samples.CLUE)
    clue = 1 + token_counter(checkpoint)(text[: at + samples.CLUE.find(clue_word)])  # after the special token in front
    return long, clue if at >= 0 and clue < len(long.tokens) else None


def pattern_picture(
    view: DemoView,
    slug: str,
    kinds: NDArray[np.uint8],
    size: int,
    long: Inputs,
    clue: int | None,
    *,
    listed: Sequence[int] = (1, 2, 3),
    **values: Any,
) -> None:
    """Draw the attention pattern, with the mask and the clue marked.

    Args:
        kinds: the kind of each cell, shape (B, B); a cell covers ``size`` × ``size`` tokens.
        listed: the kinds that the legend names.
        **values: numbers in the title, the description and the note.
    """
    marks = [(position, "mask") for position in long.positions] + ([(clue, "clue")] if clue is not None else [])
    view.picture(
        slug,
        figures.pattern(kinds, size, theme=theme(), marks=marks, listed=listed),
        figures.pattern_table(kinds, size, len(long.tokens)),
        note="Pattern",
        tokens=f"{len(long.tokens):,}",
        **values,
    )


def filled_masks(
    view: DemoView,
    name: str,
    masks: Sequence[MaskedWord],
    comment: Callable[[MaskedWord], str],
    colors: Mapping[str, str],
    judged: int,
    *question: object,
    covered: bool,
    most: int | None = None,
) -> None:
    """Draw the predicted words under each kind of attention, covered until a guess at the first mask.

    Args:
        name: of the attention, used in the figures' titles.
        comment: on the predictions of a mask, in plain text.
        colors: of each kind of attention.
        judged: the kind that the guess is compared with; named by the label ``judged``.
        covered: whether the answers wait for a guess.
        most: words drawn; the tables have all.
    """
    ranked = sorted(masks[0].answers, key=lambda answer: -answer.probabilities[judged])

    def judge(guess: str) -> str:
        of_guess = verdict(guess, [a.text for a in ranked], [a.probabilities[judged] for a in ranked])
        return f"{of_guess} {view.words.label('judged')}"

    if not view.uncovered(ONE if len(masks) == 1 else FIRST, judge, *question, on=covered):
        return
    for number, mask in enumerate(masks, 1):
        title = f"Predictions for mask {number}" if len(masks) > 1 else "Predictions for the mask"
        words = [(answer.text, answer.probabilities) for answer in mask.answers]
        st.markdown(f"**{title}** · {plain(mask.context)}")
        Panel(
            f"{name}-mask-{number}",
            title,
            compared_bars(list(colors), words[:most], list(colors.values()), theme=theme()),
            sentence("Compared words", mask=number, variants=", ".join(colors)),
            Table(("Word", *colors), tuple((word, *chances) for word, chances in words)),
            note=plain(comment(mask)),
        ).draw(view.state)


def costs_of(view: DemoView, name: str, measured: AttentionCost, full: AttentionCost) -> None:
    """Draw scores and memory of the attention called ``name`` and of full attention."""
    rows: tuple[tuple[Cell, Callable[[AttentionCost], Cell], float, float], ...] = (
        (("Scores", "computed"), lambda of: short(of.scores), measured.scores, full.scores),
        (("Memory", "of one head"), lambda of: _megabytes(of.peak_bytes), measured.peak_bytes, full.peak_bytes),
    )
    cells: list[TableRow] = [(label, shown(measured), shown(full), _ratio(a, b)) for label, shown, a, b in rows]
    title = view.words.label(f"{name}-measured")
    with st.container(key="atlas-costs"):
        text_table(TextTable(("Cost", name, "full", "ratio"), cells, title, (28, 24, 22, 26), (1, 2)))
    records = [
        {
            "Attention": of,
            "Scores (all layers and heads)": m.scores,
            "Peak of one head, bytes": m.peak_bytes,
            "Scores of a layer, bytes": m.layer_bytes,
        }
        for of, m in ((name, measured), ("full", full))
    ]
    view.table(f"{name}-measured", records)


def growth(view: DemoView, costs: Sequence[Cost], here: int, name: str) -> None:
    """Draw cost against length: counts for one head, not measurements."""
    figure = figures.cost_curve(costs, here, name, theme=theme())
    view.picture(f"{name}-costs", figure, figures.cost_table(costs))


def below(view: DemoView, long: Inputs, note: str, drawn: Mapping[str, Callable[[], None]]) -> None:
    """Draw a closed expander of tabs, each filled by a function of ``drawn``; the text follows a plain ``note``."""
    tabs = st.expander(view.words.label("how")).tabs([*drawn, "The text"])
    for tab, draw in zip(tabs, drawn.values(), strict=False):
        with tab:
            draw()
    with tabs[-1]:
        st.caption(plain(f"{counted(len(long.text), 'character')}, {counted(len(long.tokens), 'token')}. {note}"))
        st.text(long.text)


def _ratio(cost: float, full: float) -> str:
    if not cost or not full:
        return ""
    return f"{full / cost:.1f}× less" if full >= cost else f"{cost / full:.1f}× more"


def _megabytes(count: int) -> str:
    return f"{count / 1e6:.1f}\N{NO-BREAK SPACE}MB" if count < 1e8 else f"{count / 1e6:,.0f}\N{NO-BREAK SPACE}MB"
