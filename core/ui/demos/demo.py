"""A demo of the branch pages: its link name, the models it fits, its parameters, and its drawing function.

Its content file is ``assets/content/demos/<slug>.md``; the title is its name in the menu. A page offers the demos
that fit the live model; the first of them is the default.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar

import streamlit as st

from core import checkpoints, session
from core.checkpoints.spec import Checkpoint, CheckpointSpec, Feature
from core.content import Content, content
from core.figures.predictions import bars_alt, prediction_bars
from core.language.tasks import Task
from core.lazy import go
from core.links.parameters import Value
from core.table import Table
from core.ui.demos.cover import Judge, explained, uncovered, verdict
from core.ui.links import PageState
from core.ui.page import accent, plain, theme
from core.ui.panel import Panel, chart, offer_chart, offer_table
from core.ui.param import Control, Integer, Param, Text, settings_menu
from core.ui.picker import card_panel
from core.ui.section import Section, View
from core.ui.tables import data_table

P = ParamSpec("P")
T = TypeVar("T")
Rows = Sequence[Mapping[str, Any]]


class TopPredictions(Protocol):
    """A model's top predictions and their probabilities, such as a ``MaskPrediction``."""

    @property
    def tokens(self) -> Sequence[str]: ...

    @property
    def probabilities(self) -> Sequence[float]: ...


class Prediction(NamedTuple):
    """One of several sets of top predictions."""

    title: str
    top: TopPredictions
    columns: Mapping[str, object] = {}
    """Columns that identify it in the table."""
    chosen: int | None = None
    """The index of the marked answer."""
    note: str = ""
    """Markdown below the figure."""


@dataclass(frozen=True, slots=True)
class DemoView(View):
    """The state, texts and live model that a demo draws with."""

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
        self, doing: str, compute: Callable[Concatenate[Checkpoint, P], T], *arguments: P.args, **more: P.kwargs
    ) -> T:
        """The cached result of ``compute`` for the live model; ``doing`` names the task in the spinner."""
        return session.computed(doing, compute, self.spec.slug, *arguments, **more)

    def uncovered(self, label: str, judge: Judge, *question: object, **how: Any) -> bool:
        """Whether the answer to ``question`` may be drawn: :func:`~core.ui.demos.cover.uncovered` of this demo."""
        return uncovered(self.state, self.question(*question), label, judge, **how)

    def question(self, *question: object) -> tuple[object, ...]:
        """``question`` with the names of the demo and of the model, so that it is unique on the page."""
        return (self.words.path.stem, self.spec.slug, *question)

    def control(self, param: Control[T], *, tag: str = "", **changes: Any) -> T:
        """Draw a parameter with its help from the content file; ``changes`` narrow it to this run."""
        changes = {"help": self.words.front.get("help", {}).get(param.name, param.help)} | changes
        return param.with_(**changes).draw(self.state, tag=tag)

    def settings(self, *controls: Control[Any], tag: str = "") -> dict[str, Any]:
        """Draw the menu of settings and “Guess first”, with help from the content file; the values by name."""
        helps = self.words.front.get("help", {})
        with_help = [control.with_(help=helps.get(control.name, control.help)) for control in controls]
        return settings_menu(self.state, *with_help, explained(), tag=tag)

    def picture(
        self,
        slug: str,
        figure: go.Figure,
        table: Table | Rows | None,
        *,
        alt: str = "",
        note: str = "",
        select: Callable[[str], Mapping[str, Any]] = lambda key: {},
        **values: str | int,
    ) -> None:
        """Draw a figure with its title, note and table.

        Args:
            slug: names the files and the part “Picture: SLUG” of the content: the title, then the text alternative.
            alt: the text alternative, if it contains tokens or is computed.
            note: the part shown below it.
            select: what a click does: arguments of the chart (:mod:`core.ui.selection`) for its key.
            **values: numbers in both parts.
        """
        title, _, description = self.words.part(f"Picture: {slug}", **values).partition("\n\n")
        panel = Panel(
            slug,
            title,
            figure,
            alt or description,
            table if table is None or isinstance(table, Table) else Table.from_records(table),
            note=self.words.part(note, **values) if note else "",
            heading=True,
        )
        panel.draw(self.state, **select(panel.key(self.state)))

    def predictions(
        self,
        slug: str,
        shown: Sequence[Prediction],
        across: int,
        *,
        most: int = 9,
        rows: Rows | None = None,
        titled: bool = True,
    ) -> None:
        """Draw bars of several predictions on one scale, and a table of all; the label ``slug`` names it.

        Args:
            across: figures per row.
            most: how many are drawn; the table has all.
            rows: of the table; by default one for each prediction.
            titled: whether each has its title above it.
        """
        scale = max(prediction.top.probabilities[0] for prediction in shown)
        columns: Sequence[Any] = ()
        for number, (title, top, _, chosen, note) in enumerate(shown[:most]):
            if number % across == 0:
                columns = st.columns(across, gap="medium")
            with columns[number % across]:
                if titled:
                    st.caption(plain(title))
                key = self.state.key(f"predictions.{slug}.{number}")
                alt = bars_alt(top.tokens, top.probabilities, title)
                chart(
                    prediction_bars(
                        top.tokens, top.probabilities, self.accent, chosen=chosen, scale=scale, theme=theme()
                    ),
                    key=key,
                    alt=alt,
                )
                offer_chart(self.state, key, title, f"{slug}-{number + 1}", alt)
                if note:
                    st.caption(note)
        if len(shown) > most:
            st.caption(content("branch", "demo").part("First ones", drawn=most, count=len(shown)))
        self.table(slug, [row for predicted in shown for row in _ranked(predicted)] if rows is None else rows)

    def chances(self, slug: str, names: Sequence[str], values: Sequence[float], rows: Rows, color: str = "") -> None:
        """Draw the probability of each of a few answers as bars from 0 to 1; the label ``slug`` is the title.

        Args:
            rows: of the table.
            color: of the bars; by default the branch's.
        """
        title = self.words.label(slug)
        figure = prediction_bars(names, values, color or self.accent, scale=1.0, theme=theme())
        Panel(slug, title, figure, bars_alt(names, values, title), Table.from_records(rows), heading=True).draw(
            self.state
        )

    def table(self, slug: str, rows: Rows) -> None:
        """Offer the table of several figures at the foot of the page; the label ``slug`` is the title."""
        offer_table(self.state, Table.from_records(rows), self.words.label(slug), slug)

    def data_table(self, slug: str, rows: Rows, column_config: Mapping[str, Any] | None = None) -> None:
        """Draw a table; the label ``slug`` is its text alternative."""
        data_table(rows, slug, alt=self.words.label(slug), column_config=column_config)


def word_judge(top: TopPredictions, truth: str = "") -> Judge:
    """The verdict on a typed word, given a model's predictions; ``truth`` is the original, where known."""
    return lambda typed: verdict(typed, top.tokens, top.probabilities, truth)


def decimals(*columns: str) -> dict[str, Any]:
    """The configuration of columns of numbers with two decimals."""
    return {column: st.column_config.NumberColumn(format="%.2f") for column in columns}


def _ranked(shown: Prediction) -> list[dict[str, object]]:
    """A table row for each prediction."""
    ids = getattr(shown.top, "ids", ())
    pairs = zip(shown.top.tokens, shown.top.probabilities, strict=True)
    return [
        {**shown.columns, "rank": rank, "prediction": token, "probability": chance}
        | ({"id": ids[rank - 1]} if ids else {})
        for rank, (token, chance) in enumerate(pairs, 1)
    ]


def paragraph(parts: Iterable[tuple[str, str]], style: str, label: str = "") -> str:
    """Texts as one paragraph of HTML, each escaped and with its own style.

    Args:
        style: of the paragraph.
        label: what the texts are, small on a line above them.
    """
    spans = "".join(
        f'<span style="{span_style}">{text}</span>' if span_style else text
        for text, span_style in ((html.escape(text).replace("\n", "<br>"), span_style) for text, span_style in parts)
    )
    above = f"<small>{html.escape(label)}</small><br>" if label else ""
    return f'<p dir="auto" style="overflow-wrap:anywhere;{style}">{above}{spans}</p>'


def underlined(color: str) -> str:
    """The style of a part that a model generated or changed."""
    return f"text-decoration:underline 2px {color};text-underline-offset:.28em"


@dataclass(frozen=True, kw_only=True)
class Menu(Integer):
    """A whole number from a short menu; another one from a link is added to it."""

    options: Sequence[int] = ()
    alone: bool = False
    """Refuse numbers that the menu lacks."""
    zero: str = "0"
    """The name of 0."""

    def checked(self, raw: Value) -> int:
        value = super().checked(raw)
        if self.alone and value not in self.options:
            raise ValueError(f"offered here: {', '.join(map(str, self.options))}")
        return value

    def widget(self, state: PageState, slot: str, value: int) -> int:
        listed = sorted({*self.options, value})
        menu: Callable[..., int] = st.selectbox
        return menu(
            self.label,
            listed,
            index=listed.index(value),
            format_func=lambda number: f"{number:,}" if number else self.zero,
            **self._common(state, slot) | {"width": self.width if isinstance(self.width, int) else 130},
        )


@dataclass(frozen=True)
class Demo:
    slug: str
    draw: Callable[[DemoView], None]
    needs: tuple[Feature, ...]
    """What a model has to offer."""
    params: tuple[Param[Any], ...] = ()
    only: Callable[[CheckpointSpec], bool] = lambda spec: True
    """Whether the demo suits a model that offers it."""

    def fits(self, spec: CheckpointSpec) -> bool:
        """Whether the demo suits a model."""
        return spec.offers(*self.needs) and self.only(spec)

    @property
    def words(self) -> Content:
        return content("demos", self.slug)

    def section(self, model: Callable[[], CheckpointSpec] | None = None) -> Section:
        """The demo of one model, which no menu offers, and its card: by default the first in ``first.toml``."""

        def drawn(view: View) -> None:
            spec = model() if model else checkpoints.get(*checkpoints.first(self.slug))
            self.draw(DemoView(view.state, view.words, view.later, spec=spec))
            view.finish()
            card_panel(spec, view.state)

        return Section(self.slug, drawn, self.params, folder="demos")


def sample_pills(
    state: PageState,
    label: str,
    samples: Mapping[str, Sequence[str]] | Sequence[Sequence[str]],
    *boxes: Text,
    tag: str = "",
) -> str | None:
    """Draw the menu of samples; return the name of the sample in the boxes, if any.

    :param samples: a text for each box, by the name on the pill; without names, the pill shows the first text.
    :param boxes: the parameters of the boxes beside it, and the ``tag`` with which they are drawn.
    """
    named = samples if isinstance(samples, Mapping) else {plain(texts[0]): texts for texts in samples}
    slots = {f"{box.name}.{tag}" if tag else box.name: box for box in boxes}
    shown = [box.standing(state, slot) for slot, box in slots.items()]
    pills = state.key(f"{tag}.sample")
    st.session_state[pills] = marked = next((name for name, texts in named.items() if list(texts) == shown), None)

    def take() -> None:
        name = st.session_state[pills]
        if name is not None:
            for slot, text in zip(slots, named[name], strict=True):
                slots[slot].put(state.key(slot), text)

    with st.popover("Examples"):
        st.pills(
            label, list(named), key=pills, persist_state="page", on_change=take, label_visibility="collapsed", wrap=True
        )
    return marked


def task_samples(task: Task) -> tuple[str, ...]:
    """Sample sentences in the language of the task's input."""
    every = every_sample()
    for name in ("repairs", "respells", "denoises"):
        if getattr(task, name):
            return every[name]
    return every.get(task.slug) or every.get(task.languages[0] if task.languages else "en") or every["en"]


def every_sample() -> dict[str, tuple[str, ...]]:
    """The samples by language and by task."""
    return {name: tuple(texts) for name, texts in content("demos", "rewrite").front["samples"].items()}
