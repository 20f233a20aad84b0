"""What each head is worth over a fixed set of texts: the bits that a prediction loses when it is ablated, on average.

The set is twenty sentences of ``assets/cloze``, each with the word that belongs in it and one that does not. Models of
every kind read the same sentences, each in the way it can answer:

    one that fills gaps           the sentence with its gap; the masked word is predicted
    one that continues            the sentence up to the gap; the answer is the next token
    one that finds wrong words    the sentence with the wrong word; the answer is whether the most suspicious is wrong
    an encoder-decoder            the sentence with the right word, for the first of its tasks; the answer is the third
                                  token of its output, whose beginning is often the same for every source
    one with adapters             the sentence with the right word, under each of its tasks; the answers are their
                                  classes. Heads that matter to one task hardly matter to another, so that none of them
                                  could stand for all

The bits are those of `core.attention.ablation.ablate`, so a head's mean is how much worse the answers become without
this one head, all others being on. An XLNet has three numbers for each head: off in both streams (``encoder``), in the
content stream alone (``decoder``), in the query stream alone (``query``). Nothing reads what the content stream has
after the last layer, so that heads off there alone cost nothing. Twenty texts tell heads that matter often from those
that never do, and no more than that.

One tidy file for each model, ``effects/SLUG.csv``; layers and heads count from 1 in it, and texts as often as they are
asked about:

    attention, layer, head, texts, mean bits, largest bits
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from core import checkpoints
from core.attention.ablation.ablate import Head, rank
from core.attention.roles.headroles import OUTPUT, Row, keep
from core.attention.trace import MapKind
from core.checkpoints.families import ModelFamily
from core.checkpoints.spec import Checkpoint
from core.errors import AtlasError, InputEmpty, InputTooLong, InputUnusable, OutOfRange
from core.language.adapters import tasks

TEXTS = OUTPUT / "texts.tsv"
FOLDER = "effects"
COLUMNS = ("attention", "layer", "head", "texts", "mean bits", "largest bits")
KINDS: tuple[MapKind, ...] = ("encoder", "decoder", "cross", "query")
GAP = "[MASK]"
STEP = 2
"""Which token of an encoder-decoder's output is predicted, from 0."""

Lost = dict[Head, list[float]]
"""The bits of every text that could be run, by head."""


class Sentence(NamedTuple):
    """A sentence with a gap, the word that belongs there, and one that does not."""

    gap: str
    right: str
    odd: str


@lru_cache(maxsize=1)
def sentences() -> tuple[Sentence, ...]:
    """The set that comes with the app."""
    with TEXTS.open(encoding="utf-8", newline="") as file:
        return tuple(
            Sentence(row["sentence"], row["right"], row["odd"]) for row in csv.DictReader(file, delimiter="\t")
        )


def texts(family: ModelFamily) -> tuple[str, ...]:
    """The set for a family: with a mask, up to the gap, with a wrong word, or the whole sentence."""
    if "predicts masked tokens" in family.offers:
        return tuple(sentence.gap for sentence in sentences())
    if "continues" in family.offers:
        return tuple(sentence.gap.partition(GAP)[0].rstrip() for sentence in sentences())
    return tuple(
        sentence.gap.replace(GAP, sentence.odd if "detects replaced tokens" in family.offers else sentence.right)
        for sentence in sentences()
    )


def measure(checkpoint: Checkpoint, texts: Sequence[str], done: Callable[[], object] = lambda: None) -> Lost:
    """Every head's bits over ``texts``; one that the model cannot run is left out. ``done`` follows each text.

    Raises:
        InputUnusable: the model can run none of the texts, with the last reason why.
        NoAttentionMatrix: it is not known where the architecture's heads are.
    """
    lost: Lost = {}
    reason = ""
    adapted = checkpoint.spec.offers("classifies texts")
    own_tasks = [task.slug for task in tasks(checkpoint)] if adapted else [None]
    for text in texts:
        try:
            for task in own_tasks:
                for effect in rank(checkpoint, text, task=task, step=0 if adapted else STEP):
                    lost.setdefault(effect.head, []).append(effect.bits)
        except (InputEmpty, InputTooLong, InputUnusable, OutOfRange) as error:
            reason = str(error)
        done()
    if not lost:
        raise InputUnusable(f"{checkpoint.spec.name} can run none of {len(texts)} texts: {reason}")
    return lost


def rows(lost: Lost) -> Iterator[Row]:
    """The rows of ``effects/SLUG.csv``, from below."""
    for head, bits in sorted(lost.items(), key=lambda item: (KINDS.index(item[0].kind), item[0])):
        yield (head.kind, head.layer + 1, head.head + 1, len(bits), f"{fmean(bits):.4f}", f"{max(bits):.4f}")


def cli_effects(slugs: Sequence[str], output: Path | None) -> None:
    """Measure models over the set, print the heads that matter most and keep all numbers.

    A model that cannot be measured is named with the reason, and the others go on.

    Raises:
        AtlasError: a model is not there, or none of them could be measured.
    """
    from tqdm import tqdm  # type: ignore[import-untyped]

    specs = [checkpoints.get(slug) for slug in slugs]
    folder = (output or OUTPUT) / FOLDER
    refused = []
    for spec in specs:
        own_texts = texts(spec.family)
        with tqdm(total=len(own_texts), desc=spec.slug, disable=None) as bar:
            try:
                lost = measure(checkpoints.load(spec.slug), own_texts, bar.update)
            except AtlasError as error:
                refused.append(f"{spec.slug} was not measured: {error}")
                print(refused[-1])
                continue
        keep(folder / f"{spec.slug}.csv", COLUMNS, rows(lost))
        most = sorted(lost, key=lambda head: -fmean(lost[head]))[:3]
        lines = (f"{head.kind} {head.layer + 1}-{head.head + 1} {fmean(lost[head]):.2f} bits" for head in most)
        print(f"{spec.slug}, {len(lost)} heads over {len(lost[most[0]])} texts: {', '.join(lines)}", flush=True)
    if len(refused) == len(specs):
        raise AtlasError("No model was measured.")
