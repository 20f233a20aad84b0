"""A trained model as one text, for the room that shares it."""

from __future__ import annotations

import pytest
import torch

from core.attention.capture import capture
from core.checkpoints import own
from core.errors import CheckpointRefused, InputTooLong
from core.training import packed as module
from core.training.packed import check, packed, unpacked
from core.training.ready import ready
from core.training.setup import Objective, Setup, Units
from core.training.text import Corpus, split
from core.training.train import Training

SMALL = {"layers": 1, "width": 32, "heads": 2, "context": 32}


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return split(ready("stories")[:20_000])


@pytest.mark.parametrize(("objective", "units"), [("next", "characters"), ("masked", "bpe"), ("spans", "bytes")])
def test_a_packed_model_is_the_trained_one_in_float16(corpus: Corpus, objective: Objective, units: Units) -> None:
    training = Training(corpus, Setup(objective, units, **SMALL))  # type: ignore[arg-type]
    list(training.run(3, 0.003))
    before = training.checkpoint("yours", "Your model")
    held = unpacked(packed(training), "there", own.CLASS, "The class’s model")
    after = held.checkpoint
    for (name, weights), (same, read) in zip(
        before.model.named_parameters(), after.model.named_parameters(), strict=True
    ):
        assert name == same
        assert torch.equal(weights.half().float(), read)
    assert (after.spec.slug, after.spec.location, after.spec.kind) == (own.CLASS, "there", before.spec.kind)
    assert held.size == after.spec.size_bytes == before.spec.size_bytes == 4 * training.parameters
    text = "The fox said hello."
    mine, theirs = (capture(checkpoint, text).maps[0] for checkpoint in (before, after))
    assert mine.query_tokens == theirs.query_tokens
    assert abs(mine.weights - theirs.weights).max() < 0.01


@pytest.mark.parametrize("change", [lambda text: text[:-40], lambda text: text.replace('"layers":1', '"layers":2')])
def test_what_is_no_packed_model_is_a_sentence(corpus: Corpus, change: object) -> None:
    text = packed(Training(corpus, Setup(units="characters", **SMALL)))  # type: ignore[arg-type]
    for wrong in ("", "{}", change(text)):  # type: ignore[operator]
        with pytest.raises(CheckpointRefused, match="train it again"):
            unpacked(wrong, "there", own.CLASS, "The class’s model")


def test_a_model_too_large_to_share_is_refused_before_it_is_trained() -> None:
    check(Setup(layers=6, width=192))
    check(Setup("masked", layers=6, width=192))
    with pytest.raises(InputTooLong, match=r"4,32.* parameters, and 3,200,000 are the most"):
        check(Setup("spans", layers=4, width=192))
    assert module.MOST * 2 * 4 / 3 < 9_000_000, "as text it fits the room"


def test_a_model_that_lasts_goes_when_nobody_asks_for_it(monkeypatch: pytest.MonkeyPatch, corpus: Corpus) -> None:
    now = [0.0]
    monkeypatch.setattr(own.time, "monotonic", lambda: now[0])
    text = packed(Training(corpus, Setup(units="characters", **SMALL)))  # type: ignore[arg-type]
    for location in ("one", "other"):
        own.keep(unpacked(text, location, own.CLASS, "The class’s model"))
    now[0] = module.LASTS - 1
    assert own.find("one") is not None
    now[0] = module.LASTS + 1
    assert own.find("one") is not None
    assert own.find("other") is None
    own.forget("one")
    assert own.find("one") is None
