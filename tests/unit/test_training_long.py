"""What the models of long texts are measured by, on tiny random ones and by hand."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from core.checkpoints.spec import Card, Checkpoint
from core.sparse import bigbird, reformer
from core.training import evaluate, evaluate_decoders, evaluate_encoders, measures
from tests import tiny
from tests.tinyfamilies import loaded


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return loaded(tiny.tiny_longformer(tmp_path_factory.mktemp("longformer"), positions=1024), "masked-lm")


@pytest.fixture(scope="module")
def hashing(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return loaded(tiny.tiny_reformer(tmp_path_factory.mktemp("reformer")), "causal-lm")


def test_pairs_far_by_hand() -> None:
    ids = np.array([9, 5, 7, 5, 7, 7, 8, 9])
    rare = np.array([5, 7, 9])
    assert evaluate_encoders.pairs_far(ids, rare, 2, 9) == [(0, 7), (1, 3)]
    assert evaluate_encoders.pairs_far(ids, rare, 3, 9) == [(0, 7)]
    assert evaluate_encoders.pairs_far(ids, np.array([7]), 1, 9) == []  # three times


def test_the_base_reads_pieces_and_the_windows_the_whole(long: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    """A base that is the same model, with chunks as long as the text: both predict alike."""
    ids = np.random.default_rng(0).integers(5, len(long.tokenizer), 64)

    from core import checkpoints

    class Base:
        @staticmethod
        def model(ids: torch.Tensor) -> Any:
            mask = torch.zeros_like(ids)
            mask[:, 0] = 1
            return long.model(input_ids=ids, attention_mask=torch.ones_like(ids), global_attention_mask=mask)

    monkeypatch.setattr(evaluate_encoders, "SHORT", 64)
    monkeypatch.setattr(checkpoints, "load", lambda _: Base)
    card = Card("Tiny", "-", (), (), "-", 0, 0, 0, "-", base="the same")
    grown = dataclasses.replace(long, spec=dataclasses.replace(long.spec, card=card))
    found = evaluate_encoders.windowed(grown, [ids])
    assert found["top-5"] == found["base in pieces top-5"] == found["in pieces top-5"]


def test_pieces_are_read_at_their_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that adds one to its left neighbor, on a text that counts: it fails after a mask or a piece's start."""
    checkpoint = loaded(tiny.tiny_bigbird(tmp_path), "masked-lm")
    size = len(checkpoint.tokenizer)
    text = np.array([checkpoint.tokenizer.cls_token_id, *range(10, 50), checkpoint.tokenizer.sep_token_id])

    def forward(_: Any, ids: list[int], positions: list[int], how: Any) -> Any:
        return SimpleNamespace(logits=np.eye(size + 1)[[ids[at - 1] + 1 for at in positions]])

    masked = np.array([3, 4, 9, 11, 22])  # 4 follows a mask; 9 and 11 are where pieces of 8 and of 10 + 2 begin
    corrupted = text.copy()
    corrupted[masked] = checkpoint.tokenizer.mask_token_id
    monkeypatch.setattr(evaluate_encoders, "token_ids", lambda *_, **__: text.tolist())
    monkeypatch.setattr(measures, "mask_words", lambda *_: (corrupted, masked))
    monkeypatch.setattr(bigbird, "forward", forward)
    for piece, right in ((100, 80.0), (10, 60.0), (12, 60.0)):
        monkeypatch.setattr(evaluate_encoders, "PIECE", piece)
        found = evaluate_encoders.sparse_and_full(checkpoint, (["-"], len(text)))
        assert found == {"sparse top-1": 80.0, "full top-1": 80.0, f"full, in pieces of {piece} top-1": right}


def test_far_words_are_predicted_with_the_other_occurrence_and_without(long: Checkpoint) -> None:
    books = [np.random.default_rng(1).permutation(np.repeat(np.arange(5, 5 + 100), 2)) for _ in range(2)]
    found = evaluate_encoders.far_words(long, books, length=128)
    names = {
        attention + name.format(f"{low} to {high} tokens away")
        for attention in ("", "full, ")
        for name in ("rare word repeated {}, top-5", "rare word, repetition {} masked, top-5")
        for low, high in evaluate_encoders.FAR
    }
    assert set(found) == names
    assert all(0 <= value <= 100 for value in found.values())


def test_bits_of_the_story_are_the_librarys(hashing: Checkpoint) -> None:
    found = evaluate.measure("hashed-lm", hashing)
    (on,) = found
    text = measures.story()
    theirs = measures.bits_per_byte(hashing, text)
    assert found[on]["bits per byte"] == pytest.approx(theirs, rel=1e-4)
    shares = [found[on][f"attention weight covered, {n} round{'s' * (n > 1)}"] for n in reformer.ROUNDS]
    assert shares == sorted(shares)
    assert 0 < shares[0] < shares[-1] <= 100 + 1e-3


def test_reading_is_measured_by_hand(hashing: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    book = np.random.default_rng(0).integers(2, 258, 2 * 256).tolist()
    monkeypatch.setattr(evaluate_decoders, "ENDS", 32)
    found = evaluate_decoders.by_reading(hashing, [book])
    bits = [reformer.surprisals(hashing.model, book[at : at + 256]) for at in (0, 256)]
    assert found["bits per byte"] == pytest.approx(float(torch.cat(bits).mean()), rel=1e-5)
    ends = torch.cat([part[-evaluate_decoders.ENDS :] for part in bits])
    assert found["bits per byte, 256 read"] == pytest.approx(float(ends.mean()), rel=1e-5)
    read = (
        reformer.surprisals(hashing.model, book[-64:])[-32:].mean()
        + reformer.surprisals(hashing.model, book[192:256])[-32:].mean()
    )
    assert found["bits per byte, 64 read"] == pytest.approx(float(read) / 2, rel=1e-5)
