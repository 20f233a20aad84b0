"""Lessons: the list of them, and one lesson step by step, with the live view of each step inside the page."""

from __future__ import annotations

import runpy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import streamlit as st
from pydantic import Field, TypeAdapter

from core import links, session
from core.errors import AtlasError, ContentUnusable
from core.lessons import FOLDER, MOST_STEPS
from core.lessons.checks import AnyCheck, compute
from core.lessons.lesson import (
    Lesson,
    Refused,
    Step,
    from_text,
    lessons,
    refuse_missing_views,
)
from core.links import parameters as link
from core.quiz import Answer
from core.settings import ROOT, raised_with, settings
from core.ui.component import Component, Message
from core.ui.export import download
from core.ui.glossary import error, sentences, terms
from core.ui.lessons.handout import handout
from core.ui.lessons.handout import key as key_page
from core.ui.lessons.outline import ARRANGED, ORDER, draw_outline
from core.ui.links import instead, page_link, take_up
from core.ui.page import WIDE, base_path, main_picture, plain, presenting, site
from core.ui.page import theme as page_theme
from core.ui.param import Carried, Toggle
from core.ui.quiz import ask, verdict
from core.ui.room import door
from core.ui.section import Section, View
from core.words import first_sentence


class Opened(Message):
    """The step that an arrow key, a button or *Continue* opens."""

    step: Annotated[int, Field(ge=1, le=MOST_STEPS + 1)]
    """After the last one comes the lesson's end."""


VIEW: Component[Opened] = Component("lesson", Opened)
PROGRESS: Component[Opened] = Component("progress", Opened)
LESSON = Carried(name="lesson", label="Lesson", as_=link.Choice())
STEP = Carried(name="step", label="Step", as_=link.Integer(None, 1, MOST_STEPS + 1))
FILE = Carried(name="file", label="Lesson file", as_=link.Text())
NOTES = Toggle(name="notes", label="Instructor’s notes")
_ANSWERS, _VARIANTS = "lessons.answers", "lessons.variants"
"""What was answered in this session, :class:`_Tried` by question; and which variant of a step's question is asked."""
_CHECK: TypeAdapter[AnyCheck] = TypeAdapter(AnyCheck)


def draw_lessons(view: View) -> None:
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
    """All lessons, in their order or by another text's table of contents; below, a lesson of a file."""
    state, every = view.state, lessons()
    with view.controls():
        by = ARRANGED.draw(state)
    with main_picture():
        if by == ORDER:
            _cards(view, every)
        else:
            draw_outline(view, by, {lesson.slug: lesson for lesson in every if isinstance(lesson, Lesson)})
    with st.container(horizontal=True):
        with st.popover(view.words.label("file"), icon=":material/upload_file:"):
            _open_file(view)
        door(FOLDER, "lessons")
    page_link("transformer", view.words.label("transformer"), {}, icon=":material/arrow_forward:")


def _cards(view: View, every: Sequence[Lesson | Refused]) -> None:
    """A card for each lesson, with its length and how far this browser has come."""
    state = view.state
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
    """One step, text, view and question, or the end. On a wide screen the view stands to the right of both others."""
    state, key = view.state, view.state.key("view")
    last = len(lesson.steps)
    opened = VIEW.sent(key)
    number = min(state.number("step", 1) if opened is None else opened.step, last + 1)
    state.set(step=None if number == 1 else number)
    if number > last:
        with st.container(key="atlas-lesson-end"):
            _end(view, lesson)
        VIEW.draw(key, {"src": "", "lesson": lesson.slug, "step": number, "steps": last, "presented": presenting()})
        return
    at = _variant(lesson, number)
    step = lesson.steps[number - 1].variants[at]
    covered = step.covered and _answered(_slot(lesson, number, at)) is None
    hall = presenting()
    with st.container(key="atlas-lesson-hall" if hall else "atlas-lesson"):
        text, picture, question = st.container(), st.container(), st.container()
    with text:
        if hall:
            title, words = (step.title, step.text) if lesson.trusted else (plain(step.title), plain(step.text))
            with st.container(key="atlas-line"):
                st.markdown(terms(first_sentence(f"**{title}** {words}")))
        else:
            _place(lesson, number)
            if number == 1 and lesson.can:
                can = "; ".join(_words(lesson, phrase) for phrase in lesson.can)
                st.caption(f"{view.words.part('Can')} {can}.")  # small, so that the question stands above the fold
            st.subheader(_words(lesson, step.title), anchor=False)
            st.markdown(_words(lesson, step.text))
    with picture:
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
                "presented": hall,
                "covered": covered,
                "cover": view.words.part("Covered"),
            },
        )
        if not covered:
            page_link(step.page, view.words.label("open"), step.query, icon=":material/open_in_full:")
    with question:
        with sentences():
            _question(view, lesson, number, at)
        _steps(view, lesson, number)
        if step.note and state.text("notes") == "yes":
            st.info(_words(lesson, step.note), icon=":material/co_present:")


def _place(lesson: Lesson, number: int) -> None:
    """The lesson, and how far its step ``number`` is."""
    last = len(lesson.steps)
    st.progress(min(number, last) / last, f"{plain(lesson.title)} · {min(number, last)} / {last}")


def _end(view: View, lesson: Lesson) -> None:
    """The recap, how many questions were answered correctly at once, those that were not, and the next lesson."""
    _place(lesson, len(lesson.steps) + 1)
    st.subheader(view.words.label("end"), anchor=False)
    if lesson.recap:
        st.markdown("\n".join(f"{i}. {_words(lesson, sentence)}" for i, sentence in enumerate(lesson.recap, 1)))
    questions = {
        number: [_tried().get(_slot(lesson, number, at)) for at in range(len(step.variants))]
        for number, step in enumerate(lesson.steps, 1)
        if step.check
    }
    if questions:
        right = sum(first is not None and bool(first.at_once) for first, *_ in questions.values())
        st.markdown(view.words.part("Score", right=right, questions=len(questions)))
    missed = [number for number, tried in questions.items() if not any(each and each.at_once for each in tried)]
    if missed:
        here = {name: text for name in (LESSON.name, FILE.name) if (text := view.state.text(name))}
        st.markdown(view.words.part("Missed"))
        for number in missed:
            label = plain(f"{number}. {lesson.steps[number - 1].title}")
            page_link(FOLDER, label, here | {STEP.name: str(number)}, icon=":material/replay:")
    after = iter(lessons())
    if lesson.slug and any(other.slug == lesson.slug for other in after):
        following = next((other for other in after if isinstance(other, Lesson)), None)
        if following is not None:
            label = view.words.part("Next lesson", title=plain(following.title))
            page_link(FOLDER, f"**{label}**", {"lesson": following.slug}, icon=":material/arrow_forward:")
    _steps(view, lesson, len(lesson.steps) + 1)


def _steps(view: View, lesson: Lesson, number: int) -> None:
    """Previous, Next and the list of lessons; after the last step comes the end."""
    key, last = view.state.key("view"), len(lesson.steps)
    with st.container(horizontal=True, gap="small"):
        for label, by, icon in (("Previous", -1, "arrow_back"), ("Next", 1, "arrow_forward")):
            if number + by > last + 1:
                continue
            st.button(
                label,
                key=view.state.key(f"by.{by}"),
                icon=f":material/{icon}:",
                type="primary" if by == 1 else "secondary",
                disabled=number + by < 1,
                on_click=VIEW.put,
                args=(key, Opened(step=max(number + by, 1))),
            )
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        page_link(FOLDER, view.words.label("all"), {}, icon=":material/list:")
        notes = NOTES.draw(view.state)
    download(
        "HTML",
        partial(handout, lesson, site(), notes=notes),
        lesson.slug or "lesson",
        view.state.key("handout"),
        of="handout",
        tip=view.words.part("Handout"),
    )
    if any(step.check for step in lesson.steps):
        download(
            "HTML",
            partial(key_page, lesson, _printed),
            f"{lesson.slug or 'lesson'}-key",
            view.state.key("key"),
            of="key",
        )


def _printed(step: Step) -> str:
    """The answer to a step's question on paper."""
    assert step.check is not None
    return shown(answer(step.check.model_dump_json(), tuple(map(session.files, step.check.models()))))


@dataclass(slots=True)
class _Tried:
    """What somebody answered to a question in this session."""

    reply: Answer | None
    """The last answer; None where the question has been asked again since."""
    at_once: bool | None = None
    """Whether the first answer was right, once it has been compared."""
    shown: bool = False
    """Whether the answer was asked for."""


Slot = tuple[str, str, int, int]
"""A question: its lesson, by slug and title, its step, and its variant."""


def _tried() -> dict[Slot, _Tried]:
    answers: dict[Slot, _Tried] = st.session_state.setdefault(_ANSWERS, {})
    return answers


def _answered(slot: Slot) -> _Tried | None:
    tried = _tried().get(slot)
    return None if tried is None or tried.reply is None else tried


def _slot(lesson: Lesson, number: int, at: int) -> Slot:
    return lesson.slug, lesson.title, number, at


def _variant(lesson: Lesson, number: int) -> int:
    """Which variant of the question of step ``number`` is asked; 0 is the step's own."""
    stored: int = st.session_state.get(_VARIANTS, {}).get(_slot(lesson, number, 0), 0)
    return stored % len(lesson.steps[number - 1].variants)


def _box(view: View, slot: Slot) -> str:
    lesson, _, number, at = slot
    return view.state.key(f"answer.{lesson}.{number}.{at}")


def _question(view: View, lesson: Lesson, number: int, at: int) -> None:
    """The question of a step, the verdict once somebody has answered, and below it the answers."""
    variants = lesson.steps[number - 1].variants
    step = variants[at]
    if (quiz := step.quiz) is None or step.check is None:
        return
    asks = f"*{view.words.label(step.asks)}:* " if step.asks else ""
    st.markdown(f"{asks}**{_words(lesson, quiz.text)}**")
    verdict_box = st.container()  # above the answers, so that whoever sees *Check* sees it
    slot = _slot(lesson, number, at)
    box = _box(view, slot)
    with st.container(horizontal=True, gap="small"):
        reply = ask(quiz, box, titled=True, write=partial(_words, lesson))
        st.button("Check", key=f"{box}.check", on_click=_take_answer, args=(slot, box))
        tried = _answered(slot)
        if tried is not None and len(variants) > 1:
            after = _slot(lesson, number, (at + 1) % len(variants))
            again = view.words.label("again")
            st.button(again, key=f"{box}.again", icon=":material/shuffle:", on_click=_ask_again, args=(view, after))
    if tried is None or not (tried.shown or reply == tried.reply):
        return
    try:
        computed = answer(step.check.model_dump_json(), tuple(map(session.files, step.check.models())))
        if quiz.options and computed not in quiz.texts:
            raise ContentUnusable(f"The answer is “{str(computed)[:60]}”, which is none of the options.")
    except AtlasError as failure:
        raise ContentUnusable(f"{lesson.file}, step {number} “{step.title[:60]}”: {failure}") from failure
    right = tried.reply is not None and quiz.right(tried.reply, computed)
    if tried.at_once is None:
        tried.at_once = right and not tried.shown
    with verdict_box, st.container(key="atlas-verdict", gap="small"):
        _verdict(view, lesson, step, computed, right=right, tried=tried)


def _verdict(view: View, lesson: Lesson, step: Step, computed: Answer, *, right: bool, tried: _Tried) -> None:
    """Why the answer is right, or what is wrong with it; then comes the answer if somebody asks for it."""
    assert step.check is not None
    value = view.words.part(step.check.way(), answer=plain(shown(computed)))
    if sources := "; ".join(step.check.sources()):
        value += f" ({plain(sources)})"
    because = f"\n\n{_words(lesson, step.because)}" if step.because else ""
    if right:
        verdict(f"{terms(view.words.part('Right'))} {value}{because}", right=True)
    elif tried.shown:
        verdict(f"{value}{because}")
    else:
        verdict(f"{terms(view.words.part('Not this'))}{_correction(lesson, step, tried.reply)}", right=False)
        key = view.state.key("show")
        st.button(view.words.label("show"), key=key, type="tertiary", on_click=setattr, args=(tried, "shown", True))


def _correction(lesson: Lesson, step: Step, reply: Answer | None) -> str:
    """The misconception behind a wrong answer, and what is true instead; else the step's hint."""
    wrong = step.quiz.behind(reply) if step.quiz and reply is not None else None
    name = f" *{_words(lesson, wrong.misconception)}*" if wrong and wrong.misconception else ""
    if wrong and wrong.because:
        return f"{name} {_words(lesson, wrong.because)}"
    hint = step.hint or step.because
    return f"{name}\n\n{_words(lesson, hint)}" if hint else name


def _take_answer(slot: Slot, box: str) -> None:
    """Take what stands in a question's box as the answer; an empty one is none."""
    reply: Answer | None = st.session_state.get(box)
    if reply is None:
        return
    _tried().setdefault(slot, _Tried(reply)).reply = reply


def _ask_again(view: View, slot: Slot) -> None:
    """Ask the variant of a question that ``slot`` names, unanswered."""
    lesson, title, number, at = slot
    st.session_state.setdefault(_VARIANTS, {})[lesson, title, number, 0] = at
    if tried := _tried().get(slot):
        tried.reply, tried.shown = None, False
    st.session_state[_box(view, slot)] = None


@session.cached("running-the-model")
def answer(check: str, files: tuple[Any, ...]) -> Answer:
    """The answer to a check, given as JSON; ``files`` are the states of its models' files."""
    return compute(_CHECK.validate_json(check))


def shown(computed: Answer) -> str:
    """An answer as the page prints it."""
    if isinstance(computed, str):
        return computed
    return f"{computed:,}" if isinstance(computed, int) else f"{computed:.3g}"


def _words(lesson: Lesson, text: str) -> str:
    """A text of a lesson as Markdown; what a visitor brought is shown as it is."""
    return terms(text) if lesson.trusted else plain(text)


LESSONS = Section("lessons", draw_lessons, (ARRANGED, LESSON, STEP, FILE, NOTES))
