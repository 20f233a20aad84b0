"""Gradient attack: a sentence is changed until a classifier reads another topic, beside as many random changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import checkpoints, engine, session
from core.cache import HOUR
from core.figures.labels import percent
from core.figures.lines import Line, line_alt, line_chart
from core.finetuning.attack import (
    ENOUGH,
    EVERY,
    MAX_CHARS,
    MOST_KEPT,
    SAMPLES,
    STEPS,
    Attack,
    AttackSetup,
    Classifier,
    Sentence,
    attack,
    classifier,
    perplexity,
    substitute,
)
from core.finetuning.attack import (
    FLUENCY as WEIGHT,
)
from core.finetuning.attack import (
    KEPT as KEPT_WORDS,
)
from core.table import Table
from core.theme import mixed
from core.ui.job import job
from core.ui.page import accent, main_picture, theme
from core.ui.panel import Panel, chart, offer_table
from core.ui.param import Choice, Integer, Real, Seed, Text, settings_menu
from core.ui.section import Section, View

PAUSE = 0.3
"""Seconds between two drawings of a growing picture, and as many more for each visitor who waits."""
LEAST = 0.005
"""The least probability of a candidate that is shown."""
SET = "topic"
TEXT = Text(name="attacked", label="Text", most=MAX_CHARS, sentence="plain")
FLUENCY = Choice(
    name="fluency",
    label="Fluency constraint",
    options={"on": "With", "off": "Without"},
    default="on",
    style="row",
)
KEPT = Integer(name="kept", label="Words kept", default=KEPT_WORDS, low=0, high=MOST_KEPT)
SIMILARITY = Real(name="similarity", label="Weight of similarity", default=0.0, low=0.0, high=20.0, step=1.0)
SEED = Seed(again="Attack again")
BASELINES = ("flips", "random")


def gradient_attack(view: View) -> None:
    state, words = view.state, view.words
    slug, reader = checkpoints.first("attack")
    head = session.computed("loading-the-model", classifier, slug, SET)
    with view.controls():
        text = TEXT.with_(default=words.label("example")).draw(state)
        fluency = FLUENCY.draw(state)
        values = settings_menu(state, KEPT, SIMILARITY, SEED.box)
        button = st.empty()
    setup = AttackSetup(
        fluency=WEIGHT if fluency == "on" else 0.0,
        similarity=values["similarity"],
        kept=values["kept"],
        seed=values["seed"],
    )
    left, right = st.columns([1.25, 1], gap="large")
    with left, main_picture():
        sentences = st.empty()
    with right:
        curves = st.empty()
    found = _attacked(view, slug, head, text, setup, button, sentences, curves)
    if found is None:
        return
    rows = {"original": found.original, "attack": found.sentence}
    swaps = sum(found.sentence.changed)
    for method in BASELINES if swaps else ():
        rows[method] = session.computed(
            "running-the-model", substitute, slug, head, text, method, swaps, setup.kept, setup.seed
        )
    costs = {name: session.computed("running-the-model", perplexity, reader, row.text) for name, row in rows.items()}
    _sentences(view, sentences, head, rows, costs)
    _curves(view, curves, found, head)
    names = head.labels
    view.say(
        "Fooled" if found.sentence.best != found.original.best else "Not fooled",
        changed=swaps,
        words=len(found.original.words),
        first=names[found.original.best],
        second=names[found.sentence.best],
        share=percent(found.fooled[-1]),
        step=found.step,
    )
    _distribution(view, found)
    columns: dict[str, Sequence[object]] = {
        "sentence": [words.label(name) for name in rows],
        "text": [row.text for row in rows.values()],
        "class": [names[row.best] for row in rows.values()],
        **{name: [round(row.probabilities[at], 4) for row in rows.values()] for at, name in enumerate(names)},
        "words changed": [sum(row.changed) for row in rows.values()],
        "perplexity": [round(costs[name], 1) for name in rows],
    }
    offer_table(state, Table.from_columns(columns), words.label("sentences"), "attacked")
    view.try_and_notice()
    view.how_it_works(
        steps=STEPS,
        samples=SAMPLES,
        enough=percent(ENOUGH),
        trained=head.trained,
        held_out=head.held_out,
        accuracy=percent(head.accuracy),
    )


def _attacked(
    view: View,
    slug: str,
    head: Classifier,
    text: str,
    setup: AttackSetup,
    button: DeltaGenerator,
    sentences: DeltaGenerator,
    curves: DeltaGenerator,
) -> Attack | None:
    """The attack, drawn while it is computed; what there is of it after a stop."""
    key = ("gradient-attack", slug, session.files(slug), text, setup)
    found: Attack | None = session.results.get(key)
    if found:
        with button:
            SEED.button(view.state)
        return found
    running = job(view.state, "attack", (text, setup))
    if not running.goes(button):
        found = running.part
        return found

    def grow() -> Attack:
        for found in engine.stream(attack, slug, head, text, setup):
            running.part = found
            if running.due(PAUSE):
                _sentences(view, sentences, head, {"original": found.original, "attack": found.sentence}, {})
                _curves(view, curves, found, head, growing=True)
        return found

    with st.spinner(session.waiting("attacking")):
        found = session.results.get_or_compute(key, grow, HOUR)
    with button:
        SEED.button(view.state)
    return found


def _sentences(
    view: View,
    place: DeltaGenerator,
    head: Classifier,
    rows: Mapping[str, Sentence],
    costs: Mapping[str, float],
) -> None:
    """Draw the sentences one below the other, with class and perplexity; everything escaped."""
    own = rows["original"].best
    place.html("".join(_sentence_html(view, name, row, own, head, costs.get(name)) for name, row in rows.items()))


def _sentence_html(view: View, name: str, row: Sentence, own: int, head: Classifier, cost: float | None) -> str:
    best = row.best
    facts = [f"{escape(head.labels[best])} {percent(row.probabilities[best])}"]
    if best != own:
        facts = [f"<b>{facts[0]}</b>", f"{escape(head.labels[own])} {percent(row.probabilities[own])}"]
    if cost is not None:
        facts.append(f"{view.words.label('perplexity')} {cost:,.0f}")
    return (
        f'<p style="margin:0 0 .1em"><b>{escape(view.words.label(name))}</b> · {" · ".join(facts)}</p>'
        '<p dir="auto" style="margin:0 0 .9em;font-size:1.2em;overflow-wrap:anywhere;line-height:1.5">'
        f"{_text_html(row)}</p>"
    )


def _text_html(row: Sentence) -> str:
    """The tokens, joined as words, changed ones marked: underlined, too."""
    look = theme()
    ground, line = mixed(look.ground, look.categorical[1], 0.22), look.categorical[1]
    pieces: list[str] = []
    for at, (token, changed) in enumerate(zip(row.words, row.changed, strict=True)):
        shown = escape(token.removeprefix("##"))
        if changed:
            shown = f'<mark style="background:{ground};color:inherit;border-bottom:2px solid {line}">{shown}</mark>'
        joined = token.startswith("##") or at == 0 or not token[:1].isalnum()
        pieces.append(shown if joined else f" {shown}")
    return "".join(pieces)


def _curves(view: View, place: DeltaGenerator, found: Attack, head: Classifier, *, growing: bool = False) -> None:
    """Draw how often the distribution fools the classifier, step by step."""
    look, words = theme(), view.words
    steps = [min(at * EVERY, found.step) for at in range(len(found.fooled))]
    own = head.labels[found.original.best]
    lines = [
        Line(words.part("Own class", label=own), steps, found.own, look.muted, "dash"),
        Line(words.label("fooled"), steps, found.fooled, accent("encoder")),
    ]
    label = words.label("share")
    figure = line_chart(
        lines,
        label,
        across=words.label("step"),
        hover="%{x}: %{y:.0%}",
        width=3,
        xaxis={"range": [0, found.steps]},
        yaxis={"range": [-0.02, 1.04], "tickformat": ".0%"},
        height=320,
        theme=look,
    )
    alt = line_alt(lines, label, [], words.label("step"))
    table = Table.from_columns({"step": steps, **{line.name: list(line.values) for line in lines}})
    with place.container():
        if growing:
            chart(figure, key=view.state.key(f"growing.attack.{found.step}"), alt=alt)
        else:
            Panel("attack", words.label("curves"), figure, alt, table).draw(view.state)


def _distribution(view: View, found: Attack) -> None:
    """Draw the most probable candidates at each position; everything escaped."""
    look, title = theme(), view.words.label("distribution")
    st.subheader(title, anchor=False)
    cells = []
    for kept, own, candidates in zip(found.kept, found.original.words, found.top, strict=True):
        color = look.muted if kept else look.ink
        lines = [f'<div style="font-weight:600;color:{color}">{escape(own)}</div>']
        for word, chance in () if kept else candidates:
            if chance >= LEAST:
                ground = mixed(look.ground, look.categorical[1], 0.5 * chance * (word != own))
                lines.append(f'<div style="background:{ground}">{escape(word)} <small>{percent(chance)}</small></div>')
        cells.append(f'<div style="flex:none;white-space:nowrap">{"".join(lines)}</div>')
    st.html(
        f'<div tabindex="0" role="group" aria-label="{escape(title)}" '
        f'style="display:flex;gap:1.1em;overflow-x:auto;padding-bottom:.5em">{"".join(cells)}</div>'
    )
    rows = [
        (at + 1, own, word, round(chance, 4))
        for at, (own, candidates) in enumerate(zip(found.original.words, found.top, strict=True))
        for word, chance in candidates
    ]
    table = Table(("position", "word", "candidate", "probability"), tuple(rows))
    offer_table(view.state, table, title, "distribution")


ATTACK = Section("attack", gradient_attack, (TEXT, FLUENCY, KEPT, SIMILARITY, SEED))
