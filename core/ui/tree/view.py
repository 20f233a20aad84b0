"""The walkable tree: a component that follows WAI-ARIA's tree view pattern.

Arrows move, open and close, Home and End jump, letters find a name, ``*`` opens the neighbors; a search field hides
what does not match. The browser keeps what is open; the chosen node comes back as its path.
"""

from __future__ import annotations

from typing import Annotated, Any

import streamlit as st
from pydantic import Field

from core.anatomy.node import ModuleNode
from core.anatomy.roles import role_of
from core.figures.labels import in_words, percent, short
from core.figures.parameters import ROLE_COLORS
from core.ui.component import Component, Message


class Chosen(Message):
    """The path of the node that was chosen; empty for the root."""

    node: Annotated[str, Field(pattern=r"^[\w.-]*$", max_length=300)]


TREE = Component("tree", Chosen)

_OPEN_TO = 3
"""Levels that are open at first: enough to see the stacks, not yet the twelve layers' insides."""


def walkable_tree(root: ModuleNode, *, key: str, selected: str, label: str) -> str:
    """Draw the tree as a keyboard-walkable tree view and return the path of the chosen node (``""`` is the root)."""
    slot, sent = f"{key}--node", TREE.sent(key)
    if sent is not None:
        st.session_state[slot] = sent.node
    TREE.draw(key, component_data(root, selected=selected, label=label))
    return root.nearest(st.session_state.get(slot, selected))


def component_data(root: ModuleNode, *, selected: str, label: str) -> dict[str, Any]:
    """What the component is given: the tree as plain data, and a sign that changes when it must be drawn anew."""
    return {
        "root": _item(root, root, "", None, 1),
        "selected": selected,
        "label": label,
        "openTo": _OPEN_TO,
        "sign": f"{label} {root.total}",
    }


def _item(node: ModuleNode, root: ModuleNode, path: str, inherited: str | None, copies: int) -> dict[str, Any]:
    """What the browser needs to draw a node and all below it."""
    copies *= node.repeat
    role = role_of(node.name, node.cls, inherited)
    total = node.parameters * copies
    share = total / root.total if root.total else 0.0
    times = f"{node.repeat} times " if node.repeat > 1 else ""
    said = f"{node.name or 'whole network'}: {times}{node.cls}, {in_words(total)} parameters"
    if total:
        said += f", {percent(share)} of the network"
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
        "said": said + (", shares a tensor" if node.ties else ""),
        "kids": [
            _item(child, root, f"{path}.{child.name}" if path else child.name, role, copies) for child in node.children
        ],
    }
