"""Next-token distribution: the probabilities of one step before and after a rule, along the text of one strategy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import streamlit as st

from core import session
from core.figures.decoding import rule_alt, rule_bars, surprise_bars
from core.figures.predictions import percent
from core.language.decoding.cards import PROCESSORS, Card, decoding_of, read_all
from core.language.decoding.rules import ORDER, Rule
from core.language.decoding.step import Around, Look, each, look
from core.language.tokens import describe, visible
from core.language.types import GenerationStep
from core.links import parameters as link
from core.table import Table
from core.ui.demos.cover import COVER, keep_step, step_of, switch, token_verdict, uncovered, walk
from core.ui.demos.steps import STEP, step_chips
from core.ui.export import download_csv
from core.ui.generation.colored import plain_html, text_html
from core.ui.generation.setup import RULES, SHARED, Setup, number_box, setup
from core.ui.generation.writing import Canvas, generate_all
from core.ui.glossary import terms
from core.ui.links import PageState, instead, within
from core.ui.page import accent, theme
from core.ui.panel import Panel
from core.ui.param import Carried, Choice
from core.ui.section import Section, View
from core.ui.text_table import Row, TextTable, text_table

RULE = Choice(
    name="rule",
    label="Logits processor",
    default="top_p",
    options={rule: name for rule, (name, _) in PROCESSORS.items()},
    width=190,
    resets=("value",),
)
VALUE = Carried(name="value", label="Its number", as_=link.Real(None, 0.0, 1000.0))
FIRST = Carried(name="first", label="Processors before it", as_=link.Words(most=7))
ALONG = Carried(name="along", label="Along the text of", as_=link.Integer(1, 1, 8))


def one_step(view: View) -> None:
    """Draw the text, the bars of the chosen step, the formula, and every rule at this step.

    Raises:
        AtlasError: the text or a setting cannot be used.
    """
    state, chosen = view.state, setup(view)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        rule, value, first = _rule(view)
        card = _along(state)
        hidden = switch(state)
    place = st.empty()
    path = _path(chosen, card, shown=not hidden)
    place.empty()
    if not path:
        return
    checkpoint = session.checkpoint(chosen.spec.slug)
    tokens = describe(checkpoint.tokenizer, [step.token.id for step in path])
    slot = state.key(f"step.of.{hash(chosen.key)}.{card.name}")
    seen = state.key("step.seen")
    if seen not in st.session_state:  # later, another text may simply be shorter
        within(state, STEP.label, state.number(STEP.name, 1), 1, len(path))
    st.session_state[seen] = True
    at = step_of(state, slot, len(path))
    shown = True
    if hidden:
        shown = _guessed(chosen, card, path, at)
        walk(slot, at, len(path), "token")
    else:
        at = step_chips(path, tokens, at, key=state.key("step.chips"), branch=chosen.spec.branch, by_hand=None)
    keep_step(state, slot, at)
    if not shown:
        return
    ids = [step.token.id for step in path[:at]]
    start = chosen.start()
    _pictures(chosen, look(checkpoint, start, ids, rule, value, first), path[at])
    view.try_and_notice(rule)
    numbers = [(other, value if other == rule else number.start) for other, (_, number) in PROCESSORS.items()]
    _every_rule(state, each(checkpoint, start, ids, numbers), at)


def _rule(view: View) -> tuple[Rule, float, list[tuple[Rule, float]]]:
    """The rule, its number, and the rules that run before it."""
    state = view.state
    rule = cast(Rule, RULE.draw(state))
    name, number = PROCESSORS[rule]
    wanted = state.real(VALUE.name, number.start)
    if not number.allows(wanted):
        instead(
            state,
            f"{number.name} of {name} lies from {number.low:g} to {number.high:g}; {number.start:g} is used.",
        )
        wanted = number.start
    value = number_box(number, wanted, state.key(f"value.{rule}"))
    state.set(value=None if value == number.start else value)
    return rule, value, _first(view, rule)


def _first(view: View, rule: Rule) -> list[tuple[Rule, float]]:
    """Rules that run before, chosen in a popover: those that transformers applies earlier, with their numbers."""
    state = view.state
    earlier = [name for name in ORDER[: ORDER.index(rule)] if name in PROCESSORS]
    wanted: dict[str, float] = {}
    for word in state.words(FIRST.name) or ():
        name, _, raw = word.partition("-")
        try:
            number = PROCESSORS[cast(Rule, name)][1]
            value = float(raw) if raw else number.start
            if not number.allows(value):
                raise ValueError
            wanted[name] = value
        except (KeyError, ValueError):
            instead(state, f"The link asks for “{word[:40]}” first, which is no logits processor. It is left out.")
    chosen: list[tuple[Rule, float]] = []
    with st.popover("After others", icon=":material/filter_list:", disabled=not earlier):
        view.note("Before it")
        for name in earlier:
            title, number = PROCESSORS[name]
            on, place = st.columns([3, 2], vertical_alignment="bottom")
            with on:
                used = st.checkbox(title, name in wanted, key=state.key(f"first.{name}"))
            with place:
                value = number_box(number, wanted.get(name, number.start), state.key(f"first.{name}.value"))
            if used:
                chosen.append((name, value))
    state.set(first=tuple(f"{name}-{value:g}" for name, value in chosen) or None)
    return chosen


def _along(state: PageState) -> Card:
    """The strategy whose text is looked into."""
    cards, _ = read_all(state.words(RULES.name))
    at = min(state.number(ALONG.name, 1), len(cards)) - 1
    number = st.selectbox(
        ALONG.label,
        range(len(cards)),
        index=at,
        key=state.key(ALONG.name),
        width=200,
        format_func=lambda i: cards[i].name,
        help="The cards of “Strategies”",
    )
    state.set(along=number + 1)
    return cards[number]


def _guessed(chosen: Setup, card: Card, path: Sequence[GenerationStep], at: int) -> bool:
    """The text up to the step, and a box for a guess of the next token; whether the answer may be drawn."""
    place = st.empty()
    question = ("step", *chosen.key, decoding_of(card, chosen.common), at)
    label = f"Token {at + 1}: what comes next?"
    shown = uncovered(chosen.state, question, label, token_verdict(path[at]), on=True)
    place.html(text_html(chosen.prefix, path[: at + shown], growing=not shown, room="2em"))
    return shown


def _path(chosen: Setup, card: Card, shown: bool) -> tuple[GenerationStep, ...]:
    """The card's text, drawn while it is generated where it may be ``shown``."""
    button, place = st.empty(), st.empty()

    def draw(_: int, steps: Sequence[GenerationStep], growing: bool) -> None:
        if growing and shown:
            place.html(text_html(chosen.prefix, steps, growing=True))

    def draw_text(_: int, text: str) -> None:
        if shown:
            place.html(plain_html(chosen.prefix, text))

    texts, _ = generate_all(chosen, [decoding_of(card, chosen.common)], Canvas(button, draw, draw_text))
    place.empty()
    return texts[0]


def _pictures(chosen: Setup, result: Look, step: GenerationStep) -> None:
    """Bars before and after the rule beside its formula; for typical sampling the surprisals, too."""
    view, around = chosen.view, result.around
    names = [visible(row.text) for row in result.rows]
    what = f"{PROCESSORS[around.rule][0]} at step {step.index + 1}"
    left, right = st.columns([3, 2], gap="large")
    with left:
        rest, before, after = result.others
        note = view.words.part("Bars")
        if rest > 0:
            note += " " + view.words.part("Others", rest=f"{rest:,}", before=percent(before), after=percent(after))
        Panel(
            "generation-step",
            what,
            rule_bars(result, names, accent(chosen.spec.branch), taken=step.token.id, theme=theme()),
            rule_alt(result, names, what),
            Table.from_records(
                [
                    {
                        "token": visible(row.text),
                        "id": row.id,
                        "before": row.before,
                        "after": row.after,
                        "surprisal in bits": row.surprise,
                        "cumulative probability": row.reached,
                        "read before": row.seen,
                        "removed": row.cut,
                    }
                    for row in result.rows
                ]
            ),
            note,
            heading=True,
        ).draw(chosen.state)
    with right:
        view.say(f"Formula: {around.rule}")
        st.caption(view.words.part(f"Paper: {around.rule}"))
        view.say(
            "Result",
            kept=f"{around.kept:,}",
            of=f"{around.of:,}",
            mass=percent(around.mass),
            removed=f"{around.of - around.kept:,}",
            before=f"{around.entropy:.2f}",
            after=f"{around.entropy_after:.2f}",
        )
        if around.rule == "typical":
            Panel(
                "generation-surprisal",
                "Surprisal of each token and the entropy",
                surprise_bars(result, names, accent(chosen.spec.branch), taken=step.token.id, theme=theme()),
                f"Surprisal of each token and the entropy, {around.entropy:.1f} bits, as a line.",
            ).draw(chosen.state)


def _every_rule(state: PageState, results: Sequence[Around], at: int) -> None:
    rows: list[Row] = [
        (
            f"{PROCESSORS[around.rule][0]}, {around.value:g}",
            f"{around.kept:,} of {around.of:,}",
            percent(around.mass),
            f"{around.entropy:.2f} → {around.entropy_after:.2f} bits",
        )
        for around in results
    ]
    st.markdown(terms(f"**Every logits processor by itself at step {at + 1}**"))
    headings = ("Logits processor", "Candidates left", "Their probability before", "Entropy")
    text_table(TextTable(headings, rows, "Every logits processor by itself at this step", (34, 22, 22, 22), (1, 2, 3)))
    records = [
        {
            "logits processor": PROCESSORS[around.rule][0],
            "number": around.value,
            "step": at + 1,
            "candidates left": around.kept,
            "of": around.of,
            "their probability before": around.mass,
            "entropy before": around.entropy,
            "entropy after": around.entropy_after,
        }
        for around in results
    ]
    download_csv(Table.from_records(records), "every-rule", state.key("rules.csv"))


ONE_STEP = Section("step", one_step, (*SHARED, RULE, VALUE, FIRST, ALONG, STEP, COVER))
