"""Masking by typing and by choosing words; what is refused and with which sentence."""

from __future__ import annotations

import pytest

from core.checkpoints.spec import Checkpoint
from core.errors import InputEmpty, InputTooLong, InputUnusable, OutOfRange
from core.language.fill_mask import MaskedText, fill_mask, predict, prepare, refill, translate_masks
from core.language.limits import max_tokens
from core.language.probes import Probe, judge
from core.language.types import MaskPrediction, Token
from tests import tiny, tinyfamilies


@pytest.fixture(scope="module")
def bert() -> Checkpoint:
    return tinyfamilies.make("bert")


@pytest.mark.parametrize(("typed", "owner"), [("<mask>", "RoBERTa"), ("<extra_id_0>", "T5"), ("<special1>", "XLM")])
def test_another_models_mask_is_translated_and_said(bert: Checkpoint, typed: str, owner: str) -> None:
    masked = prepare(bert, f"The {typed} sat on the mat.")
    assert masked.text == "The [MASK] sat on the mat."
    assert masked.positions == (2,)
    assert len(masked.notes) == 1
    assert owner in masked.notes[0]
    assert typed in masked.notes[0]


def test_the_models_own_mask_and_the_common_one_need_no_remark() -> None:
    assert translate_masks("a [MASK] b <mask>", "<mask>") == ("a <mask> b <mask>", [])
    assert translate_masks("a [mask] b", "[MASK]") == ("a [MASK] b", [])


def test_a_clicked_piece_masks_its_whole_word_and_says_so(bert: Checkpoint) -> None:
    plain = prepare(bert, "the gardencat sat")
    pieces = [i for i, t in enumerate(plain.tokens) if t.start >= 4 and t.end <= 13]
    assert len(pieces) > 1
    masked = prepare(bert, "the gardencat sat", [pieces[-1]])
    assert masked.positions == tuple(pieces)
    assert all(masked.ids[i] == bert.tokenizer.mask_token_id for i in pieces)
    assert "“gardencat”" in masked.notes[0]
    assert "masks" in masked.notes[0]


def test_special_tokens_cannot_be_masked(bert: Checkpoint) -> None:
    assert prepare(bert, "the cat", [0, 3]).positions == ()


@pytest.mark.parametrize("position", [-1, 99])
def test_a_position_outside_the_text_is_refused(bert: Checkpoint, position: int) -> None:
    with pytest.raises(OutOfRange, match="tokens 0 to 3"):
        prepare(bert, "the cat", [position])


def test_no_mask_says_how_to_make_one(bert: Checkpoint) -> None:
    with pytest.raises(InputUnusable, match=r"Type \[MASK\].*click a word"):
        fill_mask(bert, "The cat sat.")


def test_too_many_tokens_gives_both_counts(bert: Checkpoint) -> None:
    assert max_tokens(bert) == 64
    assert len(fill_mask(bert, "[MASK] " + "cat " * 61)) == 1
    with pytest.raises(InputTooLong, match="65 tokens; bert has positions for 64"):
        fill_mask(bert, "[MASK] " + "cat " * 62)


def test_empty_and_odd_texts(bert: Checkpoint) -> None:
    with pytest.raises(InputEmpty):
        fill_mask(bert, "\x00 \n")
    for text in ("🤖🤖 [MASK]", "</script><script>[MASK]", "$x^2$ **[MASK]**", "שלום [MASK]"):
        assert len(fill_mask(bert, text)) == 1


def test_a_model_without_masks_is_refused() -> None:
    with pytest.raises(InputUnusable, match="no mask token"):
        prepare(Checkpoint(None, tiny.bytelevel_tokenizer(), tinyfamilies.spec_of("gpt", "causal-lm")), "a [MASK]")  # type: ignore[arg-type]


def _words(text: str) -> tuple[Token, ...]:
    """Tokens with offsets for hand-made sentences: each word or mask one token."""
    tokens, at = [], 0
    for word in text.split(" "):
        tokens.append(Token(9, word, word, at, at + len(word)))
        at += len(word) + 1
    return tuple(tokens)


def test_refilling_keeps_the_visitors_own_writing(bert: Checkpoint) -> None:
    text = "The [MASK] of FRANCE is [MASK]"
    masked = MaskedText(text, _words(text), (), (1, 5))
    known = bert.tokenizer.convert_tokens_to_ids
    guesses = (
        MaskPrediction(1, ("cat", "dog"), (0.5, 0.1), (known("cat"), known("dog"))),
        MaskPrediction(5, ("##s", "paris"), (0.5, 0.1), (known("##s"), known("paris"))),
    )
    assert "".join(p.text for p in refill(bert, masked, guesses, [1, 1])) == "The dog of FRANCE is paris"
    assert "".join(p.text for p in refill(bert, masked, guesses)) == "The cat of FRANCE iss"


def test_asking_for_more_guesses_than_there_are_words_gives_all(bert: Checkpoint) -> None:
    (prediction,) = predict(bert, prepare(bert, "the [MASK]"), k=10_000)
    assert sum(prediction.probabilities) == pytest.approx(1, abs=1e-4)
    with pytest.raises(OutOfRange):
        predict(bert, prepare(bert, "the [MASK]"), k=0)


def test_a_probes_rank_is_the_place_of_its_best_answer(bert: Checkpoint) -> None:
    probe = Probe("Pet", "The [MASK] sat on the mat.", "an animal", ("dog", "cat", "no such word"))
    verdict = judge(bert, probe)
    (order,) = fill_mask(bert, probe.text, k=10_000)
    places = {word: order.tokens.index(word) + 1 for word in ("dog", "cat")}
    assert verdict.answer == min(places, key=lambda word: places[word])
    assert verdict.rank == min(places.values())
    assert verdict.probability == pytest.approx(order.probabilities[verdict.rank - 1])
    assert [word for word, _ in verdict.guesses] == list(order.tokens[:5])
