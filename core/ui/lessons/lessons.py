"""Lessons: the list of them, and one lesson step by step, with the live view of each step inside the page."""

from __future__ import annotations

import runpy
import secrets
from typing import Annotated, Any

import streamlit as st
from pydantic import Field, TypeAdapter

from core import links, session
from core.errors import ContentUnusable
from core.lessons import FOLDER, MOST_STEPS
from core.lessons.checks import Answer, AnyCheck
from core.lessons.lesson import (
    MOST_CHARS,
    Draft,
    Lesson,
    Refused,
    Step,
    collected,
    from_text,
    lessons,
    read_draft,
    refuse_missing_views,
    write,
)
from core.links import parameters as link
from core.settings import ROOT, raised_with, settings
from core.ui.component import Component, Message
from core.ui.export import download
from core.ui.glossary import error, sentences, terms
from core.ui.lessons.handout import handout
from core.ui.links import instead, page_link, take_up
from core.ui.page import WIDE, base_path, plain, presenting
from core.ui.page import theme as page_theme
from core.ui.param import Carried, Toggle
from core.ui.section import Section, View


class Opened(Message):
    """The step that an arrow key, a button or *Continue* opens."""

    step: Annotated[int, Field(ge=1, le=MOST_STEPS)]


class Collected(Message):
    """The lesson that the visitor collects, as it is now: JSON, which :func:`read_draft` checks."""

    draft: Annotated[str, Field(pattern=r'^\{"title":"', max_length=2 * MOST_CHARS)]


COLLECTION: Component[Collected] = Component("collection", Collected, uses=("dom", "draft"))
VIEW: Component[Opened] = Component("lesson", Opened)
PROGRESS: Component[Opened] = Component("progress", Opened)
LESSON = Carried(name="lesson", label="Lesson", as_=link.Choice())
STEP = Carried(name="step", label="Step", as_=link.Integer(None, 1, MOST_STEPS))
FILE = Carried(name="file", label="Lesson file", as_=link.Text())
NOTES = Toggle(name="notes", label="Instructor’s notes")
_ANSWERS = "lessons.answers"
"""What was answered in this session, by lesson and step."""
_DRAFT, _ADDED = "lessons.draft", "lessons.added"
"""The lesson that this browser collects, and the steps that are to be added to it, until it says that they are."""
_CHECK: TypeAdapter[AnyCheck] = TypeAdapter(AnyCheck)


def draw(view: View) -> None:
    """Draw the list, or the lesson that the link names."""
    lesson = _chosen(view)
    if st.session_state.get(WIDE, False) != (wide := lesson is not None):
        st.session_state[WIDE] = wide
        st.set_page_config(initial_sidebar_state="collapsed" if wide else 240)
    if lesson is None:
        _list(view)
    else:
        _lesson(view, lesson)


def _chosen(view: View) -> Lesson | None:
    state = view.state
    if text := state.text("file"):
        lesson = from_text(text)
        check(lesson)
        return lesson
    if not (slug := state.text("lesson")):
        return None
    for lesson_or_refused in lessons():
        if lesson_or_refused.slug == slug:
            if isinstance(lesson_or_refused, Refused):
                raise ContentUnusable(lesson_or_refused.reason)
            check(lesson_or_refused)
            return lesson_or_refused
    instead(state, view.words.part("No such lesson", lesson=link.short(slug)))
    state.set(lesson=None, step=None)
    return None


def check(lesson: Lesson) -> None:
    """Refuse a lesson with a view that does not exist. The pages of its views are imported first, once per process."""
    for page in lesson.pages:
        if page.replace("-", "").isalpha() and page.islower() and page not in links.PAGES and links.exists(page):
            runpy.run_path(str(ROOT / "pages" / f"{page}.py"), run_name="page")
    refuse_missing_views(lesson)


def _list(view: View) -> None:
    """All lessons in their order, each with its length and how far this browser has come; below, a lesson of a file."""
    state = view.state
    every = lessons()
    for start in range(0, len(every), 2):
        for column, lesson in zip(st.columns(2), every[start : start + 2], strict=False):
            key = None if isinstance(lesson, Refused) else f"lesson-card-{lesson.slug}"
            with column, st.container(border=True, gap="small", height="stretch", key=key):
                if isinstance(lesson, Refused):
                    error(lesson.reason)
                    continue
                page_link(FOLDER, f"**{lesson.title}**", {"lesson": lesson.slug})
                st.caption(terms(lesson.line))
                key = state.key(f"progress.{lesson.slug}")
                if (opened := PROGRESS.sent(key)) is not None:
                    take_up(FOLDER, {"lesson": lesson.slug, "step": opened.step})
                    st.rerun()
                length = view.words.part("Length", minutes=lesson.minutes, steps=len(lesson.steps))
                PROGRESS.draw(key, {"lesson": lesson.slug, "steps": len(lesson.steps), "begin": length})
    _yours(view)


def _yours(view: View) -> None:
    """The lesson that this browser collects: to edit, to download, to open; or one of a file."""
    st.subheader(view.words.label("yours"), anchor=False)
    key = view.state.key("collection")
    if (sent := COLLECTION.sent(key)) is not None:
        st.session_state[_DRAFT] = sent.draft
        st.session_state.pop(_ADDED, None)
    stored: str | None = st.session_state.get(_DRAFT)
    COLLECTION.draw(
        key,
        {
            "none": view.words.part("Nothing collected"),
            "most": MOST_STEPS,
            "known": stored is not None,
            "add": st.session_state.get(_ADDED),
        },
    )
    with st.container(horizontal=True), sentences():
        with st.popover(view.words.label("file"), icon=":material/upload_file:"):
            _open_file(view)
        draft = None if stored is None else read_draft(stored)
        if draft is not None and draft.steps:
            lesson = collected(draft)
            check(lesson)
            text = write(lesson)
            if len(text) <= settings().max_chars:
                values = {"file": text}
                st.button("Open it", key=view.state.key("collection.open"), on_click=take_up, args=(FOLDER, values))
            download("Markdown", text, "lesson", view.state.key("collection.file"))


def _add(lesson: Lesson) -> None:
    """Add an open lesson's steps to those that the browser collects, and go to these."""
    draft = Draft(title=lesson.title, steps=list(lesson.steps))
    st.session_state[_ADDED] = {"id": secrets.token_hex(8), "draft": draft.model_dump(exclude_defaults=True)}
    take_up(FOLDER, {})


def _open_file(view: View) -> None:
    """A lesson of a visitor's file: checked, then part of the link."""
    file = st.file_uploader(
        "Lesson file", "md", key=view.state.key("upload"), max_upload_size=1, help=view.words.part("File")
    )
    if file is None:
        return
    with sentences():
        try:
            text = file.getvalue().decode("utf-8")
        except UnicodeDecodeError:
            raise ContentUnusable("This file is not UTF-8 text.") from None
        if len(text) > (most := settings().max_chars):
            raise ContentUnusable(f"This lesson has {len(text):,} characters; {most:,} fit. {raised_with('max_chars')}")
        check(from_text(text, "This lesson"))
        take_up(FOLDER, {"file": text})
        st.rerun()


def _lesson(view: View, lesson: Lesson) -> None:
    """One step: its text and question on the left, its view on the right."""
    state, key = view.state, view.state.key("view")
    last = len(lesson.steps)
    opened = VIEW.sent(key)
    number = min(state.number("step", 1) if opened is None else opened.step, last)
    state.set(step=None if number == 1 else number)
    step = lesson.steps[number - 1]
    hall = presenting()
    left, right = st.columns([1, 2.2], gap="medium") if not hall else (st.container(), st.container())
    with left:
        if hall:
            view.line(f"**{_words(lesson, step.title)}** {_words(lesson, step.text)}")
        else:
            st.caption(f"{plain(lesson.title)} · {number} / {last}")
            st.progress(number / last)
            st.subheader(_words(lesson, step.title), anchor=False)
            st.markdown(_words(lesson, step.text))
    with st.container() if hall else left:  # a hall sees the view above its question
        with sentences():
            _question(view, lesson, number, step)
        _steps(view, lesson, number)
        if step.note and state.text("notes") == "yes":
            st.info(_words(lesson, step.note), icon=":material/co_present:")
    with right:
        name = page_theme().name
        mode = f"{'&' if '?' in step.path else '?'}embed=true&embed_options={name}_theme{'&present=1' * hall}"
        VIEW.draw(
            key,
            {
                "src": f"{base_path()}{step.path}{mode}",
                "theme": name,
                "title": step.title,
                "lesson": lesson.slug,
                "step": number,
                "steps": last,
            },
        )
        page_link(step.page, view.words.label("open"), step.query, icon=":material/open_in_full:")


def _steps(view: View, lesson: Lesson, number: int) -> None:
    """Previous, Next and the list of lessons."""
    key = view.state.key("view")
    with st.container(horizontal=True, gap="small"):
        for label, by, icon in (("Previous", -1, "arrow_back"), ("Next", 1, "arrow_forward")):
            st.button(
                label,
                key=view.state.key(f"by.{by}"),
                icon=f":material/{icon}:",
                type="primary" if by == 1 else "secondary",
                disabled=not 1 <= number + by <= len(lesson.steps),
                on_click=VIEW.put,
                args=(key, Opened(step=min(max(number + by, 1), len(lesson.steps)))),
            )
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        page_link(FOLDER, view.words.label("all"), {}, icon=":material/list:")
        st.button(
            view.words.label("add"),
            key=view.state.key("add"),
            icon=":material/playlist_add:",
            on_click=_add,
            args=(lesson,),
        )
        notes = NOTES.draw(view.state)
    download(
        "HTML",
        lambda: handout(lesson, notes=notes),
        lesson.slug or "lesson",
        view.state.key("handout"),
        of="handout",
        tip=view.words.part("Handout"),
    )


def _question(view: View, lesson: Lesson, number: int, step: Step) -> None:
    """The question of a step, and what the model computed once somebody has answered."""
    if step.question is None or step.check is None:
        return
    st.markdown(f"**{_words(lesson, step.question)}**")
    tag = f"{lesson.slug}.{number}"
    given: Answer | None
    if step.options:
        box = view.state.key(f"option.{tag}")
        label = {option: _words(lesson, option) for option in step.options}
        given = st.radio(
            plain(step.question),
            step.options,
            index=None,
            format_func=label.__getitem__,
            key=box,
            label_visibility="collapsed",
        )
    else:
        box = view.state.key(f"number.{tag}")
        given = st.number_input(plain(step.question), value=None, key=box, label_visibility="collapsed", format="%g")
    answers: dict[Any, Answer] = st.session_state.setdefault(_ANSWERS, {})
    slot = (lesson.slug, lesson.title, number)
    st.button("Check", key=view.state.key(f"check.{tag}"), on_click=_take_answer, args=(slot, box))
    if given is None or given != answers.get(slot):
        return
    computed = answer(step.check.model_dump_json(), tuple(map(session.files, step.check.models())))
    if step.right(given, computed):
        st.success(terms(view.words.part("Right", answer=plain(shown(computed)))), icon=":material/check:")
        if step.because:
            st.markdown(_words(lesson, step.because))
    else:
        st.info(terms(view.words.part("Not this")), icon=":material/replay:")
        with st.expander(view.words.label("show")):
            st.markdown(view.words.part("Computed", answer=plain(shown(computed))))


def _take_answer(slot: tuple[str, str, int], box: str) -> None:
    st.session_state[_ANSWERS][slot] = st.session_state.get(box)


@session.cached("running-the-model")
def answer(check: str, files: tuple[Any, ...]) -> Answer:
    """The answer to a check, given as JSON; ``files`` are the states of its models' files."""
    return _CHECK.validate_json(check).answer()


def shown(computed: Answer) -> str:
    """An answer as the page prints it."""
    if isinstance(computed, str):
        return computed
    return f"{computed:,}" if isinstance(computed, int) else f"{computed:.3g}"


def _words(lesson: Lesson, text: str) -> str:
    """A text of a lesson as Markdown; what a visitor brought is shown as it is."""
    return terms(text) if lesson.trusted else plain(text)


LESSONS = Section("lessons", draw, (LESSON, STEP, FILE, NOTES))
