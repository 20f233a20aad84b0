"""What the section on rounds says: names of the kinds, advice, how each model answers, and whose question it is."""

from __future__ import annotations

import streamlit as st

from core.language.rounds import Kind
from core.ui.glossary import told
from core.ui.page import plain

LEAD = (
    "**Predict first.** Ten questions as a model meets them in training. You answer, then a live model does, and "
    "at the end you see who knew more."
)
NAMES: dict[Kind, str] = {
    "masked": "The hidden word",
    "next": "The next word",
    "replaced": "The replaced word",
    "order": "Which came first",
}
PROMPTS: dict[Kind, str] = {
    "masked": "Which word is hidden?",
    "next": "Which word comes next?",
    "replaced": "One word was replaced. Choose it.",
    "order": "Which of the two sentences was written first?",
}

_ADVICE: dict[Kind, str] = {
    "masked": "**Try** to name what told you the word: a word beside it, or one far away.\n\n**Notice** where the "
    "model keeps up: small words that grammar asks for it finds; things and animals often not.",
    "next": "**Try** to say which word of the beginning told you.\n\n**Notice** that the model is sure where the last "
    "few words decide, and less sure where the clue stands in the sentence before.",
    "replaced": "**Try** to say whether grammar or sense gave the word away.\n\n**Notice** that the judge is sure "
    "where a word breaks the grammar, and hardly suspects one that only makes no sense; now and then it blames the "
    "neighbour.",
    "order": "**Try** to find the word that decides: *he*, *then*, *the girl* after *a girl*.\n\n**Notice** that the "
    "topic does not help: both sentences are from one story.",
}
_HOW: dict[Kind, tuple[str, str, str]] = {
    "masked": (
        r"\hat w = \arg\max_w \; p(w \mid x_1, \dots, x_{i-1}, [MASK], x_{i+1}, \dots, x_n)",
        "$x_1 \\dots x_n$ are the tokens, $i$ the hidden place, $p$ is the model's probability, $w$ runs over the "
        "vocabulary. The likeliest token is "
        "the model's answer; its five likeliest are drawn.",
        "Masked tokens: Devlin et al. 2019, arXiv:1810.04805.",
    ),
    "next": (
        r"\hat w = \arg\max_w \; p(w \mid x_1, \dots, x_n)",
        "$x_1 \\dots x_n$ are the tokens of the beginning, $p$ is the model's probability, $w$ runs over the "
        "vocabulary. A comma is a token too, and "
        "may be the likeliest.",
        "Next token: Radford et al. 2018, equation 1.",
    ),
    "replaced": (
        r"\hat t = \arg\max_t D_t \qquad D_t = \sigma(w^\top h_t)",
        "$h_t$ is the judge's last vector at token $t$, $w$ is learned, $\\sigma(x) = 1 / (1 + e^{-x})$, $D_t$ the "
        "probability that $t$ was replaced; a "
        "word of several tokens has the highest of theirs. In training a generator had written the replacements; here "
        "a person chose them.",
        "Replaced tokens: Clark et al. 2020, arXiv:2003.10555.",
    ),
    "order": (
        r"p(A \text{ first}) = \frac{p(A\,B)}{p(A\,B) + p(B\,A)}",
        "$p(A\\,B)$ is the probability of both sentences as one text in this order, the product over all tokens. No "
        "model here has learned the question itself: Atlas ALBERT was asked it in training and gets 52 of 100 held-out "
        "pairs right, where chance gives 50. A model of next tokens was never asked it, but it can read both orders "
        "and find one likelier.",
        "Sentence order: Lan et al. 2020, arXiv:1909.11942; the 52 of 100 are from the model's card.",
    ),
}
_LIMITS = {
    "atlas-bert": "3.4 million parameters and 16 million tokens of text.",
    "atlas-roberta": "As small as Atlas BERT, without its second question.",
    "minilm": "The largest here: a published encoder with a head for masked words of our own.",
    "atlas-gpt-2": "4.8 million parameters, trained on children's books.",
    "atlas-electra": "A small judge, trained against a generator that is seldom right.",
}


def below(kind: Kind, slug: str, name: str) -> None:
    """Advice, what the model is, and how it answers."""
    told(_ADVICE[kind])
    other = " No model here has learned this question; it reads both orders instead." if kind == "order" else ""
    st.caption(plain(f"{name}: {_LIMITS[slug]}{other} All questions were written for this page."))
    formula, symbols, source = _HOW[kind]
    with st.expander("How the model answers"):
        st.latex(formula)
        st.markdown(symbols)
        st.caption(source)
