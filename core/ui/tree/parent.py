"""From a system's tree to the page that lays it beside its parent's, part by part."""

from __future__ import annotations

from core import catalogue
from core.catalogue.schema import System
from core.ui.links import page_link
from core.ui.page import plain


def parent_link(system: System, size: str | None) -> None:
    """A link to the comparison with the parent's tree; nothing at the root, or where the parent has no record.

    Args:
        size: the one that is looked at; None for the usual one.
    """
    parent = next((one for one in catalogue.systems() if one.slug == system.parent), None)
    if parent is None or not parent.sizes or not system.sizes:
        return
    query = {"tab": "trees", "left": parent.slug, "right": system.slug}
    if size is not None:
        query["right-size"] = size
    page_link(
        "compare",
        plain(f"Beside {parent.name}, part by part: what is the same, new and gone"),
        query,
        icon=":material/compare:",
    )
