"""Bytes in and out: the numbering, what a batch holds, the loss against the library's; what is shipped was learnt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from core.training.objective import IGNORE
from core.training.objectives.denoise import byte_rows, to_ids, to_text
from core.training.tokenizers import T5, single_bytes
from tests import tinyrecipes

STRANGE = ("The cat sat.", "café — Straße", "日本 🦉", "  two  spaces ", "tab\tand\nline", "¡Ā!")


@pytest.fixture(scope="module")
def objective(tiny_world: tuple[Path, Path]) -> Any:
    return tinyrecipes.objective(tinyrecipes.recipe("atlas-byt5", step_tokens=1024), *tiny_world)


@pytest.mark.parametrize("text", STRANGE)
def test_the_numbers_of_the_bytes_are_those_of_the_published_tokeniser(text: str) -> None:
    from transformers import ByT5Tokenizer

    ours, theirs = single_bytes(tuple(T5.values()), "</s>"), ByT5Tokenizer()
    ids = ours.encode(text).ids
    assert ids == to_ids(text) == theirs(text)["input_ids"]
    assert ours.decode(ids) == to_text(ids) == text
    assert ours.get_vocab_size() == 3 + 256


def test_half_a_character_and_wrong_bytes_are_no_exception() -> None:
    owl = to_ids("🦉")
    tokenizer = single_bytes(tuple(T5.values()), "</s>")
    assert tokenizer.decode(owl[:2]).strip("\ufffd") == ""
    assert tokenizer.decode([0xFF + 3, *to_ids("a")]) == "\ufffda"


def test_rows_by_hand() -> None:
    made = byte_rows([("ab", "é"), ("a", "abc")])
    assert made["ids"].tolist() == [[100, 101, 1], [100, 1, 0]]
    assert made["real"].tolist() == [[1, 1, 1], [1, 1, 0]]
    assert made["labels"].tolist() == [[0xC3 + 3, 0xA9 + 3, 1, IGNORE], [100, 101, 102, 1]]


def test_the_measures_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    from core.training import evaluate_pairs

    texts = ["the owl", "a cat"]
    monkeypatch.setattr(evaluate_pairs.measures, "rewrite", lambda _, texts, **__: [text.lower() for text in texts])
    found = evaluate_pairs.respelt(None, texts)  # type: ignore[arg-type]
    assert (found["upper exact after"], found["upper CER after"], found["left untouched"]) == (100.0, 0.0, 100.0)
    assert found["upper CER before"] == pytest.approx(100 * 10 / 12)
    assert found["antspeak exact after"] == 0.0  # T H E O W L keeps its spaces
    assert found["antspeak CER after"] == pytest.approx(100 * (5 - 1 + 3 - 1) / 12)
    kinds = [name for name in found if name.endswith(" exact after")]
    assert found["exact after"] == pytest.approx(sum(found[name] for name in kinds) / 7)
    from core.training.evaluate import rows as card_rows

    units = {measure.name: measure.unit for measure in card_rows({"two texts": found})}
    assert set(units.values()) == {"%"}


def test_heads_begin_beside_their_byte(objective: Any) -> None:
    from core.training.objectives.denoise import NEAR, look_near
    from core.training.objectives.pairs import EncoderDecoder

    t5 = EncoderDecoder(objective.recipe.model | {"d_model": 20, "num_heads": 5}, vocab_size=259).full
    look_near(t5)
    found = {}
    for name, half in (("encoder", t5.encoder), ("decoder", t5.decoder)):
        bias = half.block[0].layer[0].SelfAttention.compute_bias(6, 6)[0]  # (heads, looks, looked at)
        found[name] = [{int(j) - int(i) for i, j in torch.nonzero(head == NEAR)} for head in bias]
        assert torch.equal(bias[0].clamp(max=0.1) == 0.0, bias[0] != NEAR)
    assert found == {"encoder": [{-1}, {1}, {-2}, {2}, set()], "decoder": [{-1}, {-2}, {-3}, set(), set()]}
