"""Seeds, paths taken by hand, limits, and what is refused."""

from __future__ import annotations

import gc

import pytest

from core.checkpoints.spec import Checkpoint
from core.errors import InputEmpty, InputTooLong, InputUnusable, OutOfRange
from core.language.generate import generate, prompt_ids, repetition
from core.language.types import Alternative, Decoding
from tests import tinyfamilies

PROMPT = "Once upon a time"


@pytest.fixture(scope="module")
def gpt2() -> Checkpoint:
    return tinyfamilies.make("gpt2", bos_token_id=None, eos_token_id=None)


def test_the_same_seed_gives_the_same_text_and_another_one_another(gpt2: Checkpoint) -> None:
    def text(seed: int) -> str:
        return list(generate(gpt2, PROMPT, Decoding("sample", seed=seed, max_new_tokens=12)))[-1].text

    assert text(1) == text(1)
    assert len({text(seed) for seed in range(4)}) == 4


def test_another_token_keeps_what_stands_before_and_the_dice_of_what_comes_after(gpt2: Checkpoint) -> None:
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
    taken = len(prompt_ids(gpt2, PROMPT))
    steps = list(generate(gpt2, PROMPT, Decoding(max_new_tokens=500)))
    assert len(steps) == 64 - taken
    assert steps[-1].reason == "positions"
    beams = list(generate(gpt2, PROMPT, Decoding("beam", beams=2, max_new_tokens=500)))
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
    with pytest.raises(InputUnusable, match="Choose a decoder"):
        generate(tinyfamilies.make("t5"), PROMPT)


def test_repetition_by_hand() -> None:
    assert repetition([1, 2, 3, 1, 2, 3, 1, 2, 3]) == pytest.approx(4 / 7)  # 7 runs, 3 different ones
    assert repetition([1, 2, 3, 4, 5]) == 0
    assert repetition([1]) == 0


def test_a_kept_text_is_few_objects(gpt2: Checkpoint) -> None:
    def alive() -> int:
        gc.collect()
        return sum(type(one) is Alternative for one in gc.get_objects())

    before = alive()
    steps = tuple(generate(gpt2, PROMPT, Decoding("beam", max_new_tokens=6)))
    assert alive() - before == len(steps) == 6, "the tokens that were taken"
