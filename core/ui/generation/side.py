"""One beginning under several rules: a card for each, all with the same dice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.language.decoding.cards import (
    CUTS,
    MOST,
    NAMES,
    NUMBERS,
    START,
    TEMPERATURE,
    Card,
    Number,
    decoding_of,
    fresh,
    read_all,
    write,
)
from core.language.decoding.summary import Summary, summary
from core.language.types import GenerationStep
from core.table import Table
from core.ui.demos.steps import how_it_ended
from core.ui.export import download_csv, download_html, heading, html_page
from core.ui.generation.frame import GenerationView
from core.ui.generation.ink import COLOURS, inked, legend, plainly, theme
from core.ui.generation.tables import minus, steps_expander
from core.ui.generation.writing import Page, write_all
from core.ui.glossary import noted, terms, told
from core.ui.links import PageState, take_up
from core.ui.notices import warned
from core.ui.text_table import Row, TextTable, text_table

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator


def side_by_side(view: GenerationView) -> None:
    """Draw the cards, what they wrote, and the measures of all of them.

    Raises:
        AtlasError: the text or a setting cannot be used.
    """
    state = view.state
    cards, refused = read_all(state.words("rules"))
    for sentence in refused:
        warned(sentence, icon=":material/link_off:")
    colour, removal = _colour_row(state, cards)
    places, shown, numbers = [], [], []
    for first in range(0, len(cards), 2):
        columns = st.columns(2)
        for number in range(first, min(first + 2, len(cards))):
            with columns[number - first].container(border=True, height="stretch"):
                shown.append(_controls(state, cards, number))
                places.append(st.empty())
                numbers.append(st.empty())
    state.set(rules=None if tuple(shown) == START else tuple(write(card) for card in shown))
    _removal(state, shown, removal)
    begun, look = ("" if view.task else view.text), theme()

    def draw(number: int, steps: Sequence[GenerationStep], growing: bool) -> None:
        places[number].html(inked(begun, steps, colour, look, growing=growing))

    def draw_text(number: int, text: str) -> None:
        places[number].html(plainly(begun, text))

    page = Page(draw, draw_text)
    texts, stopped = write_all(view, [decoding_of(card, view.common) for card in shown], page)
    found = [summary(steps) for steps in texts]
    for place, steps, one in zip(numbers, texts, found, strict=True):
        ended = "Stopped." if stopped and not (steps and steps[-1].finished) else _ended(steps, view.spec.name)
        place.caption(terms(_numbers(one, ended)))
    told(
        "**Try** another seed under Settings, then a length of 60 tokens.\n\n"
        "**Notice** that greedy decoding and beam search find texts of high probability that soon repeat, and that "
        "sampling pays for its variety with single tokens of great surprise."
        if view.task is None
        else "**Try** another text, then sampling at temperature 2.\n\n"
        "**Notice** that a text to rewrite leaves the model little choice: the entropy is low, and the rules agree "
        "more often than over a story."
    )
    with st.container(horizontal=True):
        parts = [
            part
            for card, steps in zip(shown, texts, strict=True)
            for part in (heading(card.name), inked(begun, steps, colour, look, room="0"))
        ]
        scale = "" if colour == "none" else f"<p>Colours: {colour}, from the ground at 0 bits to 12 bits and more.</p>"
        download_html(
            html_page("One beginning under several rules", [*parts, scale]), "side-by-side", state.key("side.html")
        )
    _measures(shown, found, state)
    steps_expander([card.name for card in shown], texts, key=state.key("steps"))
    _explain()


def _colour_row(state: PageState, cards: Sequence[Card]) -> tuple[str, DeltaGenerator]:
    """The choice of a colour, and the place for the menu of what can be removed."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        colour = str(
            st.segmented_control(
                "Colour",
                list(COLOURS),
                default=state.text("colour", "surprise"),
                required=True,
                key=state.key("colour"),
                format_func=COLOURS.__getitem__,
                label_visibility="collapsed",
            )
        )
        state.set(colour=colour)
        legend(colour, theme())
        st.button(
            "Add a rule",
            icon=":material/add:",
            key=state.key("add"),
            disabled=len(cards) >= MOST,
            on_click=_change(state, lambda kept: [*kept, _next(kept)]),
            help=f"Up to {MOST} beside each other",
        )
        removal = st.container(width="content")
    return colour, removal


def _removal(state: PageState, cards: Sequence[Card], place: DeltaGenerator) -> None:
    """A button for each card, drawn once the cards have said what they are."""
    menu = place.popover("Remove a rule", icon=":material/remove:", disabled=len(cards) < 2)
    for number, card in enumerate(cards):
        menu.button(
            f"{number + 1} · {card.name}",
            key=state.key(f"card.{number}.remove"),
            width="stretch",
            on_click=_remove(state, number, len(cards)),
        )


def _next(kept: Sequence[str]) -> str:
    """A rule that is not there yet."""
    used = {word.partition("-")[0] for word in kept}
    return write(fresh(next((kind for kind in NAMES if kind not in used), "sample")))


def _remove(state: PageState, number: int, count: int) -> Callable[[], None]:
    """A callback that takes one of ``count`` cards away; “One step” goes on along the text that it was at."""
    change = _change(state, lambda kept: [*kept[:number], *kept[number + 1 :]])

    def do() -> None:
        along = state.number("along", 1)
        state.set(along=along - 1 if along > number + 1 else min(along, count - 1))
        change()

    return do


def _change(state: PageState, change: Callable[[list[str]], list[str]]) -> Callable[[], None]:
    """A callback that makes other cards of the present ones; all widgets start afresh from them."""

    def do() -> None:
        kept = [write(card) for card in read_all(state.words("rules"))[0]]
        take_up("generation", {**state.values, "rules": tuple(change(kept))}, state.memory)

    return do


def _controls(state: PageState, cards: Sequence[Card], number: int) -> Card:
    """The menu and the numbers of one card; a number starts at its rule's own start when the rule changes."""
    card = cards[number]
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        kind: Any = st.selectbox(
            f"Rule {number + 1}",
            list(NAMES),
            index=list(NAMES).index(card.kind),
            format_func=NAMES.__getitem__,
            key=state.key(f"card.{number}.kind"),
            width=154,
        )
        if kind != card.kind:
            card = fresh(kind)
        value, temperature = card.value, card.temperature
        if kind in NUMBERS:
            value = number_input(NUMBERS[kind], value, state.key(f"card.{number}.{kind}"))
        if kind in CUTS:
            temperature = number_input(TEMPERATURE, temperature, state.key(f"card.{number}.{kind}.temperature"))
    return Card(kind, value, temperature)


def number_input(number: Number, value: float, key: str) -> float:
    """The box of a rule's number."""
    if number.whole:
        return float(st.number_input(number.name, int(number.low), int(number.high), int(value), key=key, width=102))
    return float(st.number_input(number.name, number.low, number.high, value, number.step, key=key, width=102))


def _ended(steps: Sequence[GenerationStep], name: str) -> str:
    if not steps:
        return ""
    if steps[-1].reason == "stop":
        return "It wrote a text that it was to stop at."
    return "" if steps[-1].reason == "length" else how_it_ended(steps[-1], name)


def _numbers(one: Summary, ended: str) -> str:
    """A card's numbers in one line."""
    if one.mean_log is None:
        return ended or "Nothing was written."
    return (
        f"{one.tokens} tokens, mean log-probability {minus(one.mean_log)} (perplexity {one.perplexity:.3g}), repeated "
        f"runs of two {one.repeated[1]:.0%}, of three {one.repeated[2]:.0%}. {ended}"
    )


def _measures(cards: Sequence[Card], found: Sequence[Summary], state: PageState) -> None:
    runs = ("Repeated runs of 1", "of 2", "of 3", "of 4")
    headings = ("Rule", "Tokens", "Mean log p", "Perplexity", "Mean entropy", "Tokens left", *runs)
    rows: list[Row] = [
        (
            card.name,
            str(one.tokens),
            "–" if one.mean_log is None else minus(one.mean_log),
            "–" if one.perplexity is None else f"{one.perplexity:.3g}",
            "–" if one.entropy is None else f"{one.entropy:.1f} bits",
            "–" if one.kept is None or card.kind == "beam" else f"{one.kept:,.0f}",
            *(f"{share:.0%}" for share in one.repeated),
        )
        for card, one in zip(cards, found, strict=True)
    ]
    widths = (20, 8, 9, 11, 10, 9, 13, 6, 7, 7)
    text_table(TextTable(headings, rows, "Measures of the texts", widths, tuple(range(1, 10))))
    download_csv(
        Table.from_records(
            [
                {
                    "rule": write(card),
                    "tokens": one.tokens,
                    "mean log p": one.mean_log,
                    "perplexity": one.perplexity,
                    "mean entropy in bits": one.entropy,
                    "tokens left": one.kept,
                }
                | {f"repeated runs of {k}": share for k, share in enumerate(one.repeated, 1)}
                for card, one in zip(cards, found, strict=True)
            ]
        ),
        "side-by-side",
        state.key("measures.csv"),
    )
    st.caption(
        "Probabilities are the model's own, before any rule. Tokens left: the mean of what the rule leaves at a step. "
        "A run is repeated when it stood in the new text before."
    )


def _explain() -> None:
    with st.expander("Formulas: surprise, entropy, the mean and the runs"):
        st.latex(r"s_t = -\log_2 p_t(w_t) \qquad H_t = -\sum_{v \in V} p_t(v) \log_2 p_t(v)")
        st.markdown(
            "$p_t$ are the model's probabilities at step $t$, $w_t$ is the token that was taken, $v$ runs over the "
            "vocabulary $V$. "
            "$s_t$ is the **surprise** of the token, $H_t$ the **entropy**, the surprise that the model expects. "
            "One bit is a fair coin."
        )
        st.latex(r"\bar\ell = \frac1n \sum_{t=1}^{n} \ln p_t(w_t) \qquad \mathrm{perplexity} = e^{-\bar\ell}")
        st.latex(r"\mathrm{repeated}_k = 1 - \frac{\text{different runs of } k \text{ tokens}}{\text{all runs of } k}")
        st.markdown(
            "$\\bar\\ell$ is the mean log-probability of the $n$ tokens, $k$ the length of a run. Every rule's "
            "formula and paper stand under *One step*."
        )
        noted(
            "Entropy: Shannon 1948, A Mathematical Theory of Communication, which defines H as the mean of −log p "
            "(from "
            "memory, unverified). Surprise is the term of that mean, perplexity its power for the tokens that were "
            "taken. "
            "The share of repeated runs is this page's own count; that likely texts repeat themselves is in Holtzman "
            "et al. 2020, arXiv 1904.09751."
        )
