"""Objectives of encoders over two segments: next sentence, the orders of sentences, a sentence and its translation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from core.errors import InputUnusable
from core.language.losses import Losses
from core.language.text import clean, two_parts
from core.objectives import masked, next_sentence, sentence_order, translation
from core.objectives.example import Example
from core.objectives.shares import tally
from core.ui.objectives import live
from core.ui.objectives.entry import MAX_CHARS, RATE, Entry, Given, Share, Stage
from core.ui.objectives.tokens import WITH_MASKS
from core.ui.param import Text

OTHERS = (
    "Oxygen is a gas that most animals need to live.",
    "The city lies on a broad river and has a large harbour.",
    "He sold his horse and bought a small boat.",
    "In winter the lake is frozen for three months.",
    "My sister drinks a cup of tea every morning.",
    "The train was late, so they waited on the platform.",
)
"""Written for this page, each from a text of its own: what stands in for another text of the corpus."""
OTHER = Text(name="other", label="A sentence of another text", width=340)
SECOND = Text(name="second", label="The same in French", default="Ma sœur lit un livre dans le jardin.", width=340)


def _parts(given: Given) -> tuple[list[str], list[str], str]:
    """The two segments as pieces, and a remark on how they were cut."""
    first, second, note = two_parts(given.text)
    return [t.piece for t in given.cut(first)], [t.piece for t in given.cut(second)], note


def _other(given: Given) -> list[str]:
    typed = given.word("other").strip()
    text = clean(typed, MAX_CHARS) if typed else OTHERS[given.seed % len(OTHERS)]
    return [token.piece for token in given.cut(text)]


def _next(given: Given) -> tuple[Stage, ...]:
    first, second, note = _parts(given)
    rng = given.rng()
    example = next_sentence.corrupt(first, second, _other(given), rng, cls=given.frame["cls"], sep=given.frame["sep"])
    if given.word("both") == "yes":
        typed = [place for place, cell in enumerate(example.source) if cell.token in given.special]
        example = masked.over(example, given.vocabulary, rng, mask=given.frame["mask"], fixed=typed)
    return (Stage(example, note=note),)


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
    example = sentence_order.corrupt(first, second, given.rng(), cls=frame["cls"], sep=frame["sep"])
    return (Stage(example, note=note),)


def _three(given: Given) -> tuple[Stage, ...]:
    first, second, note = _parts(given)
    frame = given.frame
    example = sentence_order.three_way(first, second, _other(given), given.rng(), cls=frame["cls"], sep=frame["sep"])
    return (Stage(example, note=note),)


def _answers(
    choices: tuple[str, ...], draw: Callable[[np.random.Generator], Example]
) -> Callable[[Given], tuple[Share, ...]]:
    """How often each answer is the right one, over 4,000 draws, whatever the text."""

    def shares(_: Given) -> tuple[Share, ...]:
        found = tally(draw, 4000)
        counts = dict(found.answers)
        return tuple(
            Share(choice, 100 * counts.get(number, 0) / found.draws, 100 / len(choices))
            for number, choice in enumerate(choices)
        )

    return shares


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
    alone = [
        Stage(example, title)
        for example, title in (
            (translation.alone(pair, 0)[0], "The English sentence alone, with the same masks"),
            (translation.alone(pair, 1)[0], "The French sentence alone, with the same masks"),
        )
        if example.asked
    ]
    return (Stage(pair, "Both sentences in one row"), *alone)


NEXT_SENTENCE = Entry(
    "next-sentence",
    "encoder",
    _next,
    live.pair,
    settings=(WITH_MASKS.with_(default="no"),),
    rare=(OTHER,),
    shares=_answers(next_sentence.CHOICES, lambda rng: next_sentence.corrupt(("a",), ("b",), ("c",), rng)),
    total=_sum,
    several=True,
)
SENTENCE_ORDER = Entry(
    "sentence-order",
    "encoder",
    _order,
    live.pair,
    shares=_answers(sentence_order.TWO, lambda rng: sentence_order.corrupt(("a",), ("b",), rng)),
    several=True,
)
THREE_ORDERS = Entry(
    "three-orders",
    "encoder",
    _three,
    rare=(OTHER,),
    shares=_answers(sentence_order.THREE, lambda rng: sentence_order.three_way(("a",), ("b",), ("c",), rng)),
    several=True,
)
TRANSLATION = Entry(
    "translation",
    "encoder",
    _paired,
    live.by("translation"),
    settings=(SECOND, RATE),
)
