"""The main picture: the input above the targets, token by token, with the losses as bars below.

HTML columns that wrap, one per position, read from left to right. Every text is escaped here. What was
done to a position is shown by a word and a frame as well as by color; a table below has all of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

import streamlit as st

from core.figures.labels import percent
from core.language.losses import BITS, Losses, PositionLoss
from core.language.tokens import Style, read_piece
from core.objectives.example import Cell, Change, Label
from core.ui.chips import text_color_on
from core.ui.page import css
from core.words import visible

DONE: dict[Change, str] = {
    "none": "",
    "masked": "masked",
    "random": "random",
    "replaced": "replaced",
    "unchanged": "unchanged",
    "inserted": "inserted",
    "moved": "moved",
    "special": "",
}
"""The word under a token for what was done to it."""

_STYLE = css("objective")


def as_html(
    cells: Sequence[Cell],
    style: Style,
    color: str,
    *,
    paid: Mapping[int, PositionLoss] | None = None,
    unit: str = "nats",
    scale: float = 0.0,
    alt: str,
) -> str:
    """One input with its targets, as HTML.

    :param color: ``#rrggbb``, a branch's accent.
    :param paid: the loss by index of ``cells``, if a model ran.
    :param unit: ``nats`` or ``bits``.
    :param scale: the smallest loss, in nats, of a bar of full height.
    """
    losses = paid or {}
    full = max(1e-9, scale, *(loss.nats for loss in losses.values()))
    targets = any(cell.target is not None for cell in cells)
    columns = []
    for index, cell in enumerate(cells):
        before = cells[index - 1] if index else cell
        joined = index and cell.token.startswith("##") and cell.change == before.change == "none"
        names = f"c {cell.change}{' j' if joined else ''}{' s1' if cell.segment == 1 else ''}"
        parts = _column(cell, style, targets) + _loss_bar(losses.get(index), style, unit, full)
        title = escape(_describe(cell, losses.get(index), index, style), quote=True)
        columns.append(f'<span class="{names}" title="{title}">{parts}</span>')
    frame = f'style="--ac:{color};--on:{text_color_on(color)}" role="img" aria-label="{escape(alt)}"'
    return f'{_STYLE}<div class="ob" {frame}>{"".join(columns)}</div>'


def picture(cells: Sequence[Cell], style: Style, color: str, **how: Any) -> str:
    """Draw one input with its targets, as :func:`as_html` takes them; return the HTML drawn."""
    drawn = as_html(cells, style, color, **how)
    st.html(drawn)
    return drawn


def shown(piece: str, style: Style, special: bool = False) -> str:
    """A token as the page shows it: a space before it and the continuation of a word are visible."""
    if special:
        return visible(piece)
    text, leading, marked = read_piece(piece, style)
    return ("‿" if marked else "␣" if leading else "") + (visible(text) if text or leading else visible(piece))


def _column(cell: Cell, style: Style, targets: bool) -> str:
    """The token, what was done to it, and its target, if the row has ``targets``."""
    html = f'<span class="t">{escape(shown(cell.token, style, cell.change == "special"))}</span>'
    if cell.position is not None:
        html += f'<span class="p">{cell.position}</span>'
    html += f'<span class="d">{escape(cell.note or DONE[cell.change])}</span>'
    if cell.target is not None:
        html += f'<span class="a">{escape(shown(cell.target, style))}</span>'
    elif targets:
        html += '<span class="a o">·</span>'
    return html


def _loss_bar(loss: PositionLoss | None, style: Style, unit: str, full: float) -> str:
    if loss is None:
        return ""
    height = max(2.0, min(100.0, 100 * loss.nats / full))
    amount = loss.nats if unit == "nats" else loss.bits
    html = f'<span class="b"><i style="height:{height:.0f}%"></i></span><span class="n">{amount:.2f}</span>'
    if loss.prediction:
        html += f'<span class="g">{escape(shown(loss.prediction, style))} {percent(loss.prediction_probability)}</span>'
    return html


def _describe(cell: Cell, loss: PositionLoss | None, index: int, style: Style) -> str:
    """One column in words."""
    parts = [f"position {index}: {shown(cell.token, style, cell.change == 'special')}"]
    if cell.note or DONE[cell.change]:
        parts.append(cell.note or DONE[cell.change])
    parts.append(f"target: {shown(cell.target, style)}" if cell.target is not None else "no loss")
    if loss is not None:
        parts.append(f"{loss.nats:.2f} nats = {loss.bits:.2f} bits, target at {percent(loss.probability)}")
        if loss.prediction:
            parts.append(f"top prediction {shown(loss.prediction, style)} {percent(loss.prediction_probability)}")
    return ", ".join(parts)


_QUESTION_STYLE = css("question")


def answer_bars(
    label: Label, number: int, losses: Losses, color: str, unit: str, covered: bool, words: Callable[..., str]
) -> str:
    """Draw the choices of a label with a model's probabilities, if any; if ``covered``, none is marked.

    Return the HTML drawn.
    """
    chances = None if covered else losses.choices.get(number)
    rows = []
    for index, choice in enumerate(label.choices):
        right = index == label.answer and not covered
        name = f'<span class="k{" y" if right else ""}">{"✓ " if right else ""}{escape(choice)}</span>'
        bar = "<span></span><span></span>"
        if chances is not None:
            bar = f'<span class="b"><i style="width:{100 * chances[index]:.0f}%"></i></span>'
            bar += f"<span>{percent(chances[index])}</span>"
        rows.append(name + bar)
    if covered:
        alt = words("Label: covered alt", name=label.name, choices=" or ".join(label.choices))
        note = words("Label: covered", name=label.name)
    else:
        alt = words("Label: alt", name=label.name, target=label.choices[label.answer])
        note = words("Label", name=label.name)
    if chances is not None:
        names = zip(label.choices, chances, strict=True)
        alt += " Model: " + ", ".join(f"{choice} {percent(chance)}" for choice, chance in names)
    if (loss := losses.labels.get(number)) is not None:
        size = 1.0 if unit == "nats" else BITS
        blind = f"{math.log(len(label.choices)) * size:.2f}"
        note += " " + words("Label: loss", loss=f"{loss.nats * size:.2f}", unit=unit, blind=blind)
    frame = f'style="--ac:{color}" role="img" aria-label="{escape(alt, quote=True)}"'
    drawn = f'{_QUESTION_STYLE}<div class="obq" {frame}>{"".join(rows)}</div>'
    st.html(drawn)
    st.caption(note)
    return drawn
