"""Objectives of two texts: encoders over two segments, and encoder-decoders.

The segments are two sentences in order or a sentence and its translation. Encoder-decoders write spans after sentinels,
a text without one of five corruptions, gap sentences.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import cast

import streamlit as st

from core import session
from core.content import content
from core.errors import InputUnusable
from core.language.losses import Losses
from core.language.text import clean, sentences, two_parts
from core.objectives import denoising, gaps, masked, sentinels, t5_compared, translation
from core.objectives.example import Example, tally
from core.objectives.sentence_pairs import NEXT, THREE, TWO, next_sentence, three_orders, two_orders
from core.ui.grid import Column, Grid
from core.ui.objectives.entry import MAX_CHARS, RATE, Entry, Inputs, Share, Stage, losses_by, pair_losses
from core.ui.objectives.tokens import WITH_MASKS
from core.ui.param import Choice, Integer, Text, Words
from core.ui.section import View

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


MEAN = Integer(name="mean", label="Mean span length", default=3, low=1, high=10, width=140)
DAMAGE = Words(
    name="damage",
    label="Corruptions",
    default=("infill",),
    options={
        "permute": "Sentence permutation",
        "rotate": "Document rotation",
        "delete": "Token deletion",
        "mask": "Token masking",
        "infill": "Text infilling",
    },
    most=5,
    may_be_empty=True,
)
CHOOSE = Choice(
    name="choose",
    label="Sentence selection",
    options={
        "ind-orig": "Principal, independent (Ind-Orig)",
        "ind-uniq": "Principal, independent, unique n-grams (Ind-Uniq)",
        "seq-orig": "Principal, sequential (Seq-Orig)",
        "seq-uniq": "Both (Seq-Uniq)",
        "lead": "The first sentences (Lead)",
        "random": "Random",
    },
    width=160,
)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


def _sentences(inputs: Inputs) -> list[tuple[str, ...]]:
    """The sentences of the text as tokens."""
    return [inputs.tokenize(part) for part in sentences(inputs.text)]


def _sentinels(inputs: Inputs) -> tuple[Stage, ...]:
    rate, mean = inputs.number("rate") / 100, float(inputs.number("mean"))
    return (Stage(sentinels.corrupt(inputs.pieces, inputs.rng(), rate=rate, mean=mean, special=inputs.special)),)


def _filled(slug: str, stages: tuple[Stage, ...]) -> tuple[Losses, ...]:
    """The losses; none where the text has more spans than the vocabulary has sentinels."""
    marks = {cell.token for cell in stages[0].example.decoder if cell.note == "sentinel"}
    has_sentinels = marks <= set(session.checkpoint(slug).tokenizer.get_vocab())
    return losses_by("written")(slug, stages) if has_sentinels else (Losses(),)


def _compared(view: View, inputs: Inputs, stages: tuple[Stage, ...]) -> None:
    """Input and target of the objectives that T5 compared, on this text, the one above last."""
    example = stages[0].example
    pairs = t5_compared.compared(
        inputs.pieces, inputs.vocabulary, inputs.rng(), rate=inputs.number("rate") / 100, special=inputs.special
    )
    source, target = ([cell.token for cell in cells[:-1]] for cells in (example.source, example.decoder[1:]))
    above = {"spans": (source, target)}

    def text(tokens: Sequence[str]) -> str:
        spaced = "".join(f" {token} " if token.startswith("<") else token for token in tokens)
        return " ".join(spaced.replace("▁", " ").split())

    names = view.words.front["kinds"]
    columns: list[Column[tuple[str, ...]]] = [
        Column(heading, itemgetter(at), width=width, name=heading)
        for at, (heading, width) in enumerate(zip(view.words.front["columns"], (24, 42, 34), strict=True))
    ]
    rows = [(names[name], *map(text, pair)) for name, pair in {**pairs, **above}.items()]
    st.subheader(view.words.label("compared"), anchor=False)
    Grid(view.words.label("compared"), columns, rows).draw("t5-objectives", view.state.key("t5.csv"))


def _denoised(inputs: Inputs) -> tuple[Stage, ...]:
    kinds = [kind for kind in inputs.word("damage").split(",") if kind]
    example = denoising.corrupt(_sentences(inputs), inputs.rng(), kinds, special=inputs.special)
    return (Stage(example, note="" if kinds else inputs.say("No corruption")),)


def _chosen(inputs: Inputs) -> tuple[list[list[str]], tuple[int, ...], gaps.GapChoice]:
    """The words of each sentence, the sentences to remove, and how they were selected."""
    how = cast(gaps.GapChoice, inputs.word("choose"))
    words = [_WORD.findall(part) for part in sentences(inputs.text)]
    return words, gaps.choose(words, inputs.rng(), how, inputs.number("rate") / 100) if len(words) > 1 else (), how


def _gaps(inputs: Inputs) -> tuple[Stage, ...]:
    return (Stage(gaps.corrupt(_sentences(inputs), _chosen(inputs)[1], inputs.special)),)


_SCORES: tuple[Column[tuple[str, float, bool]], ...] = (
    Column("Sentence", lambda row: row[0], width=66),
    Column("ROUGE1-F1", lambda row: row[1], ".2f", 17, name="ROUGE1-F1"),
    Column("", lambda row: row[2], ("unchanged", "removed").__getitem__, 17, "removed"),
)


def _scores(view: View, inputs: Inputs, stages: tuple[Stage, ...]) -> None:
    """ROUGE1-F1 of every sentence against the others, and which were removed."""
    words, chosen, how = _chosen(inputs)
    scores = gaps.rouge_scores(words, unique=how.endswith("uniq"))
    st.markdown(f"**{view.words.label('scores')}**")
    rows = [
        (part, score, number in chosen)
        for number, (part, score) in enumerate(zip(sentences(inputs.text), scores, strict=True))
    ]
    Grid(view.words.label("scores"), _SCORES, rows).draw("gap-sentences", view.state.key("gaps.csv"))
    if how.startswith("seq"):
        view.note("One after the other")


SENTINELS = Entry("sentinels", "encoder-decoder", _sentinels, _filled, settings=(RATE,), rare=(MEAN,), more=_compared)
DENOISE = Entry("denoise", "encoder-decoder", _denoised, losses_by("written"), settings=(DAMAGE,), several=True)
GAPS = Entry(
    "gaps",
    "encoder-decoder",
    _gaps,
    settings=(CHOOSE,),
    rare=(RATE.with_(label="Gap-sentence ratio, %", default=30, low=10, high=70),),
    more=_scores,
    several=True,
)
