"""What stands in place of a tree where no architecture was published."""

from __future__ import annotations

from core import catalogue
from core.catalogue.schema import System
from core.ui.links import page_link
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
        page_link(
            forebear.branch,
            f"The nearest of its line whose tree is known: {plain(forebear.name)}",
            {"system": forebear.slug, "tab": "tree"},
            icon=":material/account_tree:",
        )
