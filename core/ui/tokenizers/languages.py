"""Languages: tokens of the same two sentences in each, for every tokenizer shown."""

from __future__ import annotations

from typing import cast

import streamlit as st

from core.figures.vocabulary import Dots, dots
from core.table import Table
from core.tokenizers.cut import MEASURES, Measure, measured
from core.tokenizers.samples import languages
from core.ui.page import theme
from core.ui.panel import Panel
from core.ui.param import Choice
from core.ui.section import Section, View
from core.ui.tokenizers.common import SHOWN, choose_shown, formula_of, label, tokenized
from core.ui.tokenizers.token_rows import draw_rows, tokenizer_block

MEASURE = Choice(
    name="measure",
    label="Measure",
    options={str(slug): name for slug, name in MEASURES.items()},
    default="characters",
    style="row",
    hide_label=True,
)
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
    Panel(
        "languages",
        MEASURES[measure],
        dots([language.name for language in spoken], series, MEASURES[measure], theme=theme()),
        view.words.part("Alt", measure=MEASURES[measure], languages=len(spoken), ends=ends),
        Table.from_records(records),
        note=view.words.part("Hollow"),
    ).draw(state)
    view.try_and_notice()
    slug = LANGUAGE.draw(state)
    draw_rows(
        [tokenizer_block(cuts[info.slug, slug]) for info in shown],
        key=state.key("runs.html"),
        title="Two sentences in one language",
    )
    view.note("Sample size")
    formula_of("length")


LANGUAGES = Section("languages", by_language, (MEASURE, SHOWN, LANGUAGE))
