"""Beam search as a tree, beside greedy decoding."""

from __future__ import annotations

from dataclasses import replace
from zlib import crc32

import streamlit as st

from core import engine, session
from core.figures.tree import beam_tree, tree_alt, tree_pixels
from core.language.decoding.search import Tree, tree
from core.language.types import Decoding
from core.table import Table
from core.ui.generation.setup import SHARED, Setup, setup
from core.ui.generation.strategies import minus
from core.ui.glossary import terms
from core.ui.page import accent, plain, theme
from core.ui.panel import Panel
from core.ui.param import Integer
from core.ui.section import Section, View
from core.ui.tables import TextTable, text_table
from core.words import visible

BEAMS = Integer(name="beams", label="Beams", default=3, low=1, high=6, width=110, limit="max_beams")
_GROWS = """<style>@media (prefers-reduced-motion: no-preference) {{
.st-key-atlas-beam .main-svg {{ animation: {name} {seconds}s steps({rows}); }}
@keyframes {name} {{ from {{ clip-path: inset(0 0 100% 0); }} }} }}</style>"""
"""The tree appears step by step, its pruned branches with it. A new name starts the movement anew."""
DEPTH = Integer(name="depth", label="Steps", default=8, low=1, high=24, width=110)


def beam_search(view: View) -> None:
    """Draw controls, tree and results."""
    state, chosen = view.state, setup(view, length=False, prompt=view.words.label("prompt"))
    with chosen.row:
        beams, depth = BEAMS.draw(state), DEPTH.draw(state)
    decoding = replace(chosen.common, strategy="beam", beams=beams, max_new_tokens=depth, seed=0)
    tree = _tree(chosen, decoding)
    rows, drawn = len(tree.rows) + 1, crc32(repr(tree.rows).encode())
    st.html(_GROWS.format(name=f"atlas-beam-{drawn}", seconds=min(0.25 * rows, 3), rows=rows))
    left, right = st.columns([3, 2], gap="large")
    with left, st.container(key="atlas-beam"):
        width = tree_pixels(tree)
        Panel(
            "beam-search",
            view.words.label("tree"),
            beam_tree(tree, accent(chosen.spec.branch), theme=theme()),
            tree_alt(tree),
            _table(tree),
            view.words.part("Tree") + (f" {view.words.part('Wide tree')}" if width else ""),
            width=width,
        ).draw(state)
    with right:
        _results(view, tree, _tree(chosen, replace(decoding, beams=1)))
    view.try_and_notice()
    view.how_it_works(notes=["Sources"])


def _tree(chosen: Setup, decoding: Decoding) -> Tree:
    with st.spinner(session.waiting("searching"), show_time=True):
        return session.results.get_or_compute(
            ("tree", *chosen.key, decoding),
            lambda: engine.run(tree, chosen.spec.slug, chosen.text, decoding, chosen.task),
        )


def _results(view: View, tree: Tree, greedy: Tree) -> None:
    """Draw the finished texts in order of rank, beside the greedy one."""
    rows = [(text.strip() or "∅", str(length), minus(score), minus(rank)) for text, length, score, rank in tree.results]
    title = view.words.label("results")
    st.subheader(title, anchor=False)
    text_table(TextTable(("Text", "Tokens", "Sum", "Rank"), rows, title, (40, 18, 21, 21), (1, 2, 3)))
    view.note("Rank", alpha=f"{tree.alpha:g}")
    if tree.ids == greedy.ids:
        view.say("Greedy")
        return
    (text, _, score, _), best = greedy.results[0], tree.results[0][2]
    more = "more" if best > score else "less"
    st.markdown(
        terms("Greedy decoding")
        + f" finds “{plain(text.strip())}” with the sum {minus(score)}: "
        + f"{view.words.part('Compared', more=more, sum=minus(best))}."
    )


def _table(tree: Tree) -> Table:
    names = {node.ids: node.token for row in tree.rows for node in row}
    return Table.from_records(
        [
            {
                "step": depth,
                "path": visible("".join(names[node.ids[: n + 1]] for n in range(len(node.ids)))),
                "token": visible(node.token),
                "log-probability": node.own,
                "sum": node.score,
                "rank": node.rank,
                "fate": node.fate,
                "returned": node.best,
            }
            for depth, row in enumerate(tree.rows, 1)
            for node in row
        ]
    )


BEAM = Section("beam", beam_search, (*SHARED, BEAMS, DEPTH))
