"""Noise: what ByT5's kinds of damage do to the pieces of each tokeniser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import streamlit as st

from core.figures.bytewise import token_bars
from core.figures.segmentation import ACCENT
from core.language.bytewise import Cut as Pair
from core.language.noise import PUBLISHED, RATES, Noise, noisy
from core.table import Table
from core.tokenizers.cut import Cut
from core.tokenizers.known import Known
from core.tokenizers.text import whole
from core.ui.calculators.parts import cited, dark
from core.ui.export import download_csv
from core.ui.glossary import told
from core.ui.text_table import Row, TextTable, text_table
from core.ui.tokenizers.parts import choose_shown, citation, cut_once, label, text_box
from core.ui.tokenizers.runs import block, draw

if TYPE_CHECKING:
    from core.ui.links import PageState
    from core.ui.tokenizers.frame import TokenizersView

KINDS: dict[Noise, str] = {
    "drop": "Drop",
    "repeat": "Repetitions",
    "antspeak": "Antspeak",
    "upper": "Uppercase",
    "random-case": "Random case",
    "mutate": "Add, drop, mutate",
    "typos": "Slips of the hand",
    "spaces": "Spaces lost and gained",
}
_PAPER = ("drop", "repeat", "antspeak", "upper", "random-case")
_USUAL = RATES | PUBLISHED
"""The paper's rates, where it has any."""
_MOST = 1_000


def noise(view: TokenizersView) -> None:
    """Draw the section.

    Raises:
        AtlasError: what the text does not allow, as a sentence.
    """
    state = view.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = text_box(state)
        shown = choose_shown(state, view.known)
    text = whole(text, _MOST)
    kind, rate, seed = _controls(state)
    given = noisy(text, kind, rate, seed)
    if not given:
        given = " "  # everything was dropped; a blank is what is left to cut
    pairs = [(one, cut_once(one, text), cut_once(one, given)) for one in shown]
    both = tuple(_pair(one, before, after) for one, before, after in pairs)
    said = "; ".join(f"{one.reader}: {len(one.clean)} clean, {len(one.noisy)} noisy" for one in both)
    st.plotly_chart(
        token_bars(both, ACCENT[dark()], dark=dark()),
        key=state.key("noise.bars"),
        config={"displaylogo": False},
        alt=f"Tokens of the clean and of the noisy text. {said}.",
    )
    draw(
        [block(after) for _, _, after in pairs],
        key=state.key("runs.html"),
        title="A noisy text, cut",
    )
    told(
        "**Try** antspeak, then random case at another seed.\n\n"
        "**Notice** that the bytes hardly grow, since a wrong letter is one byte like the right one, while words that "
        "were one piece fall to bits. A tokeniser that lower-cases does not even see capitals: they cost it nothing, "
        "and tell its model nothing."
    )
    _all_kinds(state, text, seed, shown)
    st.caption(
        "The first five are the paper’s kinds; the sixth stands in its first version on arXiv alone, and the last two "
        "are this project’s. Of the usual rates that of repetitions, 20 %, was read in the paper, those of drop and of "
        "add, drop, mutate, 10 %, in a text about it; the others are this project’s. " + cited(citation("byt5"))
    )


def _controls(state: PageState) -> tuple[Noise, float | None, int]:
    """The kind, its rate where it has one, and the seed."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kinds = list(KINDS)
        current = state.text("noise", kinds[0])
        kind = st.selectbox(
            "Noise",
            kinds,
            index=kinds.index(cast(Noise, current)),
            format_func=lambda one: KINDS[one],
            key=state.key("noise"),
            width=230,
        )
        state.set(noise=None if kind == kinds[0] else kind)
        rate = None
        usual = _USUAL.get(kind)
        if usual is not None:
            standard = round(100 * usual)
            percent = st.slider(
                "Characters hit",
                0,
                100,
                state.number("rate", standard),
                format="%d %%",
                key=state.key(f"rate.{kind}"),
                width=230,
            )
            state.set(rate=None if percent == standard else percent)
            rate = percent / 100
        else:
            state.set(rate=None)
        slot = state.key("seed")
        st.session_state.setdefault(slot, state.number("seed"))
        seed = int(st.number_input("Seed", 0, 2**31 - 1, key=slot, persist_state="page", width=130) or 0)
        st.button("Again", on_click=_next, args=(slot,), key=state.key("again"), icon=":material/casino:")
    state.set(seed=seed)
    return kind, rate, seed


def _next(slot: str) -> None:
    st.session_state[slot] = (int(st.session_state[slot] or 0) + 1) % 2**31


def _all_kinds(state: PageState, text: str, seed: int, shown: tuple[Known, ...]) -> None:
    """Growth of every kind for every tokeniser, at the usual rates."""
    raw: list[dict[str, Any]] = []
    rows: list[Row] = []
    for kind in KINDS:
        given = noisy(text, kind, _USUAL.get(kind), seed) or " "
        cells = []
        for one in shown:
            before, after = cut_once(one, text), cut_once(one, given)
            growth = after.count / max(1, before.count)
            strange = f"{len(after.unknown)} unknown" if after.unknown else ""
            cells.append((f"× {growth:.2f}", strange))
            raw.append(
                {
                    "noise": KINDS[kind],
                    "noisy text": given,
                    "tokeniser": label(one),
                    "clean": before.count,
                    "noisy": after.count,
                    "growth": round(growth, 4),
                    "unknown": len(after.unknown),
                }
            )
        where = "in the paper" if kind in _PAPER else "in its first version" if kind == "mutate" else "ours"
        rows.append(((KINDS[kind], where), *cells))
    st.markdown("**Every kind at its usual rate: tokens of the noisy text for each of the clean one**")
    width = 76 // max(1, len(shown))
    headings = ("Noise", *(label(one) for one in shown))
    numeric = tuple(range(1, len(shown) + 1))
    text_table(TextTable(headings, rows, "Growth by noise", (24, *[width] * len(shown)), numeric=numeric))
    download_csv(Table.from_records(raw), "noise", state.key("csv.noise"))


def _pair(one: Known, before: Cut, after: Cut) -> Pair:
    return Pair(
        label(one),
        tuple(token.text for token in before.tokens),
        tuple(token.text for token in after.tokens),
        len(after.unknown),
    )
