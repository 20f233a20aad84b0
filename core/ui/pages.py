"""The page files as declarations: what their sections offer, without drawing them."""

from __future__ import annotations

import runpy
from functools import lru_cache

from core.settings import ROOT
from core.ui.section import Page


@lru_cache(maxsize=1)
def pages() -> dict[str, Page]:
    """Every page by its slug. A page file declares ``PAGE`` and draws it only when it is run as a script."""
    found = {}
    for path in sorted((ROOT / "pages").glob("*.py")):
        if "\nPAGE = " in path.read_text(encoding="utf-8"):
            page = runpy.run_path(str(path), run_name="page")["PAGE"]
            found[page.slug] = page
    return found
