"""Tokenizers compared: on one text with its losses, and on two sentences in each language, clean or noisy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import streamlit as st

from core.figures.vocabulary import Dots, dots, token_bars
from core.language.noise import PUBLISHED, RATES, Noise, noisy
from core.language.noise import TokenizedText as Pair
from core.table import Table
from core.tokenizers.cut import MEASURES, Measure, Tokenization, lost, measured
from core.tokenizers.known import FAMILIES, TokenizerInfo, known
from core.tokenizers.samples import Language, languages, whole
from core.ui.formulas import cited
from core.ui.glossary import terms
from core.ui.grid import Column, Grid
from core.ui.page import main_picture, plain, theme
from core.ui.panel import Panel
from core.ui.param import Choice, Integer
from core.ui.section import Section, View
from core.ui.tables import TableRow, TextTable, data_table, text_table
from core.ui.tokenizers.common import (
    SHOWN,
    TEXT,
    choose_one,
    choose_shown,
    citation,
    formula_of,
    label,
    tokenized,
)
from core.ui.tokenizers.token_rows import draw_rows, tokenizer_block
from core.words import visible

BELOW = Choice(
    name="below",
    label="View",
    options={"counts": "Counts", "pieces": "Tokens", "readers": "Tokenizers by model"},
    style="row",
    hide_label=True,
)
LOOK = Choice(name="look", label="Tokenizer", options={}, width=270)
_COUNTS: tuple[Column[Tokenization], ...] = (
    Column("Tokenizer", lambda cut: label(cut.by), width=22),
    Column("Vocabulary", lambda cut: cut.by.size or None, ",", 17),
    Column("Tokens", lambda cut: cut.count, ",", 11),
    Column("Characters per token", lambda cut: cut.characters, ".2f", 14),
    Column("Bytes per token", lambda cut: cut.bytes, ".2f", 12),
    Column("unknown tokens", lambda cut: len(cut.unknown)),
    Column("Round trip", lambda cut: cut.text == cut.decoded, "", 24, "lossless", lambda cut: lost(cut).summary()),
    Column("decoded", lambda cut: visible(cut.decoded)),
)


def beside(view: View) -> None:
    state = view.state
    with view.controls():
        shown = choose_shown(state)
    with st.container(horizontal=True):
        text = whole(TEXT.draw(state))
    cuts = [tokenized(info, text) for info in shown]
    with main_picture():
        draw_rows([tokenizer_block(cut) for cut in cuts], key=state.key("runs.html"), title=view.words.label("alt"))
    view.try_and_notice()
    below = BELOW.draw(state)
    if below == "counts":
        _counts(view, cuts)
    elif below == "pieces":
        _tokens(view, cuts)
    else:
        rows: list[TableRow] = [
            (
                FAMILIES[info.family],
                f"{info.size:,}" if info.size else "none",
                ", ".join(info.models) or "no model, for comparison",
            )
            for info in known()
        ]
        text_table(TextTable(("Kind", "Vocabulary", "Used by"), rows, "Tokenizers here", (22, 14, 64), numeric=(1,)))
        view.say("Readers")


def _counts(view: View, cuts: Sequence[Tokenization]) -> None:
    Grid("Tokens of the text", _COUNTS, cuts).draw("token-counts", view.state.key("token-counts.csv"))


def _tokens(view: View, cuts: Sequence[Tokenization]) -> None:
    by = choose_one(view.state, LOOK, [cut.by for cut in cuts])
    chosen = next(cut for cut in cuts if cut.by.slug == by.slug)
    records = []
    for i, token in enumerate(chosen.tokens):
        span = chosen.text[max(0, token.start) : max(0, token.end)]
        records.append(
            {
                "position": i + 1,
                "token": visible(token.piece),
                "text": visible(token.text).replace(" ", "␣") or "␣",
                "id": token.id if token.id >= 0 else None,
                "start": token.start,
                "end": token.end,
                "bytes": len(span.encode()),
                "source text": visible(span),
                "kind": "unknown"
                if i in chosen.unknown
                else "special"
                if token.special
                else "continuation"
                if token.continuation
                else "word start",
            }
        )
    data_table(
        Table.from_records(records), "tokens", alt=f"All tokens of the text: {label(by)}", key=view.state.key("tokens")
    )
    decoded = visible(chosen.decoded)
    st.caption(f"The ids decode to: “{plain(decoded if len(decoded) <= 600 else decoded[:599] + '…')}”")


BESIDE = Section("beside", beside, (TEXT, SHOWN, BELOW, LOOK))


MEASURE = Choice(
    name="measure",
    label="Measure",
    options={str(slug): name for slug, name in MEASURES.items()},
    default="characters",
    style="row",
    hide_label=True,
)
KINDS: dict[str, str] = {
    "none": "None",
    "drop": "Drop",
    "repeat": "Repetitions",
    "antspeak": "Antspeak",
    "upper": "Uppercase",
    "random-case": "Random case",
    "mutate": "Add, drop, mutate",
    "typos": "Typos",
    "spaces": "Spaces lost and inserted",
}
NOISE = Choice(name="noise", label="Noise", options=KINDS, width=230)
RATE = Integer(name="rate", label="Characters changed", low=0, high=100, style="slider", format="%d%%", width=230)
DEFAULT_RATES = RATES | PUBLISHED
LANGUAGE = Choice(
    name="language",
    label="The tokens of one language",
    options={language.slug: f"{language.name} ({language.script})" for language in languages()},
    default=languages()[-2].slug,
    width=270,
)


def by_language(view: View) -> None:
    state = view.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        measure = cast(Measure, MEASURE.draw(state))
        shown = choose_shown(state, "tokenizers-languages")
    spoken = languages()
    cuts = {(info.slug, language.slug): tokenized(info, language.text) for info in shown for language in spoken}
    series = []
    for info in shown:
        mine = [cuts[info.slug, language.slug] for language in spoken]
        values = tuple(round(measured(cut, measure, mine[0]), 3) for cut in mine)
        series.append(Dots(label(info), values, tuple(bool(cut.unknown) for cut in mine)))
    ends = "; ".join(
        f"{dots.name}: {spoken[0].name} {dots.values[0]:.2f}, {spoken[-1].name} {dots.values[-1]:.2f}"
        for dots in series
    )
    Panel(
        "languages",
        MEASURES[measure],
        dots([language.name for language in spoken], series, MEASURES[measure], theme=theme()),
        view.words.part("Alt", measure=MEASURES[measure], languages=len(spoken), ends=ends),
        _language_table(cuts, spoken, shown),
        note=view.words.part("Hollow"),
    ).draw(state)
    view.try_and_notice()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        slug, kind = LANGUAGE.draw(state), NOISE.draw(state)
        rate = None
        if default := DEFAULT_RATES.get(cast(Noise, kind)):
            rate = RATE.with_(default=round(100 * default)).draw(state, tag=kind) / 100
        else:
            state.set(rate=None)
    clean = [cuts[info.slug, slug] for info in shown]
    read = clean if kind == "none" else _noised(view, cast(Noise, kind), rate, clean)
    draw_rows(
        [tokenizer_block(cut) for cut in read],
        key=state.key("runs.html"),
        title="Two sentences in one language",
    )
    view.note("Sample size")
    formula_of("length")


def _language_table(
    cuts: Mapping[tuple[str, str], Tokenization], spoken: Sequence[Language], shown: Sequence[TokenizerInfo]
) -> Table:
    """A row for each language and tokenizer."""
    records = [
        {
            "language": language.name,
            "script": language.script,
            "tokenizer": label(info),
            "tokens": cut.count,
            "characters": len(language.text),
            "bytes": len(language.text.encode()),
            "characters per token": cut.characters,
            "bytes per token": cut.bytes,
            "tokens relative to English": cut.count / max(1, cuts[info.slug, spoken[0].slug].count),
            "unknown tokens": len(cut.unknown),
        }
        for language in spoken
        for info in shown
        for cut in [cuts[info.slug, language.slug]]
    ]
    return Table.from_records(records)


def _noised(view: View, kind: Noise, rate: float | None, clean: Sequence[Tokenization]) -> list[Tokenization]:
    """The noisy text as each tokenizer cuts it, drawn beside the clean one."""
    text = noisy(clean[0].text, kind, rate, seed=0) or " "
    read = [tokenized(cut.by, text) for cut in clean]
    pairs = tuple(
        Pair(label(before.by), _texts(before), _texts(after), len(after.unknown))
        for before, after in zip(clean, read, strict=True)
    )
    counts = "; ".join(f"{pair.reader}: {len(pair.clean)} clean, {len(pair.noisy)} noisy" for pair in pairs)
    Panel(
        "noise",
        view.words.label("noisy"),
        token_bars(pairs, theme().primary, theme=theme()),
        view.words.part("Alt: noise", counts=counts),
        Table.from_records(
            [{"tokenizer": pair.reader, "clean": len(pair.clean), "noisy": len(pair.noisy)} for pair in pairs]
        ),
        heading=True,
    ).draw(view.state)
    st.caption(terms(view.words.part("Noise")) + " " + cited(citation("byt5")))
    return read


def _texts(cut: Tokenization) -> tuple[str, ...]:
    return tuple(token.text for token in cut.tokens)


LANGUAGES = Section("languages", by_language, (MEASURE, SHOWN, LANGUAGE, NOISE, RATE))
