"""Typed special tokens are never predicted; a covered example shows none of its targets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import checkpoints
from core.content import content
from core.errors import AtlasError, InputUnusable
from core.objectives import causal, denoising, gaps, permutation, prefix, sentinels
from core.objectives.example import Example
from core.objectives.sentence_pairs import TWO, two_orders
from core.ui.objectives.covered_targets import BLANK, covered, guess_label, judge_replaced, main_stage, open_targets
from core.ui.objectives.entry import Entry, Stage, inputs, style
from core.ui.objectives.language_modeling import drawn_order
from core.ui.objectives.objective import ENTRIES
from core.ui.objectives.picture import picture

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
    "ngrams",
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
    result: dict[str, int | str] = {
        name: ",".join(value) if isinstance(value, tuple) else value for name, value in usual.items()
    }
    return result | {"both": "yes", "second": TEXT, "other": TEXT, "level": "phrase"}


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


@pytest.mark.parametrize(("slug", "settings"), [(slug, element) for slug, some in REWRITES.items() for element in some])
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
    """All ordinary tokens are predicted once; special tokens are context from the start."""
    entry = ENTRIES["permutation"]
    asked = inputs(entry.slug, entry.models[0], TEXT, 5, options(entry) | {"k": 1})
    order = drawn_order(asked)
    (stage,) = entry.build(replace(asked, options=asked.options | {"order": ".".join(map(str, order))}))
    tokens = [cell.token for cell in stage.example.source if cell.target is not None]
    assert tokens == [token.piece for token in asked.tokens if not token.special]
    assert len(order) == len(tokens) == len(stage.example.order)


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
    """The last three of four ordinary tokens are masked in one span that contains the typed token."""
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


WORDS = [f"w{number}" for number in range(14)]


def rng() -> np.random.Generator:
    return np.random.default_rng(3)


SHIFTED: dict[str, Callable[[list[str]], Example]] = {
    "causal": lambda words: causal.corrupt(words, "<s>"),
    "prefix": lambda words: prefix.corrupt(words, rng(), 5),
    "sentinels": lambda words: sentinels.corrupt(words, rng()),
    "gaps": lambda words: gaps.corrupt([words[:5], words[5:9], words[9:]], (1,)),
    "permutation": lambda words: permutation.corrupt(words, rng().permutation(len(words)).tolist(), 3.0),
}


def read(example: Example) -> set[str]:
    """All that a page can show of an example: its rows, and the names of its masks."""
    names = {name for seen in example.visible for name in (*seen.queries, *seen.keys)}
    return {cell.token for cell in (*example.source, *example.decoder)} | names | set(example.original)


@pytest.mark.parametrize("name", SHIFTED)
def test_no_open_target_can_be_read(name: str) -> None:
    example = SHIFTED[name](WORDS)
    hidden = covered(example)
    asked = open_targets(example)
    assert asked
    assert set(asked) <= read(example)
    assert not set(asked) & read(hidden)
    said = {cell.target for cell in (*hidden.source, *hidden.decoder)}
    assert "?" in said
    assert not set(asked) & said
    assert [seen.allowed.shape for seen in hidden.visible] == [seen.allowed.shape for seen in example.visible]


@given(st.integers(1, 30), st.booleans())
def test_of_a_row_that_is_asked_throughout_the_first_half_stays(count: int, begun: bool) -> None:
    words = [f"w{number}" for number in range(count + (not begun))]
    example = causal.corrupt(words, "<s>" if begun else None)
    hidden = covered(example)
    half = len(example.source) // 2
    assert hidden.source[:half] == example.source[:half]
    assert hidden.source[half].token == example.source[half].token
    assert not set(open_targets(example)) & read(hidden)


def test_a_decoder_that_copies_shows_its_corrupted_text_alone() -> None:
    example = denoising.corrupt([WORDS], rng(), ["infill"])
    hidden = covered(example)
    assert [cell.token for cell in hidden.decoder][1:] == ["…"]
    assert hidden.decoder[0].target == "?"
    assert [cell.token for cell in hidden.source] == [cell.token for cell in example.source]
    assert open_targets(example) == tuple(WORDS)
    assert set(hidden.visible[1].keys[1:]) == {BLANK}


def test_sentinels_need_not_be_guessed() -> None:
    example = sentinels.corrupt(WORDS, rng(), rate=0.5)
    assert {cell.target for cell in example.decoder} - set(open_targets(example)) == {
        *(cell.token for cell in example.source if cell.change == "masked"),
        f"<extra_id_{sum(cell.change == 'masked' for cell in example.source)}>",
        "</s>",
    }


def test_one_question_about_the_whole_is_chosen_from_its_answers() -> None:
    pair = Stage(two_orders(["a"], ["b"], [], rng()))
    assert guess_label((pair,)) == ("Sentence order?", TWO)
    assert guess_label((Stage(SHIFTED["causal"](WORDS)),)) == (content("objectives").label("guesses"), ())


def test_the_stage_that_asks_most_is_guessed_at() -> None:
    few, many = (Stage(permutation.corrupt(WORDS, range(14), k)) for k in (7.0, 2.0))
    assert main_stage((few, many)) is main_stage((many, few)) is many
    last = Stage(few.example)
    assert main_stage((few, last)) is last


@pytest.mark.parametrize(
    ("words", "replaced", "told"),
    [
        (["Fox", "dog"], ["fox", "cat"], "1 of 2 replaced tokens found: fox, cat. Named without being replaced: 1."),
        (["a", "b"], ["a", "b"], "2 of 2 replaced tokens found: a, b."),
        (["x"], [], "Wrong: no token"),
        (["fox"], ["fox", "fox"], "1 of 2 replaced tokens found: fox ×2."),
    ],
)
def test_replaced_tokens_are_named_in_any_order(words: list[str], replaced: list[str], told: str) -> None:
    assert judge_replaced(words, replaced).startswith(told)
