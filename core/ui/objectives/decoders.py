"""Objectives of decoders."""

from __future__ import annotations

from core.objectives import causal
from core.ui.objectives import live
from core.ui.objectives.entry import Entry, Given, Stage


def _next(given: Given) -> tuple[Stage, ...]:
    pieces = [token.piece for token in given.tokens]
    return (Stage(causal.corrupt(pieces, given.frame.get("begin"))),)


ENTRIES = (
    Entry(
        slug="causal",
        name="Next token",
        systems="GPT, GPT-2, GPT-3",
        branch="decoder",
        line="Every token is asked of the tokens before it. Nothing is damaged and nothing "
        "is drawn, so there is no seed: the mask alone hides the answer.",
        paper="Radford et al. 2018, Improving Language Understanding by Generative Pre-Training, equation 1.",
        formula=r"L = -\frac{1}{n} \sum_{i=1}^{n} \log p(x_i \mid x_0, \dots, x_{i-1})",
        symbols="- $x_i$: token $i$; $x_0$: the token that begins a text\n- $n$: the number of tokens\n"
        "- $p$: the model's probability; $L$: the loss, its mean over all tokens",
        try_="a word that the sentence makes certain, and one that nobody could guess.",
        notice="every place is asked, and the first tokens of a text cost most: nothing stands before them yet. The "
        "later pieces of a long word are nearly free.",
        text="The king gave his daughter a golden ring, and she thanked him.",
        build=_next,
        models=("atlas-gpt-2", "atlas-gpt-neo", "atlas-llama"),
        answer=live.causal,
        about="It was trained on stories with this objective.",
        random=False,
    ),
)
