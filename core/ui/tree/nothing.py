"""What stands in place of a tree where no architecture was published."""

from __future__ import annotations

import streamlit as st

from core import catalogue
from core.catalogue.schema import System
from core.ui.notices import informed
from core.ui.page import plain


def no_tree(system: System) -> None:
    """Say why there is none, and lead to the nearest forebear that has one."""
    informed(system.undisclosed, icon=":material/visibility_off:")
    known = {other.slug: other for other in catalogue.systems()}
    forebear = known.get(system.parent or "")
    while forebear is not None and not forebear.sizes:
        forebear = known.get(forebear.parent or "")
    if forebear is not None:
        st.page_link(
            f"pages/{forebear.branch}.py",
            label=f"The nearest of its line whose tree is known: {plain(forebear.name)}",
            icon=":material/account_tree:",
            query_params={"system": forebear.slug, "tab": "tree"},
        )
