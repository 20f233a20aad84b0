"""“Guess first”: a switch that every demo can have, which covers its answers until the visitor has guessed or asks.

The URL stores the switch as ``cover``. A demo calls :func:`uncovered` and draws no answer
while it returns False, so that the page contains none before it is shown. A guess belongs to its
question: a new sentence is covered again, and one that was shown stays uncovered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from zlib import crc32

import streamlit as st

from core.content import Content, content
from core.figures.labels import percent
from core.language.guesses import MAX_CHARS, among, in_order, plain_words, same_word
from core.language.types import GenerationStep
from core.links import parameters as link
from core.quiz import Option, Quiz
from core.ui.links import PageState, within
from core.ui.page import plain
from core.ui.param import Carried, Toggle
from core.ui.quiz import ask
from core.ui.quiz import verdict as verdict_on
from core.ui.slot import Slot
from core.words import visible

COVER = Toggle(name="cover", label="Guess first")
STEP = Carried(name="step", label="Step", as_=link.Integer(None, 1, 1_000))
Judge = Callable[[str], str]
"""The verdict on a guess, in plain text."""
SENTENCE_CHARS = 300
"""The most characters of a guess at a whole sentence."""
BACK = ("Word for word", "All but one or two words", "Less than that")
_MOST = 60


def _words() -> Content:
    return content("demos", "cover")


def explained() -> Toggle:
    """The switch with its help; where a demo has a menu of settings, it stands there."""
    return COVER.with_(help=_words().label("help"))


def switch(state: PageState) -> bool:
    """Draw the switch; return whether answers wait for a guess."""
    return explained().draw(state)


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

    :param question: a value whose ``repr`` identifies the question on the page.
    :param label: over the box.
    :param judge: called with the guess.
    :param choices: the possible guesses, if they are few.
    :param most: the most characters of a typed guess.
    :param on: the state of a switch drawn elsewhere; None draws the switch here.
    """
    if not (switch(state) if on is None else on):
        return True
    shown, name = _shown(state), repr(question)
    key = state.key(f"cover.guess.{crc32(name.encode())}")
    if name not in shown:
        quiz = Quiz(text=label, options=tuple(Option(text=text) for text in dict.fromkeys(choices)), most=most)
        _guess_box(quiz, key, lambda guess: _show(state, question, guess))
        return False
    guess = shown[name]
    with st.container(horizontal=True, vertical_alignment="center"):
        if guess is not None:
            verdict_on(f"**You guessed “{plain(guess)}”.** {plain(judge(guess))}")
        st.button("Cover again", key=f"{key}.again", on_click=shown.__delitem__, args=(name,))
    return True


def was_shown(state: PageState, question: object) -> bool:
    """Whether the answer to ``question`` has been uncovered."""
    return repr(question) in _shown(state)


def _shown(state: PageState) -> dict[str, str | None]:
    """Guesses by question; None if the answer was requested. Reset deletes them."""
    shown: dict[str, str | None] = st.session_state.setdefault(f"{state.page}.cover.shown", {})
    return shown


def _show(state: PageState, question: object, guess: str | None) -> None:
    shown = _shown(state)
    shown[repr(question)] = guess
    while len(shown) > _MOST:
        shown.pop(next(iter(shown)))


def _guess_box(quiz: Quiz, key: str, show: Callable[[str | None], None]) -> None:
    def send() -> None:
        guess = str(st.session_state.get(key) or "").strip()
        if _readable(guess):
            show(guess)

    with st.container(horizontal=True, vertical_alignment="bottom"):
        guess = ask(quiz, key, send=send)
        st.button("Show", key=f"{key}.show", on_click=show, args=(None,))
    if guess is not None and not _readable(str(guess).strip()):
        st.caption(_words().part("No word"))


def _readable(guess: str) -> bool:
    # A mark alone can be a right guess, too: a token may be a comma.
    return any(character.isprintable() for character in guess)


def walk(step: Slot[int], count: int, what: str) -> None:
    """Draw buttons to the next and the previous of ``count`` things to guess, each called ``what``."""
    with st.container(horizontal=True):
        for name, to in ((f"Next {what}", step.get() + 1), (f"Previous {what}", step.get() - 1)):
            key = f"{step.key}.to.{name}"
            st.button(name, key=key, disabled=not 1 <= to <= count, on_click=step.set, args=(to,))


def step_of(state: PageState, count: int, owner: object) -> Slot[int]:
    """The current one of the ``count`` steps of ``owner``, from 1; another's may simply be fewer."""
    step = Slot(state, STEP, 1, owner=owner, carry=lambda former, at: min(at, count))
    step.set(within(state, STEP.label, step.get(), 1, count))
    return step


def choice(guess: str, answers: Sequence[str], chances: Sequence[float]) -> str:
    """The verdict on a guess among ``answers``: whether the model gives it the highest probability."""
    best = max(range(len(answers)), key=lambda i: chances[i])
    if guess == answers[best]:
        return _words().part("Choice: right", chance=percent(chances[best]))
    return f"Wrong: “{answers[best]}” has the highest probability, {percent(chances[best])}."


def choice_judge(right: Sequence[str], comment: str) -> Judge:
    """The verdict on a guess among choices, of which several may be right, with the same comment on each."""
    return lambda guess: f"{'Right' if guess in right else 'Wrong'}: {comment}"


def verdict(guess: str, words: Sequence[str], chances: Sequence[float], truth: str = "") -> str:
    """The verdict on a guess: whether it is the original, where known, and the probability the model assigns to it.

    :param words: the model's answers, best first, with their ``chances``.
    :param truth: the original word; where empty, the model's top prediction is the one to guess.
    """
    at, say = among(guess, words), _words().part
    numbers = {"count": len(words)} if at is None else {"rank": at + 1, "chance": percent(chances[at])}
    if truth:
        right = same_word(guess, truth)
        first = say("Original: right") if right else f"{say('Original: wrong')} “{truth}”."
        return f"{first} {say('Other word: absent' if at is None else 'Other word: rank', **numbers)}"
    return say("Word: absent" if at is None else "Word: first" if at == 0 else "Word: later", **numbers)


def token_verdict(step: GenerationStep) -> Judge:
    """The verdict on a guess at the token generated in a step."""
    words = [option.text for option in step.alternatives]
    chances = [option.probability for option in step.alternatives]
    truth = step.token.text.strip() or visible(step.token.text)
    return lambda guess: verdict(guess, words, chances, truth)


def text_uncovered(state: PageState, request: object, written: str, original: str | None) -> bool:
    """Whether a text that a model generated may be drawn; else ask for a guess at it.

    :param asked: identifies the text: model, task, input and settings.
    :param original: the text before corruption, if the visitor guesses how much of it the model
        reconstructs; None without corruption: the text itself is guessed.
    """
    question = ("text", request, written)  # the generation may have been stopped half-way
    if original is None:
        label = "Your guess at the text"
        return uncovered(
            state, question, label, lambda guess: words_shared(guess, written), most=SENTENCE_CHARS, on=True
        )

    judge = choice_judge((BACK[reconstruction_grade(original, written)],), words_reconstructed(original, written))
    return uncovered(state, question, _words().label("text"), judge, choices=BACK, on=True)


def words_reconstructed(before: str, after: str) -> str:
    """A sentence on how much of a text was reconstructed; words are compared in order."""
    old, new = before.split(), after.split()
    if old == new:
        return _words().part("Reconstructed")
    same = in_order(old, new)
    return _words().part("Partly reconstructed", same=same, old=len(old), new=len(new))


def reconstruction_grade(original: str, written: str) -> int:
    """The index in `BACK` of the entry that describes a reconstruction of ``original``."""
    old, new = original.split(), written.split()
    wrong = max(len(old), len(new)) - in_order(old, new)
    return 0 if old == new else 1 if wrong <= 2 else 2


def words_shared(guess: str, written: str) -> str:
    """The verdict on a guess at a whole text: how many of its words the guess contains, in order."""
    ours, theirs = plain_words(guess), plain_words(written)
    same = in_order(ours, theirs)
    if same == len(ours) == len(theirs):
        return _words().part("Text: right")
    if not theirs:
        return _words().part("Text: nothing")
    share = f"{100 * same / len(theirs):.0f}%"
    return _words().part("Text: partly", same=same, count=len(theirs), share=share)
