"""Two encoders on one sentence: what each predicts, and what the smaller one saves and keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from core import checkpoints, session
from core.checkpoints.spec import CheckpointSpec, Measure
from core.efficiency.timing import by_turns
from core.language.fill_mask import predict, prepare
from core.language.types import MaskPrediction
from core.ui.demos.cover import verdict
from core.ui.demos.demo import Demo, DemoView, Prediction
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
    known = {partner.slug: partner for partner in partners_of(spec)}
    left, right = st.columns([3, 1.4], vertical_alignment="bottom")
    with left:
        text = TEXT.draw(state, tag="beside")
    with right:
        names = {slug: partner.name for slug, partner in known.items()}
        partner = known[PARTNER.with_(options=names, default="").draw(state, tag=spec.slug)]
    sides = _answers(partner.slug, spec.slug, text)

    def judge(guess: str) -> str:
        word = (guess.replace(",", " ").split() or [guess])[0]
        first = [(side.name, side.predictions[0]) for side in sides]
        return " ".join(f"{name}: {verdict(word, p.tokens, p.probabilities)}" for name, p in first)

    if not view.uncovered(label(sides[0].predictions), judge, partner.slug, text):
        return
    count = len(sides[0].predictions)
    shown = [
        Prediction(
            side.name if count == 1 else f"{side.name}, mask {number + 1}",
            side.predictions[number],
            {"model": side.name, "mask": number + 1},
        )
        for number in range(count)
        for side in sides
    ]
    view.predictions("guesses-beside", "Predictions of both models", shown, 2, most=6)
    _costs(sides, _common(partner, spec))
    view.note("Costs")
    view.try_and_notice("smaller" if sides[1].parameters < 0.95 * sides[0].parameters else "alike")


def _costs(sides: Sequence[Side], measures: Sequence[tuple[Measure, Measure]]) -> None:
    """Size, time and quality of both, and the second as a share of the first."""
    first, second = sides
    counted = [
        ("layers", first.layers, second.layers, "{:.0f}"),
        ("parameters", first.parameters / 1e6, second.parameters / 1e6, "{:.2f}M"),
        ("time for this sentence", first.milliseconds, second.milliseconds, "{:.1f} ms"),
        *((f"{one.name}: {one.on}", one.value, other.value, f"{{:.1f}} {one.unit}") for one, other in measures),
    ]
    names = (" ", first.name, second.name, "second / first")
    rows = [(name, form.format(a), form.format(b), f"{100 * b / a:.0f} %") for name, a, b, form in counted]
    st.table(
        [{plain(name): plain(cell) for name, cell in zip(names, row, strict=True)} for row in rows],
        border="horizontal",
        hide_index=True,
        alt=f"Size, time and quality of {first.name} and {second.name}",
    )


def _common(one: CheckpointSpec, other: CheckpointSpec) -> list[tuple[Measure, Measure]]:
    """Measures that stand on both cards."""
    if one.card is None or other.card is None:
        return []
    theirs = {(m.name, m.on): m for m in other.card.measures}
    return [(m, theirs[m.name, m.on]) for m in one.card.measures if (m.name, m.on) in theirs]


@session.cached("Running both models")
def _answers(first: str, second: str, text: str) -> tuple[Side, Side]:
    loaded = [session.checkpoint(slug) for slug in (first, second)]
    masked = [prepare(checkpoint, text) for checkpoint in loaded]
    answers = [predict(checkpoint, m, GUESSES) for checkpoint, m in zip(loaded, masked, strict=True)]
    seconds = by_turns([lambda c=c, m=m: predict(c, m, GUESSES) for c, m in zip(loaded, masked, strict=True)])  # type: ignore[misc]
    one, other = (
        Side(c.spec.name, answer, c.model.num_parameters(), c.model.config.num_hidden_layers, 1000 * taken)
        for answer, c, taken in zip(answers, loaded, seconds, strict=True)
    )
    return one, other


BESIDE = Demo(
    "beside", draw, lambda spec: spec.offers("predicts masked tokens") and bool(partners_of(spec)), (TEXT, PARTNER)
)
