"""Objectives with two models: a generator and a judge (ELECTRA), a teacher and a student (DistilBERT)."""

from __future__ import annotations

import numpy as np
import streamlit as st

from core import checkpoints
from core.figures.predictions import compared_alt, compared_bars
from core.language.losses import Losses
from core.objectives import distillation, replaced
from core.objectives.shares import tally
from core.table import Table
from core.ui.export import download_csv
from core.ui.glossary import markdown
from core.ui.objectives import live
from core.ui.objectives.entry import RATE, Entry, Given, Share, Stage
from core.ui.objectives.tokens import masked_example, once
from core.ui.page import accent, plain, theme
from core.ui.panel import Panel
from core.ui.param import Integer
from core.ui.section import View
from core.ui.text_table import TextTable, text_table

_WORDS = 6
_PICTURES = 3
TEMPERATURE = Integer(name="temperature", label="Temperature", default=2, low=1, high=10, width=140)


def _detect(given: Given) -> tuple[Stage, ...]:
    hidden = replaced.hide(
        given.framed, given.rng(), rate=given.number("rate") / 100, mask=given.frame["mask"], fixed=given.fixed
    )
    samples = live.samples(given.slug, hidden.source, given.seed)
    judged = replaced.corrupt(given.framed, samples, given.fixed)
    right = sum(judged.source[place].change == "unchanged" for place in hidden.asked)
    lucky = f"{right} of {len(hidden.asked)} samples equal the original token and count as original." if right else ""
    return (
        Stage(hidden),
        Stage(
            judged,
            note=lucky,
            tells=True,
            under="the discriminator's probability that the token was replaced",
            among="answers",
        ),
    )


def _detect_shares(given: Given) -> tuple[Share, ...]:
    rate = given.number("rate")
    found = tally(lambda rng: replaced.hide(given.framed, rng, rate=rate / 100, fixed=given.fixed))
    return (
        Share("tokens the generator predicts", 100 * found.share, float(rate)),
        Share("tokens the discriminator classifies", 100.0, 100.0),
    )


def _sum(answers: tuple[Losses, ...]) -> str:
    words, verdicts = answers[0].mean, answers[1].mean
    if words is None or verdicts is None:
        return ""
    total = words + replaced.WEIGHT * verdicts
    return (
        f"ELECTRA's loss is the sum with a weight: {words:.2f} for the generator and {replaced.WEIGHT:.0f} · "
        f"{verdicts:.3f} for the discriminator, {total:.2f} nats."
    )


def _losses(view: View, given: Given, stages: tuple[Stage, ...]) -> None:
    """Teacher and student at each hidden token, and the three losses with their weights."""
    example = stages[0].example
    found = live.scored(checkpoints.first("objective-distillation-teacher")[0], given.slug, example.source)
    heat = float(given.number("temperature"))
    one, other = (np.asarray(scores, dtype=np.float64) for scores in (found.teacher, found.student))
    states = tuple(np.asarray(state, dtype=np.float64) for state in found.states)
    paid = distillation.losses(one, other, found.truth, (states[0], states[1]), heat)
    soft = np.exp(distillation.log_soft(one, heat)), np.exp(distillation.log_soft(other, heat))
    drawn = min(_PICTURES, len(example.asked))
    markdown(f"**What teacher and student find probable, at temperature {heat:g}**")
    for row, column in enumerate(st.columns(max(drawn, 2), gap="large")[:drawn]):
        best = np.argsort(-one[row])[:_WORDS]
        words = [found.names[i] for i in best]
        truth = found.names[int(found.truth[row])]
        teacher, student = (side[row, best].tolist() for side in soft)
        pairs = list(zip(teacher, student, strict=True))
        with column:
            st.caption(plain(f"In place of “{truth}”"))
            Panel(
                f"distillation-{row + 1}",
                f"Teacher and student at masked token {row + 1}",
                compared_bars(
                    ("teacher", "student"),
                    list(zip(words, pairs, strict=True)),
                    (accent("encoder"),),
                    truth=truth,
                    theme=theme(),
                ),
                compared_alt(words, teacher, student, f"In place of {truth}"),
                Table(
                    ("token", "teacher", "student"),
                    tuple((word, *pair) for word, pair in zip(words, pairs, strict=True)),
                ),
            ).draw(view.state)
    if len(example.asked) > drawn:
        st.caption(f"The first {drawn} of {len(example.asked)} masked tokens are shown; the losses count all of them.")
    means = (float(paid.soft.mean()), float(paid.hard.mean()), float(paid.states.mean()))
    weights = (distillation.SOFT, distillation.HARD, distillation.STATES)
    names = ("Soft targets: T² KL", "Masked tokens: −log q", "Direction of the states: 1 − cos")
    table = Table(
        ("loss", "mean", "weight", "weighted"),
        tuple((name, mean, weight, weight * mean) for name, mean, weight in zip(names, means, weights, strict=True)),
    )
    rows = [(str(name), f"{mean:.3f}", f"{weight:g}", f"{part:.3f}") for name, mean, weight, part in table.rows]
    rows.append(("Sum", "", "", f"{paid.total:.3f}"))
    headings = ("Loss", "Mean, nats", "Weight", "Weighted")
    text_table(TextTable(headings, rows, "The three losses", (46, 18, 18, 18), (1, 2, 3)))
    download_csv(table, "distillation-losses", view.state.key("distillation.csv"))
    entropy = float(-(soft[0] * distillation.log_soft(one, heat)).sum(axis=-1).mean())
    even = float(np.exp(entropy))
    view.say("Uncertainty", even=f"{even:,.{0 if even >= 10 else 1}f}")


REPLACED = Entry(
    "replaced",
    "encoder",
    _detect,
    live.replaced,
    settings=(RATE,),
    shares=_detect_shares,
    total=_sum,
)
DISTILLATION = Entry(
    "distillation",
    "encoder",
    once(masked_example),
    live.by("masks"),
    settings=(TEMPERATURE, RATE),
    more=_losses,
)
