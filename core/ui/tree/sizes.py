"""A system's sizes side by side, and other systems beside them: parameters by role."""

from __future__ import annotations

import streamlit as st

from core import anatomy, catalogue
from core.anatomy.roles import EMBEDDINGS, by_role
from core.catalogue.schema import System
from core.figures import parameters as figures
from core.figures.numbers import in_words, percent
from core.ui.chart import chart
from core.ui.data_table import data_table
from core.ui.glossary import noted
from core.ui.page import theme


def compare_sizes(system: System, key: str) -> None:
    """All sizes of the system side by side, and other systems at their first size."""
    others = {other.slug: other for other in catalogue.systems() if other.sizes and other.slug != system.slug}
    left, right = st.columns([3, 1.4], vertical_alignment="bottom")
    with left:
        start = [system.parent] if system.parent in others else []
        beside = st.multiselect(
            "Beside its own sizes",
            list(others),
            default=start,
            key=f"{key}.beside",
            format_func=lambda slug: others[slug].name,
            max_selections=8,
            placeholder="Choose systems",
        )
    with right:
        relative = st.toggle(
            "As shares", key=f"{key}.relative", persist_state="page", help="Every bar as 100 % of its own network"
        )
    networks = {f"{system.name} {name}": root for name, root in anatomy.trees(system.slug).items()}
    networks |= {f"{others[slug].name} {others[slug].default_size.name}": anatomy.tree(slug) for slug in beside}
    most = max(networks, key=lambda label: networks[label].total)
    chart(
        figures.sizes_bars(networks, relative=relative, theme=theme()),
        key=f"{key}.bars",
        alt=f"Parameters by role of {len(networks)} networks. The largest is {most} with "
        f"{in_words(networks[most].total)}. The table below has every number.",
    )
    own = sorted(anatomy.trees(system.slug).values(), key=lambda root: root.total)
    if len(own) > 1:
        first, last = (percent(by_role(root)[EMBEDDINGS] / root.total) for root in (own[0], own[-1]))
        noted(
            f"**Try** the shares. **Notice**: from the smallest to the largest {system.name} here, the share of the "
            f"embeddings goes from {first} to {last}."
        )
    with st.expander("As a table"):
        rows = figures.sizes_table(networks)
        columns = {name: st.column_config.NumberColumn(format="localized") for name in rows[0] if name != "Network"}
        data_table(
            rows,
            f"{system.slug}-sizes",
            alt=f"Parameters of {len(networks)} networks, in all and by role",
            key=f"{key}.table",
            column_config=columns,
        )
