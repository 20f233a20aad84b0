"""Beam search as a tree beside greedy decoding; continuations by the sum and the mean of their log-probabilities."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter
from zlib import crc32

import streamlit as st

from core import engine, session
from core.figures.labels import label
from core.figures.lines import Line, line_alt, line_chart
from core.figures.plot import BELOW, DASHES, cut
from core.figures.tree import beam_tree, tree_alt, tree_pixels
from core.language.decoding.search import Tree, tree
from core.language.ranking import Candidate, candidates, score
from core.language.tokens import visible
from core.language.types import Decoding
from core.table import Table
from core.ui.generation.setup import SHARED, Setup, setup
from core.ui.generation.strategies import minus
from core.ui.glossary import terms
from core.ui.page import accent, plain, theme
from core.ui.panel import Panel
from core.ui.param import Integer, Text
from core.ui.section import Section, View
from core.ui.tables import TextTable, text_table

BEAMS = Integer(name="beams", label="Beams", default=3, low=1, high=6, width=110, limit="max_beams")
_GROWS = """<style>@media (prefers-reduced-motion: no-preference) {{
.st-key-atlas-beam .main-svg {{ animation: {name} {seconds}s steps({rows}); }}
@keyframes {name} {{ from {{ clip-path: inset(0 0 100% 0); }} }} }}</style>"""
"""The tree appears step by step, its pruned branches with it. A new name starts the movement anew."""
DEPTH = Integer(name="depth", label="Steps", default=8, low=1, high=24, width=110)


def beam_search(view: View) -> None:
    """Draw controls, tree and results."""
    state, chosen = view.state, setup(view, length=False, prompt=view.words.label("prompt"))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
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
    view.how_it_works("Formula", notes=["Sources"])


def _tree(chosen: Setup, decoding: Decoding) -> Tree:
    with st.spinner(session.waiting("searching"), show_time=True):
        return session.results.get_or_compute(
            ("tree", *chosen.key, decoding),
            lambda: engine.run(tree, chosen.spec.slug, chosen.start(), decoding),
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


CANDIDATES = Text(
    name="candidates",
    label="Continuations, one on each line",
    default="""had three sons.
lived in the forest.
was very beautiful.
ate the moon.
lived in a little cottage on the edge of a great forest, and she was very fond of her father and mother.""",
    height=168,
    most=1_700,
)


def ranking(view: View) -> None:
    state, chosen = view.state, setup(view, length=False)
    left, right = st.columns((2, 3), gap="large")
    with left:
        texts = candidates(CANDIDATES.draw(state))
    start = chosen.start()
    found = session.computed("running-the-model", score, chosen.spec.slug, start, chosen.text, texts)
    with right:
        _picture(view, found)
    by_sum, by_mean = (sorted(found, key=key, reverse=True) for key in (attrgetter("total"), attrgetter("mean")))
    view.say(
        "Same" if by_sum[0] == by_mean[0] else "Answer",
        by_sum=found.index(by_sum[0]) + 1,
        by_mean=found.index(by_mean[0]) + 1,
        short=len(by_sum[0].logs),
        long=len(by_mean[0].logs),
    )
    view.try_and_notice()
    rows = [
        (c.text, str(len(c.logs)), minus(c.total), str(by_sum.index(c) + 1), minus(c.mean), str(by_mean.index(c) + 1))
        for c in found
    ]
    title = view.words.label("table")
    text_table(TextTable(tuple(view.words.front["columns"]), rows, title, (40, 12, 12, 12, 12, 12), (1, 2, 3, 4, 5)))
    view.how_it_works()


def _picture(view: View, found: tuple[Candidate, ...]) -> None:
    """The sum so far, token by token; a line for each candidate."""
    look, lines = theme(), []
    for number, candidate in enumerate(found):
        sums = [sum(candidate.logs[:count]) for count in range(len(candidate.logs) + 1)]
        words = [
            "",
            *(f"{label(token)}: {log:.2f}" for token, log in zip(candidate.tokens, candidate.logs, strict=True)),
        ]
        color, dash = look.categorical[number % len(look.categorical)], DASHES[number % len(DASHES)]
        name = f"{number + 1}. {cut(candidate.text, 26)}"
        lines.append(Line(name, list(range(len(sums))), sums, color, dash, words=words))
    figure = line_chart(
        lines,
        view.words.label("sum"),
        across=view.words.label("tokens"),
        hover="%{customdata}, sum %{y:.2f}",
        legend=BELOW,
        height=400,
        theme=look,
    )
    rows = [
        (line, c.text, at, token, log)
        for line, c in enumerate(found, 1)
        for at, (token, log) in enumerate(zip(c.tokens, c.logs, strict=True), 1)
    ]
    table = Table(("line", "continuation", "position", "token", "log-probability (nats)"), tuple(rows))
    alt = line_alt(lines, view.words.label("sum"), [])
    Panel("ranking", view.words.label("picture"), figure, alt, table).draw(view.state)


RANKING = Section("ranking", ranking, (*SHARED, CANDIDATES))
