"""The decoder's demo: text that grows token by token, with every step open to be taken differently."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import session
from core.errors import AtlasError, OutOfRange
from core.language.decode import along
from core.language.generate import generate, prompt_ids, prompted, repetition
from core.language.tokens import describe
from core.language.types import Decoding, GenerationStep, Token
from core.ui.demos.cover import keep_step, step_of, switch, token_verdict, walk
from core.ui.demos.decoding import DECODING, LENGTH, decoding_controls, effective, explain_decoding
from core.ui.demos.demo import Demo, DemoView
from core.ui.demos.samples import sample_pills
from core.ui.demos.steps import (
    FORCED,
    STEP,
    Run,
    alternatives_panel,
    beams_table,
    by_hand,
    choose_path,
    grown,
    how_it_ended,
    step_chips,
    steps_table,
    text_in,
)
from core.ui.notices import warning
from core.ui.page import plain
from core.ui.param import Text

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
LONG = LENGTH.with_(default=120)
"""Of the models of the branch for long texts, one of which writes bytes."""


def draw(view: DemoView) -> None:
    """Draw the demo."""
    spec, state = view.spec, view.state
    codes = dict(spec.card.extra.get("codes", {})) if spec.card is not None else {}
    if codes:
        label, token = next(iter(codes.items()))
        others = ", ".join(other for other in codes.values() if other != token)
        view.note("Code", code=plain(label), others=plain(others))
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption("Prompts", width="content")
        samples = {name: (text,) for name, text in SAMPLES.items()}
        sample_pills(state, "Prompts to try", samples, TEXT, tag="prompt")
    prompt = TEXT.draw(state, tag="prompt")
    decoding = decoding_controls(state, LONG if spec.branch == "efficient" else LENGTH)
    covered = switch(state)
    forced = by_hand(state, (spec.slug, prompt))
    try:
        try:
            run = _generate(view, prompt, decoding, forced, covered)
        except OutOfRange as error:
            if not forced:
                raise
            warning(f"{error} The tokens that were chosen by hand are dropped.", icon=":material/info:")
            choose_path(state, ())
            run = _generate(view, prompt, decoding, (), covered)
    except AtlasError as error:
        warning(str(error), icon=":material/info:")
        explain_decoding(view)
        return
    state.set(forced=run.wanted[-1])
    if not run.path:
        return
    slot = state.key("generate.step")
    step, other = (_guessed if covered else _explored)(view, run, step_of(state, slot, len(run.path)), decoding)
    keep_step(state, slot, step)
    if other is not None:
        choose_path(state, (*(s.token.id for s in run.path[:step]), other))
        st.rerun()
    if not covered:
        repeated = repetition([s.token.id for s in run.path])
        view.say("Repeats", share=f"{repeated:.0%}")
        view.say(f"Repeats: {'greedy' if decoding.strategy == 'greedy' else 'other'}")
        steps_table(run.path)
        explain_decoding(view)


def _generate(view: DemoView, prompt: str, decoding: Decoding, forced: tuple[int, ...], covered: bool) -> Run:
    """The generation along ``forced``, drawn while it grows unless it is covered."""
    checkpoint = view.checkpoint
    buttons, place = st.empty(), st.empty()
    draw_text = text_in(place, prompt, view.spec.branch)
    run = grown(
        view.state,
        (view.spec.slug, prompt, effective(decoding), forced),
        decoding.strategy,
        lambda ids: generate(checkpoint, prompt, decoding, forced=ids),
        lambda ids: along(checkpoint, prompted(checkpoint, prompt), ids, with_attention=True),
        draw=None if covered else draw_text,
        button=buttons,
    )
    if run.steps and not covered:
        draw_text(run.steps[-1].text, False)
    _buttons(view, buttons, run)
    return run


def _buttons(view: DemoView, place: DeltaGenerator, run: Run) -> None:
    """What can be done with a finished text: go on after a stop, drop the path."""
    state = view.state

    def again() -> None:
        choose_path(state, ())
        st.session_state.pop(state.key("grown"), None)

    with place.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Generate",
            key=state.key("again"),
            type="primary",
            icon=":material/play_arrow:",
            on_click=again,
            help="From the prompt, without tokens chosen by hand",
        )
        if run.stopped:
            st.button("Continue", key=state.key("on"), on_click=run.go_on)
        if forced := run.wanted[-1]:
            st.caption(f"Step {len(forced)} was chosen by hand; the steps before it are kept.")


def _explored(view: DemoView, run: Run, step: int, decoding: Decoding) -> tuple[int, int | None]:
    """Chips of the generated tokens and the alternatives of one step.

    Returns:
        The step looked at, from 0, and the id of another token to go on with, if one was chosen.
    """
    key, branch, forced = view.state.key("generate"), view.spec.branch, run.wanted[-1]
    tokens = describe(view.checkpoint.tokenizer, [s.token.id for s in run.path])
    step = step_chips(run.path, tokens, step, key=key, branch=branch, by_hand=len(forced) - 1 if forced else None)
    ended = "Stopped." if run.stopped else how_it_ended(run.steps[-1], view.spec.name)
    st.caption(f"{len(run.path)} tokens, each with its probability as a bar at its foot. {ended}")
    other = alternatives_panel(run.path, step, decoding, key=key, branch=branch)
    beams_table(run.steps, step)
    view.try_and_notice()
    return step, other


def _guessed(view: DemoView, run: Run, step: int, decoding: Decoding) -> tuple[int, int | None]:
    """The text as far as the step that is looked at, and a box for a guess at the next token; as `_explored`."""
    key, path = view.state.key("generate"), run.path
    now, place = path[step], st.empty()
    _, prompt, settings, _ = run.wanted
    question = (settings, prompt, now.ids[:step], step)
    shown = view.uncovered(f"Your guess at token {step + 1}", token_verdict(now), *question, on=True)
    before = path[step - 1].text if step else ""
    text_in(place, prompt, view.spec.branch, room="0")(now.text if shown else f"{before} ▢", False)
    other = alternatives_panel(path, step, decoding, key=key, branch=view.spec.branch) if shown else None
    walk(f"{key}.step", step, len(path), "token")
    view.try_and_notice("covered")
    return step, other


@session.cached("Generating")
def generated(
    slug: str, prompt: str, decoding: Decoding, forced: tuple[int, ...]
) -> tuple[tuple[Token, ...], tuple[GenerationStep, ...]]:
    """Prompt tokens and steps with attention of the same text without the demo, for a page's section on heads."""
    checkpoint = session.checkpoint(slug)
    steps = tuple(generate(checkpoint, prompt, decoding, forced=forced))
    if decoding.strategy == "beam":
        steps = along(checkpoint, prompted(checkpoint, prompt), steps[-1].ids, with_attention=True)
    return describe(checkpoint.tokenizer, prompt_ids(checkpoint, prompt)), steps


GENERATE = Demo("text", draw, lambda spec: spec.offers("continues"), (TEXT, *DECODING, FORCED, STEP))
