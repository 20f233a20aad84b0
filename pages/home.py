"""Home: the family over the years, the four doors, what runs here, and where to begin. Nothing here needs torch."""

import streamlit as st

from core import catalogue
from core.figures.family import family
from core.ui.home import doors, family_list, first_steps, ink, opened_system, what_runs
from core.ui.page import ACCENTS, BRANCH_TITLES, header

header(
    "Transformer Atlas",
    "See how the Transformer family grew, then run its members here.",
)

systems = catalogue.systems()
picture, cards = st.columns([2.3, 1], gap="medium")
with picture:
    selection = st.plotly_chart(
        family(systems, catalogue.ancestors(), ACCENTS, BRANCH_TITLES, ink()),
        key="home.family",
        on_select="rerun",
        selection_mode="points",
        config={"displayModeBar": False},
        alt="Family tree over the years 2017 to 2021: each system in its branch's colour, with a line from its parent. "
        "The same as a list stands below.",
    )
    st.caption(
        "**Try** a node or a name: it opens the system. **Notice** how much began in 2019; a pink ring marks what is "
        "listed under Efficient as well."
    )
with cards:
    doors()
opened_system(selection)

family_list(systems)
what_runs()
first_steps()
