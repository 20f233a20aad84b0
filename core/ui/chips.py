"""Token chips: a sentence as a row of buttons, one a token, that a page lets its visitor choose from.

The caller owns the choice. It passes what is selected now and gets back what is selected after the last click, already
in the run that the click started::

    picked = token_chips(tokens, selected=picked, key="mask", multi=True, label="Words to mask", accent="encoder")

Tokens reach the browser as data and are written with ``textContent``, so a token may hold any characters whatever.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import streamlit as st

from core.figures.heatmap import readable
from core.language.tokens import visible
from core.language.types import Token
from core.ui.page import accent as accent_of

_CSS = """
:host { display: block; }
.chips {
  display: flex; flex-wrap: wrap; gap: 6px 4px; padding: 3px; align-items: stretch;
  font-family: var(--st-code-font, ui-monospace, Menlo, Consolas, monospace); font-size: 0.875rem; line-height: 1.35;
}
.chip {
  position: relative; margin: 0; padding: 0.22em 0.55em; min-height: 1.9em; max-width: 100%; border-radius: 0.75em;
  border: 1px solid color-mix(in srgb, var(--st-text-color) 22%, transparent);
  background: var(--st-secondary-background-color); color: var(--st-text-color);
  font: inherit; white-space: pre-wrap; overflow-wrap: anywhere; text-align: start; cursor: pointer; overflow: hidden;
}
.chip.joined { margin-inline-start: -4px; border-start-start-radius: 0.15em; border-end-start-radius: 0.15em; }
.chip.opens { border-start-end-radius: 0.15em; border-end-end-radius: 0.15em; }
.chip.special { background: transparent; border-style: dashed; color: inherit; opacity: 0.78;
  border-color: color-mix(in srgb, var(--st-text-color) 55%, transparent); }
.chip.off { cursor: default; }
.chip:not(.off):hover { border-color: var(--accent); }
.chip:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; overflow: visible; }
.chip.taken {
  background: var(--accent); border: 1px solid var(--accent); color: var(--on-accent); font-weight: 700; opacity: 1;
  box-shadow: inset 0 0 0 2px var(--accent), inset 0 0 0 3px var(--on-accent);
}
.mark { opacity: 0.55; user-select: none; margin-inline-end: 0.1em; font-weight: 400; }
.bar { position: absolute; inset-inline-start: 0; bottom: 0; height: 3px; background: var(--accent); }
.chip.taken .bar { background: var(--on-accent); }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
"""

_JS = """
const RTL = /[\\u0590-\\u08ff\\ufb1d-\\ufdff\\ufe70-\\ufefc]/g;
const LETTERS = /\\p{L}/gu;

function draw(box, data, state) {
  box.replaceChildren();
  const all = data.tokens.map((t) => t.text).join(" ");
  const letters = (all.match(LETTERS) || []).length;
  box.dir = letters && (all.match(RTL) || []).length * 2 > letters ? "rtl" : "ltr";
  state.buttons = data.tokens.map((token, i) => {
    const next = data.tokens[i + 1];
    const chip = document.createElement("button");
    chip.type = "button";
    chip.className = "chip" + (token.special ? " special" : "") + (token.joined ? " joined" : "")
      + (next && next.joined ? " opens" : "") + (token.off ? " off" : "");
    chip.title = token.title;
    if (token.mark) {
      const mark = document.createElement("span");
      mark.className = "mark";
      mark.setAttribute("aria-hidden", "true");
      mark.textContent = token.mark;
      chip.append(mark);
    }
    const word = document.createElement("bdi");
    word.textContent = token.text;
    chip.append(word);
    const said = document.createElement("span");
    said.className = "hidden";
    said.textContent = ", " + token.title;
    chip.append(said);
    if (typeof token.bar === "number") {
      const bar = document.createElement("span");
      bar.className = "bar";
      bar.style.width = Math.round(100 * Math.min(1, Math.max(0, token.bar))) + "%";
      chip.append(bar);
    }
    if (token.off) chip.setAttribute("aria-disabled", "true");
    box.append(chip);
    return chip;
  });
}

function mark(data, state) {
  const usable = state.buttons.map((_, i) => i).filter((i) => !data.tokens[i].off);
  if (!usable.includes(state.at)) {
    const first = usable.find((i) => state.picked.has(i));
    state.at = first === undefined ? (usable.length ? usable[0] : 0) : first;
  }
  state.buttons.forEach((chip, i) => {
    chip.classList.toggle("taken", state.picked.has(i) || data.held.includes(i));
    if (!data.tokens[i].off) chip.setAttribute("aria-pressed", state.picked.has(i) ? "true" : "false");
    chip.tabIndex = i === state.at && usable.length ? 0 : -1;
  });
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const box = parentElement.querySelector(".chips");
  const state = box.atlas || (box.atlas = { sign: null, count: 0, picked: new Set(), at: -1, buttons: [] });
  state.send = setTriggerValue;
  state.data = data;
  box.style.setProperty("--accent", data.accent);
  box.style.setProperty("--on-accent", data.onAccent);
  box.setAttribute("aria-label", data.label);

  const sign = JSON.stringify(data.tokens);
  const fresh = sign !== state.sign;
  if (fresh) {
    state.sign = sign;
    state.at = -1;
    draw(box, data, state);
  }
  // An answer to an older click must not undo a newer one, so clicks are counted and older answers are passed over.
  if (fresh || data.count >= state.count) {
    state.picked = new Set(data.selected);
    state.count = Math.max(state.count, data.count);
  }
  mark(data, state);

  const choose = (i) => {
    if (state.data.tokens[i].off) return;
    if (state.data.multi) {
      const groups = state.data.groups;
      const together = groups
        ? groups.map((_, j) => j).filter((j) => groups[j] === groups[i] && !state.data.tokens[j].off) : [i];
      const taken = state.picked.has(i);
      together.forEach((j) => (taken ? state.picked.delete(j) : state.picked.add(j)));
    } else {
      state.picked = new Set(state.picked.has(i) && state.data.clearable ? [] : [i]);
    }
    state.at = i;
    state.count += 1;
    mark(state.data, state);
    state.send("picked", { selected: [...state.picked].sort((a, b) => a - b), count: state.count });
  };
  box.onclick = (event) => {
    const chip = event.target.closest(".chip");
    if (chip) choose(state.buttons.indexOf(chip));
  };
  box.onkeydown = (event) => {
    const usable = state.buttons.map((_, i) => i).filter((i) => !state.data.tokens[i].off);
    const here = usable.indexOf(state.buttons.indexOf(event.target.closest(".chip")));
    if (here < 0) return;
    const forward = box.dir === "rtl" ? "ArrowLeft" : "ArrowRight";
    const back = box.dir === "rtl" ? "ArrowRight" : "ArrowLeft";
    let to = null;
    if (event.key === forward || event.key === "ArrowDown") to = Math.min(here + 1, usable.length - 1);
    else if (event.key === back || event.key === "ArrowUp") to = Math.max(here - 1, 0);
    else if (event.key === "Home") to = 0;
    else if (event.key === "End") to = usable.length - 1;
    if (to === null) return;
    event.preventDefault();
    state.at = usable[to];
    mark(state.data, state);
    state.buttons[state.at].focus();
  };
}
"""

_mount = st.components.v2.component(
    "atlas_token_chips", html='<div class="chips" role="group"></div>', css=_CSS, js=_JS
)


def token_chips(
    tokens: Sequence[Token | str],
    *,
    selected: Collection[int] = (),
    key: str,
    multi: bool = False,
    accent: str = "encoder",
    label: str = "Tokens",
    disabled: Collection[int] = (),
    held: Collection[int] = (),
    groups: Sequence[int] | None = None,
    bars: Sequence[float] | None = None,
    notes: Sequence[str] | None = None,
    clearable: bool = True,
) -> tuple[int, ...]:
    """Draw a row of token chips and return the positions that are selected, in ascending order.

    Tab reaches the row, the arrow keys, Home and End move along it, Space and Enter choose.

    :param tokens: the tokens, or plain strings where there is nothing else to say about them.
    :param selected: positions to show as selected (the caller's state).
    :param key: a key that no other widget of the page has.
    :param multi: whether several positions may be selected at once.
    :param accent: a branch (``"encoder"``, ...) or a colour as ``#rrggbb``.
    :param label: what the row is, for screen readers.
    :param disabled: positions that cannot be chosen.
    :param held: positions that show as selected and cannot be changed; they are not returned.
    :param groups: a number for each token; with ``multi``, equal numbers are chosen together (whole words).
    :param bars: one number from 0 to 1 a token, drawn as a thin bar along the chip's foot.
    :param notes: one more thing to say about each token on hover.
    :param clearable: with ``multi=False``: whether choosing the selected chip again clears the choice.
    """
    off = set(disabled) | set(held)
    memory = f"{key}--chips"
    store: dict[str, Any] = st.session_state.setdefault(memory, {"count": 0, "picked": None})
    chosen = selected
    if store["picked"] is not None:
        chosen, store["picked"] = store["picked"], None
    current = tuple(sorted({i for i in chosen if 0 <= i < len(tokens) and i not in off}))
    if not multi:
        current = current[:1]
    colour = accent if accent.startswith("#") else accent_of(accent)
    data = {
        "tokens": [_chip(token, i, i in off, bars, notes) for i, token in enumerate(tokens)],
        "held": sorted(set(held)),
        "groups": list(groups) if groups is not None else None,
        "selected": list(current),
        "multi": multi,
        "clearable": clearable,
        "label": label,
        "accent": colour,
        "onAccent": on_colour(colour),
        "count": store["count"],
    }
    _mount(key=key, data=data, on_picked_change=_remember(key, memory))
    return current


def on_colour(colour: str) -> str:
    """Black or white, whichever reads better on ``colour`` (``#rrggbb``), by WCAG's contrast ratio."""
    return str(readable(np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])))


def _chip(
    token: Token | str, index: int, off: bool, bars: Sequence[float] | None, notes: Sequence[str] | None
) -> dict[str, Any]:
    """What the browser needs to draw one chip."""
    note = notes[index] if notes is not None else ""
    if isinstance(token, str):
        title = f"token {index}" + (f", {note}" if note else "")
        chip: dict[str, Any] = {"text": visible(token), "title": title, "off": off}
    else:
        parts = [f"token {index}", f"id {token.id}", f"piece {token.piece}"]
        if token.special:
            parts.append("special token")
        if token.continuation:
            parts.append("continues the word before it")
        if note:
            parts.append(note)
        chip = {
            "text": visible(token.text) or ("" if token.leading_space else token.piece),
            "title": ", ".join(parts),
            "off": off,
            "special": token.special,
            "joined": token.continuation,
            "mark": "␣" if token.leading_space else "‿" if token.continuation else "",
        }
    if bars is not None:
        chip["bar"] = float(bars[index])
    return chip


def accepted(sent: object) -> dict[str, Any] | None:
    """What a click may change, out of whatever the browser sent: whole numbers and a count, or nothing."""
    if not isinstance(sent, dict):
        return None
    picked, count = sent.get("selected"), sent.get("count")
    if not isinstance(picked, list) or not isinstance(count, int) or isinstance(count, bool):
        return None
    return {"count": count, "picked": [i for i in picked if isinstance(i, int) and not isinstance(i, bool)]}


def _remember(key: str, memory: str) -> Callable[[], None]:
    """A callback that keeps a click until the run that it starts asks for it."""

    def remember() -> None:
        choice = accepted(getattr(st.session_state.get(key), "picked", None))
        if choice is not None:
            st.session_state[memory] = choice

    return remember
