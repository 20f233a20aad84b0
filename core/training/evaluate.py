"""Measures a checkpoint as its card states: on the committed texts, and with the corpus at hand on its held-out part.

One table: what a checkpoint is measured on, and by what, follows from the kind of its recipe. The page and the command
line load the same checkpoint; nothing here knows how it was trained but its recipe's split.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from core.checkpoints.registry import part_of
from core.checkpoints.spec import Checkpoint, Measure
from core.errors import UnknownCheckpoint
from core.training import evaluate_decoders as decoders
from core.training import evaluate_encoders as encoders
from core.training import evaluate_pairs as pairs
from core.training import measures
from core.training import recipe as recipes
from core.training.measures import Found, Numbers, stories

Texts = Callable[[Checkpoint, Path | None], Iterator[tuple[str, Any]]]
"""What is measured, by its name on the card: what is committed, then what the corpus has where there is one."""
Measured = tuple[Texts, Callable[[Checkpoint, Any], Numbers]]

BITS: Measured = (stories, decoders.bits)
ENCODER: tuple[Measured, ...] = (
    (encoders.story_text, measures.masked_words),
    (encoders.story_text, encoders.without_parts),
    (encoders.held_out_side, encoders.pretrained),
)
MASKED: tuple[Measured, ...] = ((encoders.cloze_sets, measures.cloze), (encoders.everyday, measures.masked_words))
MEASURES: dict[str, tuple[Measured, ...]] = {
    "masked-lm": MASKED,
    "sentence-head": MASKED,
    "encoder": ENCODER,
    "distil": ENCODER,
    "electra": ((encoders.sides, encoders.replaced),),
    "permutation-lm": (
        (encoders.story_text, encoders.permuted_words),
        (encoders.story_text, encoders.cost_of_orders),
        (encoders.orders, encoders.ends_of_orders),
    ),
    "bilingual": ((encoders.sentence_pairs, encoders.recovered),),
    "adapters": ((encoders.tasked, encoders.right),),
    "long-masked-lm": ((encoders.long_texts, encoders.sparse_and_full),),
    "window-lm": ((encoders.stretches_of_books, encoders.windowed), (encoders.long_books, encoders.far_words)),
    "causal-lm": (BITS,),
    "draft": (BITS, (decoders.beginnings, decoders.taken)),
    "segments-lm": ((stories, decoders.with_and_without_memory),),
    "codes-lm": ((decoders.labeled, decoders.of_code),),
    "hashed-lm": ((decoders.story_bytes, decoders.hashed), (decoders.book_bytes, decoders.by_reading)),
    "seq2seq-lm": ((pairs.with_english, pairs.translated), (pairs.english, pairs.repaired)),
    "many-to-many": ((pairs.all_directions, pairs.both_ways),),
    "respell": ((pairs.short_sentences, pairs.respelt),),
    "joined": ((pairs.to_fuse, pairs.fused),),
    "denoise": ((pairs.two_sentences, pairs.undone),),
}
"""By the kind of the recipe; a model that drafts for another one is measured as ``draft``."""
PLAIN = ("BLEU", "chrF", "chrF before", "chrF after", "passes per token")
"""How the names of measures end that have no unit; all others are shares in percent, or bits."""


def unit(name: str) -> str:
    """The unit of a measure by its name."""
    if name.startswith("bits per byte") or name.endswith(("bits per byte", "bits per token")):
        return "bits"
    return "" if name.endswith(PLAIN) else "%"


def rows(found: Found) -> list[Measure]:
    """Numbers by what they were measured on, as the rows of a card."""
    return [
        Measure(name, round(value, 2), unit(name), on)
        for on, numbers in found.items()
        for name, value in numbers.items()
    ]


def measure(kind: str, checkpoint: Checkpoint, corpus: Path | None = None) -> Found:
    """All measures of a kind, on committed texts and, with ``corpus``, on its held-out part too."""
    found: Found = {}
    for texts, numbers in MEASURES[kind]:
        for on, some in texts(checkpoint, corpus):
            found.setdefault(on, {}).update(numbers(checkpoint, some))
    return found


def measured() -> list[str]:
    """Recipes whose checkpoints are bundled."""
    return [name for name in recipes.available() if recipes.load(name).card]


def evaluate(slug: str, corpus: Path | None = None) -> list[Measure]:
    """The measures of a bundled checkpoint."""
    from core import checkpoints

    if slug not in measured():
        raise UnknownCheckpoint(f"Nothing measures the checkpoint {slug!r}. Choose one of: {', '.join(measured())}.")
    recipe = recipes.load(slug)
    place: Any = recipe.place
    return rows(measure("draft" if recipe.part_of else recipe.kind, checkpoints.load(*place), corpus))


def cli_evaluate(slug: str, corpus: Path | None = None) -> list[Measure]:
    """Prints every measure beside the card's value and returns them."""
    from core import checkpoints

    found = evaluate(slug, corpus)
    place: Any = recipes.load(slug).place
    spec = checkpoints.get(place[0])
    card = (part_of(spec, *place[1:]) if place[1:] else spec).card
    stated = {(m.name, m.on): m.value for m in card.measures} if card else {}
    print(f"{'measure':24} {'measured':>9} {'card':>9}  on")
    for one in found:
        value = stated.get((one.name, one.on))
        shown = "-" if value is None else f"{value:.2f}"
        print(f"{one.name:24} {one.value:9.2f} {shown:>9}  {one.on}")
    return found
