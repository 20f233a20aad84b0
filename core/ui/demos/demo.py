"""A demo of the branch pages: its name in the link, which models it fits, its parameters, and what it draws.

Its words are ``assets/content/demos/<slug>.md``; the title is what the menu calls it. A page offers those of its demos
that fit the live model, and opens with the first of them.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar

import streamlit as st

from core import session
from core.checkpoints.spec import Checkpoint, CheckpointSpec
from core.content import Content, content
from core.figures.predictions import bars_alt, guess_bars
from core.table import Table
from core.ui.chart import chart
from core.ui.demos.cover import Judge, uncovered
from core.ui.page import accent, plain, theme
from core.ui.panel import Panel, table_menu
from core.ui.param import Param
from core.ui.section import View

P = ParamSpec("P")
T = TypeVar("T")
Columns = Mapping[str, str | int]


class Guess(Protocol):
    """A model's best answers and their probabilities, such as a ``MaskPrediction``."""

    @property
    def tokens(self) -> Sequence[str]: ...

    @property
    def probabilities(self) -> Sequence[float]: ...


class Prediction(NamedTuple):
    """A model's best answers among others."""

    title: str
    guess: Guess
    columns: Columns
    """What tells it from the others in their table."""
    chosen: int | None = None
    """The answer that is marked."""
    note: str = ""
    """Markdown under the picture."""


@dataclass(frozen=True, slots=True)
class DemoView(View):
    """What a demo draws with."""

    spec: CheckpointSpec = field(kw_only=True)
    """The live model."""

    @property
    def accent(self) -> str:
        """The color of the model's branch."""
        return accent(self.spec.branch)

    @property
    def checkpoint(self) -> Checkpoint:
        """The live model, loaded."""
        return session.checkpoint(self.spec.slug)

    def computed(
        self, doing: str, compute: Callable[Concatenate[Checkpoint, P], T], *given: P.args, **more: P.kwargs
    ) -> T:
        """What ``compute`` finds with the live model, cached; ``doing`` is told meanwhile."""
        return session.computed(doing, compute, self.spec.slug, *given, **more)

    def uncovered(self, label: str, judge: Judge, *question: object, **how: Any) -> bool:
        """Whether the answer to ``question`` may be drawn: :func:`~core.ui.demos.cover.uncovered` of this demo."""
        return uncovered(self.state, self.question(*question), label, judge, **how)

    def question(self, *question: object) -> tuple[object, ...]:
        """``question`` with the names of the demo and of the model, which tell it from any other of the page."""
        return (self.words.path.stem, self.spec.slug, *question)

    def predictions(
        self, slug: str, title: str, shown: Sequence[Prediction], across: int, *, most: int = 9, table: bool = True
    ) -> None:
        """Bars of several answers, all on one scale, and a table of all of them.

        Args:
            slug: names the table's file.
            title: the table's.
            across: how many stand beside each other.
            most: how many are drawn; the table has all of them.
            table: whether the table is wanted; else the caller has one of its own.
        """
        scale = max(one.guess.probabilities[0] for one in shown)
        for start in range(0, min(len(shown), most), across):
            row = shown[start : min(start + across, most)]
            for number, (column, one) in enumerate(zip(st.columns(across, gap="medium"), row, strict=False), start):
                words, chances = list(one.guess.tokens), list(one.guess.probabilities)
                with column:
                    st.caption(plain(one.title))
                    chart(
                        guess_bars(words, chances, self.accent, chosen=one.chosen, scale=scale, theme=theme()),
                        key=self.state.key(f"guesses.{slug}.{number}"),
                        alt=bars_alt(words, chances, one.title),
                    )
                    if one.note:
                        st.caption(one.note)
        if len(shown) > most:
            st.caption(f"The first {most} of {len(shown)} are drawn; the table has all of them.")
        if table:
            self.table(slug, title, [row for one in shown for row in _ranked(one)])

    def chances(
        self,
        slug: str,
        title: str,
        names: Sequence[str],
        values: Sequence[float],
        rows: Sequence[Mapping[str, Any]],
        color: str = "",
    ) -> None:
        """The probability of each of a few answers, on a scale from 0 to 1.

        Args:
            slug: names the picture and its files.
            rows: of the table.
            color: of the bars; the branch's where it is empty.
        """
        Panel(
            slug,
            title,
            guess_bars(names, values, color or self.accent, scale=1.0, theme=theme()),
            bars_alt(names, values, title),
            Table.from_records(rows),
            heading=True,
        ).draw(self.state)

    def table(self, slug: str, title: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """The numbers of several pictures, on request."""
        table_menu(Table.from_records(rows), title, self.state.key(f"table.{slug}"), slug)

    def how_it_works(self, *parts: str, notes: Sequence[str] = (), **values: str | int | float) -> None:
        """The formulas with their letters named, and the paper, behind the heading that the words call ``how``."""
        with st.expander(self.words.label("how")):
            for part in parts or ("How it works",):
                self.say(part, **values)
            for note in (*notes, *(["Paper"] if self.words.has("Paper") else [])):
                self.note(note)


def _ranked(one: Prediction) -> list[dict[str, str | int | float]]:
    """A row of the table for each answer."""
    ids = getattr(one.guess, "ids", ())
    pairs = zip(one.guess.tokens, one.guess.probabilities, strict=True)
    return [
        {**one.columns, "rank": rank, "guess": token, "probability": chance} | ({"id": ids[rank - 1]} if ids else {})
        for rank, (token, chance) in enumerate(pairs, 1)
    ]


def paragraph(parts: Iterable[tuple[str, str]], style: str, label: str = "") -> str:
    """Texts as one paragraph of HTML, each escaped and in the style that stands beside it.

    Args:
        style: of the paragraph.
        label: what the texts are, small on a line above them.
    """
    spans = "".join(
        f'<span style="{own}">{text}</span>' if own else text
        for text, own in ((html.escape(text).replace("\n", "<br>"), own) for text, own in parts)
    )
    above = f"<small>{html.escape(label)}</small><br>" if label else ""
    return f'<p dir="auto" style="overflow-wrap:anywhere;{style}">{above}{spans}</p>'


def underlined(color: str) -> str:
    """The style of a part that a model generated or changed."""
    return f"text-decoration:underline 2px {color};text-underline-offset:.28em"


@dataclass(frozen=True)
class Demo:
    """One demo."""

    slug: str
    draw: Callable[[DemoView], None]
    fits: Callable[[CheckpointSpec], bool]
    """Whether it shows something of this model: what kind it is, which heads it has, what its card names."""
    params: tuple[Param[Any], ...] = ()

    @property
    def words(self) -> Content:
        """Its content file."""
        return content("demos", self.slug)
