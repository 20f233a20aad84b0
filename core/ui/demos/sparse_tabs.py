"""What stands below the comparison of sparse and full attention: growth, formula, library, tables, text."""

from __future__ import annotations

import streamlit as st

from core.efficiency.compare import Comparison, LongText, Measured
from core.efficiency.cost import curve
from core.figures import sparse as figures
from core.ui.chart import chart
from core.ui.data_table import data_table
from core.ui.demos import sparse_text
from core.ui.glossary import noted
from core.ui.links import PageState
from core.ui.page import theme


def tabs(
    found: Comparison, long: LongText, kinds_table: list[dict[str, object]], state: PageState, *, shown: bool
) -> None:
    """Cost against length, formula, the library, all numbers as tables, and the text; answers only where ``shown``."""
    names = ("Cost against length", "Formula", "What the library does", "As tables", "The text")
    growth, formula, library, tables, text = st.tabs(list(names))
    costs = curve([n for n in (256, 512, 1024, 1536, 2048, 3072, 4096) if n <= found.positions], found.sparsity)
    with growth:
        chart(
            figures.cost_curve(costs, found.tokens, theme=theme()),
            key=state.key("curve"),
            alt="Scores of one head against the length: full attention grows with the square, sparse along a line.",
        )
        noted(
            "Exact counts, not measurements. Twice the text costs about twice as much with sparse attention, "
            "and four times as much with full attention."
        )
        _counts(figures.cost_table(costs), "sparse-costs", "Scores of one head by the length of the text")
    with formula:
        sparse_text.formula(found.sparsity)
    with library:
        sparse_text.library(found.sparsity)
    with tables:
        st.markdown("**Cost**")
        _counts(_measured_table(found), "sparse-measured", "What sparse and full attention cost on this text")
        st.caption(sparse_text.how_measured(found))
        for word in found.words if shown else ():
            st.markdown(f"**Predictions for the mask at token {word.position}**")
            data_table(
                figures.answers_table(word.answers),
                f"sparse-mask-{word.position}",
                alt=f"Probabilities of the likeliest words for the mask at token {word.position}",
            )
        st.markdown("**Pattern**")
        data_table(kinds_table, "sparse-pattern", alt="The blocks of keys that each block of queries sees")
    with text:
        st.caption(
            f"{len(long.text):,} characters, {found.tokens:,} tokens. "
            "Samples are joined from this project's own sentences."
        )
        st.text(long.text)


def _counts(rows: list[dict[str, object]], name: str, alt: str) -> None:
    """A table whose large numbers are grouped in thousands."""
    whole = {
        name: st.column_config.NumberColumn(format="localized")
        for name, value in rows[0].items()
        if isinstance(value, int)
    }
    data_table(rows, name, alt=alt, column_config=whole)


def _measured_table(found: Comparison) -> list[dict[str, object]]:
    def row(name: str, measured: Measured) -> dict[str, object]:
        return {
            "Attention": name,
            "Scores (all layers and heads)": measured.scores,
            "Attention, seconds": round(measured.attention_seconds, 3),
            "Whole pass, seconds": round(measured.seconds, 3),
            "Passes": measured.passes,
            "Peak of one head, bytes": measured.peak_bytes,
            "Scores of a layer, bytes": measured.layer_bytes,
        }

    return [row("sparse", found.sparse), row("full", found.full)]
