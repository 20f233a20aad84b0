"""The section Two trees: two networks drawn, and aligned module by module: same, changed, new and removed.

The list of modules is HTML: the left one, the verdict, the right one; groups open and close. ``details`` and tables
are native elements, so that all of it works by keyboard. Everything is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from core import anatomy, catalogue
from core.anatomy.compare import VERDICTS, Comparison, PairedPart, Side, Verdict, compare, words
from core.anatomy.compare import Section as Group
from core.anatomy.meaning import Piece
from core.catalogue.schema import System
from core.figures.labels import in_words, short
from core.figures.parameters import comparison_table
from core.table import Table
from core.ui.glossary import info, plain_terms, unbuilt
from core.ui.links import PageState, page_link
from core.ui.page import css, plain
from core.ui.panel import offer_table
from core.ui.param import Choice, settings_menu
from core.ui.section import Section, View
from core.ui.tables import STYLE, Cell, Code, Part, TableRow, TextTable, html
from core.ui.tree import areas, legend

LEFT = Choice(name="left", label="From", default="bert", options={}, resets=("left-size",))
RIGHT = Choice(name="right", label="To", default="albert", options={}, resets=("right-size",))
LEFT_SIZE = Choice(name="left-size", label="From: size", options={})
RIGHT_SIZE = Choice(name="right-size", label="To: size", options={})
ROWS = Choice(
    name="rows",
    label="Components",
    options={"all": "All components", "differences": "Differences"},
    style="row",
    hide_label=True,
)


def two_trees(view: View) -> None:
    state = view.state
    unbuilt()
    systems = sorted((s for s in catalogue.systems() if s.sizes), key=lambda system: system.name.lower())
    names = {system.slug: f"{system.name} ({system.year})" for system in systems}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        left = catalogue.get(LEFT.with_(options=names).draw(state))
        right = catalogue.get(RIGHT.with_(options=names).draw(state))
        sizes = (_size(LEFT_SIZE, left), _size(RIGHT_SIZE, right))
        values = settings_menu(state, *sizes, tag=f"{left.slug}.{right.slug}")
    comparison = compare(left.slug, right.slug, *values.values())
    networks = ("left", comparison.left), ("right", comparison.right)
    for column, (place, network) in zip(st.columns(2, gap="medium"), networks, strict=True):
        with column:
            _drawing(network, state, state.key(f"areas.{place}.{network.name}"))
    _parts(comparison, view)
    st.subheader("What changed and why", anchor=False)
    for column, system in zip(st.columns(2), (left, right), strict=True):
        with column:
            _record(system)
    view.note("Matched")
    title, file = f"{comparison.left.name} and {comparison.right.name}", f"{left.slug}-{right.slug}-parameters"
    offer_table(state, Table.from_records(comparison_table(comparison)), title, "compared", file)


def _size(param: Choice, system: System) -> Choice:
    """The menu of a system's sizes that have a tree."""
    counts = anatomy.counts(system.slug)
    if not counts:
        anatomy.tree(system.slug)  # says what is wrong with the record
    options = {name: f"{name} · {short(count)}" for name, count in counts.items()}
    usual = system.default_size.name
    default = usual if usual in options else ""
    return param.with_(label=f"{param.label} of {system.name}", options=options, default=default)


def _drawing(network: Side, state: PageState, key: str) -> None:
    """The modules of one network as areas, as its module tree opens with."""
    root = anatomy.tree(network.slug, network.size)
    st.subheader(f"{plain(network.name)}: {in_words(root.total)} parameters", anchor=False)
    areas(root, network.name, state, key, f"{network.slug}-{network.size}", height=_HEIGHT)
    legend(root)


def _parts(comparison: Comparison, view: View) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.subheader("Component by component", anchor=False, width="content")
        differences = ROWS.draw(view.state) == "differences"
    used = {row.verdict for row in comparison.rows}
    signs = (f"{sign} {_in_words(verdict, comparison)}" for verdict, sign in VERDICTS.items() if verdict in used)
    st.caption(plain(f"Signs: {', '.join(signs)}."))
    if differences and used == {"same"}:
        info(view.words.part("Nothing differs"))
        return
    st.html(aligned_html(comparison, differences_only=differences))
    view.try_and_notice()


def _record(system: System) -> None:
    """A system's description from its record, with a link to its page."""
    names = {other.slug: other.name for other in catalogue.systems()} | {
        other.slug: other.name for other in catalogue.milestones()
    }
    against = f", compared with {plain(names[system.parent])}" if system.parent in names else ""
    st.markdown(f"**{plain(system.name)}**{against}: {plain_terms(system.change)}")
    st.markdown(plain_terms(system.why))
    query = {"system": system.slug, "tab": "tree"}
    page_link(system.branch, f"Module tree of {plain(system.name)}", query, icon=":material/account_tree:")


_HEIGHT = 380
_MOST = 2
"""Modules of one side that are named; the rest are counted."""
_STYLE = css("two-trees")


def aligned_html(comparison: Comparison, *, differences_only: bool = False) -> str:
    """All sections; ``differences_only`` omits equal modules and sections without differences."""
    shown = []
    for section in comparison.sections:
        rows = [row for row in section.rows if not (differences_only and row.verdict == "same")]
        if rows:
            shown.append(_group(section, rows, comparison))
    return f'{STYLE}{_STYLE}<div class="atlas-two">{"".join(shown)}</div>'


def _in_words(verdict: Verdict, comparison: Comparison) -> str:
    """A verdict in words, with the networks' names."""
    return words(f"Verdict: {verdict}", left=comparison.left.short, right=comparison.right.short)


def _group(section: Group, rows: Sequence[PairedPart], comparison: Comparison) -> str:
    left, right = section.parameters
    counts = ", ".join(f"{VERDICTS[verdict]} {count}" for verdict, count in section.verdicts)
    spoken = ", ".join(f"{count} {_in_words(verdict, comparison)}" for verdict, count in section.verdicts)
    amount = f"{in_words(left)} each" if left == right else f"{in_words(left)} → {in_words(right)}"
    opened = "" if all(row.verdict == "same" for row in rows) else " open"
    headings = ("Component", comparison.left.name, comparison.right.name)
    table = TextTable(headings, [_row(row, comparison) for row in rows], section.name, widths=(28, 36, 36))
    return (
        f"<details{opened}><summary><b>{escape(section.name)}</b><span>{escape(amount)} parameters</span>"
        f'<span title="{escape(spoken)}" aria-label="{escape(spoken)}">{escape(counts)}</span></summary>'
        f"{html(table)}</details>"
    )


def _row(row: PairedPart, comparison: Comparison) -> TableRow:
    name = f"{VERDICTS[row.verdict]} {row.name}"
    sides = map(_side, (row.left, row.right), row.parameters)
    return ((name, _in_words(row.verdict, comparison), *row.remarks), *sides)


def _side(pieces: Sequence[Piece], amount: int) -> Cell:
    if not pieces:
        return "none"
    parts: list[Part] = []
    for piece in pieces[:_MOST]:
        parts += [Code(piece.path or piece.cls), _tensors(piece)]
    if (unlisted := len(pieces) - _MOST) > 0:
        parts.append(f"and {unlisted} more {'module' if unlisted == 1 else 'modules'}")
    return (*parts, f"{amount:,} parameters" if amount else "no own parameters")


def _tensors(piece: Piece) -> str:
    """The class of a module with the shapes of its tensors."""
    names = [name for name, _ in piece.tensors]
    shapes = [" × ".join(f"{extent:,}" for extent in shape) for _, shape in piece.tensors]
    if not set(names) <= {"weight", "bias"}:
        shapes = [f"{name} {shape}" for name, shape in zip(names, shapes, strict=True)]
    copies = f", {piece.copies} copies" if piece.copies > 1 else ""
    return f"{piece.cls}{': ' if shapes else ''}{' + '.join(shapes)}{copies}"


TREES = Section("trees", two_trees, (LEFT, LEFT_SIZE, RIGHT, RIGHT_SIZE, ROWS))
