"""Objectives of encoders that hide single tokens."""

from __future__ import annotations

from core.objectives import masked
from core.ui.objectives import live
from core.ui.objectives.entry import Entry, Given, Number, Stage

RATE = Number(
    "rate", "Share hidden, %", 15, 5, 50, 5, help="BERT hides 15 %. Of a short sentence that is one or two tokens."
)


def _masked(given: Given) -> tuple[Stage, ...]:
    example = masked.corrupt(
        given.framed, given.vocabulary, given.rng(), rate=given.number("rate") / 100, mask=given.frame["mask"],
        fixed=given.fixed,
    )  # fmt: skip
    return (Stage(example),)


ENTRIES = (
    Entry(
        slug="masked",
        name="Masked tokens",
        systems="BERT, RoBERTa, DeBERTa",
        branch="encoder",
        line="Some tokens are hidden and asked of all that stands around them, to the left and to the right.",
        paper="Devlin et al. 2019, arXiv:1810.04805, section 3.1.",
        formula=r"L = -\frac{1}{|M|} \sum_{i \in M} \log p(x_i \mid \tilde x)",
        symbols="- $x_i$: the token that stood at place $i$\n- $M$: the chosen places, 15 % of the tokens\n"
        "- $\\tilde x$: the text in which 80 % of the chosen tokens became [MASK], 10 % a random token, and 10 % "
        "stayed as they were",
        try_="half of the tokens hidden, then 5 %: how far can the guesses sink?",
        notice="a place that was left as it is carries a loss as well. The model cannot know which tokens are right, "
        "so it must have an opinion on every one.",
        text="The king gave his daughter a golden ring, and she thanked him with all her heart.",
        build=_masked,
        models=("atlas-bert", "atlas-roberta", "atlas-deberta", "atlas-albert"),
        answer=live.masked,
        about="It was trained on masked tokens: 15 %, of which 80 % became [MASK] and 10 % a random token.",
        settings=(RATE,),
    ),
)
