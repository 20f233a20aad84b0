"""Under the picture: the formula with its symbols, who may look at whom, proportions, and everything as a table."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.language.losses import Losses
from core.ui.glossary import told
from core.ui.links import PageState
from core.ui.objectives.entry import Entry, Given, Stage
from core.ui.objectives.picture import DONE


def below(entry: Entry, asked: Given, stages: Sequence[Stage], answers: Sequence[Losses], state: PageState) -> None:
    """Draw all of it."""
    st.latex(entry.formula)
    told(entry.symbols)
    st.caption(entry.paper)
    with st.expander("As a table"):
        st.dataframe(
            [row for index, stage in enumerate(stages) for row in rows(stage, answers[index] if answers else Losses())],
            hide_index=True,
            alt=f"{entry.name}: every place with its target and its loss",
        )


def rows(stage: Stage, losses: Losses) -> list[dict[str, object]]:
    """One row a place."""
    found: list[dict[str, object]] = []
    for side, cells, paid in (
        ("input", stage.example.source, losses.source),
        ("decoder", stage.example.decoder, losses.decoder),
    ):
        for index, cell in enumerate(cells):
            place = paid.get(index)
            found.append(
                {
                    "side": stage.title or side,
                    "place": index,
                    "reads": cell.token,
                    "done": DONE[cell.change] or cell.change,
                    "must answer": cell.target,
                    "nats": place.nats if place else None,
                    "bits": place.bits if place else None,
                    "best guess": place.guess if place else None,
                    "its probability": place.chance if place else None,
                }
            )
    return found
