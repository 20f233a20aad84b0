"""Where the keyboard goes on after an answer: the next button or box takes the focus, so that no pointer is needed.

Only after something that the visitor did, never when a page opens: ``turn`` counts those acts.
"""

from __future__ import annotations

import re

from core.ui.component import Component, Message

FOCUS: Component[Message] = Component("focus")


def focus(on: str, turn: int, key: str) -> None:
    """Give the widget with key ``on`` the focus, once for each new ``turn``; 0 leaves the focus where it is."""
    FOCUS.draw(key, {"place": f"st-key-{re.sub('[^A-Za-z0-9_-]', '-', on)}", "turn": turn})
