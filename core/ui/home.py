"""Home: a masked word predicted live, three doors, the view that was left, first steps, and what runs here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated
from urllib.parse import parse_qsl

import streamlit as st
from pydantic import Field

from core import catalogue, checkpoints, links
from core.checkpoints.spec import WHOLE, CheckpointSpec
from core.settings import settings
from core.ui.component import Component, Message
from core.ui.glossary import terms
from core.ui.links import page_link, view_title
from core.ui.masked_word import MASK, SENTENCE, masked_word
from core.ui.notices import unbuilt
from core.ui.page import BRANCH_TITLES, base_path, plain
from core.ui.section import Section, View

Name = Annotated[str, Field(max_length=40, pattern=r"^[a-z0-9-]*$")]


class LastView(Message):
    """The view that the visitor's browser stored."""

    page: Name
    tab: Name
    query: Annotated[str, Field(max_length=4_000, pattern=r"^[A-Za-z0-9_.~%&=+*-]*$")]


LAST = Component("last", LastView)
_LAST = "home.last"
_STYLE = """<style>
[class*="st-key-home-door"] [data-testid="stVerticalBlock"] { gap: .1rem; }
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
    if last is None or (title := _title_of(last)) is None:
        return

    def forget() -> None:
        st.session_state.pop(_LAST, None)
        state.memory["forget"] = True

    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        query = dict(parse_qsl(last.query, keep_blank_values=True))
        page_link(
            last.page, f"{view.words.label('continue')}: {title}", query, icon=":material/history:", width="content"
        )
        st.button("Forget", key=state.key("forget"), type="tertiary", on_click=forget, help=view.words.label("forget"))


def _title_of(last: LastView) -> str | None:
    """The titles of page and section; None where there is no such page. The page itself validates the query."""
    if last.page in ("", "home") or not links.exists(last.page):
        return None
    return view_title(last.page, last.tab)


def _what_runs(view: View) -> None:
    """The live models of this installation, and the published ones that would need a download."""
    live = [spec for spec in checkpoints.available() if spec.ready]
    fetched = {spec.system for spec in live if spec.source == "hub"}
    published = [s.name for s in catalogue.systems() if s.hub and s.slug not in fetched]
    if live:
        _live_list(view, live)
        st.page_link("pages/zoo.py", label=view.words.label("models"), icon=":material/table_rows:")
    else:
        view.say("None runs")
    if published:
        how = view.words.part(f"Download {settings().hub}")
        st.caption(plain(f"{view.words.part('Download', names=', '.join(published))} {how}"))


def _live_list(view: View, live: Sequence[CheckpointSpec]) -> None:
    """Links to the live models by branch; below, where those come from that are no whole models trained here."""
    groups = dict.fromkeys([*BRANCH_TITLES, *(spec.branch for spec in live)])
    filled = [(branch, own) for branch in groups if (own := [spec for spec in live if spec.branch == branch])]
    widths = [max(20, *(len(spec.name) for spec in own)) for _, own in filled]  # a link does not wrap
    for column, (branch, own) in zip(st.columns(widths), filled, strict=True):
        with column, st.container(gap=None):
            st.markdown(f"**{plain(BRANCH_TITLES.get(branch, branch))}**")
            for spec in own:
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
