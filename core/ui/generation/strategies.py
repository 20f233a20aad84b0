"""One prompt under several decoding strategies, a card for each; all have the same random numbers."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.figures.labels import percent
from core.language.decoding.cards import (
    MOST,
    NAMES,
    TEMPERATURE,
    TRUNCATIONS,
    Card,
    decoding_of,
    default_cards,
    format_card,
    new_card,
    number_of,
    parse_cards,
)
from core.language.generate import Summary, summary
from core.language.types import GenerationStep
from core.table import Table
from core.ui.demos.steps import how_it_ended
from core.ui.export import download_html, heading, html_page
from core.ui.generation.colored import COLORS, bits_legend, plain_html, text_html
from core.ui.generation.setup import RULES, SHARED, number_box, setup
from core.ui.generation.streaming import Canvas, generate_all
from core.ui.glossary import terms
from core.ui.grid import Column, Grid
from core.ui.links import PageState, instead, take_up
from core.ui.page import main_picture
from core.ui.panel import offer_table
from core.ui.param import Choice, differing
from core.ui.section import Section, View
from core.words import visible

COLOR = Choice(name="colour", label="Color", options=COLORS, style="row")  # codespell:ignore


def strategies(view: View) -> None:
    """Draw the cards, their texts, and the measures of all of them."""
    state = view.state
    chosen = setup(view, also=differing(state, COLOR))
    with chosen.menu:
        color = COLOR.draw(state)
    cards, refused = parse_cards(state.words(RULES.name))
    for sentence in refused:
        instead(state, sentence)
    with chosen.row:
        with st.popover(view.words.title, icon=":material/tune:", key=state.key("cards")):
            shown = [_card(state, card, number, removable=len(cards) > 1) for number, card in enumerate(cards)]
            _add(state, shown)
        button = st.empty()
    placeholders, numbers, texts_place = [], [], main_picture()
    bits_legend(color)
    for first in range(0, len(cards), 2):
        columns = texts_place.columns(2)
        for number in range(first, min(first + 2, len(cards))):
            with columns[number - first].container(border=True, height="stretch"):
                st.markdown(f"**{shown[number].name}**")
                placeholders.append(st.empty())
                numbers.append(st.empty())
    state.set(rules=None if tuple(shown) == default_cards() else tuple(format_card(card) for card in shown))

    def draw_steps(number: int, steps: Sequence[GenerationStep], growing: bool) -> None:
        placeholders[number].html(text_html(chosen.prefix, steps, color, growing=growing))

    def draw_text(number: int, text: str) -> None:
        placeholders[number].html(plain_html(chosen.prefix, text))

    decodings = [decoding_of(card, chosen.common) for card in shown]
    texts, stopped = generate_all(chosen, decodings, Canvas(button, draw_steps, draw_text))
    summaries = [summary(steps) for steps in texts]
    for placeholder, steps, measures in zip(numbers, texts, summaries, strict=True):
        ended = "Stopped." if stopped and not (steps and steps[-1].finished) else _ended(view, steps, chosen.spec.name)
        placeholder.caption(terms(f"{_numbers(view, measures)} {ended}".strip() or view.words.label("nothing")))
    view.try_and_notice("source" if chosen.task else "")
    _measures(view, shown, summaries)
    parts = [
        part
        for card, steps in zip(shown, texts, strict=True)
        for part in (heading(card.name), text_html(chosen.prefix, steps, color, room="0"))
    ]
    if color != "none":
        parts.append(f"<p>{view.words.part('Colors', color=COLORS[color].lower())}</p>")
    download_html(html_page(view.words.label("file"), parts), "side-by-side", state.key("side.html"), of="texts")
    _steps_table(state, shown, texts)
    view.how_it_works(notes=["Sources"])


def _add(state: PageState, cards: Sequence[Card]) -> None:
    words, used = [format_card(card) for card in cards], {card.kind for card in cards}
    added = format_card(new_card(next((kind for kind in NAMES if kind not in used), "sample")))
    st.button(
        "Add",
        icon=":material/add:",
        key=state.key("add"),
        disabled=len(cards) >= MOST,
        on_click=_use,
        args=(state, [*words, added]),
        help=f"Add a strategy, up to {MOST}",
    )


def _use(state: PageState, words: Sequence[str], along: int | None = None) -> None:
    """Replace the cards, and restart all widgets; a callback."""
    if along is not None:
        state.set(along=None if along == 1 else str(along))
    take_up(state.page, {**state.values, RULES.name: tuple(words)}, state.memory)


def _card(state: PageState, card: Card, number: int, removable: bool) -> Card:
    """Draw a card's strategy, its numbers and a button that removes it, in a row; return it as they stand."""
    key = state.key(f"card.{number}")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = st.selectbox(
            f"Strategy {number + 1}",
            list(NAMES),
            index=list(NAMES).index(card.kind),
            format_func=NAMES.__getitem__,
            key=f"{key}.kind",
            persist_state="session",
            width=190,
        )
        card = card if kind == card.kind else new_card(kind)  # another strategy starts with its defaults
        bounded = number_of(kind)
        value = number_box(bounded, card.value, f"{key}.{kind}") if bounded else card.value
        temperature = card.temperature
        if kind in TRUNCATIONS:
            temperature = number_box(TEMPERATURE, temperature, f"{key}.{kind}.temperature")
        st.button(
            "Remove",
            icon=":material/remove:",
            key=f"{key}.remove",
            disabled=not removable,
            on_click=_remove,
            args=(state, number),
        )
    return Card(kind, value, temperature)


def _remove(state: PageState, number: int) -> None:
    """Remove a card; the section of one step stays at the text that it showed."""
    words, along = list(state.words(RULES.name) or map(format_card, default_cards())), int(state.text("along", "1"))
    del words[number]
    _use(state, words, along - 1 if along > number + 1 else min(along, len(words)))


def _ended(view: View, steps: Sequence[GenerationStep], name: str) -> str:
    if not steps:
        return ""
    if steps[-1].reason == "stop":
        return view.words.label("stop")
    return "" if steps[-1].reason == "length" else how_it_ended(steps[-1], name)


def _numbers(view: View, measures: Summary) -> str:
    """A card's numbers in one line."""
    if measures.mean_log is None:
        return ""
    return view.words.part(
        "Card",
        tokens=measures.tokens,
        mean=minus(measures.mean_log),
        perplexity=f"{measures.perplexity:.3g}",
        two=percent(measures.repeated[1]),
        three=percent(measures.repeated[2]),
    )


def minus(value: float) -> str:
    """A number with two decimals and a typographic minus sign."""
    return f"{value:.2f}".replace("-", "−")


_MEASURES: tuple[Column[tuple[Card, Summary]], ...] = (
    Column("Strategy", lambda row: format_card(row[0]), width=21, cell=lambda row: row[0].name),
    Column("Tokens", lambda row: row[1].tokens, width=7),
    Column("Mean log p", lambda row: row[1].mean_log, minus, 7),
    Column("Perplexity", lambda row: row[1].perplexity, ".3g", 10),
    Column("Mean entropy", lambda row: row[1].entropy, "{:.1f} bits".format, 9, "mean entropy in bits"),
    Column(
        "Candidates", lambda row: None if row[0].kind == "beam" else row[1].remaining, ",.0f", 10, "candidates left"
    ),
    Column("Repeated 1-grams", lambda row: row[1].repeated[0], percent, 9),
    Column("Repeated 2-grams", lambda row: row[1].repeated[1], percent, 9),
    Column("Repeated 3-grams", lambda row: row[1].repeated[2], percent, 9),
    Column("Repeated 4-grams", lambda row: row[1].repeated[3], percent, 9),
)


def _measures(view: View, cards: Sequence[Card], summaries: Sequence[Summary]) -> None:
    rows = list(zip(cards, summaries, strict=True))
    Grid("Measures of the texts", _MEASURES, rows).draw("side-by-side", view.state.key("measures.csv"), of="measures")
    view.note("Measures")


def _steps_table(state: PageState, cards: Sequence[Card], texts: Sequence[Sequence[GenerationStep]]) -> None:
    """Offer a table of every step of every text."""
    records = [
        {
            "strategy": card.name,
            "step": step.index + 1,
            "token": visible(step.token.text),
            "id": step.token.id,
            "probability": step.token.probability,
            "probability after the strategy": step.token.processed,
            "surprisal in bits": step.spread.surprisal if step.spread else None,
            "entropy in bits": step.spread.entropy if step.spread else None,
            "entropy after the strategy": step.spread.processed_entropy if step.spread else None,
            "candidates left": step.spread.remaining if step.spread else None,
        }
        for card, steps in zip(cards, texts, strict=True)
        for step in steps
    ]
    if records:
        table = Table.from_records(records)
        offer_table(state, table, "Every step of every text", "steps", "generation-steps")


STRATEGIES = Section("side", strategies, (*SHARED, COLOR))
