"""Noise: what ByT5's kinds of noise do to the tokens of each tokenizer."""

from __future__ import annotations

from typing import cast

import streamlit as st

from core.figures.vocabulary import token_bars
from core.language.noise import PUBLISHED, RATES, Noise, noisy
from core.language.noise import TokenizedText as Pair
from core.table import Table
from core.tokenizers.known import TokenizerInfo
from core.tokenizers.samples import whole
from core.ui.export import download_csv
from core.ui.formulas import cited
from core.ui.glossary import terms
from core.ui.page import theme
from core.ui.panel import Panel
from core.ui.param import Choice, Integer, Seed, settings_menu
from core.ui.section import Section, View
from core.ui.tables import Row, TextTable, text_table
from core.ui.tokenizers.common import SHOWN, TEXT, citation, infos, label, offered, tokenized
from core.ui.tokenizers.token_rows import draw_rows, tokenizer_block

KINDS: dict[str, str] = {
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
SEED = Seed()
_PAPER = ("drop", "repeat", "antspeak", "upper", "random-case")
_USUAL = RATES | PUBLISHED
"""The paper's rates."""
_MOST = 1_000


def noise(view: View) -> None:
    state = view.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = TEXT.draw(state)
        values = settings_menu(state, offered(), SEED)
    shown = infos(values[SHOWN.name])
    text = whole(text, _MOST)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = cast(Noise, NOISE.draw(state))
        usual = _USUAL.get(kind)
        rate = None
        if usual is not None:
            rate = RATE.with_(default=round(100 * usual)).draw(state, tag=kind) / 100
        else:
            state.set(rate=None)
    seed = values[SEED.name]
    # Everything may be dropped: a space is what is left to tokenize.
    noised = noisy(text, kind, rate, seed) or " "
    pairs = tuple(
        Pair(label(info), _texts(info, text), _texts(info, noised), len(tokenized(info, noised).unknown))
        for info in shown
    )
    counts = "; ".join(f"{pair.reader}: {len(pair.clean)} clean, {len(pair.noisy)} noisy" for pair in pairs)
    Panel(
        "noise",
        "Tokens of the clean and of the noisy text",
        token_bars(pairs, theme().primary, theme=theme()),
        view.words.part("Alt", counts=counts),
        Table.from_records(
            [{"tokenizer": pair.reader, "clean": len(pair.clean), "noisy": len(pair.noisy)} for pair in pairs]
        ),
    ).draw(state)
    draw_rows(
        [tokenizer_block(tokenized(info, noised)) for info in shown],
        key=state.key("runs.html"),
        title="A noisy text, tokenized",
    )
    view.try_and_notice()
    _all_kinds(view, text, seed, shown)
    st.caption(terms(view.words.part("Sources")) + " " + cited(citation("byt5")))


def _texts(info: TokenizerInfo, text: str) -> tuple[str, ...]:
    return tuple(token.text for token in tokenized(info, text).tokens)


def _all_kinds(view: View, text: str, seed: int, shown: tuple[TokenizerInfo, ...]) -> None:
    """Growth under every kind for every tokenizer, at the default rates."""
    records: list[dict[str, str | int | float | None]] = []
    rows: list[Row] = []
    for kind in KINDS:
        noised = noisy(text, cast(Noise, kind), _USUAL.get(cast(Noise, kind)), seed) or " "
        cells = []
        for info in shown:
            before, after = tokenized(info, text), tokenized(info, noised)
            growth = after.count / max(1, before.count)
            cells.append((f"× {growth:.2f}", f"{len(after.unknown)} unknown" if after.unknown else ""))
            records.append(
                {
                    "noise": KINDS[kind],
                    "noisy text": noised,
                    "tokenizer": label(info),
                    "clean": before.count,
                    "noisy": after.count,
                    "growth": growth,
                    "unknown": len(after.unknown),
                }
            )
        source = "in the paper" if kind in _PAPER else "in its first version" if kind == "mutate" else "ours"
        rows.append(((KINDS[kind], source), *cells))
    view.say("All kinds")
    width = 76 // max(1, len(shown))
    headings = ("Noise", *(label(info) for info in shown))
    numeric = tuple(range(1, len(shown) + 1))
    text_table(TextTable(headings, rows, "Growth by noise", (24, *[width] * len(shown)), numeric=numeric))
    download_csv(Table.from_records(records), "noise-by-kind", view.state.key("noise-by-kind.csv"))


NOISE_SECTION = Section("noise", noise, (TEXT, SHOWN, NOISE, RATE, SEED))
