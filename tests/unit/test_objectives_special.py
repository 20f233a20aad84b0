"""Tokens of the format that somebody typed are never asked, in every objective that hides tokens and over all seeds."""

from __future__ import annotations

import numpy as np
import pytest

from core import checkpoints
from core.errors import InputUnusable
from core.objectives import translation
from core.ui.objectives.entries import ENTRIES
from core.ui.objectives.entry import Entry
from core.ui.objectives.given import given
from core.ui.objectives.translated import _paired

TEXT = "The king [MASK] ate bread [SEP] and cheese. He [CLS] drank </s> the <special1> wine [MASK] alone."
HIDES = (
    "masked",
    "whole-words",
    "spans",
    "knowledge",
    "next-sentence",
    "word-order",
    "replaced",
    "translation",
    "unified",
)


def options(entry: Entry) -> dict[str, int | str]:
    usual = {setting.name: setting.default for setting in entry.settings}
    found: dict[str, int | str] = {
        name: ",".join(value) if isinstance(value, tuple) else value for name, value in usual.items()
    }
    return found | {"both": "yes", "second": TEXT, "other": TEXT, "level": "phrase"}


@pytest.mark.parametrize("slug", HIDES)
def test_a_typed_token_of_the_format_is_never_asked(slug: str) -> None:
    entry = ENTRIES[slug]
    assert checkpoints.get(entry.models[0]).ready
    specials = 0
    for seed in range(12):
        asked = given(entry.models[0], TEXT, seed, options(entry))
        marks = {token.piece for token in asked.tokens if token.special}
        specials += len(marks)
        for stage in entry.build(asked):
            assert not [cell for cell in stage.example.source if cell.target in marks], seed
    assert specials, "else nothing was tried"


@pytest.mark.parametrize("second", ["\u200b\u200d\ufeff", " "])
def test_a_translation_without_a_letter_gets_a_sentence(second: str) -> None:
    asked = given("atlas-xlm", "My sister reads.", 0, options(ENTRIES["translation"]) | {"second": second})
    with pytest.raises(InputUnusable, match="second sentence"):
        _paired(asked)


def test_a_sentence_alone_of_a_pair_that_has_none_is_refused() -> None:
    pair = translation.corrupt(["a", "b"], [], ["x"], np.random.default_rng(0))
    assert translation.alone(pair, 0)[1] == 0
    with pytest.raises(InputUnusable, match="no sentence in that language"):
        translation.alone(pair, 1)
