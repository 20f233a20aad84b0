"""Distillation: a hidden token, what the teacher finds probable there, and the three losses of the student."""

from __future__ import annotations

import numpy as np
import streamlit as st

from core.figures.predictions import compared_alt, compared_bars
from core.objectives import distillation, masked
from core.objectives.example import Example
from core.table import Table
from core.ui.chart import chart
from core.ui.export import download_csv
from core.ui.glossary import told
from core.ui.objectives import live, live_pairs
from core.ui.objectives.entry import Entry, Given, Number, Stage
from core.ui.page import accent, plain, theme
from core.ui.text_table import TextTable, text_table

TEACHER, STUDENT = "atlas-bert", "atlas-distilbert"
_WORDS = 6
_PICTURES = 3


def _hidden(given: Given) -> Example:
    return masked.corrupt(
        given.framed,
        given.vocabulary,
        given.rng(),
        rate=given.number("rate") / 100,
        mask=given.frame["mask"],
        fixed=given.fixed,
    )


def _build(given: Given) -> tuple[Stage, ...]:
    return (Stage(_hidden(given), note="The bars are the student's second loss, that of a masked language model."),)


def _losses(given: Given, stages: tuple[Stage, ...]) -> None:
    """Teacher and student at each hidden token, and the three losses with their weights."""
    example = stages[0].example
    found = live_pairs.scored(TEACHER, STUDENT, example.source)
    heat = float(given.number("temperature"))
    one, other = (np.asarray(scores, dtype=np.float64) for scores in (found.teacher, found.student))
    states = tuple(np.asarray(state, dtype=np.float64) for state in found.states)
    paid = distillation.losses(one, other, found.truth, (states[0], states[1]), heat)
    soft = np.exp(distillation.log_soft(one, heat)), np.exp(distillation.log_soft(other, heat))
    shown = min(_PICTURES, len(example.asked))
    told(f"**What teacher and student find probable, at temperature {heat:g}**")
    for row, column in enumerate(st.columns(max(shown, 2), gap="large")[:shown]):
        best = np.argsort(-one[row])[:_WORDS]
        words = [found.names[i] for i in best]
        truth = found.names[int(found.truth[row])]
        teacher, student = (side[row, best].tolist() for side in soft)
        with column:
            st.caption(plain(f"In place of “{truth}”"))
            chart(
                compared_bars(
                    ("teacher", "student"),
                    list(zip(words, zip(teacher, student, strict=True), strict=True)),
                    (accent("encoder"),),
                    truth=truth,
                    theme=theme(),
                ),
                key=f"distillation.bars.{row}.{given.seed}",
                alt=compared_alt(words, teacher, student, f"In place of {truth}"),
            )
    if len(example.asked) > shown:
        st.caption(f"The first {shown} of {len(example.asked)} hidden tokens are drawn; the losses count all of them.")
    means = (float(paid.soft.mean()), float(paid.hard.mean()), float(paid.states.mean()))
    weights = (distillation.SOFT, distillation.HARD, distillation.STATES)
    names = ("Soft targets: T² KL", "Masked tokens: −log q", "Direction of the states: 1 − cos")
    rows = [
        (name, f"{mean:.3f}", f"{weight:g}", f"{weight * mean:.3f}")
        for name, mean, weight in zip(names, means, weights, strict=True)
    ]
    rows.append(("Sum", "", "", f"{paid.total:.3f}"))
    text_table(
        TextTable(("Loss", "Mean, nats", "Weight", "Weighted"), rows, "The three losses", (46, 18, 18, 18), (1, 2, 3))
    )
    download_csv(
        Table.from_records(
            [
                {"loss": n, "mean": m, "weight": w, "weighted": w * m}
                for n, m, w in zip(names, means, weights, strict=True)
            ]
        ),
        "distillation-losses",
        f"distillation.csv.{given.seed}",
    )
    entropy = float(-(soft[0] * distillation.log_soft(one, heat)).sum(axis=-1).mean())
    even = float(np.exp(entropy))
    told(
        f"The teacher's distribution at this temperature is as uncertain as an even choice among "
        f"{even:,.{0 if even >= 10 else 1}f} words. The cosine has no unit."
    )


ENTRIES = (
    Entry(
        slug="distillation",
        name="Distillation",
        systems="DistilBERT",
        branch="encoder",
        line="A student is asked for all that its teacher finds probable at a hidden token, not only for the token "
        "that stood there.",
        paper="Sanh et al. 2019, arXiv:1910.01108. Weights and temperature: README of the distillation example in "
        "huggingface/transformers. Soft targets: Hinton et al. 2015, arXiv:1503.02531 (from memory, unverified).",
        formula=r"\begin{gathered} L = 5\, T^2\, KL(p_T \,\|\, q_T) - 2 \log q_1(x) + 1 - \cos(h, h') \\[4pt] "
        r"p_T = \mathrm{softmax}(z / T) \end{gathered}",
        symbols="- $L$: the loss; $KL$: how far $q_T$ is from $p_T$, the Kullback–Leibler divergence\n- $p_T$, $q_T$: "
        "what teacher and student find probable, at temperature $T$ (2 in the recipe); $z$: "
        "their scores\n- $x$: the token that stood there\n- $h$, $h'$: their last states, at every token\n"
        "- 5, 2 and 1: the weights of the recipe; the first two are means over the hidden tokens, the last over all",
        try_="a temperature of 1, then of 10: what does the teacher say besides its best word?",
        notice="where the teacher hesitates between words that would all fit, the student learns that, too. A plain "
        "target would call all but one of them equally wrong.",
        text="The king gave his daughter a golden ring, and she thanked him with all her heart.",
        build=_build,
        models=(STUDENT,),
        answer=live.masked,
        about="It is the student; its teacher is Atlas BERT, of which it has every second layer. Both share a "
        "vocabulary of WordPiece tokens in lower case. In its training, too, soft targets were taken at hidden tokens "
        "only.",
        settings=(
            Number("temperature", "Temperature", 2, 1, 10, 1, help="The recipe takes 2."),
            Number("rate", "Share hidden, %", 15, 5, 50, 5, help="15 %, as for BERT."),
        ),
        more=_losses,
    ),
)
