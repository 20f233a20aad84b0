"""Beam search as a tree: what was kept, what was pruned, and what greedy decoding would have found."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st

from core import session
from core.language.tokens import visible
from core.language.types import Decoding
from core.table import Table
from core.ui.export import download_csv
from core.ui.generation.frame import GenerationView
from core.ui.generation.ink import theme
from core.ui.generation.tables import minus
from core.ui.glossary import noted, terms, told
from core.ui.page import accent, plain
from core.ui.text_table import TextTable, text_table

if TYPE_CHECKING:
    from core.language.decoding.tree import Tree


_STYLE = """<style>
.st-key-beam-tree > [data-testid="stElementContainer"] { max-width: none; }
</style>"""


def beam_section(view: GenerationView) -> None:
    """Draw controls, tree, results and table.

    Raises:
        AtlasError: the text or a setting cannot be used.
    """
    from core.figures.beam_tree import beam_tree, tree_alt, tree_pixels

    state = view.state
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        beams = int(st.number_input("Beams", 1, 6, state.number("beams", 3), key=state.key("beams"), width=110))
        depth = int(st.number_input("Steps", 1, 24, state.number("depth", 8), key=state.key("depth"), width=110))
    state.set(beams=beams, depth=depth)
    decoding = replace(view.common, strategy="beam", beams=beams, max_new_tokens=depth, seed=0)
    grown = _tree((*view.key, decoding), view)
    left, right = st.columns([3, 2], gap="large")
    with left:
        # A tree that is wider than the screen scrolls in its own box; Streamlit would squeeze it into the screen.
        st.html(_STYLE)
        with st.container(horizontal=True, wrap=False, key="beam-tree"):
            st.plotly_chart(
                beam_tree(grown, accent(view.spec.branch), dark=theme() == "dark"),
                width=tree_pixels(grown) or "stretch",
                config={"displaylogo": False, "modeBarButtons": [["toImage"]]},
                key=state.key("tree"),
                alt=tree_alt(grown),
            )
        st.caption(
            "Under each token: the sum of log-probabilities of its path, best of a step at the left. Solid: kept. "
            "Struck and dotted: pruned. ■: a text that ended, or has no more steps. Thick: the text that is returned."
            + (" A wide tree scrolls sideways." if tree_pixels(grown) else "")
        )
    with right:
        _found(view, grown, decoding)
        told(
            "**Try** one beam, which is greedy decoding, then four.\n\n"
            "**Notice** how often all beams share their beginning: the others are small changes of one text."
        )
        _formula()
    _table(grown, state.key("tree.csv"))


def _tree(key: tuple[object, ...], view: GenerationView) -> Tree:
    """The search; the last few are remembered by what they depend on."""
    from core.language.decoding.tree import tree

    known = session.trees.get(key)
    if known is None:
        decoding = key[-1]
        assert isinstance(decoding, Decoding)
        with st.spinner("Searching", show_time=True):
            known = tree(session.checkpoint(view.spec.slug), view.start(), decoding)
        session.trees.put(key, known)
    return known


def _found(view: GenerationView, grown: Tree, decoding: Decoding) -> None:
    """The texts that the search ranks, beside the greedy one."""
    from core.language.decoding.tree import tree

    key = (*view.key, replace(decoding, beams=1))
    greedy = session.trees.get(key)
    if greedy is None:
        greedy = tree(session.checkpoint(view.spec.slug), view.start(), replace(decoding, beams=1))
        session.trees.put(key, greedy)
    rows = [(text.strip() or "∅", minus(score), minus(rank)) for text, score, rank in grown.results]
    st.markdown("**What it ranks, best first**")
    text_table(TextTable(("Text", "Sum", "Rank"), rows, "Texts of the beam, best first", (52, 24, 24), (1, 2)))
    text, score, _ = greedy.results[0]
    best = grown.results[0][1]
    if grown.ids == greedy.ids:
        told("Greedy decoding finds the same text here.")
    else:
        more = "more" if best > score else "less"
        st.markdown(
            terms("Greedy decoding")
            + f" finds “{plain(text.strip())}” with the sum {minus(score)}: what the beam found is {more} probable as "
            f"a whole ({minus(best)})."
        )


def _formula() -> None:
    st.latex(r"s = \sum_{t=1}^{n} \ln p(w_t \mid w_{<t}) \qquad \mathrm{rank} = \frac{s}{n^{\alpha}}")
    told(
        "$s$ is the sum of log-probabilities of a path of $n$ tokens $w_t$, $p$ the model's probability, $\\alpha$ "
        "the length penalty. A sum only "
        "falls as a text grows, so finished texts of different lengths are compared by their rank. At each step the "
        "$B$ best continuations of all beams stay."
    )
    noted(
        "As transformers searches: of at least two times B continuations that are looked at, the B best that have "
        "not ended go on. Whatever ranked lower was never looked at. Vaswani et al. 2017, arXiv 1706.03762, translate "
        "with four beams and a length penalty of 0.6; the plain power of n is transformers' form of it."
    )


def _table(grown: Tree, key: str) -> None:
    rows = [
        {
            "step": depth,
            "path": visible("".join(_words(grown, node.ids))),
            "token": visible(node.token),
            "log-probability": node.own,
            "sum": node.score,
            "rank": node.rank,
            "fate": node.fate,
            "returned": node.best,
        }
        for depth, row in enumerate(grown.rows, 1)
        for node in row
    ]
    with st.expander("Every branch as a table"):
        st.dataframe(
            rows,
            hide_index=True,
            height=320,
            alt="Every branch of the tree with its scores and what became of it",
            column_config={n: st.column_config.NumberColumn(format="%.3f") for n in ("log-probability", "sum", "rank")},
        )
        download_csv(Table.from_records(rows), "beam-search", key)


def _words(grown: Tree, ids: tuple[int, ...]) -> list[str]:
    names = {node.ids: node.token for row in grown.rows for node in row}
    return [names[ids[: n + 1]] for n in range(len(ids))]
