"""Home: the family over the years, the four doors, where to begin, and what runs here. Nothing here needs torch."""

import streamlit as st

from core import catalogue
from core.ui.home import doors, family_list, family_picture, first_steps, what_runs
from core.ui.links import close_page, open_page
from core.ui.page import header

header("Transformer Atlas", "See how the Transformer family grew, then run its members here.")
state = open_page("home")

picture, cards = st.columns([2.3, 1], gap="medium")
with picture:
    family_picture()
    st.caption(
        "**Try** a node or a name: it opens the system. **Notice** how much began in 2019; a pink ring marks what is "
        "listed under Efficient as well."
    )
    st.page_link("pages/timeline.py", label="Play the years on the timeline", icon=":material/timeline:")
with cards:
    doors()

family_list(catalogue.systems())
first_steps()
what_runs()
close_page(state)
