"""The runs that the page Training opens with, stored in ``assets/measured/fine-tuning.npz``.

They are those of the default settings and of :func:`core.finetuning.setup.baselines` on each ready set and on the
treebank, written by ``python -m lab fine-tuning``. Reading needs no torch, and a class that opens the page trains
nothing.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from core.finetuning import spans, tags
from core.finetuning.examples import READY, TEN, LabeledSet, ready
from core.finetuning.setup import Epoch, Setup, baselines, usual_rate
from core.settings import ASSETS

FILE = ASSETS / "measured" / "fine-tuning.npz"
FIELDS = ("loss", "accuracy", "probabilities", "seconds", "parameters")
SETS = (*READY, tags.NAME, spans.NAME)
OPENS_WITH = {TEN: "fine-tuning-ten"}
"""Where a set opens with another model than the page: the section of ``first.toml``."""


def runs(name: str) -> dict[str, Setup]:
    """The settings of a set's stored runs."""
    setup = Setup(epochs=tags.EPOCHS) if name == tags.NAME else Setup(rate=usual_rate("all"))
    if name == spans.NAME:
        setup = replace(setup, epochs=spans.EPOCHS, rate=spans.RATE)
    return {"chosen": setup, **baselines(setup)}


def data(name: str) -> LabeledSet:
    """A set by its name in :data:`SETS`."""
    makers = {tags.NAME: tags.treebank, spans.NAME: spans.facts}
    return makers[name]() if name in makers else ready(name)


@lru_cache(maxsize=1)
def _arrays() -> dict[str, Any]:
    with np.load(FILE, allow_pickle=False) as file:
        return dict(file)


def stored(slug: str, name: str, setup: Setup) -> tuple[Epoch, ...]:
    """The epochs of a run of a model on a set, if they are stored; otherwise none."""
    run = next((run for run, settings in runs(name).items() if settings == setup), None)
    if run is None or name not in SETS or str(_arrays()[f"{name}.model"]) != slug:
        return ()
    columns = [_arrays()[f"{name}.{run}.{field}"] for field in FIELDS]
    last = len(columns[0]) - 1
    return tuple(
        Epoch(
            *(number, float(loss), float(accuracy), probabilities, float(seconds), int(parameters)),
            last=number == last,
        )
        for number, (loss, accuracy, probabilities, seconds, parameters) in enumerate(zip(*columns, strict=True))
    )
