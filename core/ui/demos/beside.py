"""Two encoders on one sentence: what each predicts, and what the smaller one saves and keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from core import checkpoints, session
from core.checkpoints.spec import CheckpointSpec
from core.efficiency.timing import by_turns
from core.language.fill_mask import predict, prepare
from core.language.types import MaskPrediction
from core.ui.demos.demo import Demo, DemoView, Prediction, word_judge
from core.ui.demos.masking import label
from core.ui.page import plain
from core.ui.param import Choice, Text

TEXT = Text(
    name="text",
    label="Sentence with [MASK] in place of a word",
    default="The old king lived in a [MASK] with his three sons.",
)
PARTNER = Choice(name="beside", label="Second model", options={})
GUESSES = 5


@dataclass(frozen=True, slots=True)
class Side:
    """One model's answer and its cost."""

    name: str
    predictions: tuple[MaskPrediction, ...]
    parameters: int
    layers: int
    milliseconds: float


def partners_of(spec: CheckpointSpec) -> list[CheckpointSpec]:
    """The models that a card wants its own to be held against, in its order, as far as they can run here."""
    named = spec.card.extra.get("beside", ()) if spec.card else ()
    ready = {other.slug: other for other in checkpoints.available() if other.ready and other.family is spec.family}
    return [ready[slug] for slug in named if slug in ready]


def draw(view: DemoView) -> None:
    """Draw the demo."""
    spec, state = view.spec, view.state
    partners = {partner.slug: partner for partner in partners_of(spec)}
    left, right = st.columns([3, 1.4], vertical_alignment="bottom")
    with left:
        text = TEXT.draw(state, tag="beside")
    with right:
        names = {slug: partner.name for slug, partner in partners.items()}
        partner = partners[PARTNER.with_(options=names, default="").draw(state, tag=spec.slug)]
    sides = _answers(partner.slug, spec.slug, text)
    masks = len(sides[0].predictions)

    def judge(guess: str) -> str:
        word = (guess.replace(",", " ").split() or [guess])[0]
        return " ".join(f"{side.name}: {word_judge(side.predictions[0])(word)}" for side in sides)

    if not view.uncovered(label(sides[0].predictions), judge, partner.slug, text):
        return
    shown = [
        Prediction(
            side.name if masks == 1 else f"{side.name}, mask {number + 1}",
            side.predictions[number],
            {"model": side.name, "mask": number + 1},
        )
        for number in range(masks)
        for side in sides
    ]
    view.predictions("guesses-beside", shown, 2, most=6)
    _costs(view, sides, partner, spec)
    view.note("Costs")
    view.try_and_notice("smaller" if sides[1].parameters < 0.95 * sides[0].parameters else "alike")


def _costs(view: DemoView, sides: Sequence[Side], partner: CheckpointSpec, spec: CheckpointSpec) -> None:
    """Size, time and quality of both, as far as both cards state it, and the second as a share of the first."""
    first, second = sides
    costs = [
        ("layers", first.layers, second.layers, "{:.0f}"),
        ("parameters", first.parameters / 1e6, second.parameters / 1e6, "{:.2f}M"),
        ("time for this sentence", first.milliseconds, second.milliseconds, "{:.1f} ms"),
    ]
    theirs = {(m.name, m.on): m for m in spec.card.measures} if spec.card else {}
    for one in partner.card.measures if partner.card else ():
        if other := theirs.get((one.name, one.on)):
            costs.append((f"{one.name}: {one.on}", one.value, other.value, f"{{:.1f}} {one.unit}"))
    rows = [
        {
            " ": plain(name),
            plain(first.name): plain(form.format(a)),
            plain(second.name): plain(form.format(b)),
            "second / first": f"{100 * b / a:.0f} %",
        }
        for name, a, b, form in costs
    ]
    st.table(rows, border="horizontal", hide_index=True, alt=view.words.label("costs"))


@session.cached("Running both models")
def _answers(first: str, second: str, text: str) -> tuple[Side, ...]:
    loaded = [session.checkpoint(slug) for slug in (first, second)]
    runs = [partial(predict, checkpoint, prepare(checkpoint, text), GUESSES) for checkpoint in loaded]
    answers = [run() for run in runs]
    return tuple(
        Side(c.spec.name, answer, c.model.num_parameters(), c.model.config.num_hidden_layers, 1000 * seconds)
        for answer, c, seconds in zip(answers, loaded, by_turns(runs), strict=True)
    )


BESIDE = Demo(
    "beside", draw, lambda spec: spec.offers("predicts masked tokens") and bool(partners_of(spec)), (TEXT, PARTNER)
)
