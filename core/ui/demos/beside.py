"""Two encoders on one sentence: what each guesses, and what the smaller one saves and keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from core import checkpoints, session
from core.checkpoints.spec import CheckpointSpec, Measure
from core.figures.predictions import bars_alt, guess_bars
from core.ui.chart import chart
from core.ui.data_table import data_table
from core.ui.demos.cover import Judge, uncovered, verdict
from core.ui.demos.cover_masks import label
from core.ui.demos.demo import Demo, DemoView
from core.ui.glossary import told
from core.ui.page import accent, plain, sentences, theme
from core.ui.param import Choice
from core.ui.text_box import text_box

if TYPE_CHECKING:
    from core.language.types import MaskPrediction

TEXT = "The old king lived in a [MASK] with his three sons."
GUESSES = 5
PARTNER = Choice(name="beside", label="Beside it", options={})
_MOST = 3


@dataclass(frozen=True, slots=True)
class Side:
    """One model's answer and its cost."""

    predictions: tuple[MaskPrediction, ...]
    parameters: int
    layers: int
    milliseconds: float


def partners_of(spec: CheckpointSpec) -> list[CheckpointSpec]:
    """The models that a card wants its own to be held against, in its order, as far as they can run here."""
    named = spec.card.extra.get("beside", ()) if spec.card else ()
    ready = {other.slug: other for other in checkpoints.available() if other.ready and other.family is spec.family}
    return [ready[slug] for slug in named if slug in ready]


def beside_demo(view: DemoView) -> None:
    """Draw the demo."""
    spec, state = view.spec, view.state
    known = {partner.slug: partner for partner in partners_of(spec)}
    left, right = st.columns([3, 1.4], vertical_alignment="bottom")
    text = text_box(state, "text", "Sentence with [MASK] in place of a word", TEXT, key="beside.text", place=left)
    with right:
        names = {slug: partner.name for slug, partner in known.items()}
        partner = known[PARTNER.with_(options=names, default="").draw(state, tag=spec.slug)]
    with sentences():
        both = (partner, spec)
        sides = _answers(partner.slug, spec.slug, text)
        first = sides[0].predictions
        if not uncovered(state, (partner.slug, spec.slug, text), label(first), _judge(both, sides)):
            return
        scale = max(p.probabilities[0] for side in sides for p in side.predictions)
        for column, model, side in zip(st.columns(2, gap="large"), both, sides, strict=True):
            with column:
                st.markdown(f"**{plain(model.name)}**")
                for number, prediction in enumerate(side.predictions[:_MOST], 1):
                    title = f"Guesses of {model.name} for mask {number}"
                    if len(side.predictions) > 1:
                        st.caption(f"Mask {number}")
                    chart(
                        guess_bars(
                            prediction.tokens,
                            prediction.probabilities,
                            accent("encoder"),
                            scale=scale,
                            theme=theme(),
                        ),
                        key=state.key(f"beside.{model.slug}.{number}"),
                        alt=bars_alt(prediction.tokens, prediction.probabilities, title),
                    )
        _costs(both, sides)
        smaller = sides[1].parameters < 0.95 * sides[0].parameters
        told(
            (
                "**Try** a sentence where the smaller model still knows the word, and one where it does not.\n\n"
                if smaller
                else "**Try** to find a sentence where the two disagree: both have seen the same text, and only the "
                "recipe differs.\n\n"
            )
            + "**Notice** that both pictures share one scale: the shorter bars belong to the model that is less sure."
        )
        _table(both, sides)


def _judge(both: Sequence[CheckpointSpec], sides: Sequence[Side]) -> Judge:
    """A guess at the first mask against the answers of both."""

    def judge(guess: str) -> str:
        word = (guess.replace(",", " ").split() or [guess])[0]
        told = [(model.name, side.predictions[0]) for model, side in zip(both, sides, strict=True)]
        return " ".join(f"{name}: {verdict(word, p.tokens, p.probabilities)}" for name, p in told)

    return judge


def _costs(both: Sequence[CheckpointSpec], sides: Sequence[Side]) -> None:
    """Size, time and quality of both, and the second as a share of the first."""
    first, second = sides
    rows: list[tuple[str, str, str, str]] = [
        ("layers", str(first.layers), str(second.layers), _share(second.layers, first.layers)),
        (
            "parameters",
            f"{first.parameters / 1e6:.2f} M",
            f"{second.parameters / 1e6:.2f} M",
            _share(second.parameters, first.parameters),
        ),
        (
            "time for this sentence",
            f"{first.milliseconds:.1f} ms",
            f"{second.milliseconds:.1f} ms",
            _share(second.milliseconds, first.milliseconds),
        ),
    ]
    for one, other in _common(*both):
        rows.append(
            (
                f"{one.name}: {one.on}",
                f"{one.value:.1f} {one.unit}",
                f"{other.value:.1f} {other.unit}",
                _share(other.value, one.value),
            )
        )
    names = [" ", plain(both[0].name), plain(both[1].name), "second / first"]
    table = [{name: plain(value) for name, value in zip(names, row, strict=True)} for row in rows]
    alt = f"Size, time and quality of {both[0].name} and {both[1].name}"
    st.table(table, border="horizontal", hide_index=True, alt=alt)
    st.caption("Time: median of 15 runs by turns, on this machine, now. Quality: from the two cards.")


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f} %"


def _common(one: CheckpointSpec, other: CheckpointSpec) -> list[tuple[Measure, Measure]]:
    """Measures that stand on both cards."""
    if one.card is None or other.card is None:
        return []
    theirs = {(m.name, m.on): m for m in other.card.measures}
    return [(m, theirs[m.name, m.on]) for m in one.card.measures if (m.name, m.on) in theirs]


def _table(both: Sequence[CheckpointSpec], sides: Sequence[Side]) -> None:
    with st.expander("The guesses as a table"):
        data_table(
            [
                {"model": model.name, "mask": number, "rank": rank, "guess": token, "probability": chance}
                for model, side in zip(both, sides, strict=True)
                for number, prediction in enumerate(side.predictions, 1)
                for rank, (token, chance) in enumerate(zip(prediction.tokens, prediction.probabilities, strict=True), 1)
            ],
            "guesses-beside",
            alt="Guesses of both models with their probabilities",
            column_config={"probability": st.column_config.NumberColumn(format="%.4f")},
        )


@st.cache_data(max_entries=128, ttl=3600.0, show_spinner="Running both models")
def _answers(first: str, second: str, text: str) -> tuple[Side, Side]:
    from core.language.fill_mask import predict, prepare
    from core.language.speed import by_turns

    loaded = [session.checkpoint(slug) for slug in (first, second)]
    masked = [prepare(checkpoint, text) for checkpoint in loaded]
    answers = [predict(checkpoint, m, GUESSES) for checkpoint, m in zip(loaded, masked, strict=True)]
    seconds = by_turns([lambda c=c, m=m: predict(c, m, GUESSES) for c, m in zip(loaded, masked, strict=True)])  # type: ignore[misc]
    made = [
        Side(answer, checkpoint.model.num_parameters(), checkpoint.model.config.num_hidden_layers, 1000 * taken)
        for answer, checkpoint, taken in zip(answers, loaded, seconds, strict=True)
    ]
    return made[0], made[1]


BESIDE = Demo(
    "beside",
    beside_demo,
    lambda spec: spec.offers("fills masks") and bool(partners_of(spec)),
    (PARTNER,),
)
