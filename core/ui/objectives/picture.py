"""The main picture: what the model reads above what it must answer, token by token, with the loss hanging below.

Plain HTML in columns that wrap, one column a place, read from left to right. Every text is escaped here. What was done
to a place is told by a word and a frame as well as by color; a table beside the picture has all of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

import streamlit as st

from core.figures.predictions import percent
from core.language.losses import BITS, Losses, PlaceLoss
from core.language.tokens import Style, read_piece, visible
from core.objectives.example import Cell, Change, Label
from core.ui.chips import on_colour

DONE: dict[Change, str] = {
    "kept": "",
    "masked": "hidden",
    "random": "random",
    "replaced": "replaced",
    "unchanged": "left as is",
    "inserted": "inserted",
    "moved": "moved",
    "special": "",
}
"""What was done to a place, in a word under its token."""

_STYLE = """<style>
.ob{--line:color-mix(in srgb,currentColor 24%,transparent);display:flex;flex-wrap:wrap;gap:.7rem .3rem;
  align-items:flex-start;margin:.2rem 0;line-height:1.3}
.ob .c{display:flex;flex-direction:column;align-items:center;min-width:2.1rem;max-width:100%}
.ob .j{margin-inline-start:-.3rem}
.ob .t,.ob .a{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:.92rem;padding:.16em .5em;border-radius:.7em;
  white-space:pre;max-width:13rem;overflow:hidden;text-overflow:ellipsis;border:1.5px solid var(--line)}
.ob .t{background:color-mix(in srgb,currentColor 6%,transparent)}
.ob .j>.t{border-start-start-radius:.1em;border-end-start-radius:.1em}
.ob .masked>.t,.ob .inserted>.t{background:var(--ac);border-color:var(--ac);color:var(--on);font-weight:600}
.ob .inserted>.t{border-radius:.1em}
.ob .random>.t,.ob .replaced>.t{border:2px dashed var(--ac);background:none}
.ob .unchanged>.t{border:4px double var(--ac);padding:.02em .4em;background:none}
.ob .moved>.t{border:2px solid var(--ac);border-radius:.1em;background:none}
.ob .special>.t{border:1.5px dashed var(--atlas-muted);background:none;opacity:.85}
.ob .d{font-size:.72rem;height:1.1rem;opacity:.85;white-space:nowrap}
.ob .a{border-color:var(--ac)}
.ob .o{border-color:transparent;opacity:.5;font-family:inherit}
.ob .b{height:2.8rem;width:1.1rem;margin-top:.25rem;border-top:2px solid var(--line)}
.ob .b i{display:block;background:var(--ac);opacity:.85;border-radius:0 0 .2rem .2rem}
.ob .n{font-size:.74rem;font-variant-numeric:tabular-nums;white-space:nowrap}
.ob .g{font-size:.72rem;opacity:.85;white-space:nowrap;max-width:9rem;overflow:hidden;text-overflow:ellipsis}
.ob .p{font-size:.68rem;opacity:.75;white-space:nowrap}
.ob .s1>.t{box-shadow:inset 0 -.22em 0 color-mix(in srgb,var(--ac) 45%,transparent)}
</style>"""


def picture(
    cells: Sequence[Cell],
    style: Style,
    color: str,
    *,
    paid: Mapping[int, PlaceLoss] | None = None,
    unit: str = "nats",
    scale: float = 0.0,
    alt: str,
) -> str:
    """Draw one input with its targets; returns what was drawn, as HTML.

    :param color: ``#rrggbb``, a branch's accent.
    :param paid: the loss by index of ``cells``; None where no model was asked.
    :param unit: ``nats`` or ``bits``.
    :param scale: a loss, in nats, that a bar of full height stands for at least.
    """
    full = max([scale, *(place.nats for place in (paid or {}).values())])
    asks = any(cell.target is not None for cell in cells)
    columns = "".join(
        _column(cell, cells[index - 1] if index else None, style, asks, paid, index, unit, max(full, 1e-9))
        for index, cell in enumerate(cells)
    )
    frame = f'style="--ac:{color};--on:{on_colour(color)}" role="img" aria-label="{escape(alt)}"'
    drawn = f'{_STYLE}<div class="ob" {frame}>{columns}</div>'
    st.html(drawn)
    return drawn


def shown(piece: str, style: Style, special: bool = False) -> str:
    """A piece as the page shows it: the space before it and that it goes on with a word are visible."""
    if special:
        return visible(piece)
    text, leading, marked = read_piece(piece, style)
    return ("‿" if marked else "␣" if leading else "") + (visible(text) if text or leading else visible(piece))


def _column(
    cell: Cell,
    before: Cell | None,
    style: Style,
    asks: bool,
    paid: Mapping[int, PlaceLoss] | None,
    index: int,
    unit: str,
    full: float,
) -> str:
    joined = cell.change == "kept" and cell.token.startswith("##") and before is not None and before.change == "kept"
    names = f"c {cell.change}{' j' if joined else ''}{' s1' if cell.segment == 1 else ''}"
    parts = [f'<span class="t">{escape(shown(cell.token, style, cell.change == "special"))}</span>']
    if cell.position is not None:
        parts.append(f'<span class="p">{cell.position}</span>')
    parts.append(f'<span class="d">{escape(cell.note or DONE[cell.change])}</span>')
    if asks:
        target = '<span class="a o">·</span>'
        if cell.target is not None:
            target = f'<span class="a">{escape(shown(cell.target, style))}</span>'
        parts.append(target)
    place = (paid or {}).get(index)
    if place is not None:
        height = max(2.0, min(100.0, 100 * place.nats / full))
        amount = place.nats if unit == "nats" else place.bits
        parts.append(f'<span class="b"><i style="height:{height:.0f}%"></i></span><span class="n">{amount:.2f}</span>')
        if place.guess:
            parts.append(f'<span class="g">{escape(shown(place.guess, style))} {percent(place.chance)}</span>')
    return (
        f'<span class="{names}" title="{escape(_said(cell, place, index, style), quote=True)}">{"".join(parts)}</span>'
    )


def _said(cell: Cell, place: PlaceLoss | None, index: int, style: Style) -> str:
    """One column in words."""
    words = [f"position {index}: {shown(cell.token, style, cell.change == 'special')}"]
    if cell.note or DONE[cell.change]:
        words.append(cell.note or DONE[cell.change])
    words.append(f"target: {shown(cell.target, style)}" if cell.target is not None else "no loss")
    if place is not None:
        words.append(f"{place.nats:.2f} nats = {place.nats * BITS:.2f} bits, target at {percent(place.probability)}")
        if place.guess:
            words.append(f"top prediction {shown(place.guess, style)} {percent(place.chance)}")
    return ", ".join(words)


_QUESTION_STYLE = """<style>
.obq{display:grid;grid-template-columns:max-content minmax(4rem,22rem) max-content;gap:.3rem .8rem;align-items:center;
  margin:.3rem 0;font-size:.95rem}
.obq .k{padding:.1em .5em;border:1.5px solid transparent;border-radius:.5em}
.obq .y{border-color:var(--ac);font-weight:600}
.obq .b{height:.9rem;background:color-mix(in srgb,currentColor 8%,transparent);border-radius:.2rem}
.obq .b i{display:block;height:100%;background:var(--ac);border-radius:.2rem}
@media (max-width:640px){.obq{grid-template-columns:1fr max-content}.obq .k{grid-column:1/-1}}
</style>"""


def answer_bars(label: Label, number: int, losses: Losses, color: str, unit: str, covered: bool) -> str:
    """Draw one label; without an answer of a model the choices stand alone, and ``covered`` none is marked.

    Returns what was drawn, as HTML.
    """
    chances = None if covered else losses.choices.get(number)
    rows = []
    for index, choice in enumerate(label.choices):
        right = index == label.answer and not covered
        name = f'<span class="k{" y" if right else ""}">{"✓ " if right else ""}{escape(choice)}</span>'
        if chances is None:
            rows.append(f"{name}<span></span><span></span>")
        else:
            bar = f'<span class="b"><i style="width:{100 * chances[index]:.0f}%"></i></span>'
            rows.append(f"{name}{bar}<span>{percent(chances[index])}</span>")
    if covered:
        alt = f"Predicted once for the whole input: {label.name}: {' or '.join(label.choices)}?"
        drawn = _html(color, alt, rows)
        st.caption(f"Predicted once, at the first token: {label.name}. The answer is covered.")
        return drawn
    target = label.choices[label.answer]
    alt = f"Predicted once for the whole input: {label.name}. The target is: {target}."
    if chances is not None:
        alt += " Model: " + ", ".join(
            f"{choice} {percent(chance)}" for choice, chance in zip(label.choices, chances, strict=True)
        )
    drawn = _html(color, alt, rows)
    paid = losses.labels.get(number)
    said = f"Predicted once, at the first token: {label.name}. ✓ is the target."
    if paid is not None:
        said += f" Loss {paid.nats if unit == 'nats' else paid.bits:.2f} {unit}; random guessing has " + (
            f"{_blind(len(label.choices), unit):.2f}."
        )
    st.caption(said)
    return drawn


def _html(color: str, alt: str, rows: list[str]) -> str:
    frame = f'style="--ac:{color}" role="img" aria-label="{escape(alt, quote=True)}"'
    drawn = f'{_QUESTION_STYLE}<div class="obq" {frame}>{"".join(rows)}</div>'
    st.html(drawn)
    return drawn


def _blind(choices: int, unit: str) -> float:
    return math.log(choices) if unit == "nats" else math.log2(choices)
