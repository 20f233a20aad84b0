"""The page table of Transformer Atlas, and nothing else. Start with ``streamlit run app.py``."""

import streamlit as st

from core.ui.page import BRANCH_ICONS

st.set_page_config(page_title="Transformer Atlas", layout="wide", initial_sidebar_state="auto")
st.navigation(
    {
        "": [st.Page("pages/home.py", title="Home", icon=":material/account_tree:", default=True)],
        "Branches": [
            st.Page(f"pages/{branch}.py", title=title, icon=BRANCH_ICONS[branch])
            for branch, title in (
                ("encoder", "Encoder"),
                ("decoder", "Decoder"),
                ("encoder-decoder", "Encoder-decoder"),
                ("efficient", "Efficient"),
            )
        ],
        "Atlas": [st.Page("pages/about.py", title="About", icon=":material/info:")],
    }
).run()
