"""C4's cleaning rules on a pasted text: which rule removes which line."""

from __future__ import annotations

from collections import Counter

import streamlit as st

from core.figures.bars import Series, bars
from core.figures.labels import percent
from core.table import Table
from core.tokenizers.cleaning import FATES, SENTENCES, WORDS, clean
from core.ui.page import accent, theme
from core.ui.panel import Panel
from core.ui.param import Integer, Text, settings_menu
from core.ui.section import Section, View
from core.ui.tables import TextTable, text_table

SAMPLE = """Home | Timetable | Contact
The harbor of the old town is open all year.[1]
Ferries leave for the islands every morning at eight.
Please enable Javascript to see the map.
Read more.
Tickets are sold at the pier
The crossing takes about two hours in calm weather.
By staying here you accept our privacy policy.

The winter timetable begins on the first of November.
The harbor of the old town is open all year.
Ferries leave for the islands every morning at eight.
The crossing takes about two hours in calm weather.

This page shows the depth of the harbor at low tide.
if (tide < 2) { warn("too low"); }
The numbers are measured every hour by the harbor master.

Lorem ipsum dolor sit amet, consectetur adipiscing elit.

The ferry to the northern island does not run today."""
TEXT = Text(name="scraped", label="Scraped text, empty lines between pages", default=SAMPLE, height=230)
BANNED = Text(name="banned", label="Words that remove a page", placeholder="with commas between", most=500)
LEAST_WORDS = Integer(name="words", label="Words of a line, at least", default=WORDS, low=0, high=20)
LEAST_SENTENCES = Integer(name="sentences", label="Sentences of a page, at least", default=SENTENCES, low=0, high=20)
_CUT = 200


def cleaning(view: View) -> None:
    state, words, look = view.state, view.words, theme()
    left, right = st.columns(2, gap="large")
    with left:
        text = TEXT.draw(state)
        with st.container(horizontal=True, vertical_alignment="bottom"):
            banned = [word.strip() for word in BANNED.draw(state).split(",") if word.strip()]
            least = settings_menu(state, LEAST_WORDS, LEAST_SENTENCES)
    lines = clean(text, banned, least[LEAST_WORDS.name], least[LEAST_SENTENCES.name])
    names, counts = words.front["rules"], Counter(line.fate for line in lines)
    shown = [fate for fate in FATES if counts[fate]]
    values = [counts[fate] for fate in shown]
    colors = [accent("encoder-decoder") if fate == "kept" else look.muted for fate in shown]
    figure = bars(
        [f"{names[fate]}  " for fate in shown],
        [
            Series(
                words.label("lines"),
                values,
                colors,
                ["" if fate == "kept" else "/" for fate in shown],
                texts=[str(value) for value in values],
                hover="%{x}",
            )
        ],
        look,
        height=60 + 34 * len(shown),
        end=1.15 * max(values),
    )
    kept = counts["kept"]
    alt = ", ".join(f"{names[fate]}: {counts[fate]}" for fate in shown)
    with right:
        table = Table(("rule", "lines"), tuple((names[fate], counts[fate]) for fate in FATES))
        title = words.label("picture")
        Panel("cleaning", title, figure, f"{title}. {alt}", table, heading=True).draw(state)
    view.say("Answer", kept=kept, lines=len(lines), share=percent(kept / len(lines)), pages=lines[-1].page)
    view.try_and_notice()
    st.subheader(words.label("each"), anchor=False)
    rows = [
        (str(line.page), names[line.fate], _short(line.cleaned if line.fate == "kept" else line.text)) for line in lines
    ]
    text_table(TextTable(tuple(words.front["columns"]), rows, words.label("each"), (10, 32, 58)))
    view.how_it_works(words=WORDS, sentences=SENTENCES)


def _short(text: str) -> str:
    return text if len(text) <= _CUT else text[: _CUT - 1] + "…"


CLEANING = Section("cleaning", cleaning, (TEXT, BANNED, LEAST_WORDS, LEAST_SENTENCES))
