"""What the demos of long texts share: which text, how long, what attention cost on it, and what stands below."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import streamlit as st
from numpy.typing import NDArray
from streamlit.delta_generator import DeltaGenerator

from core.checkpoints.spec import Checkpoint
from core.efficiency import samples
from core.efficiency.compare import LongText, Measured, token_counter
from core.figures import sparse as figures
from core.figures.numbers import short
from core.figures.predictions import compared_bars
from core.links.parameters import Value
from core.session import Progress
from core.settings import MAX_TEXT_CHARS
from core.sparse.layout import Cost
from core.table import Table
from core.ui.demos.cover import verdict
from core.ui.demos.demo import DemoView
from core.ui.demos.masking import FIRST, ONE
from core.ui.links import PageState
from core.ui.notices import sentences
from core.ui.page import plain, theme
from core.ui.panel import Panel, table_menu
from core.ui.param import Choice, Integer, Text
from core.ui.text_table import Row, TextTable, text_table

OWN = "own"


@dataclass(frozen=True, kw_only=True)
class Menu(Integer):
    """A whole number from a short menu; one that only a link names is put there."""

    options: tuple[int, ...]
    alone: bool = False
    """No other number than the menu's."""

    def checked(self, raw: Value) -> int:
        value = super().checked(raw)
        if self.alone and value not in self.options:
            raise ValueError(f"offered here: {', '.join(map(str, self.options))}")
        return value

    def widget(self, state: PageState, slot: str, value: int) -> int:
        listed = sorted({*self.options, value})
        return st.selectbox(
            self.label,
            listed,
            index=listed.index(value),
            key=state.key(slot),
            width=130,
            format_func=lambda number: f"{number:,}",
            help=self.help,
        )


SAMPLE = Choice(
    name="sample",
    label="Text",
    options={**samples.SAMPLES, OWN: "Your own text"},
    width=260,
    help="A lighthouse keeper's log that says once what the dog is called; the name is masked once",
)
TOKENS = Menu(name="tokens", label="Tokens", low=64, high=4096, options=(256, 512, 1024, 2048, 4096))
OWN_TEXT = Text(
    name="text",
    label="Your text, with [MASK] in place of a word",
    default="The capital of France is Paris. Many people visit the tower in [MASK] every summer.",
    height=160,
    most=MAX_TEXT_CHARS,
)


def text_controls(state: PageState, positions: int) -> tuple[str, int]:
    """Which text, and how long a sample is."""
    if state.text("text"):
        state.set(sample=OWN)
    sample = SAMPLE.draw(state)
    if sample == OWN:
        return OWN, 0
    state.set(text=None)
    lengths = tuple(n for n in TOKENS.options if n <= positions) or (positions,)
    return sample, TOKENS.with_(options=lengths, default=min(1024, lengths[-1])).draw(state)


def text_of(state: PageState, checkpoint: Checkpoint, sample: str, length: int) -> str:
    """The text to run: built from a sample, or the visitor's own."""
    if sample != OWN:
        with sentences():
            return samples.build(sample, length, token_counter(checkpoint))
    return OWN_TEXT.draw(state)


def clue_position(checkpoint: Checkpoint, long: LongText, text: str, word: str = "") -> int | None:
    """The token at which the sample gives its clue, or a word of it; the special token at the front counts."""
    at = text.find(samples.CLUE)
    position = 1 + token_counter(checkpoint)(text[: at + samples.CLUE.find(word)])
    return position if 0 <= position < len(long.ids) and at >= 0 else None


def progress_in(place: DeltaGenerator) -> Progress:
    """A bar that tells how far the comparison is; leaving the page or changing a control stops it."""

    def tell(share: float, doing: str) -> None:
        place.progress(share, text=doing)

    return tell


def pattern_panel(
    view: DemoView,
    name: str,
    title: str,
    alt: str,
    kinds: NDArray[np.uint8],
    size: int,
    long: LongText,
    clue: int | None,
    *,
    listed: Sequence[int] = (1, 2, 3),
    **values: str | int,
) -> None:
    """Which tokens attend to which, with the mask and the clue pointed out.

    Args:
        name: of the attention; it names the picture.
        kinds: of each pair of cells, shape (B, B); a cell has ``size`` tokens on a side.
        listed: the kinds that the legend names.
        **values: numbers in the note, the part ``Pattern`` of the words.
    """
    marks = [(position, "mask") for position in long.masks] + ([(clue, "clue")] if clue is not None else [])
    Panel(
        f"{name}-pattern",
        f"Which tokens attend to which: {len(long.ids):,} tokens, {title}",
        figures.pattern(kinds, size, theme=theme(), marks=marks, listed=listed),
        alt,
        Table.from_records(figures.pattern_table(kinds, size, len(long.ids))),
        note=view.words.part("Pattern", **values),
        heading=True,
    ).draw(view.state)


class Filled(NamedTuple):
    """What one mask becomes."""

    context: str
    words: Sequence[tuple[str, Sequence[float]]]
    """The likeliest words, each with its probability in every way that is compared."""
    said: str
    """What that comes to, plain text."""


def filled_masks(
    view: DemoView,
    name: str,
    masks: Sequence[Filled],
    ways: Mapping[str, str],
    judged: int,
    *question: object,
    most: int | None = None,
) -> None:
    """The masks' words in every way that is compared, which wait for a guess at the first of them.

    Args:
        name: of the attention; it names the pictures.
        ways: the color of each way, by its name.
        judged: the way that the guess is held against; the words say which, under ``judged``.
        most: words that are drawn; the tables have all.
    """
    answers = sorted(masks[0].words, key=lambda word: -word[1][judged])

    def judge(guess: str) -> str:
        said = verdict(guess, [word for word, _ in answers], [chances[judged] for _, chances in answers])
        return f"{said} {view.words.label('judged')}"

    if not view.uncovered(ONE if len(masks) == 1 else FIRST, judge, *question):
        return
    for number, mask in enumerate(masks, 1):
        st.markdown(f"**Predictions for the mask** · {plain(mask.context)}")
        Panel(
            f"{name}-mask-{number}",
            f"Probabilities of the most probable words for mask {number}",
            compared_bars(list(ways), mask.words[:most], list(ways.values()), theme=theme()),
            f"Probabilities of the most probable words for the mask: {', '.join(ways)}.",
            Table(("Word", *ways), tuple((word, *chances) for word, chances in mask.words)),
            note=plain(mask.said),
        ).draw(view.state)


def costs_of(state: PageState, name: str, one: Measured, full: Measured) -> None:
    """Scores, time and memory: the attention called ``name`` beside full attention."""
    rows: tuple[tuple[str, Callable[..., str], float, float], ...] = (
        ("Scores computed", short, one.scores, full.scores),
        ("Time in attention", _seconds, one.attention_seconds, full.attention_seconds),
        ("Memory, one head", _megabytes, one.peak_bytes, full.peak_bytes),
    )
    cells: list[Row] = [(label, shown(a), shown(b), _times(a, b)) for label, shown, a, b in rows]
    title = f"What {name} and full attention cost on this text"
    text_table(TextTable(("Cost", name, "full", "ratio"), cells, title, (31, 25, 20, 24), (1, 2)))
    headings = (
        "Attention",
        "Scores (all layers and heads)",
        "Attention, seconds",
        "Forward pass, seconds",
        "Passes",
        "Peak of one head, bytes",
        "Scores of a layer, bytes",
    )
    measured = tuple(
        (of, m.scores, round(m.attention_seconds, 3), round(m.seconds, 3), m.passes, m.peak_bytes, m.layer_bytes)
        for of, m in ((name, one), ("full", full))
    )
    table_menu(Table(headings, measured), title, state.key("table.measured"), f"{name}-measured")


def growth(state: PageState, costs: Sequence[Cost], here: int, name: str) -> None:
    """Cost against length: counts of one head, not measurements."""
    Panel(
        f"{name}-costs",
        "Scores of one head by the length of the text",
        figures.cost_curve(costs, here, name, theme=theme()),
        f"Scores of one head against the length: full attention grows quadratically, {name} linearly.",
        Table.from_records(figures.cost_table(costs)),
    ).draw(state)


def below(long: LongText, said: str, drawn: Mapping[str, Callable[[], None]]) -> None:
    """Tabs with what is ``drawn`` in each, and the text; ``said``: what stands over it, plain text."""
    tabs = st.tabs([*drawn, "The text"])
    for tab, draw in zip(tabs, drawn.values(), strict=False):
        with tab:
            draw()
    with tabs[-1]:
        st.caption(plain(f"{len(long.text):,} characters, {len(long.ids):,} tokens. {said}"))
        st.text(long.text)


def _times(one: float, full: float) -> str:
    if not one or not full:
        return ""
    return f"{full / one:.1f} × less" if full >= one else f"{one / full:.1f} × more"


def _seconds(seconds: float) -> str:
    return f"{seconds:.2f}\N{NO-BREAK SPACE}s" if seconds >= 0.1 else f"{1000 * seconds:.0f}\N{NO-BREAK SPACE}ms"


def _megabytes(count: int) -> str:
    return f"{count / 1e6:.1f}\N{NO-BREAK SPACE}MB" if count < 1e8 else f"{count / 1e6:,.0f}\N{NO-BREAK SPACE}MB"
