"""Languages: what the same two sentences cost in each, for every tokeniser that is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import streamlit as st

from core.figures.vocabulary import Dots, dots
from core.table import Table
from core.tokenizers.languages import MEASURES, Measure, languages, measured
from core.ui.calculators.parts import dark
from core.ui.export import download_csv
from core.ui.glossary import noted, told
from core.ui.tokenizers.parts import choose_shown, cut_once, formula_of, label
from core.ui.tokenizers.runs import block, draw

if TYPE_CHECKING:
    from core.ui.tokenizers.frame import TokenizersView

_USUAL = ("minilm", "atlas-gpt-2", "atlas-t5", "atlas-byt5")


def by_language(view: TokenizersView) -> None:
    """Draw the section."""
    state = view.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        measure = st.segmented_control(
            "Measure",
            list(MEASURES),
            format_func=lambda one: MEASURES[one],
            key=state.key("measure"),
            required=True,
            default=state.text("measure", "characters"),
            label_visibility="collapsed",
        )
        state.set(measure=measure)
        shown = choose_shown(state, view.known, _USUAL)
    known = languages()
    cuts = {(one.slug, spoken.slug): cut_once(one, spoken.text) for one in shown for spoken in known}
    series = []
    for one in shown:
        mine = [cuts[one.slug, spoken.slug] for spoken in known]
        values = tuple(round(measured(cut, cast(Measure, measure), mine[0]), 3) for cut in mine)
        series.append(Dots(label(one), values, tuple(bool(cut.unknown) for cut in mine)))
    said = "; ".join(
        f"{one.name}: {known[0].name} {one.values[0]:.2f}, {known[-1].name} {one.values[-1]:.2f}" for one in series
    )
    st.plotly_chart(
        dots([spoken.name for spoken in known], series, MEASURES[cast(Measure, measure)], dark=dark()),
        key=state.key("languages"),
        config={"displaylogo": False},
        alt=f"{MEASURES[cast(Measure, measure)]} of the same two sentences in {len(known)} languages. {said}.",
    )
    noted(
        "Hollow marks: a part of the text became the unknown token, so the number flatters. Those at the right end "
        "lie beyond it."
    )
    told(
        "**Try** the other measures, and a language of the list below.\n\n"
        "**Notice** that the small vocabularies here learnt from English, some from French and German too: elsewhere "
        "they fall back on single letters or bytes, or on the unknown token. MiniLM’s has letters of many scripts, but "
        "words of English only. Bytes work for everyone, and yet not for the same price: a Greek or Russian letter is "
        "two of them, a Hindi or Chinese one three."
    )
    slugs = [spoken.slug for spoken in known]
    at = slugs.index(state.text("language")) if state.text("language") in slugs else len(slugs) - 2
    slug = st.selectbox(
        "Read it as they do",
        slugs,
        index=at,
        key=state.key("language"),
        width=270,
        format_func=lambda one: f"{known[slugs.index(one)].name} ({known[slugs.index(one)].script})",
    )
    state.set(language=None if slug == slugs[-2] else slug)
    draw([block(cuts[one.slug, slug]) for one in shown], key=state.key("runs.html"), title="One text in one language")
    raw: list[dict[str, Any]] = [
        {
            "language": spoken.name,
            "script": spoken.script,
            "tokeniser": label(one),
            "tokens": cut.count,
            "characters": len(spoken.text),
            "bytes": len(spoken.text.encode()),
            "characters a token": round(cut.characters, 3),
            "bytes a token": round(cut.bytes, 3),
            "tokens, English = 1": round(cut.count / max(1, cuts[one.slug, slugs[0]].count), 3),
            "unknown tokens": len(cut.unknown),
        }
        for spoken in known
        for one in shown
        for cut in [cuts[one.slug, spoken.slug]]
    ]
    with st.expander("Every number"):
        st.dataframe(raw, hide_index=True, alt="Tokens of the same text by language and tokeniser")
        download_csv(Table.from_records(raw), "languages", state.key("csv.languages"))
        st.caption("Two sentences written and translated for this page; with so little text a dot is a hint.")
    formula_of("length")
