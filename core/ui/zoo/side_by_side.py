"""Two live models on one sentence, each on its own task, on one scale."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import streamlit as st

from core import session
from core.checkpoints.listing import live
from core.checkpoints.spec import CheckpointSpec
from core.content import content
from core.errors import AtlasError
from core.figures.predictions import percent
from core.language.guesses import MAX_CHARS as GUESS_CHARS
from core.language.guesses import same_word
from core.language.replaced import Detection
from core.language.side_by_side import MAX_CHARS, Answer, Continued, Filled, Word, carry_over, default_mask, split
from core.language.side_by_side import answer as answer_of
from core.language.tasks import tasks
from core.language.text import clean
from core.links import parameters as link
from core.ui.chips import token_chips
from core.ui.demos.cover import SENTENCE_CHARS, switch, uncovered, verdict, words_shared
from core.ui.links import PageState
from core.ui.notices import info
from core.ui.page import plain
from core.ui.param import Carried, Choice, Text
from core.ui.section import Section, View
from core.ui.zoo.answers import draw_answers, pictures

SAMPLES = {
    "Tired children": "The children were tired, so they went to bed.",
    "A cup of tea": "My sister drinks a cup of tea every morning.",
    "A capital": "The capital of France is Paris.",
    "A dog": "The dog ran into the garden and barked at the cat.",
}
LEFT = Choice(name="left", label="First model", options={}, width=335)
RIGHT = Choice(name="right", label="Second model", options={}, width=335)
TASK = Choice(name="task", label="Task", options={}, width=270)
TEXT = Text(
    name="text",
    label="Sentence",
    default=next(iter(SAMPLES.values())),
    height=68,
    samples=SAMPLES,
    placeholder="A sentence",
    hide_label=True,
    sentence="plain",
)
MASK = Carried(name="mask", label="Masked words", as_=link.Integers(high=599, most=64))
COVER = Carried(name="cover", label="Guess first", as_=link.Choice(None, ("yes", "no")))


def side_by_side(view: View) -> None:
    """Draw the section."""
    state = view.state
    models = [model.spec for model in live()]
    specs = {spec.slug: spec for spec in models if spec.family.does}
    if not specs:
        info(view.words.part("None fits"))
        return
    names = {slug: f"{spec.family.verb} · {spec.name}" for slug, spec in specs.items()}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        pair = tuple(
            specs[param.with_(options=names, default=usual).draw(state)]
            for param, usual in zip((LEFT, RIGHT), usual_pair(list(specs.values())), strict=True)
        )
        task = _task(pair, state)
    text = TEXT.draw(state)
    words = split(clean(text, MAX_CHARS))
    masked = _masked(words, pair, state)
    answers = [_answer_or_reason(spec, text, masked, task) for spec in pair]
    if _uncovered(state, pair, answers, words, masked, (text, task)):
        draw_answers(view, pair, answers, words, masked)
    if others := [spec.name for spec in models if not spec.family.does]:
        view.note("Not compared", models=plain(", ".join(others)))


def usual_pair(specs: Sequence[CheckpointSpec]) -> tuple[str, str]:
    """The default pair: the first two of one kind, else the first two, else one model twice."""
    for first, second in combinations(specs, 2):
        if first.kind == second.kind:
            return first.slug, second.slug
    return specs[0].slug, specs[min(1, len(specs) - 1)].slug


def _task(pair: Sequence[CheckpointSpec], state: PageState) -> str | None:
    """The task of an encoder-decoder; the same for both models if both offer it."""
    writers = [spec for spec in pair if spec.offers("rewrites")]
    if not writers:
        return None
    labels: dict[str, str] = {}
    for spec in writers:
        with st.spinner(session.waiting("loading-a-model", model=plain(spec.name))):
            offered = session.computed("", tasks, spec.slug)
        labels |= {task.slug: task.label for task in offered if task.slug not in labels}
    return TASK.with_(options=labels).draw(state, tag=".".join(spec.slug for spec in writers))


def _masked(words: Sequence[Word], pair: Sequence[CheckpointSpec], state: PageState) -> tuple[int, ...]:
    """The masked words, selected on chips; none if neither model fills masks."""
    slot, before = state.key("hidden"), state.key("cut")
    now = [word.text for word in words]
    if before not in st.session_state:
        linked = tuple(i for i in state.integers("mask") if i < len(words) and words[i].is_word)
        st.session_state[slot] = linked or default_mask(words)
    elif st.session_state[before] != now:
        carried = carry_over(st.session_state[before], now, st.session_state[slot])
        st.session_state[slot] = default_mask(words) if carried is None else carried
    st.session_state[before] = now
    fillers = [spec for spec in pair if spec.offers("predicts masked tokens")]
    if not fillers:
        state.set(mask=())
        return ()
    fixed = [i for i, word in enumerate(words) if not word.is_word]
    masked = token_chips(
        now,
        selected=st.session_state[slot],
        key=state.key("words"),
        multi=True,
        accent=fillers[0].branch,
        label="Words to mask",
        disabled=fixed,
        held=[i for i in fixed if words[i].mask],
    )
    st.session_state[slot] = masked
    state.set(mask=() if masked == default_mask(words) else masked)
    return masked


def _answer_or_reason(spec: CheckpointSpec, text: str, masked: tuple[int, ...], task: str | None) -> Answer | str:
    """The answer of one model, or the reason why there is none."""
    with st.spinner(session.waiting("running-a-model", model=plain(spec.name))):
        try:
            return session.computed("", answer_of, spec.slug, text, masked, task if spec.offers("rewrites") else None)
        except AtlasError as error:
            return str(error)


def _uncovered(
    state: PageState,
    pair: Sequence[CheckpointSpec],
    answers: Sequence[Answer | str],
    words: Sequence[Word],
    masked: Sequence[int],
    inputs: object,
) -> bool:
    """Whether the answers may be drawn; otherwise request a guess.

    :param asked: identifies the question: sentence and task.
    """
    there = [answer for answer in answers if not isinstance(answer, str)]
    if not switch(state) or not there:
        return True

    def judge(guess: str) -> str:
        return " ".join(
            f"{spec.name}: {_judged(guess, answer, words, masked)}"
            for spec, answer in zip(pair, answers, strict=True)
            if not isinstance(answer, str)
        )

    texts = any(not isinstance(answer, Filled | Continued | Detection) for answer in there)
    question = ("zoo", *(spec.slug for spec in pair), inputs, tuple(masked))
    return uncovered(state, question, _label(there), judge, most=SENTENCE_CHARS if texts else GUESS_CHARS, on=True)


def _label(answers: Sequence[Answer]) -> str:
    """The label of the box."""
    words = content("zoo", "compare")
    kinds = {type(answer) for answer in answers}
    if kinds == {Filled}:
        return words.label("guess-mask")
    if kinds == {Continued}:
        return words.label("guess-token")
    if kinds == {Detection}:
        return words.label("guess-replaced")
    return words.label("guess-outputs")


def _judged(guess: str, answer: Answer, words: Sequence[Word], masked: Sequence[int]) -> str:
    """The verdict on a guess, given one model's answer."""
    if isinstance(answer, Filled | Continued):
        first = next(iter(pictures(answer, words, masked)), None)
        return (
            verdict(guess, first.labels, first.probabilities)
            if first
            else content("zoo", "compare").part("No prediction")
        )
    if isinstance(answer, Detection):
        (picture,) = pictures(answer, words, masked)
        best = max(range(len(picture.labels)), key=lambda i: picture.probabilities[i])
        right = same_word(guess, picture.labels[best])
        chance = percent(picture.probabilities[best])
        return f"{'Right' if right else 'Wrong'}: the token most likely replaced is “{picture.labels[best]}”, {chance}."
    return words_shared(guess, answer.steps[-1].text if answer.steps else "")


SIDE = Section("compare", side_by_side, (LEFT, RIGHT, TASK, TEXT, MASK, COVER))
