r"""Masked language model: some tokens are hidden, and asked of all that stands around them.

.. math:: L = -\frac{1}{|M|} \sum_{i \in M} \log p(x_i \mid \tilde x)

with :math:`M` the chosen places, 15 % of the text's tokens, and :math:`\tilde x` the text in which 80 % of them became
the mask token, 10 % a token drawn at random from the vocabulary, and 10 % stayed as they were. Devlin et al. (2019),
section 3.1.

`choose` and `meet` draw on arrays of any shape: the page and the models' training call the same two. A text that asks
nothing teaches nothing, so at least one token is chosen.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from core.objectives import example
from core.objectives.example import Cell, Example

RATE = 0.15
FATES = (0.8, 0.1)
"""Shares of the chosen tokens that become the mask token, and a random one; the rest stays as it was."""

Fate = Literal["masked", "random", "unchanged"]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class Settings(TypedDict, total=False):
    """How tokens are hidden, told alike to every objective that hides them."""

    rate: float
    """Share of the tokens that are asked."""
    fates: tuple[float, float]
    """Shares of these that become ``mask`` and a random token."""
    mask: str
    fixed: Collection[int]
    """Places of tokens of the format: never chosen, never changed."""


def choose(free: Bools, rng: np.random.Generator, *, rate: float = RATE) -> Bools:
    """Which tokens are asked: each of the ``free`` ones with probability ``rate``, one at least where one is free."""
    chosen = free & (rng.random(free.shape) < rate)
    if not chosen.any() and free.any():
        chosen.flat[rng.choice(np.flatnonzero(free))] = True
    return np.asarray(chosen, dtype=np.bool_)


def meet(chosen: Bools, rng: np.random.Generator, fates: tuple[float, float] = FATES) -> tuple[Bools, Bools]:
    """Which of the ``chosen`` tokens become the mask token, and which a random one."""
    met = rng.random(chosen.shape)
    return chosen & (met < fates[0]), chosen & (met >= 1 - fates[1])


def damage(
    ids: Ints,
    special: Bools,
    mask: int,
    rng: np.random.Generator,
    *,
    rate: float = RATE,
    fates: tuple[float, float] = FATES,
) -> tuple[Ints, Bools]:
    """The damaged ids and where tokens were chosen, both of the shape of ``ids``: what the models here learned with.

    Args:
        ids: any shape; token ids.
        special: (vocabulary,) True for tokens that are neither chosen nor drawn.
        mask: the mask token.
    """
    chosen = choose(~special[ids], rng, rate=rate)
    hidden, random = meet(chosen, rng, fates)
    drawn = np.flatnonzero(~special)[rng.integers((~special).sum(), size=ids.shape)]
    return np.where(hidden, mask, np.where(random, drawn, ids)).astype(np.int64), chosen


def budget(tokens: int, rate: float, rng: np.random.Generator) -> int:
    """How many of ``tokens`` to choose where they are chosen in groups: ``rate`` of them on average, at least one.

    A share of a short text is no whole number: it is rounded up or down by chance, so that its mean is exact.
    """
    return min(tokens, max(1, int(rate * tokens + rng.random())))


def fate(rng: np.random.Generator, fates: tuple[float, float] = FATES) -> Fate:
    """What becomes of a group that shares its lot."""
    drawn = rng.random()
    return "masked" if drawn < fates[0] else "random" if drawn < sum(fates) else "unchanged"


def ordinary(count: int, fixed: Collection[int]) -> tuple[int, ...]:
    """The places of ``count`` tokens that may be chosen: all but the ``fixed`` ones."""
    barred = set(fixed)
    return tuple(index for index in range(count) if index not in barred)


def free(count: int, fixed: Collection[int]) -> Bools:
    """(count,) True where a token may be chosen: everywhere but at the ``fixed`` places."""
    places = np.zeros(count, dtype=np.bool_)
    places[list(ordinary(count, fixed))] = True
    return places


def hide(
    tokens: Sequence[str],
    fates: Mapping[int, Fate],
    vocabulary: Sequence[str],
    rng: np.random.Generator,
    *,
    mask: str = "[MASK]",
    fixed: Collection[int] = (),
    groups: Mapping[int, int] | None = None,
) -> Example:
    """The example in which each place of ``fates`` is asked and has met its fate.

    Args:
        tokens: the text with the tokens of the format.
        vocabulary: what a random token is drawn from.
        fixed: places of tokens of the format.
        groups: for the chosen places the number of the unit that was chosen as one.
    """
    cells: list[Cell] = []
    for index, token in enumerate(tokens):
        met = fates.get(index)
        stands = mask if met == "masked" else token
        if met == "random":
            stands = vocabulary[int(rng.integers(len(vocabulary)))]
        cells.append(
            Cell(
                stands,
                token if met else None,
                met or ("special" if index in fixed else "kept"),
                index,
                group=groups.get(index) if groups else None,
            )
        )
    return Example(tuple(tokens), tuple(cells), visible=(example.full(cells),))


def hide_groups(
    tokens: Sequence[str],
    groups: Sequence[Sequence[int]],
    vocabulary: Sequence[str],
    rng: np.random.Generator,
    *,
    shared: bool = True,
    **settings: Unpack[Settings],
) -> Example:
    """The example in which all places of each group are asked.

    Args:
        shared: whether the places of a group share their fate.
    """
    numbers = {place: number for number, group in enumerate(groups) for place in group}
    fates, mask, fixed = settings.get("fates", FATES), settings.get("mask", "[MASK]"), settings.get("fixed", ())
    if shared:
        drawn = [fate(rng, fates) for _ in groups]
        met = {place: drawn[number] for place, number in numbers.items()}
    else:
        met = {place: fate(rng, fates) for place in numbers}
    return hide(tokens, met, vocabulary, rng, mask=mask, fixed=fixed, groups=numbers)


def corrupt(
    tokens: Sequence[str],
    vocabulary: Sequence[str],
    rng: np.random.Generator,
    *,
    rate: float = RATE,
    fates: tuple[float, float] = FATES,
    mask: str = "[MASK]",
    fixed: Collection[int] = (),
) -> Example:
    """Single tokens hidden, as BERT does it; see `Settings`.

    Args:
        tokens: the text with the tokens of the format ([CLS], [SEP]).
        vocabulary: what a random token is drawn from: no token of the format in it.
        rng: the only source of chance.
    """
    chosen = choose(free(len(tokens), fixed), rng, rate=rate)
    masked, random = meet(chosen, rng, fates)
    met: dict[int, Fate] = {
        index: "masked" if masked[index] else "random" if random[index] else "unchanged"
        for index in np.flatnonzero(chosen).tolist()
    }
    return hide(tokens, met, vocabulary, rng, mask=mask, fixed=fixed)


def over(given: Example, vocabulary: Sequence[str], rng: np.random.Generator, **settings: Unpack[Settings]) -> Example:
    """``given`` with tokens hidden as well, as BERT asks for masked tokens and the next sentence at once.

    Places of the format are left alone, and those of ``fixed``.
    """
    special = {place for place, cell in enumerate(given.source) if cell.change == "special"}
    settings["fixed"] = {*special, *settings.get("fixed", ())}
    hidden = corrupt([cell.token for cell in given.source], vocabulary, rng, **settings)
    cells = tuple(
        replace(old, token=new.token, target=new.target, change=new.change) if new.target is not None else old
        for old, new in zip(given.source, hidden.source, strict=True)
    )
    return replace(given, source=cells)
