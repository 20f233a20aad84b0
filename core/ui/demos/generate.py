"""The decoder's demo: generation token by token, with alternatives to choose at every step."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import engine
from core.errors import OutOfRange
from core.figures.labels import percent
from core.language.generate import generate, repetition, steps_along
from core.language.tokens import describe
from core.language.types import Decoding
from core.ui.demos import steps
from core.ui.demos.cover import STEP, step_of, switch, token_verdict, walk
from core.ui.demos.decoding import DECODING, LENGTH, decoding_changed, decoding_controls, decoding_link, effective
from core.ui.demos.demo import Demo, DemoView, sample_pills
from core.ui.glossary import sentences, warning
from core.ui.page import main_picture, plain
from core.ui.param import Text, settings_popover
from core.ui.slot import Slot

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
    hide_label=True,
    placeholder="The model continues from here",
    sentence="plain",
)
LONG = LENGTH.with_(default=120)
"""New tokens of models for long texts, one of which generates bytes."""


def draw_generation(view: DemoView) -> None:
    spec, state = view.spec, view.state
    codes = dict(spec.card.extra.get("codes", {})) if spec.card is not None else {}
    if codes:
        label, token = next(iter(codes.items()))
        others = ", ".join(other for other in codes.values() if other != token)
        view.note("Code", code=plain(label), others=plain(others))
    with view.controls():
        prompt = TEXT.draw(state, tag="prompt")
        samples = {name: (text,) for name, text in SAMPLES.items()}
        sample_pills(state, "Prompts to try", samples, TEXT, tag="prompt")
        length = LONG if spec.sparse else LENGTH
        menu = settings_popover(state, decoding_changed(state, length))
    with menu:
        decoding = decoding_controls(state, length)
        covered = switch(state)
    forced = steps.by_hand(state, (spec.slug, prompt))
    left, right = st.columns([3, 2], gap="medium")
    with left:
        buttons = st.container(horizontal=True, vertical_alignment="center")
        places = buttons, main_picture().empty()
    with sentences():
        try:
            run = _generate(view, prompt, decoding, forced, covered, places)
        except OutOfRange as error:
            if not forced.get():
                raise
            warning(f"{error} {view.words.label('dropped')}", icon=":material/info:")
            forced.set(())
            run = _generate(view, prompt, decoding, forced, covered, places)
        if run.path:
            if covered:
                with left:
                    _guessed(view, run, decoding, forced)
            else:
                _explored(view, run, decoding, forced, left, right)
    decoding_link(spec.slug, prompt)


def _generate(
    view: DemoView,
    prompt: str,
    decoding: Decoding,
    forced: Slot[steps.Ids],
    covered: bool,
    places: tuple[DeltaGenerator, DeltaGenerator],
) -> steps.Generation:
    """The generation from ``forced``, drawn while it grows unless it is covered; ``places`` of buttons and text."""
    buttons, placeholder = places
    draw_text = steps.text_in(placeholder, prompt, view.spec.branch)
    run = steps.grown(
        view.state,
        (view.spec.slug, prompt, effective(decoding), forced.get()),
        decoding.strategy,
        lambda ids: engine.stream(generate, view.spec.slug, prompt, decoding, forced=ids),
        lambda ids: engine.run(steps_along, view.spec.slug, prompt, ids),
        draw=None if covered else draw_text,
        button=buttons.empty(),
    )
    if run.steps and not covered:
        draw_text(run.steps[-1].text, False)
    _buttons(view, buttons, run, forced)
    return run


def _buttons(view: DemoView, row: DeltaGenerator, run: steps.Generation, forced: Slot[steps.Ids]) -> None:
    """Draw the button that generates a finished text again, without the tokens chosen by hand."""
    state = view.state

    def again() -> None:
        forced.set(())
        steps.forget_grown(state)

    with row:
        st.button(
            "Generate",
            key=state.key("again"),
            type="primary",
            icon=":material/play_arrow:",
            on_click=again,
            help=view.words.front["help"]["again"],
        )
        if forced.get():
            view.note("By hand", step=len(forced.get()))


def _explored(
    view: DemoView,
    run: steps.Generation,
    decoding: Decoding,
    forced: Slot[steps.Ids],
    left: DeltaGenerator,
    right: DeltaGenerator,
) -> None:
    """Draw the generated tokens as chips, the alternatives of one step, and a table of all steps."""
    state, branch, path = view.state, view.spec.branch, run.path
    tokens = describe(view.checkpoint.tokenizer, [s.token.id for s in path])
    step = step_of(state, len(path), run.wanted)
    with left:
        at = steps.step_chips(path, tokens, step, branch, len(forced.get()) - 1)
        st.caption(f"{view.words.part('Tokens', tokens=len(path))} {run.ended(view.spec.name)}")
    with right:
        steps.continue_from(state, forced, path, at, decoding, branch)
    steps.beams_table(run.steps, at)
    view.try_and_notice()
    greedy = decoding.strategy == "greedy"
    repeated = percent(repetition([s.token.id for s in path]))
    view.note("Repeats: greedy" if greedy else "Repeats: other", share=repeated)
    steps.steps_table(path, step)


def _guessed(view: DemoView, run: steps.Generation, decoding: Decoding, forced: Slot[steps.Ids]) -> None:
    """Draw the text up to the selected step, and a box for a guess at the next token."""
    state, branch, path = view.state, view.spec.branch, run.path
    step = step_of(state, len(path), run.wanted)
    at = step.get() - 1
    now, placeholder = path[at], st.empty()
    _, prompt, settings, _ = run.wanted
    question = (settings, prompt, now.ids[:at], at)
    shown = view.uncovered(f"Your guess at token {at + 1}", token_verdict(now), *question, on=True)
    before = path[at - 1].text if at else ""
    steps.text_in(placeholder, prompt, branch, room="0")(now.text if shown else f"{before} ▢", False)
    if shown:
        steps.continue_from(state, forced, path, at, decoding, branch)
    walk(step, len(path), "token")
    view.try_and_notice("covered")


GENERATE = Demo("text", draw_generation, ("continues",), (TEXT, *DECODING, steps.FORCED, STEP))
