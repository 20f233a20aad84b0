"""Home: a masked word predicted live, three doors, the view that was left, first steps, and what runs here."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import zip_longest
from typing import Annotated
from urllib.parse import parse_qsl

import numpy as np
import regex
import streamlit as st
from pydantic import Field
from streamlit.delta_generator import DeltaGenerator

from core import catalogue, checkpoints, links, session
from core.attention.masked_word import OPENS_WITH, MaskedWord, read_masked_word, stored
from core.checkpoints.sizes import size_of
from core.checkpoints.spec import WHOLE, CheckpointSpec
from core.content import content
from core.errors import ContentUnusable
from core.figures.labels import short
from core.figures.predictions import HEIGHT, bars_alt
from core.figures.predictions import masked_word as picture
from core.links import parameters as link
from core.settings import settings
from core.table import Table
from core.ui.chips import token_chips
from core.ui.component import Component, Message
from core.ui.glossary import sentences, terms, unbuilt
from core.ui.links import page_link
from core.ui.page import BRANCH_TITLES, accent, base_path, plain, theme
from core.ui.panel import Panel
from core.ui.param import Carried, Model, Text
from core.ui.section import Section, View
from core.ui.slot import Slot
from core.words import SIGN, WORD

SENTENCE = Text(
    name="text",
    label="Your sentence",
    default=OPENS_WITH.replace("[MASK]", "bread"),
    most=200,
    hide_label=True,
    sentence="any",
)
MASK = Carried(name="mask", label="Masked word", as_=link.Integers(high=199, most=1))
_FIRST = 4
"""The word of the sample that is masked at first."""
_TYPED = "[MASK]"
_UNITS = regex.compile(rf"\[MASK\]|{WORD}(?:['’]{WORD})*|{SIGN}")
_PICTURE_STYLE = f"""<style>
.st-key-home-picture {{ min-height: {HEIGHT + 60}px; }}
.atlas-skeleton {{ height: {HEIGHT}px; border-radius: .5rem; background: rgba(128,128,128,.08); display: flex;
  align-items: center; justify-content: center; opacity: .8; }}
</style>"""


def masked_word(view: View) -> None:
    """Draw the box, the words as chips, and room for the picture, which follows when the page stands."""
    spec = _model()
    if spec is None:
        view.say("None runs")
        return
    st.html(_PICTURE_STYLE)
    state = view.state
    text = SENTENCE.with_(placeholder=view.words.label("placeholder")).draw(state)
    units = list(_UNITS.finditer(text))
    if not units:
        view.note("No word")
        return
    names = [unit.group() for unit in units]
    usual = _usual(names, text)
    slot = Slot(state, MASK, (usual,), owner=names)
    chosen = token_chips(
        names,
        selected=[at for at in slot.get() if at < len(names)] or [usual],
        key=state.key("mask.chips"),
        accent=spec.branch,
        label=view.words.label("chips"),
        clearable=False,
    )[0]
    slot.set((chosen,))
    begin, end = units[chosen].span()
    masked = f"{text[:begin]}{_TYPED}{text[end:]}"
    word = stored(spec, masked)
    with st.container(key="home-picture"):
        stands = word is not None or state.memory.get("drawn")  # the old picture stands until the new one
        place = st.container() if stands else st.empty()
        if not stands:
            place.html(f'<div class="atlas-skeleton" role="status">{view.words.label("loading")}</div>')
    if word is not None:
        with place:
            _draw_predictions(view, spec, masked, word)
    else:
        view.later.append(partial(_compute_predictions, view, spec, masked, names[:chosen].count(_TYPED), place))


def _model() -> CheckpointSpec | None:
    """The live model: the one that `first.toml` names, else any that predicts masked tokens."""
    menu = Model(name="model", needs=("predicts masked tokens",), first="home").here()
    return checkpoints.get(menu.default) if menu.default else None


def _usual(names: list[str], text: str) -> int:
    """The word that is masked first: a typed mask, the sample's, or the last word."""
    if _TYPED in names:
        return names.index(_TYPED)
    if text == SENTENCE.default:
        return _FIRST
    words = [number for number, name in enumerate(names) if name[0].isalnum()]
    return words[-1] if words else len(names) - 1


def _compute_predictions(view: View, spec: CheckpointSpec, text: str, before: int, place: DeltaGenerator) -> None:
    """Run the model and draw the picture.

    Args:
        text: with the mask.
        before: how many masks stand before the one that is drawn.
        place: an empty element in the first run, then the container that holds the picture.
    """
    with place if view.state.memory.get("drawn") else place.container(), sentences():
        _draw_predictions(view, spec, text, session.computed("", read_masked_word, spec.slug, text, before))


def _draw_predictions(view: View, spec: CheckpointSpec, text: str, word: MaskedWord) -> None:
    """Draw the picture."""
    weights, layer, head = np.array(word.weights), word.layer + 1, word.head + 1
    others = [i for i in range(len(word.tokens)) if i != word.position]
    strongest = max(others, key=lambda i: weights[i], default=word.position)
    answers = zip(word.predictions, word.probabilities, strict=True)
    rows = zip(word.tokens, word.weights, strict=True)
    Panel(
        "masked-word",
        view.words.label("picture"),
        picture(
            word.tokens,
            weights,
            word.position,
            word.predictions,
            word.probabilities,
            accent(spec.branch),
            special=word.special,
            theme=theme(),
        ),
        bars_alt(word.predictions, word.probabilities, view.words.label("predictions"))
        + f" {view.words.part('Alt', layer=layer, head=head)} {word.tokens[strongest]}",
        Table(
            ("prediction", "probability", "token", "attention from the mask"),
            tuple((*answer, *row) for answer, row in zip_longest(answers, rows, fillvalue=("", None))),
        ),
        note=view.words.part(
            "Picture",
            layer=layer,
            head=head,
            model=plain(spec.name),
            parameters=short(size.parameters) if (size := size_of(spec)) else "an unknown number of",
        ),
    ).draw(view.state)
    query = {"model": spec.slug, "text": text, "layer": str(layer), "head": str(head)}
    page_link("attention", view.words.label("open"), query, icon=":material/grid_on:", width="content")
    view.state.memory["drawn"] = True


Name = Annotated[str, Field(max_length=40, pattern=r"^[a-z0-9-]*$")]


class LastView(Message):
    """The view that the visitor's browser stored."""

    page: Name
    tab: Name
    query: Annotated[str, Field(max_length=4_000, pattern=r"^[A-Za-z0-9_.~%&=+*-]*$")]


LAST = Component("last", LastView)
_LAST = "home.last"
_STYLE = """<style>
[class*="st-key-home-door"] .stVerticalBlock { gap: .1rem; }
.st-key-home-continue { min-height: 2.5rem; }
</style>"""


def home(view: View) -> None:
    """Draw the page."""
    st.html(_STYLE)
    left, right = st.columns([2.2, 1], gap="medium")
    with left:
        masked_word(view)
    with right:
        _doors(view)
        with st.container(key="home-continue"):
            _continue(view)
    unbuilt()
    _first_steps(view)
    with st.expander(view.words.label("runs"), icon=":material/memory:"):
        _what_runs(view)


def _doors(view: View) -> None:
    """Three cards of links: learn, explore, look up."""
    for number, door in enumerate(view.words.front["doors"]):
        with st.container(border=True, gap=None, key=f"home-door-{number}"):
            st.markdown(f"**{door['title']}**")
            st.caption(terms(door["line"]))
            with st.container(horizontal=True, gap=None):
                for to in door["links"]:
                    if links.exists(to["page"]):
                        page_link(to["page"], to["label"], to.get("query", {}), width="content")


def _continue(view: View) -> None:
    """One line with a link to the view that this browser showed last, and a button that forgets it."""
    state, key = view.state, view.state.key("last")
    if (message := LAST.sent(key)) is not None:
        st.session_state[_LAST] = message
    last: LastView | None = st.session_state.get(_LAST)
    stored = None if last is None else last.model_dump(exclude={"count"})
    LAST.draw(key, {"view": stored, "base": base_path(), "forget": state.memory.pop("forget", False)})
    if last is None:
        return
    page, query = links.current(last.page, dict(parse_qsl(last.query, keep_blank_values=True)))
    if page in ("", "home") or not links.exists(page):  # a view of the browser's: the page validates the query
        return
    title = _title_of(page, query.get("tab", last.tab))

    def forget() -> None:
        st.session_state.pop(_LAST, None)
        state.memory["forget"] = True

    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        page_link(page, f"{view.words.label('continue')}: {title}", query, icon=":material/history:", width="content")
        st.button("Forget", key=state.key("forget"), type="tertiary", on_click=forget, help=view.words.label("forget"))


def _what_runs(view: View) -> None:
    """The live models of this installation, and the published ones that would need a download."""
    live = [spec for spec in checkpoints.available() if spec.ready]
    fetched = {spec.system for spec in live if spec.source == "hub"}
    published = [s.name for s in catalogue.systems() if s.hub and s.slug not in fetched]
    if live:
        _live_list(view, live)
        page_link("catalogue", view.words.label("models"), {"tab": "models"}, icon=":material/table_rows:")
    else:
        view.say("None runs")
    if published:
        how = view.words.part(f"Download {settings().hub}")
        st.caption(plain(f"{view.words.part('Download', names=', '.join(published))} {how}"))


def _live_list(view: View, live: Sequence[CheckpointSpec]) -> None:
    """Links to the live models by branch; below, where those come from that are no whole models trained here."""
    groups = dict.fromkeys([*BRANCH_TITLES, *(spec.branch for spec in live)])
    filled = [(branch, specs) for branch in groups if (specs := [spec for spec in live if spec.branch == branch])]
    widths = [max(20, *(len(spec.name) for spec in specs)) for _, specs in filled]  # a link does not wrap
    for column, (branch, specs) in zip(st.columns(widths), filled, strict=True):
        with column, st.container(gap=None):
            st.markdown(f"**{plain(BRANCH_TITLES.get(branch, branch))}**")
            for spec in specs:
                if branch in BRANCH_TITLES:
                    query = {"model": spec.slug} | ({"system": spec.system} if spec.system else {})
                    page_link(branch, plain(spec.name), query)
                else:  # a host's model of a branch that has no page
                    st.markdown(plain(spec.name))
    others = [f"{spec.name}: {spec.origin.removeprefix(f'{WHOLE}, ')}." for spec in live if spec.origin != WHOLE]
    numbers = {"trained": len(live) - len(others), "live": len(live)}
    st.caption(plain(view.words.part("Trained", **numbers, others=" ".join(others))))


def _first_steps(view: View) -> None:
    """Concrete beginnings, three in a row, each a link that opens a view."""
    view.say("Begin")
    steps = view.words.front["steps"]
    for start in range(0, len(steps), 3):
        for column, step in zip(st.columns(3), steps[start : start + 3], strict=False):
            with column, st.container(border=True, gap=None, height="stretch"):
                page_link(step["page"], f"**{step['label']}**", step["query"], icon=f":material/{step['icon']}:")
                st.caption(terms(step["line"]))


HOME = Section("home", home, (SENTENCE, MASK))


def _title_of(page: str, section: str) -> str:
    """The titles of a page and its section, if they differ."""
    title = content(page).title
    for folder in (page, "branch"):
        try:
            section_title = content(folder, section).title if section and section != "page" else title
        except ContentUnusable:
            continue
        return title if section_title == title else f"{title} › {section_title}"
    return title
