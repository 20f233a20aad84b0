"""The decoder's demo: text that grows token by token, with every step open to be taken differently."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import streamlit as st

from core import session
from core.errors import AtlasError, OutOfRange
from core.language.tokens import visible
from core.language.types import Decoding, GenerationStep, Token
from core.links import parameters as link
from core.ui.demos.cover import switch, uncovered, verdict, walk
from core.ui.demos.decoding import DECODING, LENGTH, decoding_controls, effective, explain_decoding
from core.ui.demos.demo import Demo, DemoView
from core.ui.demos.samples import sample_pills
from core.ui.demos.steps import alternatives_panel, beams_table, draw_text, how_it_ended, step_chips, steps_table
from core.ui.notices import warned
from core.ui.page import plain
from core.ui.param import Carried, Text
from core.ui.text_box import standing

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

DEFAULT_TEXT = "Once upon a time there was a little girl who"
SAMPLES = {
    "A story": DEFAULT_TEXT,
    "A dog": "One day, a small dog found a red ball in the garden. The dog",
    "A quarrel": "Tom and Anna both wanted the last cake. “It is mine,” said Tom. Anna",
    "A mystery": "The old man opened the door and saw",
}
TEXT = Text(
    name="text",
    label="Prompt",
    default=DEFAULT_TEXT,
    height=68,
    hide_label=True,
    placeholder="The model continues from here",
)
FORCED = Carried(name="forced", label="Tokens chosen by hand", as_=link.Integers(high=10**6, most=200))
"""The ids up to and including the last token that was chosen by hand."""
STEP = Carried(name="step", label="Step", as_=link.Integer(None, 1, 200))
LONG = LENGTH.with_(default=120)
"""Of the models of the branch for long texts, one of which writes bytes."""
_PAUSE = 0.04
"""Seconds between two pictures of the growing text: more often would cost more than the model."""


@dataclass(slots=True)
class _Run:
    """One generation; lives in the session, so that what was made before a stop or a click is not lost."""

    wanted: tuple[Any, ...]
    steps: list[GenerationStep] = field(default_factory=list)
    path: tuple[GenerationStep, ...] = ()
    over: bool = False
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is generated: the prompt, how, along which path, and whether the next token waits for a guess."""

    view: DemoView
    prompt: str
    decoding: Decoding
    forced: tuple[int, ...]
    covered: bool

    @property
    def key(self) -> str:
        """Where the session keeps what belongs to it."""
        return self.view.state.key("generate")


def draw(view: DemoView) -> None:
    """Draw the demo."""
    spec, state = view.spec, view.state
    codes = dict(spec.card.extra.get("codes", {})) if spec.card is not None else {}
    if codes:
        label, token = next(iter(codes.items()))
        others = ", ".join(other for other in codes.values() if other != token)
        view.note("Code", code=plain(label), others=plain(others))
    box = f"{TEXT.name}.prompt"
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption("Prompts", width="content")
        boxes = {state.key(box): standing(state, TEXT.name, TEXT.default, key=box)}
        samples = {name: (text,) for name, text in SAMPLES.items()}
        sample_pills("Prompts to try", samples, state.key("prompt.sample"), boxes)
    prompt = TEXT.draw(state, tag="prompt")
    decoding = decoding_controls(state, LONG if spec.branch == "efficient" else LENGTH)
    covered = switch(state)
    asked = _Asked(view, prompt, decoding, _path_taken(view, prompt), covered)
    try:
        run = _run(asked)
    except AtlasError as error:
        warned(str(error), icon=":material/info:")
        explain_decoding(view)
        return
    state.set(forced=run.wanted[-1])
    if not run.path:
        return
    slot = f"{asked.key}.step"
    step = min(max(int(st.session_state.get(slot, state.number(STEP.name, 1) - 1)), 0), len(run.path) - 1)
    step, other = (_guessed if covered else _explored)(asked, run, step)
    st.session_state[slot] = step
    state.set(step=step + 1 if step else None)
    if other is not None:  # begin anew with another token at this step
        st.session_state[f"{asked.key}.forced"] = (*(s.token.id for s in run.path[:step]), other)
        st.rerun()
    if not covered:
        _repeats(view, run, decoding)
        steps_table(run.path)
        explain_decoding(view)


def _path_taken(view: DemoView, prompt: str) -> tuple[int, ...]:
    """The path chosen by hand; it belongs to one prompt and one vocabulary and goes with them."""
    state = view.state
    slot, owner = state.key("generate.forced"), state.key("generate.owner")
    now = (view.spec.slug, prompt)
    if owner not in st.session_state:
        st.session_state[slot] = state.integers(FORCED.name)
    elif st.session_state[owner] != now:
        st.session_state[slot] = ()
    st.session_state[owner] = now
    return tuple(st.session_state[slot])


def _run(asked: _Asked) -> _Run:
    """The generation that is asked for; without a path that was chosen in another vocabulary."""
    try:
        return _generate(asked, asked.forced)
    except OutOfRange as error:
        if not asked.forced:
            raise
        warned(f"{error} The path that was chosen by hand is left out.", icon=":material/info:")
        st.session_state[f"{asked.key}.forced"] = ()
        return _generate(asked, ())


def _generate(asked: _Asked, forced: tuple[int, ...]) -> _Run:
    """The generation along ``forced``: kept from the run before, or streamed now."""
    from core.language.generate import generate, replay

    spec, prompt, decoding, key = asked.view.spec, asked.prompt, asked.decoding, asked.key
    wanted = (spec.slug, prompt, effective(decoding), forced)
    run: _Run | None = st.session_state.get(f"{key}.run")
    if run is None or run.wanted != wanted:
        run = st.session_state[f"{key}.run"] = _Run(wanted)
    buttons = st.empty()  # above the text, which moves what is below it while it grows
    place = st.empty()
    beam = decoding.strategy == "beam"
    if not run.over:
        made = tuple(step.token.id for step in run.steps)
        if beam:
            run.steps.clear()  # a beam cannot be taken up half-way: its other hypotheses are gone
        resumed = forced if beam or len(made) < len(forced) else made
        stream = generate(session.checkpoint(spec.slug), prompt, decoding, forced=resumed)
        buttons.button("Stop", key=f"{key}.stop", icon=":material/stop:", on_click=_stop, args=(run,))
        drawn = 0.0
        for step in stream:
            if step.index < len(run.steps):
                continue
            run.steps.append(step)
            if not asked.covered and time.monotonic() - drawn > _PAUSE:
                draw_text(place, prompt, step.text, spec.branch, growing=True)
                drawn = time.monotonic()
        run.over = True
    if run.steps and not run.path:
        last = run.steps[-1]
        run.path = replay(session.checkpoint(spec.slug), prompt, last.ids) if beam else tuple(run.steps)
    if run.steps and not asked.covered:
        draw_text(place, prompt, run.steps[-1].text, spec.branch)
    _buttons(buttons, run, forced, key)
    return run


def _stop(run: _Run) -> None:
    run.over = run.stopped = True


def _buttons(place: DeltaGenerator, run: _Run, forced: tuple[int, ...], key: str) -> None:
    """What can be done with a finished text: go on after a stop, drop the path."""

    def go_on() -> None:
        run.over = run.stopped = False
        run.path = ()

    def again() -> None:
        st.session_state[f"{key}.forced"] = ()
        st.session_state.pop(f"{key}.run", None)

    with place.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Generate",
            key=f"{key}.again",
            type="primary",
            icon=":material/play_arrow:",
            on_click=again,
            help="From the beginning, without tokens chosen by hand",
        )
        if run.stopped:
            st.button("Go on", key=f"{key}.on", on_click=go_on)
        if forced:
            st.caption(f"Step {len(forced)} was chosen by hand; the steps before it are kept.")


def _explored(asked: _Asked, run: _Run, step: int) -> tuple[int, int | None]:
    """Chips of the generated tokens and the alternatives of one step.

    Returns:
        The step looked at, from 0, and the id of another token to go on with, if one was chosen.
    """
    view, key, branch = asked.view, asked.key, asked.view.spec.branch
    tokens = _tokens(view.spec.slug, tuple(s.token.id for s in run.path))
    forced = run.wanted[-1]
    step = step_chips(run.path, tokens, step, key=key, branch=branch, by_hand=len(forced) - 1 if forced else None)
    ended = "Stopped." if run.stopped else how_it_ended(run.steps[-1], view.spec.name)
    st.caption(f"{len(run.path)} tokens, each with its probability as a bar at its foot. {ended}")
    other = alternatives_panel(run.path, step, asked.decoding, key=key, branch=branch)
    beams_table(run.steps, step)
    view.try_and_notice()
    return step, other


def _guessed(asked: _Asked, run: _Run, step: int) -> tuple[int, int | None]:
    """The text as far as the step that is looked at, and a box for a guess at the next token; as `_explored`."""
    view, key, branch, path = asked.view, asked.key, asked.view.spec.branch, run.path
    now, place = path[step], st.empty()

    def judge(guess: str) -> str:
        words = [option.text for option in now.alternatives]
        chances = [option.probability for option in now.alternatives]
        return verdict(guess, words, chances, now.token.text.strip() or visible(now.token.text))

    question = ((view.spec.slug, effective(asked.decoding)), asked.prompt, now.ids[:step], step)
    shown = uncovered(view.state, question, f"Your guess at token {step + 1}", judge, on=True)
    before = path[step - 1].text if step else ""
    draw_text(place, asked.prompt, now.text if shown else f"{before} ▢", branch, room="0")
    other = alternatives_panel(path, step, asked.decoding, key=key, branch=branch) if shown else None
    walk(f"{key}.step", step, len(path), "token")
    view.try_and_notice("covered")
    return step, other


def _repeats(view: DemoView, run: _Run, decoding: Decoding) -> None:
    """How much the text repeats itself, measured on it."""
    from core.language.generate import repetition

    view.say("Repeats", share=f"{repetition([step.token.id for step in run.path]):.0%}")
    view.say(f"Repeats: {'greedy' if decoding.strategy == 'greedy' else 'other'}")


def _tokens(slug: str, ids: Sequence[int]) -> tuple[Token, ...]:
    from core.language.tokens import describe

    return describe(session.checkpoint(slug).tokenizer, ids)


@session.cached("Generating")
def generated(
    slug: str, prompt: str, decoding: Decoding, forced: tuple[int, ...]
) -> tuple[tuple[Token, ...], tuple[GenerationStep, ...]]:
    """Prompt tokens and steps with attention of the same text without the demo, for a page's section on heads."""
    from core.language.generate import generate, prompt_ids, replay

    checkpoint = session.checkpoint(slug)
    steps = tuple(generate(checkpoint, prompt, decoding, forced=forced))
    if decoding.strategy == "beam":
        steps = replay(checkpoint, prompt, steps[-1].ids)
    return _tokens(slug, prompt_ids(checkpoint, prompt)), steps


GENERATE = Demo("text", draw, lambda spec: spec.offers("continues"), (TEXT, *DECODING, FORCED, STEP))
