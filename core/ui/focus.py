"""Where the keyboard goes on after an answer: the next button or box takes the focus, so that no pointer is needed.

Only after something that the visitor did, never when a page opens: ``turn`` counts those acts.
"""

from __future__ import annotations

import re

import streamlit as st

_JS = """
const FIELDS = "input, textarea, button:not([disabled])";

function first(root) {
  for (const element of root.querySelectorAll("*")) {
    if (element.matches(FIELDS) && element.tabIndex >= 0) return element;
    const inner = element.shadowRoot && first(element.shadowRoot);
    if (inner) return inner;
  }
  return null;
}

export default function (component) {
  const { data, parentElement } = component;
  const box = parentElement.querySelector("span");
  if (!data.turn || box.dataset.turn === String(data.turn)) return;
  box.dataset.turn = String(data.turn);
  // The widget may arrive in the page a moment after this.
  let tries = 40;
  const look = () => {
    const place = document.querySelector("." + data.place);
    const field = place && first(place);
    if (field) field.focus({ preventScroll: false });
    else if (tries-- > 0) setTimeout(look, 50);
  };
  look();
}
"""
_mount = st.components.v2.component("atlas_focus", html="<span hidden></span>", js=_JS)


def focus(on: str, turn: int, key: str) -> None:
    """Give the widget with key ``on`` the focus, once for each new ``turn``; 0 leaves the focus where it is."""
    _mount(key=key, data={"place": f"st-key-{re.sub('[^A-Za-z0-9_-]', '-', on)}", "turn": turn})
