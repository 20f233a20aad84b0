"""Evaluates a checkpoint for its card: on the committed texts and, with a corpus, on its held-out part.

`MEASURES` maps the kind of a recipe to texts and measures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
from lab import measures
from lab import recipe as recipes
from lab.measures import Numbers, Results, stories
from lab.objective import of_card

Texts = Callable[[Checkpoint, Path | None], Iterator[tuple[str, Any]]]
"""Texts by their name on the card: the committed ones, then those of the corpus, if there is one."""
Measured = tuple[Texts, Callable[[Checkpoint, Any], Numbers]]

BITS: Measured = (stories, decoders.bits)
ENCODER: tuple[Measured, ...] = (
    (encoders.story_text, measures.masked_words),
    (encoders.story_text, encoders.without_components),
    (encoders.held_out_side, encoders.pretrained),
    (encoders.segment_pairs, encoders.segment_accuracy),
)
MASKED: tuple[Measured, ...] = ((encoders.cloze_sets, measures.cloze), (encoders.everyday, measures.masked_words))
MEASURES: dict[str, tuple[Measured, ...]] = {
    "masked-lm": MASKED,
    "encoder": ENCODER,
    "distil": ENCODER,
    "electra": ((encoders.sides, encoders.replaced),),
    "permutation-lm": (
        (encoders.story_text, encoders.permuted_words),
        (encoders.story_text, encoders.order_surprisal),
        (encoders.orders, encoders.order_ends),
    ),
    "bilingual": ((encoders.sentence_pairs, encoders.bilingual_accuracy),),
    "adapters": ((encoders.task_batches, encoders.task_accuracy),),
    "long-masked-lm": ((encoders.long_texts, encoders.sparse_and_full),),
    "window-lm": ((encoders.spans_of_books, encoders.windowed), (encoders.long_books, encoders.far_words)),
    "causal-lm": (BITS,),
    "draft": (BITS, (decoders.draft_prompts, decoders.draft_acceptance)),
    "segments-lm": ((stories, decoders.with_and_without_memory),),
    "codes-lm": ((decoders.labeled, decoders.of_code),),
    "hashed-lm": ((decoders.story_bytes, decoders.hashed), (decoders.book_bytes, decoders.by_reading)),
    "seq2seq-lm": (
        (pairs.with_english, pairs.translated),
        (pairs.english, pairs.repaired),
        (mixture.mixed, mixture.by_task),
    ),
    "many-to-many": ((pairs.all_directions, pairs.both_ways),),
    "respell": ((pairs.short_sentences, pairs.spelling_corrected),),
    "joined": ((pairs.to_fuse, pairs.fused),),
    "denoise": ((pairs.two_sentences, pairs.denoised),),
}
"""By the part that the model is (a draft), else by the kind of its recipe."""
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
    """All measures of a kind, on committed texts and on the held-out part of ``corpus``, if any."""
    results: Results = {}
    for texts, numbers in MEASURES[kind]:
        for on, inputs in texts(checkpoint, corpus):
            results.setdefault(on, {}).update(numbers(checkpoint, inputs))
    return results


def measured() -> list[str]:
    """The recipes with bundled checkpoints that can be measured without the text of their training."""
    some = map(recipes.load, recipes.available())
    return [recipe.slug for recipe in some if recipe.card and {recipe.kind, recipe.location[-1]} & {*MEASURES}]


def evaluate(slug: str, corpus: Path | None = None) -> list[Measure]:
    """The measures of a bundled checkpoint."""
    if slug not in measured():
        raise UnknownCheckpoint(f"No measures exist for {slug!r}. Choose one of: {', '.join(measured())}.")
    recipe = recipes.load(slug)
    location: Any = recipe.location
    kind = location[-1] if location[-1] in MEASURES else recipe.kind
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
