"""A question about the example as a whole: its choices, the right one marked, and what a live model says."""

from __future__ import annotations

import math
from html import escape

import streamlit as st

from core.figures.predictions import percent
from core.language.losses import Losses
from core.objectives.example import Label

_STYLE = """<style>
.obq{display:grid;grid-template-columns:max-content minmax(4rem,22rem) max-content;gap:.3rem .8rem;align-items:center;
  margin:.3rem 0;font-size:.95rem}
.obq .k{padding:.1em .5em;border:1.5px solid transparent;border-radius:.5em}
.obq .y{border-color:var(--ac);font-weight:600}
.obq .b{height:.9rem;background:color-mix(in srgb,currentColor 8%,transparent);border-radius:.2rem}
.obq .b i{display:block;height:100%;background:var(--ac);border-radius:.2rem}
@media (max-width:640px){.obq{grid-template-columns:1fr max-content}.obq .k{grid-column:1/-1}}
</style>"""


def answer_bars(label: Label, number: int, losses: Losses, colour: str, unit: str, covered: bool) -> str:
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
        alt = f"Asked once for the whole input: {label.name}: {' or '.join(label.choices)}?"
        drawn = _html(colour, alt, rows)
        st.caption(f"Asked once, at the first token: {label.name}. The answer is covered.")
        return drawn
    target = label.choices[label.answer]
    alt = f"Asked once for the whole input: {label.name}. The target is: {target}."
    if chances is not None:
        alt += " The model says " + ", ".join(
            f"{choice} {percent(chance)}" for choice, chance in zip(label.choices, chances, strict=True)
        )
    drawn = _html(colour, alt, rows)
    paid = losses.labels.get(number)
    said = f"Asked once, at the first token: {label.name}. ✓ is the target."
    if paid is not None:
        said += f" Loss {paid.nats if unit == 'nats' else paid.bits:.2f} {unit}; a blind guess pays " + (
            f"{_blind(len(label.choices), unit):.2f}."
        )
    st.caption(said)
    return drawn


def _html(colour: str, alt: str, rows: list[str]) -> str:
    frame = f'style="--ac:{colour}" role="img" aria-label="{escape(alt, quote=True)}"'
    drawn = f'{_STYLE}<div class="obq" {frame}>{"".join(rows)}</div>'
    st.html(drawn)
    return drawn


def _blind(choices: int, unit: str) -> float:
    return math.log(choices) if unit == "nats" else math.log2(choices)
