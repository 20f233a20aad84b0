"""Objectives with two models: a generator and a discriminator (ELECTRA), a teacher and a student (DistilBERT)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import streamlit as st

from core import checkpoints
from core.figures.predictions import compared_alt, compared_bars
from core.language.losses import Losses
from core.objectives import distillation, replaced
from core.objectives.contrastive import log_softmax
from core.objectives.example import tally
from core.table import Table
from core.ui.glossary import markdown
from core.ui.grid import Column, Grid
from core.ui.objectives.entry import RATE, Entry, Inputs, Share, Stage, losses_by, replaced_losses, sampled, scored
from core.ui.objectives.tokens import masked_example, once, usual
from core.ui.page import accent, plain, theme
from core.ui.panel import Panel
from core.ui.param import Integer
from core.ui.section import View

_WORDS = 6
_PICTURES = 3
TEMPERATURE = Integer(name="temperature", label="Temperature", default=2, low=1, high=10, width=140)


def _detect(inputs: Inputs) -> tuple[Stage, ...]:
    generator = replaced.mask_tokens(inputs.framed, inputs.rng(), **usual(inputs))
    samples = sampled(inputs.slug, generator.source, inputs.seed)
    discriminator = replaced.corrupt(inputs.framed, samples, inputs.fixed)
    right = sum(discriminator.source[position].change == "unchanged" for position in generator.targets)
    note = inputs.say("Equal samples", right=right, count=len(generator.targets)) if right else ""
    return Stage(generator), Stage(discriminator, note=note, reveals=True, classifies=True)


def _detect_shares(inputs: Inputs) -> tuple[Share, ...]:
    counts = tally(lambda rng: replaced.mask_tokens(inputs.framed, rng, **usual(inputs)))
    return (
        Share("tokens the generator predicts", 100 * counts.share, float(inputs.number("rate"))),
        Share("tokens the discriminator classifies", 100.0, 100.0),
    )


def _sum(words: Callable[..., str], answers: tuple[Losses, ...]) -> str:
    generator, discriminator = answers[0].mean, answers[1].mean
    if generator is None or discriminator is None:
        return ""
    return words(
        "Sum",
        generator=f"{generator:.2f}",
        weight=f"{replaced.WEIGHT:.0f}",
        discriminator=f"{discriminator:.3f}",
        total=f"{generator + replaced.WEIGHT * discriminator:.2f}",
    )


_LOSSES: tuple[Column[tuple[str, float | None, float | None, float]], ...] = (
    Column("Loss", lambda row: row[0], width=46),
    Column("Mean, nats", lambda row: row[1], ".3f", 18, "mean"),
    Column("Weight", lambda row: row[2], "g", 18),
    Column("Weighted", lambda row: row[3], ".3f", 18),
)


def _losses(view: View, inputs: Inputs, stages: tuple[Stage, ...]) -> None:
    """Teacher and student at each masked token, and the three losses with their weights."""
    example, temperature = stages[0].example, float(inputs.number("temperature"))
    scores = scored(checkpoints.first("objective-distillation-teacher")[0], inputs.slug, example.source)
    teacher, student, *states = (
        np.asarray(values, dtype=np.float64) for values in (scores.teacher, scores.student, *scores.states)
    )
    soft_log = log_softmax(teacher, temperature)
    soft = np.exp(soft_log), np.exp(log_softmax(student, temperature))
    drawn = min(_PICTURES, len(example.targets))
    markdown(f"**{view.words.part('Compared', temperature=f'{temperature:g}')}**")
    for row, column in enumerate(st.columns(max(drawn, 2), gap="large")[:drawn]):
        best = np.argsort(-teacher[row])[:_WORDS]
        by_teacher, by_student = (side[row, best].tolist() for side in soft)
        with column:
            truth = scores.names[int(scores.truth[row])]
            _compared_token(view, row + 1, [scores.names[i] for i in best], truth, by_teacher, by_student)
    if len(example.targets) > drawn:
        view.note("First tokens", drawn=drawn, count=len(example.targets))
    _loss_table(view, distillation.losses(teacher, student, scores.truth, (states[0], states[1]), temperature))
    even = float(np.exp(-(soft[0] * soft_log).sum(axis=-1).mean()))
    view.say("Uncertainty", even=f"{even:,.{0 if even >= 10 else 1}f}")


def _compared_token(
    view: View, number: int, words: Sequence[str], truth: str, by_teacher: Sequence[float], by_student: Sequence[float]
) -> None:
    """The teacher's top predictions for one masked token, with both models' probabilities."""
    pairs = list(zip(by_teacher, by_student, strict=True))
    st.caption(plain(f"In place of “{truth}”"))
    Panel(
        f"distillation-{number}",
        view.words.part("Compared token", number=number),
        compared_bars(
            ("teacher", "student"),
            list(zip(words, pairs, strict=True)),
            (accent("encoder"),),
            truth=truth,
            theme=theme(),
        ),
        compared_alt(words, by_teacher, by_student, f"In place of {truth}"),
        Table(("token", "teacher", "student"), tuple((word, *pair) for word, pair in zip(words, pairs, strict=True))),
    ).draw(view.state)


def _loss_table(view: View, losses: distillation.Losses) -> None:
    """The means of the three losses, their weights, and the weighted sum."""
    means = (float(losses.soft.mean()), float(losses.hard.mean()), float(losses.states.mean()))
    weights = (distillation.SOFT, distillation.HARD, distillation.STATES)
    names = ("Soft targets: T² KL", "Masked tokens: −log q", "Direction of the states: 1 − cos")
    parts = [(name, mean, weight, weight * mean) for name, mean, weight in zip(names, means, weights, strict=True)]
    Grid("The three losses", _LOSSES, [*parts, ("Sum", None, None, losses.total)]).draw(
        "distillation-losses", view.state.key("distillation.csv")
    )


REPLACED = Entry("replaced", "encoder", _detect, replaced_losses, settings=(RATE,), shares=_detect_shares, total=_sum)
DISTILLATION = Entry(
    "distillation",
    "encoder",
    once(masked_example),
    losses_by("masks"),
    settings=(TEMPERATURE,),
    rare=(RATE,),
    more=_losses,
)
