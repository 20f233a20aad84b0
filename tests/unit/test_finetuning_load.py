"""Trained weights that come back: equal predictions, and a sentence for every file that is none of ours."""

from __future__ import annotations

import json
import pickle
import struct
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load, save

from core import checkpoints
from core.errors import AtlasError, InputTooLong
from core.finetuning import record
from core.finetuning.examples import READY, ready
from core.finetuning.load import predict, read_card
from core.finetuning.setup import Setup
from core.finetuning.train import fine_tune
from core.settings import settings

WRITTEN = record.EXAMPLE.read_bytes()


def header(data: bytes) -> dict[str, Any]:
    whole: dict[str, Any] = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return whole


def packed(head: Mapping[str, Any], numbers: bytes = b"") -> bytes:
    text = json.dumps(head).encode()
    return struct.pack("<Q", len(text)) + text + numbers


def with_card(**changes: Any) -> bytes:
    return save(load(WRITTEN), header(WRITTEN)["__metadata__"] | changes)


def with_tensors(change: Callable[[dict[str, torch.Tensor]], Any]) -> bytes:
    tensors = load(WRITTEN)
    change(tensors)
    return save(tensors, header(WRITTEN)["__metadata__"])


@pytest.mark.parametrize("trained", ["head", "adapters", "lora", "top"])
@pytest.mark.parametrize("name", ["question", "pair", "choice", "tags", "spans"])
def test_a_file_predicts_what_its_run_predicted(trained: Any, name: str) -> None:
    data, checkpoint = record.data(name), checkpoints.load("atlas-bert")
    few = data.held_out[: 20 if name == "spans" else None]
    data = data.first(8) if name in READY else replace(data, train=data.train[:16], held_out=few)
    *_, last = fine_tune(checkpoint, data, Setup(trained, "mean", epochs=2, rate=2e-3))
    assert last.weights
    card = read_card(last.weights)
    assert (card.base, card.set, card.labels) == ("atlas-bert", name, data.labels)
    assert (card.setup.trained, card.parameters) == (trained, last.parameters)
    found = predict(checkpoint, last.weights, card, data.held_out)
    assert found == pytest.approx(last.probabilities, rel=0.02, abs=1e-3), "half precision"


@pytest.mark.parametrize(("slug", "name"), [("atlas-gpt-2", "tags"), ("atlas-bart", "question")])
def test_files_of_other_models_are_loaded(slug: str, name: str) -> None:
    checkpoint, data = checkpoints.load(slug), record.data(name)
    *_, last = fine_tune(checkpoint, data, Setup("head", "last", epochs=1))
    assert last.weights
    found = predict(checkpoint, last.weights, read_card(last.weights), data.held_out)
    assert found == pytest.approx(last.probabilities, rel=0.02, abs=1e-3), "a token of GPT-2 is shared by two words"


def test_the_example_is_better_than_the_most_frequent_class() -> None:
    data, card = ready("question"), read_card(WRITTEN)
    assert card.set == "question"
    chances = predict(checkpoints.load(card.base), WRITTEN, card, data.held_out)
    right = [card.labels[best] == e.label for best, e in zip(chances.argmax(1), data.held_out, strict=True)]
    assert np.mean(right) > data.majority + 0.2


HEAD = header(WRITTEN)
CARD = HEAD["__metadata__"]
HOSTILE = {
    "empty": (b"", "no safetensors file"),
    "a pickle": (pickle.dumps({"a": 1}) * 9, "no safetensors file"),
    "a header without an end": (struct.pack("<Q", 2**63) + b"{}", "no safetensors file"),
    "no JSON": (struct.pack("<Q", 4) + b"\xff{}{" + b"0" * 9, "no safetensors file"),
    "deep JSON": (struct.pack("<Q", 90_000) + b"[" * 90_000, "no safetensors file"),
    "a list": (packed([1, 2]), "no safetensors file"),  # type: ignore[arg-type]
    "no card": (save(load(WRITTEN)), "no safetensors file"),
    "an infinite shape": (packed(HEAD | {"x": {"dtype": "F16", "shape": [float("inf")]}}), "no safetensors file"),
    "single precision": (save({"x": torch.zeros(2)}, CARD), "half precision"),
    "no classes": (with_card(labels="[]"), "2 to 8 classes"),
    "one class twice": (with_card(labels='["a", "a"]'), "2 to 8 classes"),
    "a long class": (with_card(labels=json.dumps(["a", "b" * 31])), "2 to 8 classes"),
    "classes of numbers": (with_card(labels="[1, 2]"), "does not name"),
    "no settings": (with_card(setup="{}{"), "does not name"),
    "unknown settings": (with_card(setup='{"trained": "nothing"}'), "does not name"),
    "a rank too high": (with_card(setup='{"trained": "lora", "size": 1000000000}'), "from 1 to 64"),
    "a path as a base": (with_card(base="../../etc"), "can be fine-tuned here"),
    "an unknown task": (with_card(task="nothing"), "does not name"),
    "tags of another treebank": (with_card(task="tags"), "those of its task"),
    "start and end for classes": (with_card(task="spans", labels='["start", "end"]'), "find an answer"),
    "another kind": (with_card(setup='{"trained": "lora"}'), "tensors are not those"),
    "another backbone": (with_card(base="minilm"), "tensors are not those"),
    "another number of classes": (with_card(labels='["a", "b", "c"]'), "tensors are not those"),
    "one tensor fewer": (with_tensors(lambda found: found.pop("head.bias")), "tensors are not those"),
    "one tensor more": (with_tensors(lambda found: found.update(x=torch.zeros(2).half())), "tensors are not those"),
    "not a number": (with_tensors(lambda found: found["head.bias"].fill_(torch.nan)), "infinite or no numbers"),
    "cut off": (WRITTEN[:-10], "damaged"),
    "more at the end": (WRITTEN + b"more", "damaged"),
    "overlapping tensors": (
        packed(HEAD | {"head.bias": HEAD["head.weight"]}, WRITTEN[8 + int.from_bytes(WRITTEN[:8], "little") :]),
        "damaged",
    ),
}


def run(data: bytes) -> None:
    card = read_card(data)
    predict(checkpoints.load(card.base), data, card, [card.example(ready("question").held_out[0].text)])


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_gets_a_sentence(name: str) -> None:
    data, said = HOSTILE[name]
    with pytest.raises(AtlasError, match=said):
        run(data)


def test_a_large_file_names_the_limit() -> None:
    with pytest.raises(InputTooLong, match=r"at most 8,100,000 work.*ATLAS_MAX_WEIGHTS_KB"):
        read_card(bytes(settings().max_weights_kb * 1000 + 1))
