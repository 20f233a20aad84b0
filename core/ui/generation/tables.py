"""The numbers behind the texts: every step as a row, to read and to download."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.language.tokens import visible
from core.language.types import GenerationStep
from core.table import Table
from core.ui.export import download_csv

NUMBERS = ("probability", "after the rules", "surprise in bits", "entropy in bits", "entropy after the rules")


def minus(value: float, digits: int = 2) -> str:
    """A number with a minus sign that is as wide as a plus."""
    return f"{value:.{digits}f}".replace("-", "−")


def rows_of(name: str, steps: Sequence[GenerationStep]) -> list[dict[str, object]]:
    """One row a step."""
    return [
        {
            "rule": name,
            "step": step.index + 1,
            "token": visible(step.token.text),
            "id": step.token.id,
            "probability": step.token.probability,
            "after the rules": step.token.kept,
            "surprise in bits": step.spread.surprise if step.spread else None,
            "entropy in bits": step.spread.entropy if step.spread else None,
            "entropy after the rules": step.spread.kept_entropy if step.spread else None,
            "tokens left": step.spread.kept if step.spread else None,
        }
        for step in steps
    ]


def steps_expander(names: Sequence[str], texts: Sequence[Sequence[GenerationStep]], key: str) -> None:
    """Every step of every text as a table, with its download."""
    rows = [row for name, steps in zip(names, texts, strict=True) for row in rows_of(name, steps)]
    if not rows:
        return
    with st.expander("Every step as a table"):
        st.dataframe(
            rows,
            hide_index=True,
            height=320,
            column_config={name: st.column_config.NumberColumn(format="%.4f") for name in NUMBERS},
            alt="Every step of every text with its probability, surprise and entropy",
        )
        download_csv(Table.from_records(rows), "generation-steps", key)
