"""The decoder's demo: text that grows token by token, with every step open to be taken differently."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import streamlit as st

from core import session
from core.checkpoints.spec import CheckpointSpec
from core.errors import AtlasError, OutOfRange
from core.language.types import Decoding, GenerationStep, Token
from core.links import parameters as link
from core.ui.demos.cover import switch
from core.ui.demos.covered_steps import covered_steps
from core.ui.demos.decoding import DECODING, decoding_controls, decoding_of, effective, explain_decoding, next_seed
from core.ui.demos.demo import Demo, DemoView
from core.ui.demos.samples import sample_pills
from core.ui.demos.steps import alternatives_panel, beams_table, draw_text, how_it_ended, step_chips, steps_table
from core.ui.glossary import told
from core.ui.notices import warned
from core.ui.page import plain
from core.ui.param import Carried

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from core.ui.links import PageState

DEFAULT_TEXT = "Once upon a time there was a little girl who"
SAMPLES = {
    "A story": DEFAULT_TEXT,
    "A dog": "One day, a small dog found a red ball in the garden. The dog",
    "A quarrel": "Tom and Anna both wanted the last cake. “It is mine,” said Tom. Anna",
    "A mystery": "The old man opened the door and saw",
}
_PAUSE = 0.04
"""Seconds between two pictures of the growing text: more often would cost more than the model."""


@dataclass(frozen=True, slots=True)
class GenerateResult:
    """What a link to this view carries, and the steps for a picture of their attention."""

    text: str | None
    """The prompt; None for the page's own example."""
    decoding: Decoding
    forced: tuple[int, ...]
    """The ids up to and including the last token that was chosen by hand; empty when none was."""
    step: int | None
    """The step that is looked at, from 1; None for the first."""
    steps: tuple[GenerationStep, ...] = ()
    """The steps along the text, each with its attention rows; empty while there is none."""
    prompt_tokens: tuple[Token, ...] = ()


@dataclass(slots=True)
class _Run:
    """One generation; lives in the session, so that what was made before a stop or a click is not lost."""

    wanted: tuple[Any, ...]
    steps: list[GenerationStep] = field(default_factory=list)
    path: tuple[GenerationStep, ...] = ()
    over: bool = False
    stopped: bool = False


def generate_demo(
    spec: CheckpointSpec,
    *,
    text: str | None,
    decoding: Decoding,
    forced: tuple[int, ...],
    step: int | None,
    key: str,
    branch: str = "decoder",
    page: PageState | None = None,
) -> GenerateResult:
    """Draw the demo and return the state that the page keeps.

    :param text: the prompt, None for the default one.
    :param forced: ids that the first steps take (a path chosen before).
    :param step: the step to look at, from 1.
    :param key: prefix of the widgets' keys; a new prefix starts afresh from the other arguments.
    :param page: the page whose link says whether each token waits for a guess; None never covers them.
    """
    box = f"{key}.text"
    st.session_state.setdefault(box, DEFAULT_TEXT if text is None else text)
    _samples(key)
    prompt = str(
        st.text_area(
            "Beginning",
            key=box,
            persist_state="page",
            height=68,
            label_visibility="collapsed",
            placeholder="The model goes on from here",
        )
        or ""
    )
    decoding = decoding_controls(decoding, key=f"{key}.decoding")
    forced = _path_taken(key, spec, prompt, forced)
    state = GenerateResult(None if prompt == DEFAULT_TEXT else prompt, decoding, forced, step)
    covered = page is not None and switch(page)
    try:
        tokens = _tokens(spec.slug, prompt)
        try:
            run = _generate(spec, prompt, decoding, forced, key, branch, covered)
        except OutOfRange as error:
            if not forced:
                raise
            # A link may carry a path through another vocabulary: the rest of the view still holds.
            warned(f"{error} The path that was chosen by hand is left out.", icon=":material/info:")
            st.session_state[f"{key}.forced"] = forced = ()
            run = _generate(spec, prompt, decoding, forced, key, branch, covered)
    except AtlasError as error:
        warned(str(error), icon=":material/info:")
        explain_decoding()
        return state
    if not run.path:
        return state
    if page is not None and covered:
        wanted = (spec.slug, effective(decoding))
        looked, other = covered_steps(page, wanted, prompt, run.path, (step or 1) - 1, decoding, key=key, branch=branch)
        _take_instead(run, looked, other, key)
        return GenerateResult(state.text, decoding, forced, looked + 1 if looked else None)
    looked = _explore(spec, run, decoding, forced, (step or 1) - 1, key, branch)
    _lessons(run, decoding)
    steps_table(run.path)
    explain_decoding()
    return GenerateResult(state.text, decoding, forced, looked + 1 if looked else None, run.path, tokens)


def _samples(key: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption("Beginnings", width="content")
        samples = {name: (text,) for name, text in SAMPLES.items()}
        box = f"{key}.text"
        sample_pills("Beginnings to try", samples, f"{key}.sample", {box: st.session_state[box]})


def _path_taken(key: str, spec: CheckpointSpec, prompt: str, forced: tuple[int, ...]) -> tuple[int, ...]:
    """The path chosen by hand; it belongs to one prompt and one vocabulary and goes with them."""
    slot, owner = f"{key}.forced", f"{key}.owner"
    now = (spec.slug, prompt)
    if owner not in st.session_state:
        st.session_state[slot] = forced
    elif st.session_state[owner] != now:
        st.session_state[slot] = ()
    st.session_state[owner] = now
    return tuple(st.session_state[slot])


def _generate(
    spec: CheckpointSpec, prompt: str, decoding: Decoding, forced: tuple[int, ...], key: str, branch: str, covered: bool
) -> _Run:
    """The generation that is asked for: kept from the run before, or streamed now."""
    from core.language.generate import generate, replay

    wanted = (spec.slug, prompt, effective(decoding), forced)
    run: _Run | None = st.session_state.get(f"{key}.run")
    if run is None or run.wanted != wanted:
        run = st.session_state[f"{key}.run"] = _Run(wanted)
    buttons = st.empty()  # above the text, which moves what is below it while it grows
    place = st.empty()
    if not run.over:
        checkpoint = session.checkpoint(spec.slug)
        made = tuple(step.token.id for step in run.steps)
        if decoding.strategy == "beam":
            run.steps.clear()  # a beam cannot be taken up half-way: its other hypotheses are gone
        resumed = forced if decoding.strategy == "beam" or len(made) < len(forced) else made
        stream = generate(checkpoint, prompt, decoding, forced=resumed)
        buttons.button("Stop", key=f"{key}.stop", icon=":material/stop:", on_click=_stop(run))
        drawn = 0.0
        for step in stream:
            if step.index < len(run.steps):
                continue
            run.steps.append(step)
            if not covered and time.monotonic() - drawn > _PAUSE:
                draw_text(place, prompt, step.text, branch, growing=True)
                drawn = time.monotonic()
        run.over = True
    if run.steps and not run.path:
        last = run.steps[-1]
        beam = decoding.strategy == "beam"
        run.path = replay(session.checkpoint(spec.slug), prompt, last.ids) if beam else tuple(run.steps)
    if run.steps and not covered:
        draw_text(place, prompt, run.steps[-1].text, branch)
    _buttons(buttons, run, decoding, forced, key)
    return run


def _stop(run: _Run) -> Any:
    def stop() -> None:
        run.over = run.stopped = True

    return stop


def _buttons(place: DeltaGenerator, run: _Run, decoding: Decoding, forced: tuple[int, ...], key: str) -> None:
    """What can be done with a finished text: go on after a stop, throw the dice again, drop the path."""

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
        if decoding.strategy == "sample":
            st.button(
                "Throw the dice again",
                key=f"{key}.dice",
                on_click=next_seed(f"{key}.decoding"),
                help="The next seed, the same settings",
            )
        if forced:
            st.caption(f"Step {len(forced)} was chosen by hand; the steps before it are kept.")


def _explore(
    spec: CheckpointSpec, run: _Run, decoding: Decoding, forced: tuple[int, ...], step: int, key: str, branch: str
) -> int:
    """Chips of the generated tokens and the alternatives of one step; returns the step looked at, from 0."""
    tokens = _words(spec.slug, tuple(s.token.id for s in run.path))
    slot = f"{key}.step"
    looked = min(st.session_state.get(slot, step), len(run.path) - 1)
    looked = step_chips(run.path, tokens, looked, key=key, branch=branch, by_hand=len(forced) - 1 if forced else None)
    st.session_state[slot] = looked
    ended = how_it_ended(run.steps[-1], spec.name) if not run.stopped else "Stopped."
    st.caption(f"{len(run.path)} tokens, each with its probability as a bar at its foot. {ended}")
    left, right = st.columns([3, 2], gap="large")
    with left:
        other = alternatives_panel(run.path, looked, decoding, key=key, branch=branch)
    _take_instead(run, looked, other, key)
    with right:
        beams_table(run.steps, looked)
        told(
            "**Try** stepping back to a token with a short bar and taking another one.\n\n"
            "**Notice** that everything after it is generated anew: every token depends on all that stand before it."
        )
    return looked


def _take_instead(run: _Run, looked: int, other: int | None, key: str) -> None:
    """Begin anew with another token at the step that is looked at, if one was chosen."""
    if other is not None:
        st.session_state[f"{key}.forced"] = (*(s.token.id for s in run.path[:looked]), other)
        st.rerun()


def _lessons(run: _Run, decoding: Decoding) -> None:
    """How much the text repeats itself, measured on it."""
    from core.language.generate import repetition

    share = repetition([s.token.id for s in run.path])
    measured = f"Here {share:.0%} of all runs of three tokens had occurred before in the generated text."
    if decoding.strategy == "greedy":
        told(
            f"Greedy decoding tends to fall into loops, in small models above all. {measured} "
            "Compare with sampling at the same length."
        )
    else:
        told(f"{measured} Switch to greedy decoding of the same beginning and compare.")


def _words(slug: str, ids: Sequence[int]) -> tuple[Token, ...]:
    from core.language.tokens import describe

    return describe(session.checkpoint(slug).tokenizer, ids)


@st.cache_data(max_entries=128, ttl=3600.0, show_spinner=False)
def _tokens(slug: str, prompt: str) -> tuple[Token, ...]:
    """What the decoder read before its first step."""
    from core.language.generate import prompt_ids

    return _words(slug, prompt_ids(session.checkpoint(slug), prompt))


@st.cache_data(max_entries=16, ttl=3600.0, show_spinner="Generating")
def generated(
    slug: str, text: str | None, decoding: Decoding, forced: tuple[int, ...]
) -> tuple[tuple[Token, ...], tuple[GenerationStep, ...]]:
    """Prompt tokens and steps with attention for the same view without the demo, for a page's section on heads."""
    from core.language.generate import generate, replay

    checkpoint, prompt = session.checkpoint(slug), DEFAULT_TEXT if text is None else text
    steps = tuple(generate(checkpoint, prompt, decoding, forced=forced))
    if decoding.strategy == "beam":
        steps = replay(checkpoint, prompt, steps[-1].ids)
    return _tokens(slug, prompt), steps


def text_demo(view: DemoView) -> None:
    """Draw the demo."""
    spec, state = view.spec, view.state
    codes = dict(spec.card.extra.get("codes", {})) if spec.card is not None else {}
    if codes:
        label, token = next(iter(codes.items()))
        st.caption(
            f"Every text of this model begins with a code: {plain(label)}, unless yours begins with one of "
            f"{plain(', '.join(other for other in codes.values() if other != token))}."
        )
    text = state.values.get("text")
    result = generate_demo(
        spec,
        text=None if text is None else str(text),
        decoding=decoding_of(state),
        forced=state.integers("forced"),
        step=state.number("step") or None,
        key=state.key("generate"),
        branch=spec.branch,
        page=state,
    )
    state.set(
        text=result.text,
        forced=result.forced,
        step=result.step,
        strategy=result.decoding.strategy,
        temperature=result.decoding.temperature,
        top_k=result.decoding.top_k,
        top_p=result.decoding.top_p,
        beams=result.decoding.beams,
        length=result.decoding.max_new_tokens,
        seed=result.decoding.seed,
    )


WRITING = (
    *DECODING,
    Carried(name="forced", label="Tokens chosen by hand", as_=link.Integers(high=10**6, most=200)),
    Carried(name="step", label="Step", as_=link.Integer(None, 1, 200)),
)
GENERATE = Demo("text", text_demo, lambda spec: spec.offers("continues"), WRITING)
