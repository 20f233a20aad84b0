"""The answers to a lesson's questions: named computations, run when somebody answers, never written as constants.

A lesson's file names a kind and its arguments, ``check = { kind = "prediction", model = "minilm", text = "..." }``.
Layers and heads count from 1, as in links. An answer is a text or a number; ``largest``, ``smallest`` and ``same``
compare the answers of other checks.
"""

from __future__ import annotations

import logging
import math
from abc import ABC, abstractmethod
from typing import Annotated, ClassVar, Literal, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, field_validator

from core import checkpoints, engine, patterns, studies
from core.anatomy.store import tree
from core.attention.ablation.ablate import Head, ablate_heads
from core.attention.capture import capture
from core.attention.masks.axes import Axes
from core.attention.masks.kinds import parse_mask
from core.attention.roles.everyhead import rows
from core.attention.trace import AttentionMap, check_head
from core.catalogue.results import Result, paper, tables
from core.checkpoints.families import Ability
from core.checkpoints.spec import Part
from core.errors import AtlasError, InputUnusable, OutOfRange
from core.finetuning import record
from core.finetuning import words as bag_of_words
from core.finetuning.examples import READY
from core.interventions.attribution import attribute
from core.interventions.breaking import break_part
from core.interventions.patching import Patching, patch_grid
from core.language.fill_mask import fill_mask
from core.language.generate import generate, repetition
from core.language.pairs import score_pair
from core.language.replaced import detect
from core.language.translate import rewrite
from core.language.types import Decoding, MaskPrediction
from core.lessons.calculation import MOST, calculate
from core.quiz import Answer
from core.tokenizers.cut import cut
from core.tokenizers.known import known
from core.training.changed import PAIRS
from core.training.compared import measured
from core.vectors import image_text
from core.vectors.nearest import cosines
from core.vectors.occurrences import Line, find_occurrences
from core.vectors.reading import read_states

Way = Literal["Computed", "Calculated", "Counted", "Measured", "Published"]
"""Where an answer comes from: a run, numbers of the question, a stored tree, stored measurements, a paper. A part of
the content each."""
Short = Annotated[str, Field(max_length=2_000)]
Count = Annotated[int, Field(ge=1, le=100_000)]


class Check(BaseModel, ABC):
    """One computation with its arguments."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @abstractmethod
    def answer(self) -> Answer:
        """Compute it.

        Raises:
            AtlasError: the model, or an argument, does not allow it.
        """

    def models(self) -> tuple[str, ...]:
        """The live models that it runs."""
        return ()

    def way(self) -> Way:
        """Where the answer comes from."""
        return "Computed"

    def sources(self) -> tuple[str, ...]:
        """The papers of published figures, each with the place, where it is known."""
        return ()

    def among(self) -> tuple[str, ...]:
        """The texts that may be the answer, where they are known before it is computed."""
        return ()

    @property
    def in_words(self) -> bool:
        """Whether the answer is a text, as its annotation says."""
        return get_type_hints(type(self).answer)["return"] is str


class ModelCheck(Check, ABC):
    """One that runs a live model over a text."""

    model: Short
    text: Short
    needs: ClassVar[Ability | None] = None
    """What the model has to offer."""

    def models(self) -> tuple[str, ...]:
        return (self.model,)

    def fitting(self) -> str:
        """The model.

        Raises:
            InputUnusable: it does not offer what the check needs.
        """
        if self.needs is not None:
            checkpoints.get(self.model).demand(self.needs, "This check")
        return self.model


class _Masked(ModelCheck, ABC):
    needs = "predicts masked tokens"

    def best(self, k: int) -> MaskPrediction:
        """The ``k`` most probable tokens at the first mask."""
        return engine.run(fill_mask, self.fitting(), self.text, k)[0]


class Prediction(_Masked):
    """The most probable token at the first mask of the text."""

    kind: Literal["prediction"]

    def answer(self) -> str:
        return self.best(1).tokens[0].strip()


class Probability(_Masked):
    """The probability, from 0 to 1, of a token at the first mask; 0 below the thousand most probable ones."""

    kind: Literal["probability"]
    token: Short

    def answer(self) -> float:
        best = self.best(1_000)
        return dict(zip((token.strip() for token in best.tokens), best.probabilities, strict=True)).get(self.token, 0.0)


class Continuation(ModelCheck):
    """What a causal model generates after the text."""

    needs = "continues"
    kind: Literal["continuation"]
    tokens: Annotated[int, Field(ge=1, le=64)] = 1
    strategy: Literal["greedy", "beam"] = "greedy"
    beams: Annotated[int, Field(ge=2, le=8)] = 4
    code: Short | None = None
    """The control code, for a model that has some."""

    def answer(self) -> str:
        decoding = Decoding(strategy=self.strategy, beams=self.beams, max_new_tokens=self.tokens)
        steps = list(engine.stream(generate, self.fitting(), self.text, decoding, code=self.code))
        return steps[-1].text.strip() if steps else ""


class Repetition(ModelCheck):
    """The share, from 0 to 1, of 3-grams of the generated tokens that repeat an earlier one."""

    needs = "continues"
    kind: Literal["repetition"]
    tokens: Annotated[int, Field(ge=4, le=64)]
    strategy: Literal["greedy", "beam"] = "greedy"
    no_repeat: Annotated[int, Field(ge=0, le=10)] = 0

    def answer(self) -> float:
        decoding = Decoding(strategy=self.strategy, max_new_tokens=self.tokens, no_repeat=self.no_repeat)
        *_, last = engine.stream(generate, self.fitting(), self.text, decoding)
        return repetition(last.ids)


class Rewrite(ModelCheck):
    """What an encoder-decoder generates for the text and a task."""

    needs = "rewrites"
    kind: Literal["rewrite"]
    task: Short

    def answer(self) -> str:
        steps = list(engine.stream(rewrite, self.fitting(), self.text, self.task, Decoding(max_new_tokens=64)))
        return steps[-1].text.strip() if steps else ""


class _Attention(ModelCheck, ABC):
    """A row of a head: the weights of one query. For an encoder-decoder, those of its encoder."""

    layer: Count
    head: Count
    query: Short
    """A token of the text as the map labels it, such as ``␣fox`` or ``##ing``."""

    def row(self) -> tuple[AttentionMap, list[float]]:
        """The map, and the weights of the row."""
        attention_map = engine.run(capture, self.model, self.text).own
        check_head(attention_map, self.layer - 1, self.head - 1)
        return attention_map, attention_map.weights[
            self.layer - 1, self.head - 1, _position(attention_map.query_tokens, self.query)
        ].tolist()


class Attended(_Attention):
    """The token that a query assigns the largest weight to."""

    kind: Literal["attended"]

    def answer(self) -> str:
        attention_map, row = self.row()
        return attention_map.key_tokens[max(range(len(row)), key=row.__getitem__)]


class Weight(_Attention):
    """The attention weight of a query and a key."""

    kind: Literal["weight"]
    key: Short

    def answer(self) -> float:
        attention_map, row = self.row()
        return row[_position(attention_map.key_tokens, self.key)]


class Ablated(ModelCheck):
    """The most probable answer after the ablation of heads, each ``[layer, head]``."""

    kind: Literal["ablated"]
    heads: Annotated[list[Annotated[list[Count], Field(min_length=2, max_length=2)]], Field(max_length=200)]

    def answer(self) -> str:
        off = [Head("encoder", layer - 1, head - 1) for layer, head in self.heads]
        return engine.run(ablate_heads, self.model, self.text, off).after.tokens[0].strip()


class Broken(ModelCheck):
    """The most probable answer with one part of the model broken, as on the page Interventions."""

    kind: Literal["broken"]
    part: Short

    def answer(self) -> str:
        changes = engine.run(break_part, self.model, self.text, self.part, k=1).changes
        return max(changes, key=lambda change: change.after).token.strip()


class _Patching(ModelCheck, ABC):
    """A patching grid of the residual stream; the text's states are put into the second text."""

    second: Short
    answers: Annotated[list[Short], Field(min_length=2, max_length=2)]
    layer: Annotated[int, Field(ge=0, le=200)]
    """After which the state is patched; 0 for the embeddings."""

    def row(self) -> tuple[Patching, list[float]]:
        """The grid, and the shares that the states after the layer return."""
        answers = (self.answers[0], self.answers[1])
        grid = engine.run(patch_grid, self.model, self.text, self.second, answers=answers)
        if self.layer >= len(grid.recovered):
            raise OutOfRange(f"This model has {len(grid.recovered) - 1} layers.")
        return grid, grid.recovered[self.layer].tolist()


class Patched(_Patching):
    """The share of the logit difference that returns with one state, from 0 to 1."""

    kind: Literal["patched"]
    token: Short
    """Of the first text, as the map labels it."""

    def answer(self) -> float:
        grid, shares = self.row()
        return shares[_position(grid.first, self.token)]


class PatchedToken(_Patching):
    """The token whose state returns the largest share."""

    kind: Literal["patched-token"]

    def answer(self) -> str:
        grid, shares = self.row()
        return grid.first[max(range(len(shares)), key=shares.__getitem__)].strip("␣")


class Written(ModelCheck):
    """The head that writes the largest share of the logit difference of two answers, such as ``5-4``."""

    kind: Literal["written"]
    answers: Annotated[list[Short], Field(min_length=2, max_length=2)]

    def answer(self) -> str:
        shares = engine.run(attribute, self.model, self.text, (self.answers[0], self.answers[1]))
        heads = [part for part in shares.parts if part.head is not None and part.layer is not None]
        best = max(heads, key=lambda part: part.value)
        return f"{(best.layer or 0) + 1}-{(best.head or 0) + 1}"


class Replaced(ModelCheck):
    """The token with the highest probability of being replaced, by a discriminator."""

    needs = "detects replaced tokens"
    kind: Literal["replaced"]

    def answer(self) -> str:
        detection = engine.run(detect, self.fitting(), self.text)
        ordinary = [i for i, token in enumerate(detection.after) if not token.special]
        return detection.after[max(ordinary, key=detection.probabilities.__getitem__)].text.strip()


class Follows(Check):
    """The probability, from 0 to 1, that the second sentence follows the first, by a sentence-pair head."""

    kind: Literal["follows"]
    model: Short
    first: Short
    second: Short

    def models(self) -> tuple[str, ...]:
        return (self.model,)

    def answer(self) -> float:
        pairs: tuple[str, Part] = (self.model, "pairs")
        return engine.run(score_pair, pairs, self.first, self.second).probability


class FineTuned(Check):
    """The share, from 0 to 1, of held-out texts that a recorded run of *Fine-tuning* classifies correctly."""

    kind: Literal["fine-tuned"]
    task: Short
    run: Literal["all", "head", "random", "words"]
    """All weights trained, the head alone, all from random weights, or a bag of words without a network."""

    def answer(self) -> float:
        if self.task not in READY:
            raise OutOfRange(f"No runs on “{self.task[:40]}” are recorded.")
        if self.run == "words":
            return bag_of_words.accuracy(record.data(self.task))
        model = checkpoints.first(record.OPENS_WITH.get(self.task, "fine-tuning"))[0]
        setup = record.runs(self.task)["chosen" if self.run == "all" else self.run]
        return record.stored(model, self.task, setup)[-1].accuracy

    def way(self) -> Way:
        return "Measured"


class Similar(ModelCheck):
    """The cosine of a word's vectors in two sentences, after a layer."""

    kind: Literal["similar"]
    second: Short
    word: Short
    layer: Annotated[int, Field(ge=0, le=200)]
    """0 for the input of the first layer."""

    def answer(self) -> float:
        lines = [Line(number, "", text) for number, text in enumerate((self.text, self.second), 1)]
        found = find_occurrences(self.word, lines, lambda text: engine.run(read_states, self.model, text))
        if len(found.occurrences) != 2 or self.layer > found.layers:
            raise OutOfRange(f"The word has to occur once in both sentences; the layers go from 0 to {found.layers}.")
        vectors = found.vectors[self.layer]
        return float(cosines(vectors, vectors)[0, 1])


class Tokens(Check):
    """The number of tokens of a text, without special tokens; the tokenizer is named as on the page Tokenizers."""

    kind: Literal["tokens"]
    tokenizer: Short
    text: Short

    def answer(self) -> int:
        info = next((info for info in known() if info.slug == self.tokenizer), None)
        if info is None:
            raise OutOfRange(f"There is no tokenizer “{self.tokenizer[:40]}” here.")
        return len(cut(info, self.text).tokens)


class Calculation(Check):
    """An expression of numbers (:mod:`core.lessons.calculation`)."""

    kind: Literal["calculation"]
    of: Annotated[str, Field(min_length=1, max_length=MOST)]

    @field_validator("of")
    @classmethod
    def _computable(cls, of: str) -> str:
        try:
            calculate(of)
        except InputUnusable as error:
            raise ValueError(str(error).removesuffix(".")) from None
        return of

    def answer(self) -> float:
        return calculate(self.of)

    def way(self) -> Way:
        return "Calculated"


class Parameters(Check):
    """The parameters of a system of the catalogue, counted in its module tree; tied tensors once."""

    kind: Literal["parameters"]
    system: Short
    size: Short | None = None

    def answer(self) -> int:
        return tree(self.system, self.size).parameters

    def way(self) -> Way:
        return "Counted"


class Scores(Check):
    """The number of scores of an attention mask, named as in a link to *Attention masks*, over so many tokens."""

    kind: Literal["scores"]
    pattern: Short
    tokens: Annotated[int, Field(ge=1, le=16_384)]
    """Their pairs are counted one by one: 16,384 tokens take seconds."""

    def answer(self) -> int:
        names, choice = ("",) * self.tokens, parse_mask(self.pattern)
        if choice.layout == "image":
            raise InputUnusable(f"“{choice.title}” is a mask of an image, and this check counts over a text.")
        return patterns.count(choice.pattern(Axes("text", names, names, 0)), self.tokens)


class BestHead(Check):
    """The head with the highest measured score of a model, such as ``3-5``; of a relation, the most accurate one."""

    kind: Literal["best-head"]
    model: Short
    score: Short
    """As in a link to *Roles of heads*, or “grammar” for a relation."""
    relation: Short | None = None

    def models(self) -> tuple[str, ...]:
        return (self.model,)

    def answer(self) -> str:
        scored = {
            f"{row.layer}-{row.head}": (row.right if self.relation else row.score(self.score))
            for row in rows((checkpoints.get(self.model),))
            if self.relation in (None, row.relation)
        }
        measured = {head: score for head, score in scored.items() if score is not None}
        if not measured:
            raise OutOfRange(f"“{self.score[:40]}” was not measured for this model.")
        return max(measured, key=measured.__getitem__)

    def way(self) -> Way:
        return "Measured"


class Learned(Check):
    """The most probable next token after a prompt of *Training › Data*, by one of the two models of a pair."""

    kind: Literal["learned"]
    pair: Short
    prompt: Short
    model: Literal["first", "second"] = "second"
    """The second one lacks something of the text, or has it more often."""

    def answer(self) -> str:
        answers = measured()[self.pair].answers if self.pair in PAIRS else ()
        match = next((answer for answer in answers if answer.question.prompt == self.prompt), None)
        if match is None:
            raise OutOfRange(f"The pair “{self.pair[:40]}” has no prompt “{self.prompt[:40]}”.")
        chances = match.chances[self.model == "second"]
        return match.tokens[max(range(len(chances)), key=chances.__getitem__)].strip()

    def way(self) -> Way:
        return "Measured"


class StudyNumber(Check):
    """A number of a study's verdict: the mean over its seeds."""

    kind: Literal["study"]
    study: Short
    number: Short

    def answer(self) -> float:
        if self.study not in studies.names() or self.number not in studies.get(self.study).numbers:
            raise OutOfRange(f"There is no number “{self.number[:40]}” of a study “{self.study[:40]}” here.")
        return studies.get(self.study).number(self.number).mean

    def way(self) -> Way:
        return "Measured"


class CardMeasure(Check):
    """A measure of a live model's card."""

    kind: Literal["measure"]
    model: Short
    measure: Short
    on: Short
    """The texts, as the card names them."""

    def models(self) -> tuple[str, ...]:
        return (self.model,)

    def answer(self) -> float:
        card = checkpoints.get(self.model).card
        measures = card.measures if card else ()
        match = next((row for row in measures if (row.name, row.on) == (self.measure, self.on)), None)
        if match is None:
            raise OutOfRange(f"The card of this model has no “{self.measure[:40]}” on “{self.on[:60]}”.")
        return match.value

    def way(self) -> Way:
        return "Measured"


class ZeroShot(Check):
    """The most probable class of a drawn image of *Images and captions*, by the CLIP that was trained here."""

    kind: Literal["zero-shot"]
    pairs: Literal["seen", "held out"] = "seen"
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0
    image: Annotated[int, Field(ge=1, le=len(image_text.SHAPES))]
    classes: Annotated[list[Short], Field(min_length=2, max_length=12)]
    prompt: Short

    def answer(self) -> str:
        image = image_text.one_of_each_shape(self.pairs, self.seed)[1][self.image - 1 : self.image]
        (chances,) = image_text.zero_shot(image_text.model(), image, self.classes, [self.prompt])
        return self.classes[int(chances.argmax())]


class Published(Check):
    """A published figure: the one row of a table of results that fits."""

    kind: Literal["published"]
    table: Short
    dataset: Short
    variant: Short = ""
    system: Short | None = None

    def answer(self) -> float:
        return self._row().value

    def way(self) -> Way:
        return "Published"

    def sources(self) -> tuple[str, ...]:
        row = self._row()
        return (", ".join(part for part in (paper(row.paper), row.place) if part),)

    def _row(self) -> Result:
        rows = [
            row
            for row in tables().get(self.table, ())
            if (row.measure.dataset, row.variant) == (self.dataset, self.variant) and self.system in (None, row.system)
        ]
        if len(rows) != 1:
            raise OutOfRange(f"{len(rows)} rows of “{self.table[:40]}” fit, not one.")
        return rows[0]


class _Compared(Check, ABC):
    of: Annotated[dict[Short, AnyCheck], Field(min_length=2, max_length=8)]
    """The checks to compare, by the name of the option."""

    def models(self) -> tuple[str, ...]:
        return tuple(model for check in self.of.values() for model in check.models())

    def way(self) -> Way:
        ways = {check.way() for check in self.of.values()}
        return ways.pop() if len(ways) == 1 else "Computed"

    def sources(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(source for check in self.of.values() for source in check.sources()))

    def numbers(self) -> dict[str, float]:
        """Each answer, which must be a number."""
        answers = {label: check.answer() for label, check in self.of.items()}
        if texts := [label for label, answer in answers.items() if isinstance(answer, str)]:
            raise InputUnusable(f"“{texts[0][:40]}” is answered by a text, and only numbers have an order.")
        return {label: float(answer) for label, answer in answers.items()}


class Largest(_Compared):
    """The option whose number is the largest."""

    kind: Literal["largest"]

    def answer(self) -> str:
        numbers = self.numbers()
        return max(numbers, key=numbers.__getitem__)

    def among(self) -> tuple[str, ...]:
        return tuple(self.of)


class Smallest(_Compared):
    """The option whose number is the smallest."""

    kind: Literal["smallest"]

    def answer(self) -> str:
        numbers = self.numbers()
        return min(numbers, key=numbers.__getitem__)

    def among(self) -> tuple[str, ...]:
        return tuple(self.of)


class Ratio(_Compared):
    """The first number divided by the second."""

    kind: Literal["ratio"]

    def answer(self) -> float:
        numbers = self.numbers()
        (_, first), (name, second), *_ = numbers.items()
        if not second:
            raise InputUnusable(f"“{name[:40]}” is 0, and nothing can be divided by it.")
        return first / second


class Same(_Compared):
    """Whether all answers are the same: “Yes” or “No”."""

    kind: Literal["same"]

    def answer(self) -> str:
        return "Yes" if len({check.answer() for check in self.of.values()}) == 1 else "No"

    def among(self) -> tuple[str, ...]:
        return ("Yes", "No")


AnyCheck = Annotated[
    Prediction
    | Probability
    | Continuation
    | Repetition
    | Rewrite
    | Attended
    | Weight
    | Ablated
    | Broken
    | Patched
    | PatchedToken
    | Written
    | Replaced
    | Follows
    | FineTuned
    | Similar
    | Tokens
    | Calculation
    | Parameters
    | Scores
    | BestHead
    | Learned
    | StudyNumber
    | CardMeasure
    | ZeroShot
    | Published
    | Largest
    | Smallest
    | Ratio
    | Same,
    Field(discriminator="kind"),
]
for _kind in (Largest, Smallest, Ratio, Same):
    _kind.model_rebuild()


def compute(check: Check) -> Answer:
    """The answer to a check of any lesson; what a model or a library does not take is said in a sentence.

    Raises:
        AtlasError: the model, or an argument, does not allow it.
    """
    try:
        answer = check.answer()
    except AtlasError:
        raise
    except Exception as error:
        kind = getattr(check, "kind", "")
        logging.getLogger("atlas").warning("The check “%s” of a lesson failed", kind, exc_info=error)
        raise InputUnusable(
            f"The check “{kind}” cannot be computed from what the lesson's file names. Its model, its text and its "
            "numbers have to fit together."
        ) from error
    if isinstance(answer, float) and not math.isfinite(answer):
        raise InputUnusable(f"The check “{getattr(check, 'kind', '')}” gives {answer}, which is no answer.")
    return answer


def _position(labels: tuple[str, ...], label: str) -> int:
    if label not in labels:
        raise OutOfRange(f"The text has no token “{label[:40]}”. It has: {' '.join(labels)[:400]}.")
    return labels.index(label)
