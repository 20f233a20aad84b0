"""Languages: what the same two sentences cost in each, for every tokenizer that is shown."""

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
from core.ui.tokenizers.runs import block, draw

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
    options={one.slug: f"{one.name} ({one.script})" for one in languages()},
    default=languages()[-2].slug,
    width=270,
)


def by_language(view: View) -> None:
    """Draw the section."""
    state = view.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        measure = cast(Measure, MEASURE.draw(state))
        shown = choose_shown(state, "tokenizers-languages")
    spoken = languages()
    cuts = {(one.slug, language.slug): tokenized(one, language.text) for one in shown for language in spoken}
    series = []
    for one in shown:
        mine = [cuts[one.slug, language.slug] for language in spoken]
        values = tuple(round(measured(cut, measure, mine[0]), 3) for cut in mine)
        series.append(Dots(label(one), values, tuple(bool(cut.unknown) for cut in mine)))
    ends = "; ".join(
        f"{one.name}: {spoken[0].name} {one.values[0]:.2f}, {spoken[-1].name} {one.values[-1]:.2f}" for one in series
    )
    records = [
        {
            "language": language.name,
            "script": language.script,
            "tokenizer": label(one),
            "tokens": cut.count,
            "characters": len(language.text),
            "bytes": len(language.text.encode()),
            "characters per token": cut.characters,
            "bytes per token": cut.bytes,
            "tokens relative to English": cut.count / max(1, cuts[one.slug, spoken[0].slug].count),
            "unknown tokens": len(cut.unknown),
        }
        for language in spoken
        for one in shown
        for cut in [cuts[one.slug, language.slug]]
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
    draw(
        [block(cuts[one.slug, slug]) for one in shown],
        key=state.key("runs.html"),
        title="Two sentences in one language",
    )
    view.note("Sample size")
    formula_of("length")


LANGUAGES = Section("languages", by_language, (MEASURE, SHOWN, LANGUAGE))
