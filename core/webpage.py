"""A self-contained HTML page: it makes no requests, runs only its own scripts, and its data cannot become markup.

The content security policy lists the hashes of the page's scripts and style and forbids everything else, including all
requests. Data are JSON with ``<``, ``>`` and ``&`` escaped.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import lru_cache
from html import escape
from pathlib import Path

from core.settings import ASSETS
from core.theme import THEMES, TYPE, Name

COLORS = {
    name: {"back": theme.ground, "text": theme.ink, "soft": theme.raised, "line": theme.line}
    for name, theme in THEMES.items()
}
"""The app's own colors, by theme."""


_PRESENTED = """h1, .hint, .legend, .numbers, #saving { display: none !important; }
main { display: flex; flex-direction: column; } main > :is(.controls, #said) { order: 1; }
body { padding: 0 !important; } #said { min-height: 0 !important; white-space: nowrap; overflow: hidden; }"""


def presented(page: str) -> str:
    """A :func:`page` with its picture and the controls alone."""
    allowed = page.replace("style-src ", f"style-src {_hash(_PRESENTED)} ", 1)
    return allowed.replace("</head>", f"<style>{_PRESENTED}</style>\n</head>", 1)


def page(
    *, title: str, style: str, body: str, data: object, scripts: Sequence[str], name: str = "", pictures: bool = False
) -> str:
    """The whole page. Its scripts find ``data`` as JSON in the element with the id ``data``.

    Args:
        title: plain text.
        body: trusted markup; user text belongs in ``data``.
        name: a class of the body element.
        pictures: allow images from ``data:`` addresses, which the scripts create from their drawings.
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


def script_json(value: object) -> str:
    """JSON for a script element: no character in it can end the element (ASCII only, so U+2028 is escaped as well)."""
    text = json.dumps(value, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def stepper(name: str, field: str, options: str = "", *, hidden: bool = False) -> str:
    """A choice as two buttons around what is chosen (``step.js``); ``options`` is the markup of those that are known.

    Args:
        name: what is chosen, an app's word.
        field: the identifier under which scripts find the choice.
    """
    buttons = [
        f'<button type="button" aria-label="{which} {name.lower()}">{mark}</button>'
        for which, mark in (("Previous", "‹"), ("Next", "›"))
    ]
    return (
        f'<span class="step" role="group" aria-label="{name}"{" hidden" * hidden}>'
        f'<span aria-hidden="true">{name}</span>'
        f'{buttons[0]}<span class="now" aria-live="polite"></span>{buttons[1]}'
        f'<select id="{field}" autocomplete="off" hidden>{options}</select></span>'
    )


def component_asset(name: str) -> str:
    """A script or style from ``assets/components/attention``."""
    return asset_text(ASSETS / "components" / "attention" / name)


@lru_cache(maxsize=16)
def asset_text(path: Path) -> str:
    """The text of an installed file, cached."""
    return path.read_text(encoding="utf-8")


def colors(theme: Name) -> str:
    """The theme as custom properties: ``--back``, ``--text``, ``--soft``, ``--line``."""
    return f":root {{ color-scheme: {theme}; {' '.join(f'--{n}: {c};' for n, c in COLORS[theme].items())} {TYPE} }}\n"


@lru_cache(maxsize=32)
def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}'"
