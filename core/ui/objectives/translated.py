"""Masked tokens in a sentence and its translation."""

from __future__ import annotations

from core.errors import InputUnusable
from core.language.text import clean
from core.objectives import translation
from core.ui.objectives import live_pairs
from core.ui.objectives.entry import Entry, Given, Line, Number, Stage
from core.ui.objectives.given import MAX_CHARS

_FRENCH = "Ma sœur lit un livre dans le jardin."


def _paired(given: Given) -> tuple[Stage, ...]:
    other = given.word("second")
    if not other.strip():
        raise InputUnusable("The second sentence is empty. Type the same in French, or choose Masked tokens above.")
    second = [token.piece for token in given.cut(clean(other, MAX_CHARS))]
    if not second:
        raise InputUnusable("There is no letter in the second sentence that can be read. Type the same in French.")
    pair = translation.corrupt(
        [token.piece for token in given.tokens],
        second,
        given.vocabulary,
        given.rng(),
        rate=given.number("rate") / 100,
        mask=given.frame["mask"],
        end=given.frame["sep"],
        special=given.special,
    )
    note = "The number under a token is its position, which starts again; the underline marks the second language."
    alone = [
        Stage(example, title)
        for example, title in (
            (translation.alone(pair, 0)[0], "The English sentence alone, with the same damage"),
            (translation.alone(pair, 1)[0], "The French sentence alone, with the same damage"),
        )
        if example.asked
    ]
    return (Stage(pair, "Both sentences in one row", note), *alone)


ENTRIES = (
    Entry(
        slug="translation",
        name="Translation language model",
        systems="XLM",
        branch="encoder",
        line="A sentence and its translation stand in one row, and tokens are hidden in both: what is hidden in one "
        "can be looked up in the other.",
        paper="Lample & Conneau 2019, arXiv:1901.07291; positions and languages read in a summary of the paper.",
        formula=r"\begin{gathered} L = -\frac{1}{|M|} \sum_{i \in M} \log p(w_i \mid \tilde x, \tilde y) \\[4pt] "
        r"e_i = E_{w_i} + P_{\mathrm{pos}(i)} + L_{\mathrm{lang}(i)} \end{gathered}",
        symbols="- $L$: the loss, a mean; $p$: the model's probability\n"
        "- $\\tilde x$, $\\tilde y$: the damaged sentence and its damaged translation\n"
        "- $M$: the chosen places of both, 15 %; $w_i$: what stood there\n- $e_i$: what the model reads at place $i$, "
        "the sum of the vectors of the piece ($E$), of the position ($P$) and of the language "
        "($L_{\\mathrm{lang}(i)}$)\n"
        "- $\\mathrm{pos}(i)$: counts from 0 "
        "again in the second sentence",
        try_="half of the tokens hidden, and a translation that does not say the same.",
        notice="the same hidden tokens cost less beside the translation than alone. Where word and counterpart are "
        "both hidden, nothing is gained.",
        text="My sister reads a book in the garden.",
        build=_paired,
        models=("atlas-xlm",),
        answer=live_pairs.paired,
        about="It was trained on English and French sentences alone and in pairs, 16 million tokens of everyday "
        "sentences.",
        settings=(
            Line("second", "The same in French", _FRENCH),
            Number("rate", "Share hidden, %", 15, 5, 50, 5, help="XLM hides 15 %, as BERT does."),
        ),
    ),
)
