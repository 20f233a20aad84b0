"""Each rule as a formula, with its symbols and its paper."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from core.language.decoding.cards import NUMBERS, TEMPERATURE, Number
from core.language.decoding.rules import Rule


@dataclass(frozen=True, slots=True)
class Told:
    """A rule for the page."""

    name: str
    number: Number
    latex: str
    symbols: str
    paper: str


RULES: dict[Rule, Told] = {
    "temperature": Told(
        "Temperature",
        TEMPERATURE,
        r"p'(w) = \frac{e^{z_w / T}}{\sum_{v \in V} e^{z_v / T}}",
        "$z_w$ is the model's score of token $w$, $v$ runs over the vocabulary $V$, $T$ is the temperature and $p'$ "
        "the probability that it makes. Below 1 the likely tokens "
        "gain, above 1 the unlikely ones; nothing is cut off.",
        "As in Keskar et al. 2019, CTRL, arXiv 1909.05858, before their penalty. The softmax of the scores divided by "
        "T; towards T = 0 it becomes greedy decoding.",
    ),
    "top_k": Told(
        "Top-k",
        NUMBERS["top_k"],
        r"p'(w) \propto p(w) \cdot [\, z_w \ge z_{(k)} \,]",
        "$p$ are the probabilities of tokens $w$ before, $p'$ those after; $z_w$ is the score of $w$, $z_{(k)}$ the "
        "$k$-th highest one; what ties with it stays. The number of tokens is the same at every "
        "step, however sure the model is.",
        "Fan, Lewis and Dauphin 2018, Hierarchical Neural Story Generation, arXiv 1805.04833.",
    ),
    "top_p": Told(
        "Top-p",
        NUMBERS["top_p"],
        r"p'(w) \propto p(w) \cdot [\, w \in S \,], \quad \sum_{v \in S} p(v) \ge p",
        "$p(w)$ is the probability of token $w$ before, $p'(w)$ that after; $p$ alone is the mass that you set. $S$ "
        "holds the most probable tokens $v$, as few as reach that mass: the line in the picture is the sum from the "
        "top. Few tokens stay where the model is sure, many where it is not.",
        "Holtzman et al. 2020, The Curious Case of Neural Text Degeneration, arXiv 1904.09751.",
    ),
    "min_p": Told(
        "Min-p",
        NUMBERS["min_p"],
        r"p'(w) \propto p(w) \cdot [\, p(w) \ge m \cdot p_{\max} \,]",
        "$p(w)$ is the probability of token $w$ before, $p'(w)$ that after. $p_{\\max}$ is the probability of the "
        "best token, $m$ the share of it that a token must have. The line in the "
        "picture is $m \\cdot p_{\\max}$.",
        "Nguyen et al. 2024, Turning Up the Heat: Min-p Sampling, arXiv 2407.01082.",
    ),
    "typical": Told(
        "Typical",
        NUMBERS["typical"],
        r"\begin{aligned} d(w) &= \bigl|\, -\ln p(w) - H \,\bigr| \\ H &= -\sum_{v \in V} p(v) \ln p(v) \end{aligned}",
        "$p$ are the model's probabilities, $v$ runs over the vocabulary $V$. $H$ is the entropy, $-\\ln p(w)$ the "
        "surprise of token $w$. The tokens with the smallest distance $d$ stay, "
        "as few as reach the mass. So it may cut off the most probable token, where that one says too little.",
        "Meister et al. 2023, Locally Typical Sampling, arXiv 2202.00666.",
    ),
    "penalty": Told(
        "Repetition penalty",
        Number("Penalty", 0.5, 3.0, 1.3, 0.1),
        r"z'_w = \begin{cases} z_w / \theta & z_w \ge 0 \\ \theta \, z_w & z_w < 0 \end{cases} \quad w \in x_{<t}",
        "$z_w$ is the score of token $w$, $\\theta$ the penalty, $x_{<t}$ all that was read. "
        "Every token of the beginning and the new text counts, once or often. Scores "
        "below 0 are multiplied, as transformers does it, so that they fall, too.",
        "Keskar et al. 2019, CTRL, arXiv 1909.05858.",
    ),
    "no_repeat": Told(
        "No repeated runs",
        Number("Length of a run", 1, 10, 2, 1, True),
        r"p'(w) = 0 \ \text{ if } (x_{t-n+1}, \dots, x_{t-1}, w) \text{ is in } x_{<t}",
        "$p'(w)$ is the probability of token $w$ after the rule, $x_{<t}$ all that was read before step $t$, $n$ the "
        "length of the runs. Whatever would end a run that stands there already "
        "is forbidden.",
        "Paulus et al. 2017, A Deep Reinforced Model for Abstractive Summarization, arXiv 1705.04304, where guides to "
        "transformers say that it comes from; the paper's own passage was not read. Written here as transformers' "
        "no_repeat_ngram_size does it, in whose code it was read.",
    ),
}
"""In the order of the menu."""


def explain(rule: Rule) -> None:
    """The formula beside the picture."""
    told = RULES[rule]
    st.latex(told.latex)
    st.markdown(told.symbols)
    st.caption(told.paper)
