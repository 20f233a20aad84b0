"""The demo of the encoder-decoder page: text in, text out, and what each generated token attends to."""

from __future__ import annotations

import html
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import streamlit as st

from core import session
from core.checkpoints.spec import Checkpoint
from core.language.damage import KINDS, Kind, damage
from core.language.noise import NOISES, Noise, noisy
from core.language.tasks import Task, tasks
from core.language.text import clean
from core.language.translate import MAX_CHARS, Alignment, Request, align, prepare, replay, rewrite
from core.language.types import Decoding, GenerationStep
from core.links import parameters as link
from core.objectives.corruptions import CORRUPTIONS, damage_text
from core.ui.demos.alignment import attention_map, attention_panel
from core.ui.demos.cover import switch
from core.ui.demos.covered_text import kept, text_uncovered
from core.ui.demos.decoding import DECODING, LENGTH, decoding_controls, effective, explain_decoding
from core.ui.demos.demo import Demo, DemoView
from core.ui.demos.pivot import pivot_panel
from core.ui.demos.respell import BYTES, RATE, rate_of, respell_panel
from core.ui.demos.samples import every_sample, sample_pills, task_samples
from core.ui.demos.steps import alternatives_panel, beams_table, how_it_ended, steps_table
from core.ui.links import PageState
from core.ui.page import accent, plain
from core.ui.param import Carried, Choice, Seed, Text
from core.ui.text_box import standing

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

BRANCH = "encoder-decoder"
AS_IT_IS = "none"
_DAMAGE = {
    "mixed": "A little of everything",
    "letters": "Slips of the fingers",
    "spaces": "Lost and wrong spaces",
    "order": "Swapped words",
    "case": "No capitals, no marks",
    "mask": "Hide tokens",
    "delete": "Delete tokens",
    "infill": "Hide spans behind one mask each",
    "permute": "Change the order of sentences",
    "rotate": "Begin in the middle",
    "typos": "Slips of the fingers",
    "drop": "Lost letters",
    "repeat": "Repeeeated letters",
    "antspeak": "A N T S P E A K",
    "upper": "ALL CAPITALS",
    "random-case": "rANdOm CaSE",
    "none": "None: repair what I type",
}
TASK = Choice(name="task", label="Task", options={}, width=290)
DAMAGE = Choice(
    name="damage", label="Damage", options=_DAMAGE, width=230, help="What is done to your sentence before it is read"
)
TEXT = Text(name="text", label="Text in", height=72)
SEED = Seed(again="Damage it another way")
_PAUSE = 0.04
"""Seconds between two pictures of the growing text: more often would cost more than the model."""


@dataclass(slots=True)
class _Run:
    """One answer; lives in the session, so that what was written before a stop is not lost."""

    wanted: tuple[Any, ...]
    steps: list[GenerationStep] = field(default_factory=list)
    path: tuple[GenerationStep, ...] = ()
    alignment: Alignment | None = None
    over: bool = False
    stopped: bool = False


def rewrite_demo(view: DemoView) -> None:
    """Draw the demo.

    Raises:
        AtlasError: the text does not suit the model; what was typed stays in its box.
    """
    state = view.state
    checkpoint = session.checkpoint(view.spec.slug)
    offered = {task.slug: task for task in tasks(checkpoint)}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        names = {slug: task.label for slug, task in offered.items()}
        task = offered[TASK.with_(options=names).draw(state, tag=view.spec.slug)]
        damaged = task.repairs or task.denoises or task.respells
        kind = _damage_menu(task, state) if damaged else AS_IT_IS
        with st.popover("How it writes"):
            decoding = _decoding(task, state)
        hidden = switch(state)
    typing, writing = _samples_and_columns(task, state)
    with typing:
        typed = TEXT.with_(default=task_samples(task)[0]).draw(state)
        given = _damaged(checkpoint, task, typed, kind, state)
    request = prepare(checkpoint, given, task.slug)
    with writing:
        original = None if kind == AS_IT_IS else clean(typed, MAX_CHARS)
        run, shown = _write(checkpoint, request, given, decoding, state, hidden, original)
    if shown and run.steps:
        written = run.steps[-1].text
        if task.respells:
            respell_panel(view, clean(typed, MAX_CHARS), request.text, written)
        if task.denoises:
            st.caption(plain(kept(clean(typed, MAX_CHARS), written)))
        pivot_panel(view, checkpoint, given, task, written, decoding)
        if run.path and run.alignment is not None:
            _explore(view, request, run, run.alignment, decoding)
    with st.expander(view.words.label("how")):
        scaled = checkpoint.model.config.model_type not in ("t5", "mt5", "umt5")
        view.say("Formula" if scaled else "Formula: unscaled")
        if task.prefix:
            view.note("Task in the text")
        elif task.opens or task.answers:
            view.note("Task as tokens")
        view.note("Paper")
    explain_decoding(view)


def _damage_menu(task: Task, state: PageState) -> str:
    kinds: Sequence[str] = (KINDS[-1], *KINDS[:-1])
    if task.denoises or task.respells:
        kinds = tuple(CORRUPTIONS) if task.denoises else tuple(NOISES)
    options = {kind: _DAMAGE[kind] for kind in (*kinds, AS_IT_IS)}
    param = DAMAGE.with_(options=options, default=kinds[0])
    return param.draw(state, tag=f"{task.denoises}.{task.respells}")


def _decoding(task: Task, state: PageState) -> Decoding:
    """How it writes; 40 bytes would be too few for a sentence."""
    return decoding_controls(state, LENGTH.with_(default=BYTES) if task.respells else LENGTH)


def _samples_and_columns(task: Task, state: PageState) -> tuple[DeltaGenerator, DeltaGenerator]:
    """The samples, and side by side the places for what goes in and what comes out.

    Another task brings its own sample where the box still holds one of the old task's.
    """
    samples = task_samples(task)
    box, owner, text = state.key("text"), state.key("text.task"), standing(state, "text", samples[0])
    if st.session_state.get(owner, task.slug) != task.slug and any(text in them for them in every_sample().values()):
        st.session_state[box] = text = samples[0]
    st.session_state[owner] = task.slug
    sample_pills("Samples", {plain(one): (one,) for one in samples}, state.key("text.sample"), {box: text})
    left, right = st.columns(2, gap="medium")
    return left, right


def _damaged(checkpoint: Checkpoint, task: Task, typed: str, kind: str, state: PageState) -> str:
    """The text after damage, shown, with a button that damages it another way."""
    if kind == AS_IT_IS:
        return typed
    text = clean(typed, MAX_CHARS)
    rate = rate_of(cast(Noise, kind), state) if task.respells else None
    with st.container(horizontal=True, vertical_alignment="center"):
        place = st.empty()
        seed = SEED.button(state)
    if task.respells:
        given = noisy(text, cast(Noise, kind), rate, seed)
    elif task.denoises:
        given = damage_text(checkpoint, text, kind, seed)
    else:
        given = damage(text, cast(Kind, kind), seed=seed)
    place.html(
        f'<p dir="auto" style="margin:0;overflow-wrap:anywhere"><small>After the damage</small><br>'
        f"<code>{html.escape(given)}</code></p>",
        width="stretch",
    )
    return given


def _write(
    checkpoint: Checkpoint,
    request: Request,
    given: str,
    decoding: Decoding,
    state: PageState,
    hidden: bool,
    original: str | None,
) -> tuple[_Run, bool]:
    """The answer that is asked for, kept from the run before or streamed now; and whether it is shown.

    :param hidden: whether it waits for a guess.
    :param original: the text before the damage that is to be undone; None where there was none.
    """
    forced = _forced(request, state)
    wanted = (checkpoint.spec.slug, request.text, request.task.slug, effective(decoding), forced)
    slot = state.key("run")
    run: _Run | None = st.session_state.get(slot)
    if run is None or run.wanted != wanted:
        run = st.session_state[slot] = _Run(wanted)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.html('<p style="margin:0;font-size:.875rem">Text out</p>', width="content")
        stop = st.empty()  # above the text, which moves what is below it while it grows
    place, buttons = st.empty(), st.empty()
    if not run.over:
        stop.button("Stop", key=state.key("stop"), icon=":material/stop:", on_click=_stop(run))
        run.steps.clear()
        drawn = 0.0
        for step in rewrite(checkpoint, given, request.task.slug, decoding, forced=forced):
            run.steps.append(step)
            if not hidden and time.monotonic() - drawn > _PAUSE:
                _draw(place, step.text, growing=True)
                drawn = time.monotonic()
        run.over = True
        stop.empty()
    if run.steps and not run.path:
        last = run.steps[-1]
        beam = decoding.strategy == "beam"
        run.path = replay(checkpoint, given, request.task.slug, last.ids) if beam else tuple(run.steps)
        run.alignment = align(checkpoint, request, [step.token.id for step in run.path])
    shown = not hidden or not run.steps or text_uncovered(state, wanted, run.steps[-1].text, original)
    if run.steps and shown:
        _draw(place, run.steps[-1].text)
    ended = "Stopped." if run.stopped else how_it_ended(run.steps[-1], checkpoint.spec.name) if run.steps else ""
    by_hand = f" Step {len(forced)} was chosen by hand." if forced else ""
    with buttons.container(horizontal=True, vertical_alignment="center"):
        st.caption(f"{len(run.path)} tokens. {ended}{by_hand}" if shown else f"Written, and covered.{by_hand}")
        if forced and st.button("Back to its own choice", key=state.key("unforce")):
            st.session_state[state.key("forced")] = ()
            st.rerun()
    state.set(forced=forced)
    return run, shown


def _forced(request: Request, state: PageState) -> tuple[int, ...]:
    """The path chosen by hand; it belongs to one text and one task and goes with them."""
    slot, owner = state.key("forced"), state.key("forced.owner")
    if owner not in st.session_state:
        st.session_state[slot] = state.integers("forced")
    elif st.session_state[owner] != (request.text, request.task.slug):
        st.session_state[slot] = ()
        st.session_state.pop(state.key("step"), None)
    st.session_state[owner] = (request.text, request.task.slug)
    return tuple(st.session_state[slot])


def _stop(run: _Run) -> Any:
    def stop() -> None:
        run.over = run.stopped = True

    return stop


def _draw(place: DeltaGenerator, text: str, *, growing: bool = False) -> None:
    caret = '<span aria-hidden="true">▏</span>' if growing else ""
    style = f"font-size:1.3rem;line-height:1.6;overflow-wrap:anywhere;border-left:4px solid {accent(BRANCH)};margin:0"
    place.html(f'<p dir="auto" style="{style};padding-left:.8rem;min-height:2.2em">{html.escape(text)}{caret}</p>')


def _explore(view: DemoView, request: Request, run: _Run, alignment: Alignment, decoding: Decoding) -> None:
    """What each generated token attends to, and what else could have come in its place."""
    state, task = view.state, request.task
    slot = state.key("step")
    step = min(int(st.session_state.get(slot, state.number("step", 1) - 1)), len(run.path) - 1)
    chosen = attention_panel(alignment, step, state)
    step = chosen.step
    st.session_state[slot] = step
    state.set(step=step + 1 if step else None)
    other = alternatives_panel(run.path, step, decoding, key=state.key("steps"), branch=BRANCH)
    if other is not None:
        st.session_state[state.key("forced")] = (*(s.token.id for s in run.path[:step]), other)
        st.rerun()
    beams_table(run.steps, step)
    names = {
        "repair": task.repairs,
        "respell": task.respells,
        "denoise": task.denoises,
        "fuse": task.slug == "fuse",
    }
    fallback = "translate" if task.languages else ""
    view.try_and_notice(next((name for name, fits in names.items() if fits), fallback))
    attention_map(alignment, chosen, state)
    steps_table(run.path)


REWRITE = Demo(
    "rewrite",
    rewrite_demo,
    lambda spec: spec.offers("rewrites"),
    (
        *DECODING,
        TASK,
        DAMAGE,
        RATE,
        Carried(name="layer", label="Layer", as_=link.Integer(None, 1, 200)),
        Carried(name="head", label="Head", as_=link.Integer(None, 1, 256)),
        Carried(name="forced", label="Tokens chosen by hand", as_=link.Integers(high=10**6, most=200)),
        Carried(name="step", label="Step", as_=link.Integer(None, 1, 200)),
    ),
)
