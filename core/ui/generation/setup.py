"""The controls that all sections share: the live model, its prompt, and the settings of decoding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from zlib import crc32

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import session
from core.checkpoints.spec import CheckpointSpec
from core.content import content
from core.language.decoding.cards import Number
from core.language.inputs import Inputs
from core.language.starts import start
from core.language.tasks import task_of
from core.language.types import Decoding
from core.links import parameters as link
from core.ui import param
from core.ui.demos.demo import every_sample, task_samples
from core.ui.heads.text import task_names
from core.ui.links import PageState, instead
from core.ui.section import View

PROMPT = "Once upon a time there was a little girl who"

MODEL = param.Model(
    name="model",
    needs=("generates",),
    first="generation",
    resets=("task", "step"),
    width=240,
    hide_label=True,
)
TASK = param.Choice(name="task", label="Task", options={}, width=230, hide_label=True)
TEXT = param.Text(name="text", label="Prompt", default=PROMPT)
LENGTH = param.Integer(name="length", label="New tokens", default=24, low=1, high=1_000, limit="max_new_tokens")
SEED = param.Seed()
PENALTY = param.Real(name="penalty", label="Repetition penalty", default=1.0, low=0.5, high=3.0, step=0.1, style="box")
NO_REPEAT = param.Integer(name="norepeat", label="No repeated n-grams of size", low=0, high=10)
LENGTH_PENALTY = param.Unset(
    name="lengthpenalty",
    label="Length penalty of beam search",
    low=-3.0,
    high=3.0,
    step=0.5,
    placeholder="the model's own, usually 1",
)
STOP = param.Text(name="stop", label="Stop strings", height=68, placeholder="one on each line")
RULES = param.Carried(name="rules", label="Strategies", as_=link.Words(most=8))
SHARED = (MODEL, TASK, TEXT, LENGTH, SEED, PENALTY, NO_REPEAT, LENGTH_PENALTY, STOP, RULES)


@dataclass(frozen=True, slots=True)
class Setup:
    """The visitor's choices above the sections, and the view to draw with."""

    view: View
    spec: CheckpointSpec
    text: str
    task: str | None
    """The task of an encoder-decoder; None for a decoder."""
    row: DeltaGenerator
    """Between the prompt and the menu of settings, for controls of a section."""
    menu: DeltaGenerator
    """The menu of settings, for those of a section."""
    common: Decoding
    """Length, seed, penalties and stop strings, without a strategy."""

    @property
    def state(self) -> PageState:
        """The page's."""
        return self.view.state

    @property
    def key(self) -> tuple[object, ...]:
        """A cache key of a generated text, without its decoding."""
        return (self.spec.slug, session.files(self.spec.slug), self.task, self.text)

    @property
    def prefix(self) -> str:
        """The prompt; empty for an encoder-decoder."""
        return "" if self.task else self.text

    def start(self) -> Inputs:
        """The prompt as the model's input.

        Raises:
            AtlasError: the text does not fit the model.
        """
        return start(session.checkpoint(self.spec.slug), self.text, self.task)


def setup(view: View, *, length: bool = True, also: int = 0, prompt: str = PROMPT, settings: bool = True) -> Setup:
    """Draw the controls that all sections share.

    Args:
        length: whether the section uses the settings' number of tokens.
        also: settings of the section that differ from their defaults.
        prompt: the sample for a decoder.
        settings: whether those of decoding change anything.
    """
    state = view.state
    with view.controls():
        spec = MODEL.offered()[MODEL.here().draw(state)]
        task, sample = _task(spec, state, prompt)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        text = _text(state, sample, task, prompt)
        row = st.container(horizontal=True, vertical_alignment="bottom", width="content", gap="small")
        menu, common = _settings(state, length, also) if settings else (row, Decoding())
    return Setup(view, spec, text, task, row, menu, common)


def number_control(name: str, number: Number, **fields: Any) -> param.Control[Any]:
    """The control of a parameter of a rule, in a box or, with ``style``, on a slider."""
    make: type[param.Integer] | type[param.Real] = param.Integer if number.whole else param.Real
    bounds: dict[str, Any] = {"default": number.start, "low": number.low, "high": number.high, "step": number.step}
    return make(name=name, label=number.name, **bounds, **fields)


def number_box(number: Number, value: float, key: str) -> float:
    if number.whole:
        return float(
            st.number_input(
                number.name, int(number.low), int(number.high), int(value), key=key, persist_state="session", width=102
            )
        )
    return float(
        st.number_input(
            number.name, number.low, number.high, value, number.step, key=key, persist_state="session", width=102
        )
    )


def _task(spec: CheckpointSpec, state: PageState, prompt: str) -> tuple[str | None, str]:
    """The task of an encoder-decoder (None for a decoder), and the page's sample text."""
    names = task_names(spec)
    if not names:
        if state.text("task"):
            instead(state, content("generation").part("No tasks", model=spec.name))
            state.set(task=None)
        return None, prompt
    task = TASK.with_(options=names, default=next(iter(names))).draw(state, tag=spec.slug)
    return task, task_samples(task_of(session.checkpoint(spec.slug), task))[0]


def _text(state: PageState, sample: str, task: str | None, prompt: str) -> str:
    """The prompt; a typed text stays, an unchanged sample is replaced by the new task's."""
    sentence = "plain" if sample in (prompt, every_sample()["en"][0]) else ""  # an English one
    label = TEXT.label if task is None else "Source text"
    return TEXT.with_(label=label, default=sample, sentence=sentence).draw(state, tag=str(crc32(sample.encode())))


def _settings(state: PageState, length: bool, also: int) -> tuple[DeltaGenerator, Decoding]:
    """Draw the menu of settings; return it, and them as a decoding without a strategy."""
    controls = (*((LENGTH,) if length else ()), SEED, PENALTY, NO_REPEAT, LENGTH_PENALTY, STOP)
    menu = param.settings_popover(state, param.differing(state, *controls) + also)
    with menu:
        values = param.draw_settings(state, *controls)
    return menu, Decoding(
        max_new_tokens=values.get(LENGTH.name, LENGTH.value(state)),
        seed=values[SEED.name],
        penalty=values[PENALTY.name],
        no_repeat=values[NO_REPEAT.name],
        length_penalty=values[LENGTH_PENALTY.name],
        stop=tuple(dict.fromkeys(line for line in values[STOP.name].splitlines() if line.strip())),
    )
