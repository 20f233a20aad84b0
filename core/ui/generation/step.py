"""One step looked at: the probabilities before a rule and after it, along a text that one of the cards wrote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from core import session
from core.figures.predictions import percent
from core.language.decoding.cards import Card, decoding_of, read_all
from core.language.decoding.rules import ORDER, Rule
from core.language.tokens import visible
from core.language.types import GenerationStep
from core.table import Table
from core.ui.demos.cover import switch, uncovered, verdict, walk
from core.ui.demos.steps import step_chips
from core.ui.export import download_csv
from core.ui.generation.formulas import RULES, explain
from core.ui.generation.frame import GenerationView
from core.ui.generation.ink import inked, plainly, theme
from core.ui.generation.side import number_input
from core.ui.generation.writing import Page, write_all
from core.ui.glossary import told
from core.ui.links import PageState, within
from core.ui.notices import warned
from core.ui.page import accent
from core.ui.text_table import Row, TextTable, text_table

if TYPE_CHECKING:
    from core.language.decoding.step import Around, Look

Setting = tuple[Rule, float]


def one_step(view: GenerationView) -> None:
    """Draw the text, the bars of the chosen step, the formula, and all rules at this step.

    Raises:
        AtlasError: the text or a setting cannot be used.
    """
    from core.language.decoding.step import each, look
    from core.language.tokens import describe

    state = view.state
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        rule, value, first = _rule(state)
        card = _along(state)
        hidden = switch(state)
    place = st.empty()
    path = _path(view, card, shown=not hidden)
    place.empty()
    if not path:
        return
    checkpoint = session.checkpoint(view.spec.slug)
    tokens = describe(checkpoint.tokenizer, [step.token.id for step in path])
    slot = state.key(f"step.of.{hash(view.key)}.{card.name}")
    wanted, seen = state.number("step", 1), state.key("step.seen")
    if seen not in st.session_state:  # later, another text may simply be shorter
        wanted = within(state, "Step", wanted, 1, len(path))
    st.session_state[seen] = True
    before = min(int(st.session_state.get(slot, wanted - 1)), len(path) - 1)
    if hidden:
        at = before
        shown = _guessed(view, card, path, at)
        walk(slot, at, len(path), "token")
    else:
        shown = True
        at = step_chips(path, tokens, before, key=state.key("step.chips"), branch=view.spec.branch, by_hand=None)
    st.session_state[slot] = at
    state.set(step=at + 1 if at else None)
    if not shown:
        return
    ids = [step.token.id for step in path[:at]]
    begun = view.start()
    found = look(checkpoint, begun, ids, rule, value, first)
    _pictures(view, found, path[at])
    told(_notice(rule))
    _all_rules(each(checkpoint, begun, ids, [*((r, _value(r, rule, value)) for r in RULES)]), at, state)
    _table(found, state)


def _rule(state: PageState) -> tuple[Rule, float, list[Setting]]:
    """The rule that is looked at, its number, and the rules before it."""
    rules = list(RULES)
    before = state.text("rule", "top_p")
    rule: Rule = rules[
        st.selectbox(
            "Rule",
            range(len(rules)),
            index=[str(name) for name in rules].index(before),
            key=state.key("rule"),
            format_func=lambda i: RULES[rules[i]].name,
            width=190,
        )
    ]
    number = RULES[rule].number
    changed = rule != before
    wanted = number.start if changed else state.real("value", number.start)
    if not number.low <= wanted <= number.high or (number.whole and wanted != int(wanted)):
        warned(
            f"{number.name} of {RULES[rule].name} lies from {number.low:g} to {number.high:g}; "
            f"{number.start:g} is taken.",
            icon=":material/link_off:",
        )
        wanted = number.start
    value = number_input(number, wanted, state.key(f"value.{rule}"))
    state.set(rule=rule, value=None if value == number.start else value)
    return rule, value, _first(state, rule)


def _first(state: PageState, rule: Rule) -> list[Setting]:
    """Rules that come before, chosen in a popover: those that transformers applies earlier, with their numbers."""
    earlier = [name for name in ORDER[: ORDER.index(rule)] if name in RULES]
    wanted: dict[Rule, float] = {}
    for word in state.words("first") or ():
        name, _, raw = word.partition("-")
        try:
            number = RULES[name].number  # type: ignore[index]
            value = float(raw) if raw else number.start
            if not number.low <= value <= number.high or (number.whole and value != int(value)):
                raise ValueError
            wanted[name] = value  # type: ignore[index]
        except (KeyError, ValueError):
            warned(
                f"The link asks for “{word[:40]}” before the rule, which no rule understands. It is left out.",
                icon=":material/link_off:",
            )
    chosen: list[Setting] = []
    with st.popover("After other rules", icon=":material/filter_list:", disabled=not earlier):
        st.caption("Rules that come first, in this order. What they cut off is gone before the rule begins.")
        for name in earlier:
            number = RULES[name].number
            on, place = st.columns([3, 2], vertical_alignment="bottom")
            with on:
                used = st.checkbox(RULES[name].name, name in wanted, key=state.key(f"first.{name}"))
            with place:
                value = number_input(number, wanted.get(name, number.start), state.key(f"first.{name}.value"))
            if used:
                chosen.append((name, value))
    state.set(first=tuple(f"{name}-{value:g}" for name, value in chosen) or None)
    return chosen


def _along(state: PageState) -> Card:
    cards, _ = read_all(state.words("rules"))
    at = min(state.number("along", 1), len(cards)) - 1
    number = st.selectbox(
        "Along the text of",
        range(len(cards)),
        index=at,
        key=state.key("along"),
        width=200,
        format_func=lambda i: cards[i].name,
        help="The cards of “Side by side”",
    )
    state.set(along=number + 1)
    return cards[number]


def _guessed(view: GenerationView, card: Card, path: Sequence[GenerationStep], at: int) -> bool:
    """The text as far as the step, and what comes next asked for; whether that may be drawn."""
    step, begun, place = path[at], "" if view.task else view.text, st.empty()

    def judge(guess: str) -> str:
        words, chances = [o.text for o in step.alternatives], [o.probability for o in step.alternatives]
        return verdict(guess, words, chances, step.token.text.strip() or visible(step.token.text))

    question = ("step", *view.key, decoding_of(card, view.common), at)
    shown = uncovered(view.state, question, f"Token {at + 1}: what comes next?", judge, on=True)
    place.html(inked(begun, path[: at + shown], "none", theme(), growing=not shown, room="2em"))
    return shown


def _path(view: GenerationView, card: Card, shown: bool) -> tuple[GenerationStep, ...]:
    """The card's text, written before one's eyes where it is not known yet and may be ``shown``."""
    place, begun = st.empty(), "" if view.task else view.text

    def draw(_: int, steps: Sequence[GenerationStep], growing: bool) -> None:
        if growing and shown:
            place.html(inked(begun, steps, "none", theme(), growing=True))

    def draw_text(_: int, text: str) -> None:
        if shown:
            place.html(plainly(begun, text))

    texts, _ = write_all(view, [decoding_of(card, view.common)], Page(draw, draw_text))
    place.empty()
    return texts[0]


def _pictures(view: GenerationView, found: Look, step: GenerationStep) -> None:
    from core.figures.kept import rule_alt, rule_bars, surprise_bars

    names = [visible(row.text) for row in found.rows]
    around, dark, state = found.around, theme() == "dark", view.state
    what = f"{RULES[around.rule].name} at step {step.index + 1}"
    left, right = st.columns([3, 2], gap="large")
    with left:
        told(f"**{what}**: before (wide) and after (thin); hatched is cut off")
        st.plotly_chart(
            rule_bars(found, names, accent(view.spec.branch), taken=step.token.id, dark=dark),
            config={"displaylogo": False, "modeBarButtons": [["toImage"]]},
            key=state.key("bars"),
            alt=rule_alt(found, names, what),
        )
        rest, before, after = found.others
        if rest > 0:
            st.caption(f"And {rest:,} more tokens, together {percent(before)} before and {percent(after)} after.")
    with right:
        explain(around.rule)
        cut = around.of - around.kept
        st.markdown(
            f"Here it keeps **{around.kept:,}** of {around.of:,} tokens with **{percent(around.mass)}** of the "
            f"probability{f' and cuts off {cut:,}' if cut else ''}. Entropy {around.entropy:.2f} bits before, "
            f"**{around.entropy_after:.2f}** after."
        )
        if around.rule == "typical":
            st.plotly_chart(
                surprise_bars(found, names, accent(view.spec.branch), taken=step.token.id, dark=dark),
                config={"displaylogo": False, "modeBarButtons": [["toImage"]]},
                key=state.key("surprises"),
                alt=f"Surprise of each token and the entropy, {around.entropy:.1f} bits, as a line.",
            )


def _notice(rule: Rule) -> str:
    notices = {
        "temperature": "**Try** 0.2, then 2.\n\n**Notice** that no token is lost: the whole row is squeezed or spread.",
        "top_k": "**Try** a step where the model is sure and one where it is not.\n\n**Notice** that the same number "
        "of tokens is too many for the first and too few for the second.",
        "top_p": "**Try** a step where the model is sure and one where it is not.\n\n**Notice** how many tokens the "
        "same mass needs: a handful at one, hundreds at the other.",
        "min_p": "**Try** temperature 2 under “After other rules”.\n\n**Notice** that the line moves with the best "
        "token: the less sure the model is, the more may stay.",
        "typical": "**Try** a mass of 0.2.\n\n**Notice** that it keeps tokens in the middle: the best one may be cut "
        "off although it is the most probable.",
        "penalty": "**Try** a late step of the greedy text.\n\n**Notice** that every token that was read is pushed "
        "down, harmless ones like “the” too.",
        "no_repeat": "**Try** runs of one token.\n\n**Notice** that nothing that was read may come again, full stops "
        "and commas neither.",
    }
    return notices[rule]


def _value(rule: Rule, looked: Rule, value: float) -> float:
    return value if rule == looked else RULES[rule].number.start


def _all_rules(found: Sequence[Around], at: int, state: PageState) -> None:
    rows: list[Row] = [
        (
            f"{RULES[one.rule].name}, {one.value:g}",
            f"{one.kept:,} of {one.of:,}",
            percent(one.mass),
            f"{one.entropy:.2f} → {one.entropy_after:.2f} bits",
        )
        for one in found
    ]
    st.markdown(f"**Every rule by itself at step {at + 1}**")
    text_table(
        TextTable(
            ("Rule", "Tokens left", "Their probability before", "Entropy"),
            rows,
            "Every rule by itself at this step",
            (34, 22, 22, 22),
            (1, 2, 3),
        )
    )
    download_csv(
        Table.from_records(
            [
                {
                    "rule": RULES[one.rule].name,
                    "number": one.value,
                    "step": at + 1,
                    "tokens left": one.kept,
                    "of": one.of,
                    "their probability before": one.mass,
                    "entropy before": one.entropy,
                    "entropy after": one.entropy_after,
                }
                for one in found
            ]
        ),
        "every-rule",
        state.key("rules.csv"),
    )


def _table(found: Look, state: PageState) -> None:
    rows = [
        {
            "token": visible(row.text),
            "id": row.id,
            "before": row.before,
            "after": row.after,
            "surprise in bits": row.surprise,
            "sum from the top": row.reached,
            "read before": row.seen,
            "cut off": row.cut,
        }
        for row in found.rows
    ]
    with st.expander("The bars as a table"):
        st.dataframe(
            rows,
            hide_index=True,
            alt="The tokens of the picture with their probabilities before and after the rule",
            column_config={n: st.column_config.NumberColumn(format="%.4f") for n in ("before", "after")},
        )
        download_csv(Table.from_records(rows), "generation-step", state.key("step.csv"))
