"""What several sections share: the live model, and the input text of its prediction."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from core import checkpoints, session
from core.attention.trace import AttentionMap
from core.attention.views.export import MAX_TABLE_ROWS, Bits, map_table
from core.checkpoints.spec import CheckpointSpec
from core.content import content
from core.language.adapters import tasks
from core.links import parameters as link
from core.ui.export import download_csv, download_html
from core.ui.heads.text import text_part
from core.ui.links import PageState
from core.ui.page import BRANCH_TITLES
from core.ui.param import Carried, Model, Text, menu_names
from core.ui.picker import SOURCES
from core.ui.section import View

MODEL = Model(
    name="model",
    first="attention",
    width=250,
    hide_label=True,
    resets=("layer", "head", "map", "token", "task", "off", "side", "step", "layers", "heads", "on", "open"),
)
INPUT = Text(name="asked", label="Text", most=600)
INPUT_SPAN = Carried(name="asked-window", label="Part of that text", as_=link.Integers(high=100_000, most=2))


def models() -> dict[str, CheckpointSpec]:
    """Every model that can run here, by slug."""
    return MODEL.offered()


def draw_model(view: View) -> CheckpointSpec:
    """Draw the menu of models in the row of sections."""
    specs = models()
    short = menu_names(specs.values())
    names = {
        slug: " · ".join(
            (
                short[slug],
                BRANCH_TITLES.get(spec.branch, spec.branch),
                *([SOURCES[spec.source]] if spec.source in ("directory", "hub") else ()),
            )
        )
        for slug, spec in specs.items()
    }
    with view.controls():
        return specs[MODEL.with_(options=names, default=usual_model(specs)).draw(view.state)]


def usual_model(specs: dict[str, CheckpointSpec]) -> str:
    return next((slug for slug in checkpoints.first(MODEL.first) if slug in specs), next(iter(specs)))


def input_of(spec: CheckpointSpec, label: str = "Text") -> Text:
    """The text box of the input."""
    help = content("attention").part("Text")
    sentence = "masked" if spec.family.sentence == "any" else "plain"
    return INPUT.with_(label=label, default=spec.family.question_text, help=help, sentence=sentence)


def draw_input(spec: CheckpointSpec, state: PageState, label: str = "Text") -> str:
    return input_of(spec, label).draw(state, tag=spec.kind)


def input_span(spec: CheckpointSpec, state: PageState, text: str, task: str | None) -> str:
    """``text``, or if it is too long the span that the prediction depends on or that the visitor selects."""
    return text_part(spec, state, text, task=task or "", segment=True, name=INPUT_SPAN.name, answered=True)


def download_pages(page: Callable[[Bits], str], stem: str, state: PageState) -> None:
    """Downloads of a map's page with weights in 8 bits and in 16, created on request."""
    download_html(lambda: page(8), stem, state.key("maps.page"), of="page")
    tip = content("attention").part("16 bits")
    download_html(lambda: page(16), f"{stem}-16", state.key("maps.page16"), of="page, 16 bits", tip=tip)


def download_weights(
    attention_map: AttentionMap, stem: str, state: PageState, *, tip: str = "", **heads: Sequence[int]
) -> None:
    """Offer the weights as a table, if they have no more than :data:`MAX_TABLE_ROWS` rows.

    Args:
        heads: ``layers`` and ``heads`` of the table, from 0; all by default.
    """
    count = (
        math.prod(len(numbers) for numbers in heads.values()) if heads else attention_map.layers * attention_map.heads
    )
    if count * attention_map.weights[0, 0].size <= MAX_TABLE_ROWS:
        download_csv(partial(map_table, attention_map, **heads), stem, state.key("maps.csv"), of="weights", tip=tip)


def question_of(spec: CheckpointSpec, task: str | None) -> str:
    """What the model predicts, as a question; with adapters, that of the task."""
    if spec.family.question:
        return spec.family.question
    return next(candidate.question for candidate in tasks(session.checkpoint(spec.slug)) if candidate.slug == task)
