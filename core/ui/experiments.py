"""Experiments: each study as a section; a paper's claim, what its repetition here measured, and how to repeat it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import streamlit as st

from core import checkpoints
from core.content import content
from core.figures.study import in_words, study_alt, study_chart, study_lines
from core.studies import Axis, Cell, Study, get, select
from core.table import Table
from core.ui.page import theme
from core.ui.panel import Panel
from core.ui.param import Choice, menu_names
from core.ui.section import Section, View

PAGE = "experiments"
_FEW = 5
"""Options in a row; more are a menu."""


def draw_study(view: View, study: Study) -> None:
    """Draw claim, choices, chart, verdict, and what was varied and held."""
    common = replace(view, words=content(PAGE))
    common.say("Claim", claim=study.claim, source=study.source)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = _choices(view, study)
        x, y = (_axis(view, study, name, axes) for name, axes in (("x", study.x), ("y", study.y)))
    lines = study_lines(study, x, y, chosen, theme())
    rows = select(study.rows, {**study.where, **chosen})
    Panel(
        study.name,
        view.title,
        study_chart(study, lines, x, y, theme=theme()),
        study_alt(lines, x, y),
        lambda: Table.from_records([dict(row) for row in rows]),
    ).draw(view.state)
    common.say("Verdict", verdict=study.conclusion(in_words))
    view.try_and_notice()
    spread = common.words.label("spread") if study.seeds and not y.low else ""
    common.note("Setup", varied=study.varied, held=study.held, spread=spread, repeat=study.command)


def _choices(view: View, study: Study) -> Mapping[str, Cell]:
    """Draw a control for each column that selects rows; return the chosen values by column."""
    chosen: dict[str, Cell] = {}
    for choice, param in zip(study.choices, _params(study), strict=False):
        values = {str(value): value for value in study.values(choice.column, {**study.where, **chosen})}
        named = menu_names(checkpoints.available()) | choice.names
        options = {word: named.get(word, choice.name.replace("{}", word)) for word in values}
        default = choice.default if choice.default in options else next(iter(options))
        chosen[choice.column] = values[_control(param, options, default).draw(view.state)]
    return chosen


def _axis(view: View, study: Study, name: str, axes: list[Axis]) -> Axis:
    """The axis of the study, drawn as a control where there are several."""
    if len(axes) == 1:
        return axes[0]
    param = next(param for param in _params(study) if param.name == f"{study.name}-{name}")
    by_column = {axis.column: axis for axis in axes}
    options = {column: axis.name for column, axis in by_column.items()}
    return by_column[_control(param, options, axes[0].column).draw(view.state)]


def _control(param: Choice, options: Mapping[str, str], default: str) -> Choice:
    if len(options) > _FEW:
        return param.with_(options=options, default=default, width=260)
    return param.with_(options=options, default=default, style="row")


def _params(study: Study) -> tuple[Choice, ...]:
    """The controls of a study, without their options, which only its rows tell."""
    words = content(PAGE)
    columns = [(choice.column, choice.label) for choice in study.choices]
    columns += [(name, words.label(name)) for name in ("x", "y") if len(getattr(study, name)) > 1]
    return tuple(Choice(name=f"{study.name}-{column}", label=label, options={}) for column, label in columns)


def experiment(name: str) -> Section:
    """The section of a study."""
    return Section(name, partial(draw_study, study=get(name)), _params(get(name)))
