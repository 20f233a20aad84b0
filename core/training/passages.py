r"""Passages of held-out text that a model with control codes is measured on.

A passage begins where a line begins and has a fixed number of tokens. Its code is right where
:math:`\arg\max_c p(x \mid c)` is the code of its source; its bits per byte are
:math:`-\log_2 p(x \mid c) / \text{bytes}` under that code.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from core.language.codes import log_probabilities

LENGTH = 40
"""Tokens of a passage whose code is asked for."""

T = TypeVar("T")


def passages(rows: Iterable[Sequence[int]], length: int) -> Iterator[list[int]]:
    """Runs of ``length`` tokens, each from the beginning of a row; what a run leaves of its last row is left out."""
    held: list[int] = []
    for row in rows:
        held.extend(row)
        if len(held) >= length:
            yield held[:length]
            held = []


def spread(items: Iterable[T], most: int) -> list[T]:
    """At most ``most`` of the items, evenly spread; no more are ever held."""
    kept: list[T] = []
    every = 1
    for number, item in enumerate(items):
        if number % every == 0:
            kept.append(item)
        if len(kept) > most:
            kept, every = kept[::2], 2 * every
    return kept


def right_codes(model: Any, texts: Sequence[Sequence[int]], codes: Sequence[int], own: int) -> float:
    """Percent of the texts whose most probable code is ``own``, one of ``codes``."""
    best = log_probabilities(model, texts, codes).argmax(axis=1)
    return 100 * float(np.mean(np.asarray(codes)[best] == own))


def bits_per_byte(model: Any, texts: Sequence[Sequence[int]], code: int, size: int) -> float:
    """Bits per byte of the texts, ``size`` bytes together, under ``code``."""
    return -float(log_probabilities(model, texts, [code]).sum()) / math.log(2) / size
