"""The text-to-text tasks: their prefixes and their pairs. No torch, so that evaluation and recipes share it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from random import Random

from core.training.parallel import Pair, digest

LANGUAGES = {"en": "English", "fr": "French", "de": "German"}


def prefix(task: str) -> str:
    """Text that asks for a task: ``en-fr`` becomes "translate English to French: ", ``repair`` "repair: "."""
    if task.startswith("repair"):
        return "repair: "
    source, target = task.split("-")
    return f"translate {LANGUAGES[source]} to {LANGUAGES[target]}: "


def damaged(text: str, index: int) -> str:
    """The ``index``-th damage of a text: kind and rate drawn from the index alone.

    The kind is drawn evenly among those of `core.language.damage`, the rate evenly from 0 to twice the kind's default.
    """
    from core.language.damage import DEFAULT_RATE, KINDS, damage

    random = Random(index)
    kind = KINDS[random.randrange(len(KINDS))]
    rate = min(1.0, random.uniform(0.0, 2.0) * DEFAULT_RATE[kind])
    return damage(text, kind, rate, index)


def examples(task: str, pairs: Iterable[Pair]) -> Iterator[Pair]:
    """(input without prefix, output) of a task from (English, other) pairs; repair takes the side its name tells.

    Repair shows each text once: of those seen it keeps the digests (`core.training.parallel.digest`).
    """
    if task.startswith("repair"):
        side = 0 if task.endswith("en") else 1
        seen: set[bytes] = set()
        for pair in pairs:
            key = digest(pair[side])
            if key not in seen:
                yield damaged(pair[side], len(seen)), pair[side]
                seen.add(key)
    else:
        for english, other in pairs:
            yield (english, other) if task.startswith("en-") else (other, english)
