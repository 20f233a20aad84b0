"""Tokens of the format that somebody typed are never asked, in every objective that hides tokens and over all seeds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core import checkpoints
from core.errors import AtlasError, InputUnusable
from core.objectives import sentinels
from core.ui.objectives.entry import Entry, inputs, style
from core.ui.objectives.objective import ENTRIES
from core.ui.objectives.picture import picture
from core.ui.objectives.read_on import drawn_order

TEXT = "The king [MASK] ate bread [SEP] and cheese. He [CLS] drank </s> the <special1> wine [MASK] alone."
NASTY = {
    "emoji": "\U0001f600\U0001f389\U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f388",
    "right to left": "\u05e9\u05dc\u05d5\u05dd \u05de\u05e8\u05d7\u05d1\u05d0.",
    "a script": "</script><script>alert(1)</script> <b>x</b>",
    "tokens of the format": "[CLS] the [MASK] king [SEP] ate [PAD] </s> <extra_id_0>",
    "markdown": "# **x** $\\frac{1}{0}$ [a](javascript:alert(1)) `b`",
}
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
    "distillation",
)
REWRITES = {
    "sentinels": [{"rate": 50, "mean": 1}, {"rate": 50, "mean": 10}],
    "denoise": [{"damage": kinds} for kinds in ("mask", "delete", "infill", "permute,rotate,delete,mask,infill")],
    "gaps": [{"rate": 70, "choose": "random"}],
}


def options(entry: Entry) -> dict[str, int | str]:
    usual = {setting.name: setting.default for setting in (*entry.settings, *entry.rare)}
    found: dict[str, int | str] = {
        name: ",".join(value) if isinstance(value, tuple) else value for name, value in usual.items()
    }
    return found | {"both": "yes", "second": TEXT, "other": TEXT, "level": "phrase"}


@pytest.mark.parametrize("slug", HIDES)
def test_a_typed_token_of_the_format_is_never_asked(slug: str) -> None:
    entry = ENTRIES[slug]
    assert checkpoints.get(entry.models[0]).ready
    specials = 0
    for seed in range(5):
        asked = inputs(entry.slug, entry.models[0], TEXT, seed, options(entry))
        marks = {token.piece for token in asked.tokens if token.special}
        specials += len(marks)
        for stage in entry.build(asked):
            assert not [cell for cell in stage.example.source if cell.target in marks], seed
    assert specials, "else nothing was tried"


@pytest.mark.parametrize(("slug", "settings"), [(slug, one) for slug, some in REWRITES.items() for one in some])
def test_a_typed_token_of_the_format_stays_in_what_the_encoder_reads(slug: str, settings: dict[str, int | str]) -> None:
    entry = ENTRIES[slug]
    for seed in range(5):
        asked = inputs(entry.slug, entry.models[0], TEXT, seed, options(entry) | settings)
        marks = sorted(token.piece for token in asked.tokens if token.special)
        assert marks, "else nothing was tried"
        (stage,) = entry.build(asked)
        cells = [cell for cell in stage.example.source if cell.origin is not None]
        assert sorted(cell.token for cell in cells if cell.token in marks) == marks, seed
        if slug != "denoise":  # whose decoder writes the whole text
            assert not {cell.token for cell in stage.example.decoder[1:]} & set(marks), seed


def test_an_order_has_no_typed_token_of_the_format() -> None:
    """All ordinary tokens are asked, each once: those of the format are known from the start."""
    entry = ENTRIES["permutation"]
    asked = inputs(entry.slug, entry.models[0], TEXT, 5, options(entry) | {"k": 1})
    order = drawn_order(asked)
    (stage,) = entry.build(replace(asked, options=asked.options | {"order": ".".join(map(str, order))}))
    found = [cell.token for cell in stage.example.source if cell.target is not None]
    assert found == [token.piece for token in asked.tokens if not token.special]
    assert len(order) == len(found) == len(stage.example.order)


@pytest.mark.parametrize("slug", ["causal", "prefix"])
def test_a_decoder_reads_typed_tokens_of_the_format_as_they_are(slug: str) -> None:
    entry = ENTRIES[slug]
    asked = inputs(entry.slug, entry.models[0], "The end.<|endoftext|>A start.", 3, options(entry))
    assert any(token.special for token in asked.tokens)
    (stage,) = entry.build(asked)
    read = [cell.token for cell in stage.example.source if cell.origin is not None]
    assert read == [token.piece for token in asked.tokens][: len(read)]


def test_a_typed_sentinel_is_not_used_again() -> None:
    tokens = [*"abcdef", "<extra_id_0>", *"ghijkl"]
    example = sentinels.corrupt(tokens, np.random.default_rng(0), rate=0.5, mean=1.0, special=["<extra_id_0>"])
    names = [cell.token for cell in example.source if cell.note == "sentinel"]
    assert names == [f"<extra_id_{number}>" for number in range(1, len(names) + 1)]
    assert [cell.token for cell in example.source].count("<extra_id_0>") == 1


def test_a_run_that_a_typed_token_stands_in_becomes_two() -> None:
    """Of four ordinary tokens three are hidden in one run, the last ones: the typed token stands among them."""
    example = sentinels.corrupt(
        ["a", "b", "[X]", "c", "d"], np.random.default_rng(0), rate=0.75, mean=3.0, special=["[X]"]
    )
    assert [cell.token for cell in example.source] == ["a", "<extra_id_0>", "[X]", "<extra_id_1>", "</s>"]
    targets = [cell.target for cell in example.decoder]
    assert targets == ["<extra_id_0>", "b", "<extra_id_1>", "c", "d", "<extra_id_2>", "</s>"]


@pytest.mark.parametrize("second", ["\u200b\u200d\ufeff", " "])
def test_a_translation_without_a_letter_gets_a_sentence(second: str) -> None:
    entry = ENTRIES["translation"]
    asked = inputs(entry.slug, "atlas-xlm", "My sister reads.", 0, options(entry) | {"second": second})
    with pytest.raises(InputUnusable, match="second sentence"):
        entry.build(asked)


@pytest.mark.parametrize("slug", ENTRIES)
def test_any_text_is_made_into_an_example_or_refused_in_a_sentence(slug: str) -> None:
    entry = ENTRIES[slug]
    texts = ("", "ring", "word " * 2_000, *NASTY.values())
    for text in texts:
        try:
            asked = inputs(entry.slug, entry.models[0], text, 0, options(entry) | {"second": text[:2000], "order": ""})
            stages = entry.build(asked)
        except AtlasError:  # any other error is a defect
            continue
        for stage in stages:
            drawn = picture(stage.example.source, style(asked.slug), "#112233", alt=entry.slug)
            assert drawn.count("<script") == drawn.count("<b>x") == 0
