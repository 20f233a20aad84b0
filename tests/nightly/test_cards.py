"""Numbers of the bundled models that are not measured every day: of most cards, and of vectors in context."""

from __future__ import annotations

import pytest

from core import checkpoints
from core.checkpoints.registry import get, part_of
from core.vectors import precomputed
from core.vectors.contextual import anisotropy_baseline
from core.vectors.occurrences import Line, words
from core.vectors.reading import read_states
from lab import evaluate
from lab.vectors import sentences
from tests.lab.test_training_recipes import BUNDLED, QUICK, states_what_is_measured


@pytest.mark.parametrize("slug", sorted({*BUNDLED, "atlas-m2m-100:english"} - QUICK))
def test_card_states_what_is_measured(slug: str) -> None:
    states_what_is_measured(slug)


def test_the_drafts_card_states_what_is_measured() -> None:
    card = part_of(get("atlas-gpt-2"), "draft").card
    assert card is not None
    stated = {(m.name, m.on): m.value for m in card.measures}
    measures = evaluate.evaluate("atlas-gpt-2-draft")
    assert {m.name for m in measures} == {"bits per byte", "drafted tokens accepted", "passes per token"}
    for measure in measures:
        near = {"bits per byte": 0.01, "drafted tokens accepted": 2.0, "passes per token": 0.02}[measure.name]
        assert stated[measure.name, measure.on] == pytest.approx(measure.value, abs=near)


def test_vectors_in_context_are_measured_again() -> None:
    checkpoint = checkpoints.load("atlas-distilbert")
    lines = [Line(number, "", text) for number, text in enumerate(sentences(), 1)]
    occurrences = words(lines, lambda text: read_states(checkpoint, text))
    again = [anisotropy_baseline(vectors, occurrences.lines) for vectors in occurrences.vectors]
    assert again == pytest.approx([layer.baseline for layer in precomputed.layers("atlas-distilbert")], abs=2e-4)
