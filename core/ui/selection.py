"""One selection in several views: what is chosen in one of them is chosen in all, in the link and for a screen reader.

A :class:`Selection` is the chosen one of several tokens. Its position, from 1, is a parameter of the link. It is read
once, before any view is drawn; each view shows it and can change it: chips by click and keys, a map by a click on a
cell, a table by its rows, lines in a frame by messages. Whichever view is used reports as the chips would::

    selection = Selection(state, attention_map.query_tokens, tag=spec.slug)
    selection.chips("Query", accent=spec.branch)
    panel.draw(state, **selection.on_map(panel.key(state), columns))
    data_table(rows, "keys", key=key, **selection.on_rows(key))

plotly selects points, not cells: :func:`core.figures.heatmap.heat_map` lays invisible ones over a clickable map.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Annotated, Any

import streamlit as st
from pydantic import Field

from core.attention.tokens import token_of
from core.language.types import Token
from core.links import parameters as link
from core.ui.chips import CHIPS, Clicked, token_chips
from core.ui.component import Component, Message
from core.ui.links import PageState, within
from core.ui.param import Carried

MOST = 256
"""The most numbers in a frame's message."""
TOKEN = Carried(name="token", label="Token", as_=link.Integer(None, 1, 100_000))
"""The selected token, from 1."""
_PREFERRED = "it"
"""A pronoun: which token it attends to is a question."""


class Opened(Message):
    """The numbers selected inside a frame, empty for none."""

    open: Annotated[list[Annotated[int, Field(ge=1, le=100_000)]], Field(max_length=MOST)]


FRAME = Component("frame", Opened)
"""Hears what is selected inside a frame of the page; tells the frame what is selected outside."""


def clicks(key: str, size: int, choose: Callable[[int], None]) -> dict[str, Any]:
    """Arguments of a chart with ``size`` invisible points: a click on point i calls ``choose(i)`` before the run.

    Streamlit keeps ``choose`` as long as the chart, so that it must not hold an array.
    """

    def clicked() -> None:
        points = st.session_state[key]["selection"]["points"]
        index = points[-1].get("point_index") if points else None
        if isinstance(index, int) and 0 <= index < size:
            choose(index)

    return {"on_select": clicked, "selection_mode": "points"}


def rows(key: str, at: int, choose: Callable[[int], None]) -> dict[str, Any]:
    """Arguments of a data table whose row ``at`` is selected: a click on row i calls ``choose(i)`` before the run."""
    st.session_state[key] = {"selection": {"rows": [at], "columns": [], "cells": []}}

    def clicked() -> None:
        selection = st.session_state[key]["selection"]
        if chosen := [row for row, _ in selection["cells"]] or selection["rows"]:
            choose(chosen[-1])

    return {"on_select": clicked, "selection_mode": ["single-row-required", "single-cell"]}


class Selection:
    """The selected token, from 0 in ``at``."""

    def __init__(
        self,
        state: PageState,
        tokens: Sequence[str],
        *,
        special: Collection[int] = (),
        usual: int | None = None,
        param: Carried = TOKEN,
        tag: str = "",
    ) -> None:
        """Read what was clicked, or the link; store it in the state.

        Args:
            tokens: as labels, at least one.
            special: positions of special tokens.
            usual: the default, from 0; otherwise :func:`usual_token`.
            tag: what else the selection depends on, such as the model.
        """
        self.state, self.tokens, self.name = state, tuple(tokens), f"{param.name}.{tag}"
        self._shown = [token_of(label, special=i in special) for i, label in enumerate(tokens)]
        usual = usual_token(self._shown) if usual is None else usual
        chips, inside = CHIPS.sent(self._chips), FRAME.sent(self._frame)
        drawn = self._chips in st.session_state
        linked = state.number(param.name, usual + 1)
        if chips is not None and chips.selected:
            linked = chips.selected[0] + 1
        elif inside is not None and inside.open:
            linked = inside.open[0]
        elif not drawn:
            linked = within(state, param.label, linked, 1, len(self.tokens), usual + 1)
        self.at = linked - 1 if linked <= len(self.tokens) else usual
        state.set(**{param.name: None if self.at == usual else self.at + 1})

    @property
    def _chips(self) -> str:
        return self.state.key(f"{self.name}.chips")

    @property
    def _frame(self) -> str:
        return self.state.key(f"{self.name}.frame")

    def chips(self, label: str, *, accent: str, **more: Any) -> None:
        """Draw the tokens as a row of chips; ``more`` as :func:`core.ui.chips.token_chips` takes it."""
        token_chips(
            self._shown,
            selected=[self.at],
            key=self._chips,
            accent=accent,
            label=label,
            clearable=False,
            row=True,
            **more,
        )

    def on_map(self, key: str, columns: int, each: int = 1) -> dict[str, Any]:
        """Arguments of a chart with the key ``key``, whose points are the cells of a map with a row for each token.

        Args:
            each: the tokens that share a row.
        """
        chips, down = self._chips, -(-len(self.tokens) // each)
        return clicks(key, down * columns, lambda index: _choose(chips, index // columns * each))

    def on_rows(self, key: str) -> dict[str, Any]:
        """Arguments of a data table with the key ``key`` and a row for each token."""
        return rows(key, self.at, partial(_choose, self._chips))

    def frame(self) -> None:
        """Connect a frame on the same page: lines (``assets/components/attention/bertviz-token.js``) or a grid."""
        number = self.at + 1
        FRAME.draw(self._frame, {"frame": "token", "now": [number], "show": number}, height=1)


def _choose(chips: str, at: int) -> None:
    CHIPS.put(chips, Clicked(selected=[at]))


def usual_token(tokens: Sequence[Token]) -> int:
    """The token that is selected first: “it”, otherwise the last word, from 0."""
    words = [i for i, token in enumerate(tokens) if not token.special and any(map(str.isalpha, token.text))]
    return next((i for i in words if tokens[i].text.lower() == _PREFERRED), words[-1] if words else 0)
