"""The mean effect of ablating each head over a fixed set of texts, in bits.

The set has twenty sentences of ``assets/cloze``, each with the original word and a wrong one. Each kind of model has
its own form of them:

    masked language model     the sentence with a mask; the masked word is predicted
    causal model              the sentence up to the mask; the next token is predicted
    discriminator             the sentence with the wrong word; the class of the token with the highest probability
    encoder-decoder           the sentence with the original word, for its first task; the third token of the output,
                              since the first ones are often the same for every source
    model with adapters       the sentence with the original word, for each task; its class

The effect is that of `core.attention.ablation.ablate`, with all other heads on. An XLNet has three values per head:
ablated in both streams (``encoder``), in the content stream (``decoder``), in the query stream (``query``). The content
stream after the last layer is not used, so its heads have no effect there. Twenty texts only separate heads that often
matter from heads that never do.

One tidy file per model, ``effects/SLUG.csv``, with layers and heads from 1:

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
from core.attention.ablation.ablate import Head, rank_heads
from core.attention.roles.rolefiles import EFFECT_COLUMNS, EFFECTS, KINDS, OUTPUT
from core.checkpoints.families import ModelFamily
from core.checkpoints.spec import Checkpoint
from core.errors import AtlasError, InputEmpty, InputTooLong, InputUnusable, OutOfRange
from core.language.adapters import tasks
from lab.heads import CsvRow, write_rows

TEXTS = OUTPUT / "texts.tsv"
GAP = "[MASK]"
STEP = 2
"""The predicted token of an encoder-decoder's output, from 0."""

Effects = dict[Head, list[float]]
"""The effects on all texts that could be run, by head."""


class Sentence(NamedTuple):
    """A sentence with a mask, the original word, and a wrong one."""

    gap: str
    right: str
    odd: str


@lru_cache(maxsize=1)
def sentences() -> tuple[Sentence, ...]:
    """The bundled set."""
    with TEXTS.open(encoding="utf-8", newline="") as file:
        return tuple(
            Sentence(row["sentence"], row["right"], row["odd"]) for row in csv.DictReader(file, delimiter="\t")
        )


def texts(family: ModelFamily) -> tuple[str, ...]:
    """The texts for a family: with a mask, up to the mask, with the wrong word, or the whole sentence."""
    if "predicts masked tokens" in family.offers:
        return tuple(sentence.gap for sentence in sentences())
    if "continues" in family.offers:
        return tuple(sentence.gap.partition(GAP)[0].rstrip() for sentence in sentences())
    return tuple(
        sentence.gap.replace(GAP, sentence.odd if "detects replaced tokens" in family.offers else sentence.right)
        for sentence in sentences()
    )


def measure(checkpoint: Checkpoint, texts: Sequence[str], done: Callable[[], object] = lambda: None) -> Effects:
    """The effects of all heads over ``texts``, without those that the model cannot run; ``done`` is called after each.

    Raises:
        InputUnusable: the model can run none of the texts, with the last reason.
        NoAttentionMatrix: the heads of the architecture are not known.
    """
    effects: Effects = {}
    reason = ""
    adapted = checkpoint.spec.offers("classifies texts")
    own_tasks = [task.slug for task in tasks(checkpoint)] if adapted else [None]
    for text in texts:
        try:
            for task in own_tasks:
                for effect in rank_heads(checkpoint, text, task=task, step=0 if adapted else STEP):
                    effects.setdefault(effect.head, []).append(effect.bits)
        except (InputEmpty, InputTooLong, InputUnusable, OutOfRange) as error:
            reason = str(error)
        done()
    if not effects:
        raise InputUnusable(f"{checkpoint.spec.name} can run none of {len(texts)} texts: {reason}")
    return effects


def rows(effects: Effects) -> Iterator[CsvRow]:
    """The rows of ``effects/SLUG.csv``, from the first layer on."""
    for head, bits in sorted(effects.items(), key=lambda item: (KINDS.index(item[0].kind), item[0])):
        yield (head.kind, head.layer + 1, head.head + 1, len(bits), f"{fmean(bits):.4f}", f"{max(bits):.4f}")


def cli_effects(slugs: Sequence[str], output: Path | None) -> None:
    """Measure models, print the heads with the largest effects, and write the files.

    A model that cannot be measured is reported with the reason.

    Raises:
        AtlasError: a model is unknown, or none of them could be measured.
    """
    from tqdm import tqdm  # type: ignore[import-untyped]

    specs = [checkpoints.get(slug) for slug in slugs]
    folder = (output or OUTPUT) / EFFECTS
    refused = []
    for spec in specs:
        own_texts = texts(spec.family)
        with tqdm(total=len(own_texts), desc=spec.slug, disable=None) as bar:
            try:
                effects = measure(checkpoints.load(spec.slug), own_texts, bar.update)
            except AtlasError as error:
                refused.append(f"{spec.slug} was not measured: {error}")
                print(refused[-1])
                continue
        write_rows(folder / f"{spec.slug}.csv", EFFECT_COLUMNS, rows(effects))
        most = sorted(effects, key=lambda head: -fmean(effects[head]))[:3]
        lines = (f"{head.kind} {head.layer + 1}-{head.head + 1} {fmean(effects[head]):.2f} bits" for head in most)
        print(f"{spec.slug}, {len(effects)} heads over {len(effects[most[0]])} texts: {', '.join(lines)}", flush=True)
    if len(refused) == len(specs):
        raise AtlasError("No model was measured.")
