"""The table of all measures of a model: `MEASURES`.

``python -m lab evaluate`` and the end of a training (`lab.train`) read from it what a card states, on the committed
texts and, with a corpus, on its held-out part; `lab.compress` what its study does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core import checkpoints
from core.checkpoints.registry import part_of
from core.checkpoints.spec import Checkpoint, Measure
from core.errors import UnknownCheckpoint
from lab import evaluate_decoders as decoders
from lab import evaluate_encoders as encoders
from lab import evaluate_mixture as mixture
from lab import evaluate_pairs as pairs
from lab import heldout, measures
from lab import recipe as recipes
from lab.measures import Numbers, Results, stories
from lab.objective import of_card

Texts = Callable[[Checkpoint, Path | None], Iterator[tuple[str, Any]]]
"""Texts by their name on the card: the committed ones, then those of the corpus, if there is one."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A row of the table of measures."""

    fits: tuple[str, ...]
    """Kinds of recipes, the part ``draft``, or the study ``compression``."""
    texts: Texts
    numbers: Callable[[Checkpoint, Any], Numbers]
    """Numbers by their name on the card; a `lab.objective.Share` among them knows its n."""


ENCODERS = ("encoder", "distil")
MEASURES: dict[str, Measured] = {
    "cloze": Measured(("masked-lm",), encoders.cloze_sets, measures.cloze),
    "masked words of sentences": Measured(("masked-lm",), encoders.everyday, measures.masked_words),
    "masked words": Measured(ENCODERS, encoders.story_text, measures.masked_words),
    "attention without a component": Measured(ENCODERS, encoders.story_text, encoders.without_components),
    "masked tokens as in pretraining": Measured(ENCODERS, encoders.held_out_side, encoders.pretrained),
    "pairs of segments": Measured(ENCODERS, encoders.segment_pairs, encoders.segment_accuracy),
    "replaced tokens": Measured(("electra",), encoders.sides, encoders.replaced),
    "permuted words": Measured(("permutation-lm",), encoders.story_text, encoders.permuted_words),
    "order of prediction": Measured(("permutation-lm",), encoders.story_text, encoders.order_surprisal),
    "ends of random orders": Measured(("permutation-lm",), encoders.orders, encoders.order_ends),
    "words of two languages": Measured(("bilingual",), encoders.sentence_pairs, encoders.bilingual_accuracy),
    "tasks of adapters": Measured(("adapters",), encoders.task_batches, encoders.task_accuracy),
    "sparse attention": Measured(("long-masked-lm",), encoders.long_texts, encoders.sparse_and_full),
    "windowed attention": Measured(("window-lm",), encoders.spans_of_books, encoders.windowed),
    "far words": Measured(("window-lm",), encoders.long_books, encoders.far_words),
    "bits per byte": Measured(("causal-lm", "draft"), stories, decoders.bits),
    "speculative decoding": Measured(("draft",), decoders.draft_prompts, decoders.draft_acceptance),
    "memory of segments": Measured(("segments-lm",), stories, decoders.with_and_without_memory),
    "control codes": Measured(("codes-lm",), decoders.labeled, decoders.of_code),
    "hashed attention": Measured(("hashed-lm",), decoders.story_bytes, decoders.hashed),
    "rounds and context": Measured(("hashed-lm",), decoders.book_bytes, decoders.by_reading),
    "translation with English": Measured(("seq2seq-lm",), pairs.with_english, pairs.translated),
    "repair": Measured(("seq2seq-lm",), pairs.english, pairs.repaired),
    "tasks of a mixture": Measured(("seq2seq-lm",), mixture.mixed, mixture.by_task),
    "translation, all directions": Measured(("many-to-many",), pairs.all_directions, pairs.both_ways),
    "spelling": Measured(("respell",), pairs.short_sentences, pairs.spelling_corrected),
    "sentence fusion": Measured(("joined",), pairs.to_fuse, pairs.fused),
    "denoising": Measured(("denoise",), pairs.two_sentences, pairs.denoised),
    "top predictions": Measured(("compression",), heldout.trained_tasks, heldout.top_predictions),
}
"""Measures by name: for which models, on which texts, by which function."""
FITTED = {kind for measured in MEASURES.values() for kind in measured.fits}
PLAIN = ("BLEU", "chrF", "Pearson", "Spearman", "chrF before", "chrF after", "passes per token", "masked words")
"""Suffixes of the measures without a unit; all others are in percent or bits."""


def unit(name: str) -> str:
    if "bits per " in name:
        return "bits"
    return "" if name.endswith(PLAIN) else "%"


def rows(results: Results) -> list[Measure]:
    """The rows of a card."""
    return [of_card(name, value, unit(name), on) for on, numbers in results.items() for name, value in numbers.items()]


def measure(kind: str, checkpoint: Checkpoint, corpus: Path | None = None) -> Results:
    """All measures that fit a kind, on committed texts and on the held-out part of ``corpus``, if any."""
    results: Results = {}
    for measured in (measured for measured in MEASURES.values() if kind in measured.fits):
        for on, inputs in measured.texts(checkpoint, corpus):
            results.setdefault(on, {}).update(measured.numbers(checkpoint, inputs))
    return results


def evaluable() -> list[str]:
    """The recipes with bundled checkpoints that can be measured without the text of their training."""
    loaded = map(recipes.load, recipes.available())
    return [recipe.slug for recipe in loaded if recipe.card and {recipe.kind, recipe.location[-1]} & FITTED]


def evaluate(slug: str, corpus: Path | None = None) -> list[Measure]:
    """The measures of a bundled checkpoint."""
    if slug not in evaluable():
        raise UnknownCheckpoint(f"No measures exist for {slug!r}. Choose one of: {', '.join(evaluable())}.")
    recipe = recipes.load(slug)
    location: Any = recipe.location
    kind = location[-1] if location[-1] in FITTED else recipe.kind
    return rows(measure(kind, checkpoints.load(*location), corpus))


def cli_evaluate(slug: str, corpus: Path | None = None) -> list[Measure]:
    """Print all measures beside the card's values; returns the measures."""
    results = evaluate(slug, corpus)
    location: Any = recipes.load(slug).location
    spec = checkpoints.get(location[0])
    card = (part_of(spec, *location[1:]) if location[1:] else spec).card
    stated = {(m.name, m.on): m.value for m in card.measures} if card else {}
    print(f"{'measure':24} {'measured':>9} {'card':>9}  on")
    for result in results:
        value = stated.get((result.name, result.on))
        on_card = "-" if value is None else f"{value:.2f}"
        print(f"{result.name:24} {result.value:9.2f} {on_card:>9}  {result.on}")
    return results
