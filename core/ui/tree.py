"""A system's module tree: drawn, walkable, and as text. It shows stored trees, so it needs no torch.

The walkable tree: a component that follows WAI-ARIA's tree view pattern.

Arrows move, open and close, Home and End jump, letters find a name, ``*`` opens the neighbors; a search field hides
what does not match. The browser stores which nodes are open; it sends the path of the selected node.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Annotated, Any

import streamlit as st
from pydantic import Field

from core import anatomy, catalogue
from core.anatomy.node import ModuleNode
from core.anatomy.roles import ATTENTION, EMBEDDINGS, FEED_FORWARD, STATE_SPACE, by_role, role_of
from core.anatomy.store import explain, printed, size_of
from core.catalogue.schema import System
from core.content import content
from core.costs import shape_of
from core.errors import OutOfRange, RecordUnusable
from core.figures import parameters as figures
from core.figures.labels import in_words, percent, short
from core.figures.parameters import ROLE_COLORS
from core.table import Table
from core.ui.component import Component, Message
from core.ui.costs import computed_table
from core.ui.formulas import symbols
from core.ui.glossary import caption, info, markdown, terms, warning
from core.ui.links import PageState, page_link
from core.ui.page import bare, plain, theme
from core.ui.panel import chart, offer_chart
from core.ui.tables import data_table


class Chosen(Message):
    """The path of the selected node; empty for the root."""

    node: Annotated[str, Field(pattern=r"^[\w.-]*$", max_length=300)]


TREE = Component("tree", Chosen, uses=("dom",))

_OPEN_TO = 3
"""Levels that are open at first: enough for the stacks, without the modules of the layers."""


def walkable_tree(root: ModuleNode, *, key: str, selected: str, label: str, uses: int = 1) -> str:
    """Draw the tree as a tree view for the keyboard; return the path of the selected node (``""`` is the root).

    Args:
        uses: how often each stored layer is applied, which a badge states.
    """
    sent = TREE.sent(key)
    TREE.draw(key, component_data(root, selected=selected, label=label, uses=uses))
    return root.nearest(selected if sent is None else sent.node)


def component_data(root: ModuleNode, *, selected: str, label: str, uses: int = 1) -> dict[str, Any]:
    """The props of the component: the tree as plain data, and a value that changes when it must be redrawn."""
    return {
        "root": _item(root, root, "", None, 1, uses),
        "selected": selected,
        "label": label,
        "openTo": _OPEN_TO,
        "sign": f"{label} {root.total}",
    }


def _item(
    node: ModuleNode, root: ModuleNode, path: str, inherited: str | None, copies: int, uses: int
) -> dict[str, Any]:
    """The props of a node and all below it."""
    copies *= node.repeat
    role = role_of(node.name, node.cls, inherited)
    total = node.parameters * copies
    share = total / root.total if root.total else 0.0
    times = f"{node.repeat} times " if node.repeat > 1 else ""
    text = f"{node.name or 'whole network'}: {times}{node.cls}, {in_words(total)} parameters"
    if total:
        text += f", {percent(share)} of the network"
    badge = f"1 stored layer, used {uses} times" if uses > 1 and node.cls == "AlbertLayerGroup" else ""
    return {
        "path": path,
        "name": node.name or node.cls,
        "cls": node.cls if node.name else "",
        "extra": node.extra,
        "repeat": node.repeat,
        "share": share,
        "count": short(total) if total else "–",
        "tied": bool(node.ties),
        "color": ROLE_COLORS[role] if role else "",
        "badge": badge,
        "said": text + (", shares a tensor" if node.ties else "") + (f", {badge}" if badge else ""),
        "kids": [
            _item(child, root, f"{path}.{child.name}" if path else child.name, role, copies, uses)
            for child in node.children
        ],
    }


VIEWS = {
    "treemap": "Treemap",
    "tree": "Tree",
    "sunburst": "Sunburst",
    "text": "As text",
}
_TEXT_HEIGHT = 560
_CONFIG = {
    "Share, %": st.column_config.NumberColumn("Share", format="%.1f%%"),
    "Parameters": st.column_config.NumberColumn(format="localized"),
}


def tree_panel(
    slug: str,
    state: PageState,
    *,
    key: str,
    size: str | None = None,
    node: str | None = None,
    drawing: str | None = None,
    below: Callable[[str, str], None] | None = None,
) -> tuple[str | None, str | None, str | None]:
    """Draw a system's tree in all forms; return the selected (size, node path, drawing), None for the defaults.

    The arguments come from the link. A node opens the walkable tree, where it is selected; otherwise the areas open. A
    size that the system lacks gets a warning and the default; without a published architecture, a sentence says so and
    nothing is drawn. ``below`` draws below the details of a node, given size and path.
    """
    system = catalogue.get(slug)
    if not system.sizes:
        _no_tree(system)
        return None, None, None
    name, view = _menus(slug, _known_size(slug, size), drawing if drawing in VIEWS else _opening(node), key)
    root = anatomy.tree(slug, name)
    caption(_counted(system, name, root.parameters))
    picked = node or ""
    if picked and not root.nearest(picked):
        warning(f"This tree has no module “{picked[:60]}”. {_words('Whole tree')}", icon=":material/link_off:")
        picked = ""
    if view == "tree":
        picked = _walk(system, name, root, key, picked, below)
    elif view in ("treemap", "sunburst"):
        areas(root, f"{system.name} {name}", state, f"{key}.{view}.{name}", f"{system.slug}-{name}", view=view)
        legend(root)
        if not bare():
            caption(f"{_words('Try: areas')} {_notice(root)}")
    else:
        _text(slug, root, key)
    with st.expander(_words("Memory and operations")):
        computed_table(system, name)
    usual = name == system.default_size.name
    return None if usual else name, picked or None, None if view == _opening(picked) else view


def _known_size(slug: str, size: str | None) -> str:
    """The size of the link, if it has a tree; otherwise the default or the first that has one, with a warning."""
    try:
        name = size_of(slug, size).name
    except OutOfRange as error:
        warning(str(error))
        name = size_of(slug).name
    counts = anatomy.counts(slug)
    try:
        if name not in counts:
            anatomy.tree(slug, name)
    except RecordUnusable as error:
        if not counts:
            raise
        warning(str(error))
        name = next(iter(counts))
    return name


def _menus(slug: str, size: str, drawing: str, key: str) -> tuple[str, str]:
    """Draw the menus of the size and of the drawing, which open with ``size`` and ``drawing``; return both."""
    counts = anatomy.counts(slug)
    left, right = st.columns([1, 2.6], vertical_alignment="bottom")
    name = left.selectbox(
        "Size",
        list(counts),
        index=list(counts).index(size),
        format_func=lambda option: f"{option} · {short(counts[option])}",
        key=f"{key}.size",
        help=_words("Help: size"),
    )
    view = right.segmented_control(
        "View",
        list(VIEWS),
        format_func=VIEWS.__getitem__,
        default=drawing,
        key=f"{key}.view",
        label_visibility="collapsed",
        required=True,
    )
    return name, view


def _opening(node: str | None) -> str:
    """The view that opens where the link names none."""
    return "tree" if node else "treemap"


def _walk(
    system: System, size: str, root: ModuleNode, key: str, picked: str, below: Callable[[str, str], None] | None
) -> str:
    """Draw the walkable tree, and beside it the details of the selected node."""
    left, right = st.columns([3, 2], gap="medium")
    with left:
        start = root.nearest(picked)
        shape = shape_of(system.slug, size)
        picked = walkable_tree(
            root,
            key=f"{key}.tree",
            selected=start,
            label=f"{system.name} {size}, module tree",
            uses=1 if shape is None else round(shape.uses),
        )
        if not bare():
            caption(f"{_words('Try: tree')} {_notice(root)}")
    with right:
        details(root, picked)
        if below is not None:
            below(size, picked)
    return picked


def details(root: ModuleNode, path: str) -> None:
    """Draw one module: class, copies, parameters and share, what it computes, its tensors."""
    node, copies = next(((node, copies) for at, node, copies in root.walk() if at == path), (root, 1))
    st.subheader(plain(node.name or node.cls), anchor=False)
    if path:
        where = f"{node.cls}, at {path}" + (f"; {copies} copies in the network" if copies > 1 else "")
        st.caption(plain(where))
    total = node.parameters * copies
    amount = f"**{total:,}** parameters" if total else "No own parameters" if node.ties else "No parameters"
    if copies > 1 and total:
        amount += f" in {copies} copies, {node.parameters:,} in one"
    share = f": **{percent(total / root.total)}** of the network" if total and path else ""
    st.markdown(f"{amount}{share}.")
    explanation = explain(node.cls)
    if explanation is not None:
        st.markdown(terms(explanation.text))
        if formula := explanation.formula:
            st.latex(rf"\begin{{gathered}} {formula} \end{{gathered}}" if r"\\" in formula else formula)
        if explanation.where:
            st.caption(symbols(f"Symbols: {explanation.where}."))
    _tensors(node)
    _roles(node)


def _notice(root: ModuleNode) -> str:
    """A sentence on the shares of this network."""
    shares = by_role(root)
    embeddings = percent(shares[EMBEDDINGS] / root.total)
    if shares[ATTENTION]:
        times = f"{shares[FEED_FORWARD] / shares[ATTENTION]:.1f}"
        return _words("Notice", times=times, embeddings=embeddings)
    mixers = shares.get(STATE_SPACE)
    if not mixers:  # ELMo
        return _words("Notice: no attention", embeddings=embeddings)
    return _words("Notice: mixers", mixers=percent(mixers / root.total), embeddings=embeddings)


def _words(part: str, /, **values: str | int) -> str:
    return content("branch", "tree").part(part, **values)


def _tensors(node: ModuleNode) -> None:
    ties = dict(node.ties)
    counted = [(name, shape, "elsewhere" if name in ties else "here") for name, shape in node.tensors]
    counted += [(name, shape, "no (not trained)") for name, shape in node.buffers]
    rows = [
        {
            "Tensor": name,
            "Shape": " × ".join(f"{extent:,}" for extent in shape) or "1",
            "Values": prod(shape),
            "Counted": where,
        }
        for name, shape, where in counted
    ]
    if rows:
        data_table(
            rows,
            "tensors",
            alt=_words("Tensors"),
            column_config={"Values": st.column_config.NumberColumn(format="localized")},
        )
    for name, owner in node.ties:
        st.caption(_words("Tied", tensor=f"`{name}`", owner=f"`{owner}`"))


def _roles(node: ModuleNode) -> None:
    rows = figures.legend_rows(node)
    if node.children and len(rows) > 1:
        data_table(
            [{"For": role, "Parameters": amount, "Share, %": round(100 * share, 2)} for role, _, amount, share in rows],
            "parameters-by-role",
            alt=_words("Roles"),
            column_config=_CONFIG,
        )


def areas(
    root: ModuleNode,
    network: str,
    state: PageState,
    key: str,
    file: str,
    *,
    view: str = "treemap",
    height: int = figures.HEIGHT,
) -> None:
    """Draw the modules of a network as areas, with the files of the drawing and its table at the foot of the page.

    Args:
        view: ``treemap`` or ``sunburst``.
    """
    draw = figures.treemap if view == "treemap" else figures.sunburst
    largest = max(figures.legend_rows(root), key=lambda row: row[2])
    alt = _words("Alt: areas", view=VIEWS[view], network=network, part=largest[0], share=f"{largest[3]:.0%}")
    chart(draw(root, theme=theme(), height=height), key=key, alt=alt)
    table = Table.from_records(figures.share_table(root))
    offer_chart(state, key, f"{VIEWS[view]}: {network}", f"{file}-{view}", alt, table)


def legend(root: ModuleNode) -> None:
    """Draw the legend of colors, which are the app's own."""
    chips = "".join(
        f'<span style="display:inline-flex;align-items:center;gap:.4rem;margin-right:1.1rem;white-space:nowrap">'
        f'<span style="width:.85rem;height:.85rem;border-radius:.2rem;background:{color}"></span>'
        f"{role} {percent(share)}</span>"
        for role, color, _, share in figures.legend_rows(root)
    )
    st.html(f'<div style="display:flex;flex-wrap:wrap;row-gap:.2rem;font-size:var(--atlas-label)">{chips}</div>')


def _text(slug: str, root: ModuleNode, key: str) -> None:
    """Draw the tree as torch prints it, to copy; for four systems also the tree printed in source 000."""
    source = anatomy.printed_tree(slug)
    if source is not None:
        which = st.radio(
            "Which tree",
            ("This size", "As printed in source 000"),
            key=f"{key}.which",
            persist_state="page",
            horizontal=True,
            label_visibility="collapsed",
        )
        if which != "This size":
            st.code(source.text(), language=None, height=_TEXT_HEIGHT)
            markdown(_words("Printed", cls=printed()[slug].cls))
            st.markdown("\n".join(f"- {plain(sentence)}" for sentence in printed()[slug].notes))
            return
    st.code(root.text(), language=None, height=_TEXT_HEIGHT)
    caption(_words("Text"))


def _counted(system: System, size: str, parameters: int) -> str:
    """A sentence on the full count and the published figure."""
    published = system.size(size)
    text = _words("Counted", architecture=published.architecture, parameters=f"{parameters:,}")
    if published.published_as:
        text += f"; published as {plain(published.published_as)}"
    return text + "." + (f" {plain(published.note)}" if published.note else "")


def _no_tree(system: System) -> None:
    """Draw the reason why there is none, with a link to the nearest ancestor that has one."""
    info(system.undisclosed, icon=":material/visibility_off:")
    systems = {other.slug: other for other in catalogue.systems()}
    forebear = systems.get(system.parent or "")
    while forebear is not None and not forebear.sizes:
        forebear = systems.get(forebear.parent or "")
    if forebear is not None:
        page_link(
            forebear.branch,
            f"Nearest ancestor with a known tree: {plain(forebear.name)}",
            {"system": forebear.slug, "tab": "tree"},
            icon=":material/account_tree:",
        )
