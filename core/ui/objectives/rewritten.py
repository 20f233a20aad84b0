"""Objectives of encoder-decoders: spans with sentinels, the five corruptions, gap sentences."""

from __future__ import annotations

import re
from typing import get_args

import streamlit as st

from core.language.text import sentences
from core.objectives import denoising, gaps, sentinels
from core.table import Table
from core.ui.export import download_csv
from core.ui.objectives import live_pairs
from core.ui.objectives.entry import Entry, Given, Number, Option, Several, Stage
from core.ui.text_table import TextTable, text_table

DAMAGES = {
    "permute": "Sentences change places",
    "rotate": "Begun elsewhere",
    "delete": "Tokens left out",
    "mask": "Tokens masked",
    "infill": "Runs infilled",
}
HOW: dict[str, str] = {
    "ind-orig": "Principal, each by itself (Ind-Orig)",
    "ind-uniq": "Principal, words counted once (Ind-Uniq)",
    "seq-orig": "Principal, one after the other (Seq-Orig)",
    "seq-uniq": "Both (Seq-Uniq)",
    "lead": "The first ones",
    "random": "At random",
}
_STORY = (
    "The old king lived in a castle by the sea. His daughter walked along the sea every day. One morning she found a "
    "golden ring in the sand. The king was glad when his daughter gave him the golden ring."
)


_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


def _sentences(given: Given) -> list[tuple[str, ...]]:
    """The sentences of the text as pieces."""
    return [tuple(token.piece for token in given.cut(part)) for part in sentences(given.text)]


def _sentinels(given: Given) -> tuple[Stage, ...]:
    example = sentinels.corrupt(
        [token.piece for token in given.tokens],
        given.rng(),
        rate=given.number("rate") / 100,
        mean=float(given.number("mean")),
        special=given.special,
    )
    return (Stage(example, note="Each coloured sentinel stands for one run, and the decoder's answer names it again."),)


def _denoised(given: Given) -> tuple[Stage, ...]:
    kinds = [kind for kind in given.word("damage").split(",") if kind]
    example = denoising.corrupt(_sentences(given), given.rng(), kinds, special=given.special)
    note = "" if kinds else "No corruption is chosen: the decoder copies."
    return (Stage(example, note=note),)


def _chosen(given: Given) -> tuple[list[list[str]], tuple[int, ...], gaps.Choice]:
    """The words of each sentence, the sentences to take out, and how they were found."""
    how: gaps.Choice = next(name for name in get_args(gaps.Choice) if name == given.word("choose"))
    words = [_WORD.findall(part) for part in sentences(given.text)]
    if len(words) < 2:
        return words, (), how
    return words, gaps.choose(words, given.rng(), how, given.number("rate") / 100), how


def _gaps(given: Given) -> tuple[Stage, ...]:
    return (Stage(gaps.corrupt(_sentences(given), given.rng(), chosen=_chosen(given)[1], special=given.special)),)


def _scores(given: Given, stages: tuple[Stage, ...]) -> None:
    """ROUGE1-F1 of every sentence against the others, and which were taken out."""
    words, chosen, how = _chosen(given)
    found = gaps.scores(words, unique=how.endswith("uniq"))
    st.markdown("**How much each sentence says of the rest**")
    rows = [
        (part, f"{score:.2f}", "taken out" if number in chosen else "stays")
        for number, (part, score) in enumerate(zip(sentences(given.text), found, strict=True))
    ]
    text_table(TextTable(("Sentence", "ROUGE1-F1", ""), rows, "Every sentence with its score", (66, 17, 17), (1,)))
    download_csv(
        Table.from_records(
            [
                {"sentence": part, "ROUGE1-F1": score, "taken out": number in chosen}
                for number, (part, score) in enumerate(zip(sentences(given.text), found, strict=True))
            ]
        ),
        "gap-sentences",
        f"gaps.csv.{given.seed}",
    )
    if how.startswith("seq"):
        st.caption("Each by itself. One after the other, the second is the one that adds most to the first.")


ENTRIES = (
    Entry(
        slug="sentinels",
        name="Spans and sentinels",
        systems="T5, mT5",
        branch="encoder-decoder",
        line="Runs of tokens leave the text; a numbered sentinel stands for each. The decoder writes every sentinel "
        "with what stood there, and nothing else.",
        paper="Raffel et al. 2019, arXiv:1910.10683. Which runs: random_spans_noise_mask in "
        "google-research/text-to-text-transfer-transformer, t5/data/preprocessors.py, read in a copy.",
        formula=r"L = -\frac{1}{|y|} \sum_{t} \log p(y_t \mid y_1, \dots, y_{t-1}, \tilde x)",
        symbols="- $L$: the loss, the mean over the places $t$ of the answer; $p$: the model's probability\n"
        "- $\\tilde x$: the text with sentinels\n- $y$: the answer, sentinels and tokens, ended by one more "
        "sentinel\n- 15 % of the tokens are taken out, in runs of 3 on average: "
        "$\\max(1, \\mathrm{round}(h / 3))$ runs of $h$ hidden tokens in all",
        try_="long runs of 10 at a share of 50 %, then runs of 1: the answer grows with every sentinel.",
        notice="the answer is short: 15 % of the tokens, and a sentinel for every three of them, are a fifth of the "
        "text, where BART's decoder writes all of it. The last token is always hidden: kept and hidden runs take "
        "turns, and a kept one comes first.",
        text="Thank you for inviting me to your party last week. We danced until the sun came up, and nobody wanted "
        "to go home. On Sunday my sister is coming to dinner with her children, and I will make a cake.",
        build=_sentinels,
        models=("atlas-t5",),
        about="There is no live answer: its card says that it learnt to translate and to repair, never with sentinels, "
        "and no other model here was trained with this objective.",
        settings=(
            Number("rate", "Share hidden, %", 15, 5, 50, 5, help="T5 hides 15 %."),
            Number("mean", "Mean run", 3, 1, 10, 1, help="T5's final models take 3 tokens."),
        ),
    ),
    Entry(
        slug="denoise",
        name="Five corruptions",
        systems="BART",
        branch="encoder-decoder",
        line="A text is damaged in up to five ways, and the decoder writes all of it as it was.",
        paper="Lewis et al. 2019, arXiv:1910.13461, section 2.2.",
        formula=r"L = -\frac{1}{n} \sum_{t=1}^{n} \log p(x_t \mid x_1, \dots, x_{t-1}, \tilde x)",
        symbols="- $L$: the loss, the mean over the places $t$; $p$: the model's probability\n- $x$: the text, $n$ "
        "tokens and the one that ends it\n- $\\tilde x$: the damaged text\n"
        "- single tokens: 15 % here; runs: 30 % of the tokens, of Poisson length with mean 3, each becoming one mask; "
        "a run of no token puts a mask between two",
        try_="Sentences change places as well, which makes it what BART's large model learnt from; then Tokens left "
        "out alone: nothing shows where they were.",
        notice="every token is asked, also those that can be copied, and most of them cost nearly nothing. The bars "
        "rise where a run is gone, and where it may end: one mask does not say how much it hides.",
        text=_STORY,
        build=_denoised,
        models=("atlas-bart",),
        answer=live_pairs.written,
        about="It was trained on texts of 64 tokens at most, each with one of the five drawn at random, never with two "
        "at once. BART's large model was trained with two: sentences in another order, and runs infilled.",
        settings=(Several("damage", "Corruptions", ("infill",), DAMAGES),),
        several=True,
    ),
    Entry(
        slug="gaps",
        name="Gap sentences",
        systems="PEGASUS",
        branch="encoder-decoder",
        line="Whole sentences leave the text, those that say most of the rest, and the decoder writes them: a summary "
        "that nobody had to write.",
        paper="Zhang et al. 2019, arXiv:1912.08777; read in a reader's notes of sections 3 and 6.",
        formula=r"\begin{gathered} L = -\frac{1}{|y|} \sum_t \log p(y_t \mid y_1, \dots, y_{t-1}, \tilde x) \\[4pt] "
        r"s_i = \mathrm{ROUGE1\text{-}F1}(x_i, D \setminus x_i) = \frac{2 P R}{P + R} \end{gathered}",
        symbols="- $L$: the loss, the mean over the places $t$ of what is written; $p$: the model's probability\n"
        "- $\\tilde x$: the text with gaps; $y$: the sentences that were taken out, one after the other\n"
        "- $x_i$: a sentence of the text $D$; the sentences with the largest $s_i$ are taken out\n"
        "- $P$: the share of its words that the rest has, too\n- $R$: the share of the rest's words that it has\n"
        "- 30 % of the sentences go; the large model took 45 % and left a fifth of those in the input as well",
        try_="the first sentences in place of the principal ones, then two of them one after the other (Seq).",
        notice="the sentence that shares most words with the others goes first. Short words count as much as names, so "
        "a long plain sentence can win.",
        text=_STORY,
        build=_gaps,
        models=("atlas-bart",),
        about="There is no live answer: no model here was trained with this objective.",
        settings=(
            Option("choose", "Which sentences", "ind-orig", HOW),
            Number("rate", "Share taken out, %", 30, 10, 70, 5, help="PEGASUS takes 30 %."),
        ),
        several=True,
        more=_scores,
    ),
)
