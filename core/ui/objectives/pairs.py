"""Objectives of encoders over two segments: next sentence, sentence order, a sentence and its translation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from core.content import content
from core.errors import InputUnusable
from core.language.losses import Losses
from core.language.text import clean, two_parts
from core.objectives import masked, translation
from core.objectives.example import Example, tally
from core.objectives.sentence_pairs import NEXT, THREE, TWO, next_sentence, three_orders, two_orders
from core.ui.objectives.entry import MAX_CHARS, RATE, Entry, Inputs, Share, Stage, losses_by, pair_losses
from core.ui.objectives.tokens import WITH_MASKS
from core.ui.param import Text

OTHER = Text(name="other", label="A sentence of another text", width=340)
SECOND = Text(name="second", label="The same in French", default="Ma sœur lit un livre dans le jardin.", width=340)
Draw = Callable[..., Example]
"""A function of the first and second segment, one of another text, a generator, and ``cls`` and ``sep``."""


def _stage(draw: Draw) -> Callable[[Inputs], tuple[Stage, ...]]:
    """The two segments as an example; for BERT, with masked tokens if the visitor chooses so."""

    def build(inputs: Inputs) -> tuple[Stage, ...]:
        first, second, note = two_parts(inputs.text)
        typed = str(inputs.options.get("other", "")).strip()
        samples = content("objectives", "objectives").front["others"]
        other = clean(typed, MAX_CHARS) if typed else samples[inputs.seed % len(samples)]
        parts, rng = map(inputs.tokenize, (first, second, other)), inputs.rng()
        example = draw(*parts, rng, cls=inputs.frame["cls"], sep=inputs.frame["sep"])
        if inputs.options.get("both") == "yes":
            fixed = [position for position, cell in enumerate(example.source) if cell.token in inputs.special]
            example = masked.mask_pair(example, inputs.vocabulary, rng, mask=inputs.frame["mask"], fixed=fixed)
        return (Stage(example, note=note),)

    return build


def _answers(draw: Draw, choices: Sequence[str]) -> Callable[[Inputs], tuple[Share, ...]]:
    """The share of each label over 4,000 examples, independent of the text."""

    def shares(_: Inputs) -> tuple[Share, ...]:
        counts = tally(lambda rng: draw(("a",), ("b",), ("c",), rng), 4000)
        return tuple(
            Share(choice, 100 * counts.answers[number] / counts.draws, 100 / len(choices))
            for number, choice in enumerate(choices)
        )

    return shares


def _sum(words: Callable[..., str], answers: tuple[Losses, ...]) -> str:
    tokens, pair = answers[0].mean, answers[0].labels.get(0)
    if tokens is None or pair is None:
        return ""
    return words("Sum", tokens=f"{tokens:.2f}", pair=f"{pair.nats:.2f}", total=f"{tokens + pair.nats:.2f}")


def _translated(inputs: Inputs) -> tuple[Stage, ...]:
    other = inputs.word("second")
    if not other.strip():
        raise InputUnusable("The second sentence is empty. Type the French translation, or choose Masked tokens above.")
    second = inputs.tokenize(clean(other, MAX_CHARS))
    if not second:
        raise InputUnusable("The second sentence has no letters. Type the French translation.")
    pair = translation.corrupt(
        inputs.pieces,
        second,
        inputs.vocabulary,
        inputs.rng(),
        rate=inputs.number("rate") / 100,
        mask=inputs.frame["mask"],
        end=inputs.frame["sep"],
        special=inputs.special,
    )
    alone = [Stage(translation.alone(pair, language), inputs.say(f"Alone {language}")) for language in (0, 1)]
    return (Stage(pair, inputs.say("Together")), *(stage for stage in alone if stage.example.targets))


NEXT_SENTENCE = Entry(
    "next-sentence",
    "encoder",
    _stage(next_sentence),
    pair_losses,
    settings=(WITH_MASKS.with_(default="no"),),
    rare=(OTHER,),
    shares=_answers(next_sentence, NEXT),
    total=_sum,
    several=True,
)
SENTENCE_ORDER = Entry(
    "sentence-order", "encoder", _stage(two_orders), pair_losses, shares=_answers(two_orders, TWO), several=True
)
THREE_ORDERS = Entry(
    "three-orders",
    "encoder",
    _stage(three_orders),
    losses_by("pair", "orders"),
    rare=(OTHER,),
    shares=_answers(three_orders, THREE),
    several=True,
)
TRANSLATION = Entry("translation", "encoder", _translated, losses_by("translation"), settings=(SECOND,), rare=(RATE,))
