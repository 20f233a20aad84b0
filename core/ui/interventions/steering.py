"""Steering: one prompt continued plainly, with a direction added, and with a random one; what is written by factor."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

import streamlit as st

from core import session
from core.figures.lines import Line, line_alt, line_chart
from core.interventions.steering import (
    ALPHAS,
    SEEDS,
    SHORT,
    WORD,
    Steering,
    Sweep,
    Written,
    bundled_sets,
    bundled_words,
    count_words,
    steer,
    steerable_layers,
    sweep,
)
from core.table import Table
from core.theme import mixed
from core.ui.attention.setup import draw_model
from core.ui.interventions.setup import MODEL
from core.ui.page import main_picture, theme
from core.ui.panel import Panel, offer_table
from core.ui.param import Integer, Real, Seed, Text, settings_menu
from core.ui.picker import nothing_runs
from core.ui.section import Section, View

DECODER = MODEL.with_(
    needs=("continues",), first="generation", fits=lambda spec: not (spec.offers("memory") or spec.offers("hashing"))
)
PROMPT = Text(name="prompt", label="Prompt", most=300)
ALPHA = Real(name="alpha", label="Factor α", default=2.0, low=-2.0, high=2.0, step=0.5, format="%+.1f", width=190)
LAYER = Integer(name="layer", label="After layer", low=1, high=200)
SEED = Seed(default=6)
TOWARD = Text(name="toward", label="Texts to steer toward, one on each line", most=900, height=110)
AWAY = Text(name="away", label="Texts to steer away from, one on each line", most=900, height=110)
DASHES = {"steered": "solid", "random direction": "dot"}


def steering(view: View) -> None:
    state, sets = view.state, bundled_sets()
    if nothing_runs(DECODER.offered()):
        return
    spec = draw_model(view, DECODER)
    with st.spinner(session.waiting("loading-the-model")):
        layers = steerable_layers(session.checkpoint(spec.slug))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        prompt = PROMPT.with_(default=sets.prompt).draw(state)
        alpha = ALPHA.draw(state)
        boxes = (TOWARD.with_(default=sets.toward), AWAY.with_(default=sets.away))
        layer = LAYER.with_(high=layers, default=(layers + 1) // 2)
        values = settings_menu(state, layer, SEED.box, *boxes, tag=spec.slug)
        seed = SEED.button(state, tag=spec.slug)
    asked = (prompt, values["toward"], values["away"], values["layer"] - 1)
    words = bundled_words() if asked[1:3] == (sets.toward, sets.away) else {}
    left, right = st.columns([1.2, 1], gap="large")
    with left, st.container(key="atlas-texts"):
        result = session.computed("writing-three-texts", steer, spec.slug, *asked, alpha, seed)
        _texts(result, prompt, alpha, words, view)
        view.say(
            "Size",
            factor=_signed(alpha),
            norm=f"{abs(alpha) * result.norm:.1f}",
            states=f"{result.states:.0f}",
        )
    with right:
        by_factor = session.computed("writing-at-each-factor", sweep, spec.slug, *asked)
        if words:
            _counts(by_factor, alpha, words, view)
        _costs(by_factor, alpha, view, note="" if words else view.words.part("Own texts"))
    view.try_and_notice()


def _signed(alpha: float) -> str:
    return f"{alpha:+.1f}".replace("-", "−")


def _texts(result: Steering, prompt: str, alpha: float, words: Mapping[str, frozenset[str]], view: View) -> None:
    """Draw the three texts, words of the sets marked."""
    names = [view.words.part(part, factor=_signed(alpha)) for part in ("Plain", "Steered", "Control")]
    texts = (result.plain, result.steered, result.control)
    with main_picture():
        st.html("".join(_text_html(name, prompt, text, words) for name, text in zip(names, texts, strict=True)))
    counts = {f"{side} words": [count_words(text.text, listed) for text in texts] for side, listed in words.items()}
    columns: dict[str, Sequence[Any]] = {
        "text": names,
        "nats per token": [round(text.nats, 3) for text in texts],
        **counts,
    }
    columns["written"] = [text.text for text in texts]
    table = Table.from_columns(columns)
    offer_table(view.state, table, view.words.label("texts"), "steered-texts")


def _text_html(name: str, prompt: str, written: Written, words: Mapping[str, frozenset[str]]) -> str:
    """A text under its name, its cost and its counts; everything escaped."""
    counts = "".join(
        f" · {_marked(side, number)} {count_words(written.text, listed)}"
        for number, (side, listed) in enumerate(words.items())
    )
    spans, end = "", 0
    for match in WORD.finditer(written.text):
        sides = [number for number, listed in enumerate(words.values()) if match[0].lower() in listed]
        spans += escape(written.text[end : match.start()])
        spans += _marked(match[0], sides[0]) if sides else escape(match[0])
        end = match.end()
    spans += escape(written.text[end:])
    return (
        f'<p style="margin:0 0 .15em"><b>{escape(name)}</b> · {written.nats:.2f} nats per token{counts}</p>'
        f'<p dir="auto" style="margin:0 0 .9em;overflow-wrap:anywhere;white-space:pre-line;line-height:1.6">'
        f'<span style="color:{theme().muted}">{escape(prompt)}</span>{spans}</p>'
    )


def _marked(word: str, number: int) -> str:
    """A word of the first or the second set: the line below differs, not the color alone."""
    color, line = theme().categorical[1 - number], ("solid", "dotted")[number]
    ground = mixed(theme().ground, color, 0.22)
    return f'<mark style="background:{ground};color:inherit;border-bottom:2px {line} {color}">{escape(word)}</mark>'


def _lines(by_factor: Sweep, name: str, color: str, measure: Callable[[Sequence[Written]], float]) -> list[Line]:
    rows = (by_factor.steered, by_factor.control)
    return [
        Line(f"{name}{kind}", ALPHAS, [measure(texts) for texts in written], color, dash)
        for (kind, dash), written in zip(DASHES.items(), rows, strict=True)
    ]


def _counts(by_factor: Sweep, alpha: float, words: Mapping[str, frozenset[str]], view: View) -> None:
    """Draw how many words of each set the texts have."""
    lines = [
        line
        for number, (side, listed) in enumerate(words.items())
        for line in _lines(
            by_factor,
            f"{side}, ",
            theme().categorical[1 - number],
            lambda texts, listed=listed: sum(count_words(text.text, listed) for text in texts),  # type: ignore[misc]
        )
    ]
    _chart("steering-words", view.words.label("words"), lines, "words", alpha, view, 270)
    without = max(line.values[ALPHAS.index(0)] or 0.0 for line in lines)
    # 95% of the differences of two Poisson counts of one mean, whose variance is twice that mean
    view.note("Counts", texts=SEEDS, each=SHORT, chance=math.ceil(1.96 * math.sqrt(2 * max(1.0, without))))


def _costs(by_factor: Sweep, alpha: float, view: View, note: str) -> None:
    """Draw the cost of the texts under the unsteered model."""
    lines = _lines(by_factor, "", theme().muted, lambda texts: sum(text.nats for text in texts) / len(texts))
    _chart("steering-cost", view.words.label("cost"), lines, "nats per token", alpha, view, 230, note)


def _chart(
    slug: str, title: str, lines: list[Line], measure: str, alpha: float, view: View, height: int, note: str = ""
) -> None:
    figure = line_chart(
        lines, measure, across="factor α", hover="α = %{x}: %{y:.3g}", at=alpha, theme=theme(), height=height
    )
    rows = {line.name: [round(value or 0.0, 3) for value in line.values] for line in lines}
    Panel(
        slug,
        title,
        figure,
        line_alt(lines, measure, (), "factor"),
        Table.from_columns({"factor": list(ALPHAS), **rows}),
        note,
        heading=True,
    ).draw(view.state)


STEERING = Section("steer", steering, (PROMPT, ALPHA, LAYER, SEED, TOWARD, AWAY))
