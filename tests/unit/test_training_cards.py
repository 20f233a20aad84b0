"""The numbers of a bundled checkpoint's card that stand on committed texts come out again, where that is quick.

`tests/nightly/test_cards.py` has the others.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from core.checkpoints.registry import bundled_root
from core.training import evaluate, measures

BUNDLED = sorted(path.parent.name for path in bundled_root().glob("*/card.toml"))
TOLERANCE = {
    "found": 3.0,
    "left": 1.0,
    "balanced": 2.0,
    "area": 1.0,
    "top-1": 1.01,
    "top-5": 1.01,
    "repeats": 1.01,
    "permute exact": 8.4,  # one of twelve texts
    "rotate exact": 8.4,
    "exact": 2.6,
    "connective": 3.4,
    "whole sentence": 3.4,
    "BLEU": 0.6,
    "chrF": 0.6,
    "bits": 0.01,
    "covered": 1.0,
    "right code": 2.6,
    "accuracy": 3.4,
    "CER": 1.0,
}
QUICK = {"atlas-bert", "atlas-electra", "atlas-llama"}
"""Cards that are measured every day, an encoder's and a decoder's among them."""


@pytest.mark.parametrize("slug", sorted(QUICK))
def test_card_states_what_is_measured(slug: str) -> None:
    states_what_is_measured(slug)


def states_what_is_measured(slug: str) -> None:
    from core import checkpoints

    card = checkpoints.get(slug).card
    stated = {(m.name, m.on): m.value for m in card.measures}
    found = evaluate.evaluate(slug.replace(":", "-"))
    assert found
    for measure in found:
        near = next(value for part, value in TOLERANCE.items() if part in measure.name)
        assert stated[measure.name, measure.on] == pytest.approx(measure.value, abs=near), measure


@pytest.mark.parametrize("file", measures.CLOZE.values(), ids=lambda file: file.stem)
def test_cloze_is_well_formed(file: Path) -> None:
    rows = measures.read_table(file)
    assert len(rows) == 100
    assert len({sentence for _, sentence, _ in rows}) == 100
    for _, sentence, answers in rows:
        assert sentence.count("[MASK]") == 1
        # An answer may stand in its sentence only where the sentence is about a pair of equals.
        assert not set(answers.split()) & set(re.findall(r"[a-z]+", sentence.lower())), sentence
