"""A complete page in one text: it asks for nothing, runs its own scripts alone, and its data cannot become markup.

The content policy names the hashes of the page's scripts and of its style and forbids everything else, every request
included. Data travel as JSON in which no ``<``, ``>`` or ``&`` is left.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import Any

from core.settings import ASSETS
from core.theme import THEMES, Name

COLORS = {
    name: {"back": theme.ground, "text": theme.ink, "soft": theme.raised, "line": theme.line}
    for name, theme in THEMES.items()
}
"""The app's own colors, by theme."""


def page(
    *, title: str, style: str, body: str, data: Any, scripts: Sequence[str], name: str = "", pictures: bool = False
) -> str:
    """The whole page. ``data`` is found by the scripts as the JSON text of the element with the id ``data``.

    Args:
        title: plain text.
        body: markup of ours; what others wrote goes into ``data``.
        name: a class of the body element.
        pictures: its scripts make pictures of what they have drawn; it may open those, and none from elsewhere.
    """
    policy = (
        f"default-src 'none'; script-src {' '.join(map(_hash, scripts))}; style-src {_hash(style)}; "
        f"{'img-src data:; ' if pictures else ''}base-uri 'none'; form-action 'none'"
    )
    running = "\n".join(f"<script>{script}</script>" for script in scripts)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{style}</style>
</head>
<body class="{name}">
{body}
<script type="application/json" id="data">{script_json(data)}</script>
{running}
</body>
</html>
"""


def data_url(page: str) -> str:
    """``page`` as a ``data:`` address. A frame of such an address has an origin of its own: it cannot touch the app."""
    return "data:text/html;charset=utf-8;base64," + base64.b64encode(page.encode()).decode("ascii")


def script_json(value: Any) -> str:
    """JSON for a script element: no character in it can end the element (ASCII only, so U+2028 is escaped as well)."""
    text = json.dumps(value, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def own(name: str) -> str:
    """A script or style of ours, from ``assets/components/attention``."""
    return kept(ASSETS / "components" / "attention" / name)


@lru_cache(maxsize=16)
def kept(path: Path) -> str:
    """A file of the installation, read once."""
    return path.read_text(encoding="utf-8")


def colors(theme: Name) -> str:
    """The theme as custom properties: ``--back``, ``--text``, ``--soft``, ``--line``."""
    return f":root {{ color-scheme: {theme}; {' '.join(f'--{n}: {c};' for n, c in COLORS[theme].items())} }}\n"


@lru_cache(maxsize=32)
def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}'"
