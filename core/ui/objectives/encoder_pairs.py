"""Objectives of encoders with one answer for two segments: next sentence and the orders of sentences."""

from __future__ import annotations

import numpy as np

from core.language.losses import Losses
from core.language.text import clean, two_parts
from core.objectives import masked, next_sentence, sentence_order
from core.objectives.example import Example
from core.objectives.shares import tally
from core.ui.objectives import live
from core.ui.objectives.bank import OTHERS, PAIR
from core.ui.objectives.entry import Entry, Given, Line, Option, Share, Stage
from core.ui.objectives.given import MAX_CHARS

FORMULA = (
    r"\begin{aligned} L &= -\log p(y \mid A, B) \\ p &= \mathrm{softmax}\big(V \tanh(W h_{[CLS]} + b) + c\big) "
    r"\end{aligned}"
)
SYMBOLS = (
    "- $L$: the loss; $p$: the model's probability of each answer\n"
    "- $A, B$: the two segments\n- $y$: the right answer\n- $h_{[CLS]}$: the last vector of the token before both\n"
    "- $W, b, V, c$: learned"
)
OTHER = Line("other", "A sentence of another text", help="Left empty: one written for this page.", rare=True)


def _parts(given: Given) -> tuple[list[str], list[str], str]:
    """The two segments as pieces, and a remark on how they were cut."""
    first, second, note = two_parts(given.text)
    return [t.piece for t in given.cut(first)], [t.piece for t in given.cut(second)], note


def _other(given: Given) -> list[str]:
    typed = given.word("other").strip()
    text = clean(typed, MAX_CHARS) if typed else OTHERS[given.seed % len(OTHERS)]
    return [token.piece for token in given.cut(text)]


def _stage(example: Example, note: str) -> tuple[Stage, ...]:
    shading = "B is underlined: every token is told its segment."
    return (Stage(example, note=f"{note} {shading}".strip()),)


def _next(given: Given) -> tuple[Stage, ...]:
    first, second, note = _parts(given)
    rng = given.rng()
    example = next_sentence.corrupt(first, second, _other(given), rng, cls=given.frame["cls"], sep=given.frame["sep"])
    if given.word("both") == "yes":
        typed = [place for place, cell in enumerate(example.source) if cell.token in given.special]
        example = masked.over(example, given.vocabulary, rng, mask=given.frame["mask"], fixed=typed)
    return _stage(example, note)


def _sum(answers: tuple[Losses, ...]) -> str:
    words, pair = answers[0].mean, answers[0].labels.get(0)
    if words is None or pair is None:
        return ""
    return f"BERT's loss is the sum of both: {words:.2f} for the words and {pair.nats:.2f} for the pair, " + (
        f"{words + pair.nats:.2f} nats."
    )


def _order(given: Given) -> tuple[Stage, ...]:
    first, second, note = _parts(given)
    frame = given.frame
    return _stage(sentence_order.corrupt(first, second, given.rng(), cls=frame["cls"], sep=frame["sep"]), note)


def _three(given: Given) -> tuple[Stage, ...]:
    first, second, note = _parts(given)
    frame = given.frame
    example = sentence_order.three_way(first, second, _other(given), given.rng(), cls=frame["cls"], sep=frame["sep"])
    return _stage(example, note)


def _answers(choices: tuple[str, ...], counts: dict[int, int], draws: int) -> tuple[Share, ...]:
    return tuple(
        Share(choice, 100 * counts.get(number, 0) / draws, 100 / len(choices)) for number, choice in enumerate(choices)
    )


def _next_shares(given: Given) -> tuple[Share, ...]:
    found = tally(lambda rng: next_sentence.corrupt(("a",), ("b",), ("c",), rng), 4000)
    return _answers(next_sentence.CHOICES, dict(found.answers), found.draws)


def _order_shares(given: Given) -> tuple[Share, ...]:
    found = tally(lambda rng: sentence_order.corrupt(("a",), ("b",), rng), 4000)
    return _answers(sentence_order.TWO, dict(found.answers), found.draws)


def _three_shares(given: Given) -> tuple[Share, ...]:
    def make(rng: np.random.Generator) -> Example:
        return sentence_order.three_way(("a",), ("b",), ("c",), rng)

    found = tally(make, 4000)
    return _answers(sentence_order.THREE, dict(found.answers), found.draws)


ENTRIES = (
    Entry(
        slug="next-sentence",
        name="Next sentence",
        systems="BERT",
        branch="encoder",
        line="Does B follow A in one text, or does it come from another one? In half of the examples it follows.",
        paper="Devlin et al. 2019, arXiv:1810.04805, section 3.1.",
        formula=FORMULA,
        symbols=SYMBOLS,
        try_="a second sentence that contradicts the first but shares its words, and one of another topic (under "
        "More).",
        notice="what decides is the topic: that is why RoBERTa dropped the question, and ALBERT asks for the order "
        "instead.",
        text=PAIR,
        build=_next,
        models=("atlas-bert",),
        answer=live.pair,
        about="It was trained with this question beside the masked tokens. Of a hundred held-out pairs it gets about "
        "sixty right, where chance gets fifty.",
        settings=(
            Option("both", "Masked tokens", "no", {"no": "left out", "yes": "as well"}, help="BERT asks both at once."),
            OTHER,
        ),
        shares=_next_shares,
        total=_sum,
        several=True,
    ),
    Entry(
        slug="sentence-order",
        name="Sentence order",
        systems="ALBERT",
        branch="encoder",
        line="Two segments that follow each other are swapped in half of the examples. Which came first?",
        paper="Lan et al. 2020, arXiv:1909.11942, section 3.1.",
        formula=FORMULA,
        symbols=SYMBOLS,
        try_="“Again” with “Guess first” on: can you tell the order yourself? Then a pair without *she*, *then* or "
        "*but*.",
        notice="the topic does not help, since both come from one text. In ALBERT's paper a model trained on next "
        "sentence gets 52 % of the orders right, which is chance; one trained on the order gets 86.5 %.",
        text=PAIR,
        build=_order,
        models=("atlas-albert",),
        answer=live.pair,
        about="It was trained with this question beside the masked tokens, and hardly learnt it: of a hundred held-out "
        "pairs it gets 52 right, where chance gets fifty. Watch how little its answer changes with “Again”, and how "
        "near to log 2, 0.69 nats, its loss stays: that is the price of a coin's throw.",
        shares=_order_shares,
        several=True,
    ),
    Entry(
        slug="three-orders",
        name="Sentence order with three answers",
        systems="StructBERT",
        branch="encoder",
        line="Does B come after A, before A, or from another text? A third of the examples each.",
        paper="Wang et al. 2020, arXiv:1908.04577; the thirds as read in notes on the paper.",
        formula=FORMULA,
        symbols=SYMBOLS,
        try_="“Again” until you have seen all three.",
        notice="the third answer is next sentence's, the first two are ALBERT's: one question holds both.",
        text=PAIR,
        build=_three,
        models=("atlas-bert",),
        about="No model here was trained with this question, so there is no live answer and the example stands alone.",
        settings=(OTHER,),
        shares=_three_shares,
        several=True,
    ),
)
