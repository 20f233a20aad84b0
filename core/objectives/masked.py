r"""Masked language model: some tokens are masked and predicted from the context on both sides.

.. math:: L = -\frac{1}{|M|} \sum_{i \in M} \log p(x_i \mid \tilde x)

with :math:`M` the chosen positions, 15% of the text's tokens, and :math:`\tilde x` the text in which 80% of them hold
the mask token, 10% a token sampled from the vocabulary, and 10% are unchanged. Devlin et al. (2019), section 3.1.

`choose` and `replace_chosen` sample on arrays of any shape: the page and the models' training call the same two. A text
without a target has no loss, so at least one token is chosen.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from core.arrays import Bools
from core.objectives import example
from core.objectives.example import Cell, Example

RATE = 0.15
FATES = (0.8, 0.1)
"""Shares of the chosen tokens that become the mask token, and a random one; the rest is unchanged."""

Fate = Literal["masked", "random", "unchanged"]
Ints = npt.NDArray[np.int64]


class Settings(TypedDict, total=False):
    """What every objective that masks tokens takes."""

    rate: float
    """Share of the tokens that are chosen."""
    mask: str
    fixed: Collection[int]
    """Positions of special tokens: never chosen, never changed."""


def choose(free: Bools, rng: np.random.Generator, *, rate: float = RATE) -> Bools:
    """Which tokens are targets: each of the ``free`` ones with probability ``rate``, one at least if any is free."""
    chosen = free & (rng.random(free.shape) < rate)
    if not chosen.any() and free.any():
        chosen.flat[rng.choice(np.flatnonzero(free))] = True
    return np.asarray(chosen, dtype=np.bool_)


def replace_chosen(chosen: Bools, rng: np.random.Generator, fates: tuple[float, float] = FATES) -> tuple[Bools, Bools]:
    """Which of the ``chosen`` tokens become the mask token, and which a random one."""
    sample = rng.random(chosen.shape)
    return chosen & (sample < fates[0]), chosen & (sample >= 1 - fates[1])


def budget(tokens: int, rate: float, rng: np.random.Generator) -> int:
    """How many of ``tokens`` to choose where they are chosen in groups: ``rate`` of them on average, at least one.

    The share of a short text is no whole number: it is rounded up or down at random, so that its mean is exact.
    """
    return min(tokens, max(1, int(rate * tokens + rng.random())))


def free(count: int, fixed: Collection[int]) -> Bools:
    """(count,) True where a token may be chosen: everywhere but at the ``fixed`` positions."""
    return np.asarray([position not in fixed for position in range(count)], dtype=np.bool_)


def ordinary(count: int, fixed: Collection[int]) -> list[int]:
    """The positions that are `free`."""
    return [position for position in range(count) if position not in fixed]


def mask_tokens(
    tokens: Sequence[str],
    fates: Mapping[int, Fate],
    vocabulary: Sequence[str],
    rng: np.random.Generator,
    *,
    mask: str = "[MASK]",
    fixed: Collection[int] = (),
    groups: Mapping[int, int] | None = None,
) -> Example:
    """The example in which each position of ``fates`` is a target and changed so.

    Args:
        tokens: the text with its special tokens.
        vocabulary: what a random token is sampled from.
        fixed: positions of special tokens.
        groups: for each target the number of the unit that was chosen as one.
    """
    cells: list[Cell] = []
    for index, token in enumerate(tokens):
        change = fates.get(index)
        replacement = mask if change == "masked" else token
        if change == "random":
            replacement = vocabulary[int(rng.integers(len(vocabulary)))]
        usual: example.Change = "special" if index in fixed else "none"
        group = (groups or {}).get(index)
        cells.append(Cell(replacement, token if change else None, change or usual, index, group=group))
    return Example(tuple(tokens), tuple(cells), visible=(example.full(cells),))


def mask_groups(
    tokens: Sequence[str],
    groups: Sequence[Sequence[int]],
    vocabulary: Sequence[str],
    rng: np.random.Generator,
    *,
    shared: bool = True,
    **settings: Unpack[Settings],
) -> Example:
    """The example in which all positions of each group are targets, changed alike where the fate is ``shared``."""

    def fate() -> Fate:
        sample = rng.random()
        return "masked" if sample < FATES[0] else "random" if sample < sum(FATES) else "unchanged"

    numbers = {position: number for number, group in enumerate(groups) for position in group}
    if shared:
        by_group = [fate() for _ in groups]
        fates = {position: by_group[number] for position, number in numbers.items()}
    else:
        fates = {position: fate() for position in numbers}
    mask, fixed = settings.get("mask", "[MASK]"), settings.get("fixed", ())
    return mask_tokens(tokens, fates, vocabulary, rng, mask=mask, fixed=fixed, groups=numbers)


def mask_units(
    tokens: Sequence[str],
    units: Sequence[Sequence[int]],
    vocabulary: Sequence[str],
    rng: np.random.Generator,
    *,
    shared: bool = True,
    **settings: Unpack[Settings],
) -> Example:
    """The example in which whole units (words, phrases, entities), sampled up to the rate, are targets.

    A unit that would exceed the rate is skipped. If every unit would, the first sampled one is taken: without a target
    there would be no loss.

    Args:
        units: the positions of each unit; one that contains a ``fixed`` position is never chosen.
    """
    usable = set(ordinary(len(tokens), settings.get("fixed", ())))
    maskable = [tuple(unit) for unit in units if unit and usable.issuperset(unit)]
    room = budget(len(usable), settings.get("rate", RATE), rng) if usable else 0
    order = [maskable[index] for index in rng.permutation(len(maskable))]
    chosen: list[tuple[int, ...]] = []
    for unit in order:
        if len(unit) <= room:
            chosen.append(unit)
            room -= len(unit)
    return mask_groups(tokens, sorted(chosen or order[:1]), vocabulary, rng, shared=shared, **settings)


def corrupt(
    tokens: Sequence[str],
    vocabulary: Sequence[str],
    rng: np.random.Generator,
    *,
    rate: float = RATE,
    mask: str = "[MASK]",
    fixed: Collection[int] = (),
) -> Example:
    """Single tokens masked, as BERT does it; see `Settings`.

    Args:
        tokens: the text with its special tokens ([CLS], [SEP]).
        vocabulary: what a random token is sampled from, without special tokens.
        rng: the only source of randomness.
    """
    chosen = choose(free(len(tokens), fixed), rng, rate=rate)
    masked, random = replace_chosen(chosen, rng)
    fates: dict[int, Fate] = {
        index: "masked" if masked[index] else "random" if random[index] else "unchanged"
        for index in np.flatnonzero(chosen).tolist()
    }
    return mask_tokens(tokens, fates, vocabulary, rng, mask=mask, fixed=fixed)


def mask_pair(
    pair: Example, vocabulary: Sequence[str], rng: np.random.Generator, **settings: Unpack[Settings]
) -> Example:
    """``pair`` with tokens masked as well, as BERT is trained on masked tokens and the next sentence at once.

    Tokens of the format are left alone, and the positions of ``fixed``.
    """
    special = {position for position, cell in enumerate(pair.source) if cell.change == "special"}
    settings["fixed"] = special.union(settings.get("fixed", ()))
    masked = corrupt([cell.token for cell in pair.source], vocabulary, rng, **settings)
    cells = tuple(
        replace(old, token=new.token, target=new.target, change=new.change) if new.target is not None else old
        for old, new in zip(pair.source, masked.source, strict=True)
    )
    return replace(pair, source=cells)
