"""Learning curves compared at one number of tokens: what each model had learned when all had read as much.

A run's last value says how good a model became; two of them differ by what was read as well as by the architecture. At
the same number of tokens only the second is left, but for the learning rate: it falls towards each run's own end, so a
model that is still on its way is a little behind what a shorter run would have reached.
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.checkpoints.listing import falls
from core.figures.curves import Line, value_at
from core.ui.links import PageState
from core.ui.page import plain
from core.ui.text_table import Row, TextTable, text_table

_STEP = 0.1
_MILLION = 1e6


def tokens_slider(lines: Sequence[Line], state: PageState) -> int:
    """How many tokens to compare at; at first as many as the shortest of the runs had."""
    low = max(_STEP, _floor(min(line.tokens[0] for line in lines)) + _STEP)
    high = max(low + _STEP, _floor(max(line.tokens[-1] for line in lines)))
    usual = min(max(low, _floor(min(line.tokens[-1] for line in lines))), high)
    wanted = min(max(state.real("at", usual), low), high)
    shown = "-".join(sorted(line.name for line in lines))
    chosen = st.slider(
        "Compare after so many million tokens",
        round(low, 1),
        round(high, 1),
        round(wanted, 1),
        _STEP,
        key=state.key(f"at.{shown}"),
        format="%.1f",
        width=420,
    )
    state.set(at=None if round(chosen, 1) == round(usual, 1) else round(chosen, 1))
    return round(chosen * _MILLION)


def same_tokens(lines: Sequence[Line], name: str, tokens: int) -> None:
    """The models in order of what they had reached after ``tokens`` tokens; those that stopped before come last."""
    there = [(line, value) for line in lines if (value := value_at(line, tokens)) is not None]
    there.sort(key=lambda pair: pair[1], reverse=not falls(name))
    rows: list[Row] = [(line.name, f"{value:.4g}", f"{line.values[-1]:.4g}", _millions(line)) for line, value in there]
    rows += [
        (
            line.name,
            "had stopped" if line.tokens[-1] < tokens else "not yet measured",
            f"{line.values[-1]:.4g}",
            _millions(line),
        )
        for line in lines
        if value_at(line, tokens) is None
    ]
    st.markdown(f"**After {tokens / _MILLION:.1f} million tokens**, best first")
    headings = ("Model", name, "At its own end", "Tokens at its end")
    text_table(
        TextTable(
            headings,
            rows,
            caption=f"{name} after the same number of tokens",
            widths=(34, 24, 20, 22),
            numeric=(1, 2, 3),
        )
    )
    st.caption(
        plain(
            "Values between two measurements are read off the straight line between them. A model that is still on its "
            "way learns at a higher rate than at its end, which costs it a little; a model that began from another's "
            "weights counts only what it read itself."
        )
    )


def _floor(tokens: int) -> float:
    return int(tokens / _MILLION / _STEP) * _STEP


def _millions(line: Line) -> str:
    return f"{line.tokens[-1] / _MILLION:,.1f} M"
