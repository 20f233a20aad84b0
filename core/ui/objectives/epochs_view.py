"""The masks of one text over all epochs, static beside dynamic."""

from __future__ import annotations

import numpy as np
import streamlit as st

from core.figures.masks import epoch_map, epoch_table
from core.objectives import epochs
from core.ui.chart import chart
from core.ui.data_table import data_table
from core.ui.glossary import told
from core.ui.objectives.entry import Given, Stage
from core.ui.objectives.given import style
from core.ui.objectives.picture import shown
from core.ui.page import accent, theme


def epochs_view(given: Given, stages: tuple[Stage, ...]) -> None:
    """Two grids, epochs by tokens, and how much of the text each has asked."""
    kind, copies, rate = style(given.slug), given.number("copies"), given.number("rate") / 100
    names = [shown(token, kind, place in given.fixed) for place, token in enumerate(given.framed)]
    free = [place for place in range(len(names)) if place not in given.fixed]
    chosen = given.word("masking")
    for column, (way, held) in zip(st.columns(2, gap="large"), (("static", copies), ("dynamic", None)), strict=True):
        asked = epochs.masks(
            len(names), epochs.EPOCHS, given.rng(), copies=held, rate=rate, fixed=given.fixed
        )  # the generator is fresh, so that the first epochs of both are the same
        distinct = len({row.tobytes() for row in asked})
        with column:
            told(f"**{way.capitalize()}**: {distinct} different masks in {epochs.EPOCHS} epochs")
            chart(
                epoch_map(
                    asked,
                    names,
                    accent("encoder"),
                    theme=theme(),
                    here=given.number("epoch") if way == chosen else None,
                ),
                config={"displaylogo": False},
                key=f"objectives.epochs.{way}",
                alt=f"{way} masks: epochs by tokens, a filled cell is asked. {distinct} different masks; the table "
                "below has them.",
            )
            once = float(np.mean(asked[:, free].any(axis=0))) if free else 0.0
            draws = min(held or epochs.EPOCHS, epochs.EPOCHS)
            st.caption(
                f"Asked at least once: {100 * once:.0f} % of the tokens. To be expected: 1 − (1 − {rate:.2f})^{draws} "
                f"= {100 * (1 - (1 - rate) ** draws):.1f} %."
            )
            with st.expander(f"The {way} masks as a table"):
                data_table(epoch_table(asked, names), f"{way}-masks", alt=f"The tokens asked in each epoch, {way}")
