"""Masking by typing and by choosing words; seeds, forced paths and limits of generation; what is refused."""

from __future__ import annotations

import gc

import pytest

from core.checkpoints.spec import Checkpoint
from core.errors import InputEmpty, InputTooLong, InputUnusable, OutOfRange
from core.language.fill_mask import Probe, fill_mask, prepare, refill, run_probe, translate_masks
from core.language.generate import generate, repetition
from core.language.inputs import Inputs
from core.language.starts import prompt
from core.language.tokens import max_tokens
from core.language.types import Alternative, Decoding, MaskPrediction, Token
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
    masked = Inputs(bert, {}, _words(text), positions=(1, 5), text=text)
    known = bert.tokenizer.convert_tokens_to_ids
    guesses = (
        MaskPrediction(1, ("cat", "dog"), (0.5, 0.1), (known("cat"), known("dog"))),
        MaskPrediction(5, ("##s", "paris"), (0.5, 0.1), (known("##s"), known("paris"))),
    )
    assert "".join(p.text for p in refill(masked, guesses, [1, 1])) == "The dog of FRANCE is paris"
    assert "".join(p.text for p in refill(masked, guesses)) == "The cat of FRANCE iss"


def test_more_predictions_than_there_are_tokens_gives_all(bert: Checkpoint) -> None:
    (prediction,) = fill_mask(bert, "the [MASK]", k=10_000)
    assert sum(prediction.probabilities) == pytest.approx(1, abs=1e-4)
    with pytest.raises(OutOfRange):
        fill_mask(bert, "the [MASK]", k=0)


def test_a_probes_rank_is_that_of_its_best_answer(bert: Checkpoint) -> None:
    probe = Probe("Pet", "The [MASK] sat on the mat.", "an animal", ("dog", "cat", "no such word"))
    verdict = run_probe(bert, probe)
    (order,) = fill_mask(bert, probe.text, k=10_000)
    places = {word: order.tokens.index(word) + 1 for word in ("dog", "cat")}
    assert verdict.answer == min(places, key=lambda word: places[word])
    assert verdict.rank == min(places.values())
    assert verdict.probability == pytest.approx(order.probabilities[verdict.rank - 1])
    assert [word for word, _ in verdict.predictions] == list(order.tokens[:5])


PROMPT = "Once upon a time"


@pytest.fixture(scope="module")
def gpt2() -> Checkpoint:
    return tinyfamilies.make("gpt2", bos_token_id=None, eos_token_id=None)


def test_the_same_seed_gives_the_same_text_and_another_one_another(gpt2: Checkpoint) -> None:
    def text(seed: int) -> str:
        return list(generate(gpt2, PROMPT, Decoding("sample", seed=seed, max_new_tokens=12)))[-1].text

    assert text(1) == text(1)
    assert len({text(seed) for seed in range(4)}) == 4


def test_another_token_keeps_the_prefix_and_the_random_draws_after_it(gpt2: Checkpoint) -> None:
    decoding = Decoding("sample", seed=5, max_new_tokens=8)
    first = list(generate(gpt2, PROMPT, decoding))
    other = next(a.id for a in first[3].alternatives if a.id != first[3].token.id)
    path = (*first[2].ids, other)
    second = list(generate(gpt2, PROMPT, decoding, forced=path))
    assert second[-1].ids[:4] == path
    assert len(second) == 8
    again = list(generate(gpt2, PROMPT, decoding, forced=first[5].ids))
    assert again[-1].ids == first[-1].ids, "replaying the same path must go on as before"


def test_steps_are_cumulative_and_say_how_it_ended(gpt2: Checkpoint) -> None:
    steps = list(generate(gpt2, PROMPT, Decoding(max_new_tokens=5)))
    assert [s.index for s in steps] == [0, 1, 2, 3, 4]
    assert [len(s.ids) for s in steps] == [1, 2, 3, 4, 5]
    assert [s.finished for s in steps] == [False] * 4 + [True]
    assert steps[-1].reason == "length"
    for step in steps:
        assert step.token.id == step.alternatives[0].id == step.ids[-1]
        assert [a.probability for a in step.alternatives] == sorted(
            (a.probability for a in step.alternatives), reverse=True
        )


def test_generation_stops_at_the_last_position(gpt2: Checkpoint) -> None:
    taken = len(prompt(gpt2, PROMPT).ids)
    steps = list(generate(gpt2, PROMPT, Decoding(max_new_tokens=200)))
    assert len(steps) == 64 - taken
    assert steps[-1].reason == "positions"
    beams = list(generate(gpt2, PROMPT, Decoding("beam", beams=2, max_new_tokens=200)))
    assert len(beams[-1].ids) == 64 - taken
    assert beams[-1].reason == "positions"


def test_beams_share_a_path_taken_by_hand(gpt2: Checkpoint) -> None:
    steps = list(generate(gpt2, PROMPT, Decoding("beam", beams=3, max_new_tokens=6), forced=(5, 9)))
    assert steps[-1].ids[:2] == (5, 9)
    assert len(steps[2].beams) == 3


def test_what_is_refused(gpt2: Checkpoint) -> None:
    with pytest.raises(InputEmpty):
        generate(gpt2, " \x00 ")
    with pytest.raises(InputTooLong, match="positions for 64"):
        generate(gpt2, "the dog " * 60)
    with pytest.raises(OutOfRange, match="no token 100000"):
        generate(gpt2, PROMPT, forced=(100_000,))
    with pytest.raises(OutOfRange):
        generate(gpt2, PROMPT, Decoding(temperature=0))
    with pytest.raises(InputUnusable, match=r"a model that continues a text\. Choose another"):
        generate(tinyfamilies.make("t5"), PROMPT)


def test_repetition_by_hand() -> None:
    assert repetition([1, 2, 3, 1, 2, 3, 1, 2, 3]) == pytest.approx(4 / 7)  # 7 runs, 3 different ones
    assert repetition([1, 2, 3, 4, 5]) == 0
    assert repetition([1]) == 0


def test_a_kept_text_is_few_objects(gpt2: Checkpoint) -> None:
    def alive() -> int:
        gc.collect()
        return sum(type(entry) is Alternative for entry in gc.get_objects())

    gc.freeze()  # what was there before is not looked through
    try:
        steps = tuple(generate(gpt2, PROMPT, Decoding("beam", max_new_tokens=6)))
        assert alive() == len(steps) == 6, "the tokens that were taken"
    finally:
        gc.unfreeze()
