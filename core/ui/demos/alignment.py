"""The tokens read above, the tokens written below, and lines between them as wide as the attention that they stand for.

The written tokens are buttons: choosing one shows what it looked at. What the browser draws is data; tokens are written
with ``textContent``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from core.figures.attention import alignment_lines
from core.language.types import Token
from core.settings import ROOT
from core.ui.chips import on_colour

_FOLDER = ROOT / "assets" / "components" / "alignment"

_HTML = """
<div class="alignment"><div class="scroll"><div class="stage">
<svg aria-hidden="true"></svg>
<p class="name">read</p><div class="row read"></div><div class="gap"></div>
<div class="row written" role="group"></div><p class="name">written</p>
</div></div></div>
"""

_mount = st.components.v2.component(
    "atlas_alignment",
    html=_HTML,
    css=(_FOLDER / "alignment.css").read_text(encoding="utf-8"),
    js=(_FOLDER / "alignment.js").read_text(encoding="utf-8"),
)


def alignment_rows(
    source: Sequence[Token],
    target: Sequence[Token],
    weights: NDArray[np.float32],
    *,
    selected: int,
    key: str,
    accent: str,
) -> int:
    """Draw the picture for ``weights`` (T, S) and return the written token that is chosen, from 0.

    :param selected: the written token chosen now (the caller's state).
    :param accent: a colour as ``#rrggbb``.
    """
    slot = f"{key}--picked"

    def remember() -> None:
        picked = getattr(st.session_state.get(key), "picked", None)
        if isinstance(picked, int) and not isinstance(picked, bool) and picked >= 0:
            st.session_state[slot] = picked

    picked = st.session_state.pop(slot, None)
    chosen = min(max(selected if picked is None else picked, 0), len(target) - 1)
    data = {
        "source": [_chip(token, "read") for token in source],
        "target": [_chip(token, f"step {t + 1}") for t, token in enumerate(target)],
        "lines": alignment_lines(weights),
        "selected": chosen,
        "accent": accent,
        "onAccent": on_colour(accent),
        "label": "Tokens written; choose one to see what it looked at",
    }
    _mount(key=key, data=data, on_picked_change=remember)
    return chosen


def _chip(token: Token, about: str) -> dict[str, Any]:
    mark = "‿" if token.continuation else ""
    return {
        "text": mark + (token.text or ("␣" if token.leading_space else token.piece)),
        "title": f"{about}, id {token.id}, piece {token.piece}",
        "special": token.special,
    }
