"""Vectors of places that are added to those of words: learned tables, and sinusoids."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from core import session
from core.figures import depth, strips
from core.figures.vectors import COLOURS
from core.table import Table
from core.ui.export import download_csv
from core.ui.glossary import told
from core.ui.heads.pictures import saved_as
from core.ui.notices import informed
from core.ui.page import accent
from core.ui.vectors.frame import VectorsView, model_menu
from core.vectors.places import FIXED, LEARNED, MOST
from core.vectors.positions import by_distance, similarity, sinusoids

if TYPE_CHECKING:
    from core.ui.links import PageState
    from core.vectors.positions import Numbers, Order

PICTURES = {"numbers": "Numbers", "cosines": "Cosines"}
ORDERS = {
    "paper": "as in the paper: sine, cosine in turn",
    "halves": "all sines, then all cosines (CTRL, Marian)",
    "tensor2tensor": "halves, spread a little wider (M2M-100)",
}
WIDTH = 192


def learned(view: VectorsView) -> None:
    """A table that was learned; reads and writes asked and picture."""
    state = view.state
    specs = {slug: view.specs[slug] for slug in LEARNED if slug in view.specs}
    if not specs:
        informed("No live model with a learned table of places is installed here.")
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        spec = model_menu(view, specs, first="atlas-gpt-2", name="asked")
        picture = _picture_menu(state)
    with st.spinner("Reading the table"):
        found = session.place_table(spec.slug)
    count, width = found.shape
    _drawn(
        np.asarray(found, dtype=np.float64),
        str(picture),
        (spec.name, accent(spec.branch)),
        state,
        sinusoids(count, width),
    )
    told(
        "**Try** several models. **Notice** that nobody told the model that place 5 is near place 6: neighbours have "
        f"become alike by use, in some models far more than in others. Dotted: sinusoids of {width} numbers, which are "
        "alike by construction."
    )
    if count == MOST:
        st.caption(f"The first {MOST} places are shown.")
    st.latex(r"X_t = E[w_t] + P[t]")
    st.latex(r"\cos(P[s], P[t])\ \text{over}\ |s - t|")
    told(
        "$X_t$ is what the first layer reads at place $t$, $E[w_t]$ the row of the token $w_t$ there, $s$ another "
        "place. "
        "$P[t]$ is a row of numbers for place $t$, learned like any other weight; what was never trained on is noise. "
        "The table is as it is added, offsets and all. The band is one standard deviation over all pairs at a distance."
    )
    st.caption(
        "BERT has a table of 512 places ([arXiv 1810.04805](https://arxiv.org/abs/1810.04805)), GPT-2 one of 1,024. "
        "*Read: the library's configurations.* Reformer's is the one here that is put together of two short tables "
        "(axial)."
    )


def sinusoidal(view: VectorsView) -> None:
    """The formula of 2017; reads and writes width, order and picture."""
    state = view.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        width = st.select_slider(
            "Width",
            [16, 32, 64, 128, 192, 256, 384, 512],
            value=_near(state.number("width", WIDTH)),
            key=state.key("width"),
            width=260,
        )
        order = st.selectbox(
            "Order of the numbers",
            list(ORDERS),
            index=list(ORDERS).index(state.text("order", "paper")),
            format_func=ORDERS.__getitem__,
            key=state.key("order"),
            width=360,
        )
        picture = _picture_menu(state)
    state.set(width=None if width == WIDTH else width, order=order)
    kind: Order = order  # type: ignore[assignment]
    _drawn(sinusoids(MOST, int(width), kind), str(picture), ("sinusoids", COLOURS[0]), state, None)
    told(
        "**Try** another order: the picture changes and the cosines do not, or hardly. **Notice** that the band has no "
        "height: the cosine of two places depends on their distance alone, wherever they stand."
    )
    st.latex(r"P[t]_{2k} = \sin(t\,\omega_k), \qquad P[t]_{2k+1} = \cos(t\,\omega_k), \qquad \omega_k = 10000^{-2k/w}")
    st.latex(r"P[s] \cdot P[t] = \sum_{k} \cos\bigl((s - t)\,\omega_k\bigr)")
    told(
        "$P[t]$ is the vector of place $t$, $s$ another place, $k$ the number of a pair, $\\omega_k$ how fast it "
        "turns, $w$ the width. The first pair goes round in $2\\pi$ places, the "
        "last one in nearly $10000 \\cdot 2\\pi$. The authors hoped that this makes it easy to look a fixed distance "
        "away, as $P[t+d]$ is the same linear function of $P[t]$ everywhere; learned vectors did as well in their test."
    )
    st.caption(
        "Vaswani et al., Attention Is All You Need (2017, [arXiv 1706.03762](https://arxiv.org/abs/1706.03762)), "
        "section 3.5. *Read: the passage in a stored copy.* Orders of CTRL, Marian and M2M-100 as the library has "
        f"them; {', '.join(slug.removeprefix('atlas-').upper() for slug in FIXED)} run here with such tables."
    )


def _near(width: int) -> int:
    return min((16, 32, 64, 128, 192, 256, 384, 512), key=lambda one: abs(one - width))


def _picture_menu(state: PageState) -> str:
    picture = st.segmented_control(
        "Picture",
        list(PICTURES),
        format_func=PICTURES.__getitem__,
        default=state.text("picture", "numbers"),
        required=True,
        key=state.key("picture"),
    )
    state.set(picture=picture)
    return str(picture)


def _drawn(table: Numbers, picture: str, named: tuple[str, str], state: PageState, beside: Numbers | None) -> None:
    """The table, or the cosines of its rows, and the mean cosine by distance."""
    name, colour = named
    dark = st.context.theme.type == "dark"
    count, width = table.shape
    cosines = similarity(table)
    means, spreads = by_distance(cosines)
    rows = [str(place) for place in range(count)]
    shown, columns = (table, [str(i + 1) for i in range(width)]) if picture == "numbers" else (cosines, rows)
    left, right = st.columns(2, gap="large")
    with left:
        st.plotly_chart(
            strips.strips(
                shown,
                rows,
                columns,
                signed=True,
                digits=None,
                row_height=3,
                down="place",
                across=f"the {width} numbers" if picture == "numbers" else "place",
                reach=float(np.quantile(np.abs(shown), 0.995)) if picture == "numbers" else 1.0,
                dark=dark,
            ),
            key=state.key("table"),
            config=saved_as("atlas-places"),
            alt=f"{PICTURES[picture]} of {count} places of {name}: blue above zero, orange below.",
        )
    with right:
        distances = list(range(count))
        lines = [depth.Line(name, distances, means.tolist(), colour, spread=spreads.tolist())]
        if beside is not None:
            other, _ = by_distance(similarity(beside))
            lines.append(depth.Line("sinusoids", distances, other.tolist(), COLOURS[6], "dot"))
        st.plotly_chart(
            depth.curves(lines, "cosine", across="distance of two places", dark=dark, markers=False, height=430),
            key=state.key("distance"),
            config=saved_as("atlas-places-by-distance"),
            alt=f"Mean cosine of two places by distance: {_said(means)}.",
        )
        st.caption(f"Mean cosine at a distance: {_said(means)}.")
        download_csv(
            Table.from_records(
                [
                    {"distance": d, "mean cosine": f"{mean:.5f}", "standard deviation": f"{spread:.5f}"}
                    for d, (mean, spread) in enumerate(zip(means, spreads, strict=True))
                ]
            ),
            "places-by-distance",
            state.key("csv.places-by-distance"),
        )


def _said(means: Numbers) -> str:
    return ", ".join(f"{means[d]:.2f} at {d}" for d in (1, 4, 16, 64) if d < len(means))
