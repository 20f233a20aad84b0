"""“Guess first”: a switch that every demo can have, which covers its answers until the visitor has guessed or asks.

The link carries the switch as ``cover``. A demo that has its answer asks :func:`uncovered` and draws nothing of it
while that says no, so that no answer is in the page before it is shown. What was guessed belongs to the
question: another sentence is covered anew, and one that was shown stays so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from zlib import crc32

import streamlit as st

from core.figures.predictions import percent
from core.language.guesses import MAX_CHARS, among, same_word
from core.language.tokens import visible
from core.language.types import GenerationStep
from core.ui.links import PageState
from core.ui.notices import info
from core.ui.page import plain
from core.ui.param import Toggle

COVER = Toggle(name="cover", label="Guess first", help="Cover the answers until you have guessed")
Judge = Callable[[str], str]
"""What is said of a guess, in plain text."""
SENTENCE_CHARS = 300
"""The longest guess where a whole sentence is guessed."""
_MOST = 60


def switch(state: PageState) -> bool:
    """Draw the switch; whether answers wait for a guess."""
    return COVER.draw(state)


def uncovered(
    state: PageState,
    question: object,
    label: str,
    judge: Judge,
    *,
    choices: Sequence[str] = (),
    most: int = MAX_CHARS,
    on: bool | None = None,
) -> bool:
    """Whether the answer to ``question`` may be drawn; else draw a box for a guess, and a button that shows it.

    :param question: what is asked, as a value whose ``repr`` tells it from every other question of the page.
    :param label: over the box.
    :param judge: called with the guess once it is made.
    :param choices: what can be guessed, where that is a few things and not a word.
    :param most: the longest guess that is read, in characters; a longer one than a word gets a wider box.
    :param on: whether the switch is on, where it stands elsewhere; None draws it here.
    """
    if not (switch(state) if on is None else on):
        return True
    shown, name = _shown(state), repr(question)

    def show(guess: str | None) -> None:
        shown[name] = guess
        while len(shown) > _MOST:
            shown.pop(next(iter(shown)))

    def again() -> None:
        shown.pop(name, None)

    if name in shown:
        _told(state.key(f"cover.again.{crc32(name.encode())}"), shown[name], judge, again)
        return True
    _ask(state.key(f"cover.guess.{crc32(name.encode())}"), label, choices, most, show)
    return False


def beside(state: PageState, slug: str) -> bool:
    """Whether another section may show what the model ``slug`` wrote, which the demo covers; else say so, and ask."""
    question = ("beside", slug, state.text("text"))
    if state.text("cover") != "yes" or was_shown(state, question):
        return True

    def show() -> None:
        _shown(state)[repr(question)] = None

    with st.container(horizontal=True, vertical_alignment="center"):
        info("“Guess first” is on in the demo, and these heads would show what the model generated.")
        st.button("Show the heads", key=state.key("cover.beside"), on_click=show)
    return False


def was_shown(state: PageState, question: object) -> bool:
    """Whether the answer to ``question`` has been uncovered."""
    return repr(question) in _shown(state)


def _shown(state: PageState) -> dict[str, str | None]:
    """What was guessed, by question; None where the answer was asked for. Forgotten when the page is reset."""
    shown: dict[str, str | None] = st.session_state.setdefault(f"{state.page}.cover.shown", {})
    return shown


def _told(key: str, guess: str | None, judge: Judge, again: Callable[[], None]) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        if guess is not None:
            st.markdown(f"**You guessed “{plain(guess)}”.** {plain(judge(guess))}")
        st.button("Cover again", key=key, on_click=again)


def _ask(key: str, label: str, choices: Sequence[str], most: int, show: Callable[[str | None], None]) -> None:
    unread = f"{key}.unread"

    def send() -> None:
        guess = str(st.session_state.get(key) or "").strip()
        # A mark alone can be a right guess, too: a token may be a comma.
        st.session_state[unread] = not any(character.isprintable() for character in guess)
        if not st.session_state[unread]:
            show(guess)

    with st.container(horizontal=True, vertical_alignment="bottom"):
        if choices:
            st.pills(
                label,
                list(dict.fromkeys(choices)),
                key=key,
                persist_state="page",
                on_change=send,
                wrap=True,
                format_func=_short,
            )
        else:
            st.text_input(
                label,
                key=key,
                persist_state="page",
                max_chars=most,
                on_change=send,
                width=300 if most <= MAX_CHARS else "stretch",
                placeholder="Your guess, then Enter",
            )
        st.button("Show", key=f"{key}.show", on_click=show, args=(None,))
    if st.session_state.get(unread) and not choices:
        st.caption("That holds no word. Type one, or choose Show.")


def walk(slot: str, step: int, count: int, what: str) -> None:
    """Buttons to the next of ``count`` things that are guessed one by one, and to the one before.

    :param slot: where the session keeps the one that is looked at, from 0; that is ``step`` now.
    :param what: what is guessed, as one word in small letters.
    """

    def go(to: int) -> None:
        st.session_state[slot] = to

    with st.container(horizontal=True):
        for name, to in ((f"Next {what}", step + 1), (f"Previous {what}", step - 1)):
            st.button(name, key=f"{slot}.to.{name}", disabled=not 0 <= to < count, on_click=go, args=(to,))


def step_of(state: PageState, slot: str, count: int) -> int:
    """Which of ``count`` steps is looked at, from 0: what the session keeps in ``slot``, or the link's ``step``."""
    return min(max(int(st.session_state.get(slot, state.number("step", 1) - 1)), 0), count - 1)


def keep_step(state: PageState, slot: str, step: int) -> None:
    """Keep the step that is looked at, from 0, for the next run and for the link."""
    st.session_state[slot] = step
    state.set(step=step + 1 if step else None)


def _short(text: str) -> str:
    return text if len(text) <= 34 else text[:33].rstrip() + "…"


def choice(guess: str, answers: Sequence[str], chances: Sequence[float]) -> str:
    """What is said of a guess that was one of ``answers``: whether the model gives most to it."""
    best = max(range(len(answers)), key=lambda i: chances[i])
    if guess == answers[best]:
        return f"Right: it has the highest probability, {percent(chances[best])}."
    return f"Wrong: “{answers[best]}” has the highest probability, {percent(chances[best])}."


def verdict(guess: str, words: Sequence[str], chances: Sequence[float], truth: str = "") -> str:
    """What is said of a guess: whether it is what stood there, where that is known, and what the model gives to it.

    :param words: the model's answers, best first, with their ``chances``.
    :param truth: what stood there; empty where nobody knows, and the model's first answer is what there is to find.
    """
    at = among(guess, words)
    given = f"at {percent(chances[at])}" if at is not None else ""
    if truth:
        first = "Right: that is the original." if same_word(guess, truth) else f"Wrong: the original is “{truth}”."
        if at is None:
            return f"{first} Your word is not among the model's top {len(words)} predictions."
        return f"{first} Your word is the model's prediction {at + 1}, {given}."
    if at == 0:
        return f"Right: it is the model's top prediction, {given}."
    if at is None:
        return f"Wrong: it is not among the model's top {len(words)} predictions."
    return f"Wrong, but close: it is the model's prediction {at + 1}, {given}."


def token_verdict(step: GenerationStep) -> Judge:
    """What is said of a guess at the token that was generated in a step."""
    words = [option.text for option in step.alternatives]
    chances = [option.probability for option in step.alternatives]
    truth = step.token.text.strip() or visible(step.token.text)
    return lambda guess: verdict(guess, words, chances, truth)
