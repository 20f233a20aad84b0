"""What the sections share: the live model, and the input text of its prediction."""

from __future__ import annotations

from core import session
from core.checkpoints.spec import CheckpointSpec
from core.content import content
from core.language.adapters import tasks
from core.links import parameters as link
from core.ui.attention import setup
from core.ui.heads.text import text_part
from core.ui.links import PageState
from core.ui.param import Carried, Model, Text
from core.ui.section import View

MODEL = Model(
    name="model",
    first="interventions",
    width=250,
    hide_label=True,
    resets=("task", "off", "map", "pair", "first", "second", "a", "b", "side", "output", "cell", "switch", "layer"),
)
INPUT = Text(name="asked", label="Text", most=600)
INPUT_SPAN = Carried(name="asked-window", label="Part of that text", as_=link.Integers(high=100_000, most=2))


def draw_model(view: View) -> CheckpointSpec:
    """Draw the menu of models in the row of sections."""
    return setup.draw_model(view, MODEL)


def input_of(spec: CheckpointSpec, label: str = "Text") -> Text:
    """The text box of the input."""
    help = content("interventions").part("Text")
    sentence = "masked" if spec.family.sentence == "any" else "plain"
    return INPUT.with_(label=label, default=spec.family.question_text, help=help, sentence=sentence)


def draw_input(spec: CheckpointSpec, state: PageState, label: str = "Text") -> str:
    return input_of(spec, label).draw(state, tag=spec.kind)


def input_span(spec: CheckpointSpec, state: PageState, text: str, task: str | None) -> str:
    """``text``, or if it is too long the span that the prediction depends on or that the visitor selects."""
    return text_part(spec, state, text, task=task or "", segment=True, name=INPUT_SPAN.name, answered=True)


def question_of(spec: CheckpointSpec, task: str | None) -> str:
    """What the model predicts, as a question; with adapters, that of the task."""
    if spec.family.question:
        return spec.family.question
    return next(candidate.question for candidate in tasks(session.checkpoint(spec.slug)) if candidate.slug == task)
