"""The lens over every family: the last layer is the model's answer, an earlier one that of a model cut off there."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch

from core.attention.ablation.question import Reader, prepare_question
from core.attention.architectures.vectors import attention_layers
from core.attention.inside.lens import by_layer, guesses_by_layer, lens, trajectory
from core.checkpoints.spec import Checkpoint
from core.errors import InputUnusable
from core.language.adapters import judge
from core.language.fill_mask import prepare
from tests import tinyadapters, tinyfamilies
from tests.tinyfamilies import MASKED, PLAIN, answer_of, text_for


def cut(checkpoint: Checkpoint, layers: int) -> Any:
    """A copy of the model with only the first layers, on the side that answers."""
    model: Any = copy.deepcopy(checkpoint.model)
    kind = model.config.model_type
    if kind == "albert":
        model.albert.encoder.config.num_hidden_layers = layers
        return model
    if kind == "xlm":
        model.transformer.n_layers = layers
        return model
    place = next(found for side, found in reversed(attention_layers(checkpoint).items()) if side != "cross")[0]
    parent, _, name = (place.stack.prefix + place.names.module.partition(".{i}")[0]).rpartition(".")
    setattr(model.get_submodule(parent), name, getattr(model.get_submodule(parent), name)[:layers])
    return model


@pytest.mark.parametrize("name", tinyfamilies.FAMILIES)
def test_each_reading_is_the_answer_of_a_model_cut_off_there(name: str) -> None:
    checkpoint = tinyfamilies.make(name)
    question = prepare_question(checkpoint, text_for(checkpoint))
    found = by_layer(question, 4)
    layers = len(found) - 1
    for layer in range(1, layers + 1):
        expected = answer_of(cut(checkpoint, layer), question)
        best = expected.topk(min(4, len(expected)))
        assert found[layer].layer == layer
        assert found[layer].ids == tuple(best.indices.tolist())
        assert found[layer].probabilities == pytest.approx(best.values.exp().tolist(), rel=1e-3)
    whole = Reader(question).answers()[0]
    assert found[-1].probabilities[0] == pytest.approx(float(whole.exp().max()), rel=1e-5)


@pytest.mark.parametrize("task", tinyadapters.TASKS)
def test_a_task_s_head_reads_the_mean_of_each_layer_as_that_of_the_last(task: str, tmp_path: Path) -> None:
    checkpoint = tinyadapters.checkpoint(tmp_path)
    model: Any = checkpoint.model
    found = lens(checkpoint, PLAIN, task)
    inputs = prepare_question(checkpoint, PLAIN, task).inputs
    whole = model.trunk.encoder.layer
    assert len(found) == len(whole) + 1
    for layer, guess in enumerate(found):
        model.trunk.encoder.layer = whole[:layer]
        with torch.inference_mode():
            expected = model.answer(inputs, task).logits[0].softmax(-1)
        assert guess.layer == layer
        assert guess.probabilities == pytest.approx(sorted(expected.tolist(), reverse=True), rel=1e-4)
        assert guess.ids[0] == int(expected.argmax())
    model.trunk.encoder.layer = whole
    assert found[0].probabilities != found[-1].probabilities
    assert dict(zip(found[-1].tokens, found[-1].probabilities, strict=True)) == pytest.approx(
        dict(zip(judge(checkpoint, PLAIN, task).task.answers, judge(checkpoint, PLAIN, task).adapted, strict=True)),
        rel=1e-4,
    )


def test_the_embeddings_are_read_as_well() -> None:
    checkpoint = tinyfamilies.make("gpt2")
    first = lens(checkpoint, PLAIN, k=400)[0]
    model: Any = checkpoint.model
    ids = checkpoint.tokenizer(PLAIN)["input_ids"]
    with torch.inference_mode():
        state = model.transformer.wte.weight[ids[-1]] + model.transformer.wpe.weight[len(ids) - 1]
        expected = model.lm_head(model.transformer.ln_f(state)).softmax(-1)
    assert first.layer == 0
    assert first.ids[0] == int(expected.argmax())
    assert sum(first.probabilities) == pytest.approx(1.0, abs=1e-5)
    assert first.probabilities[0] == pytest.approx(float(expected.max()), rel=1e-4)


def test_the_demo_of_shared_layers_reads_the_same() -> None:
    albert = tinyfamilies.make("albert")
    assert guesses_by_layer(albert, prepare(albert, MASKED), k=5) == lens(albert, MASKED)
    with pytest.raises(InputUnusable, match=r"\[MASK\]"):
        lens(albert, PLAIN)
    albert.model.config.model_type = "fnet"
    with pytest.raises(InputUnusable, match="no head"):
        lens(albert, MASKED)


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5", "electra-judge"])
def test_the_way_of_the_final_answer(name: str) -> None:
    """Its probability and its place after each layer, against all answers sorted."""
    checkpoint = tinyfamilies.make(name)
    text = text_for(checkpoint)
    found, everything = trajectory(checkpoint, text), lens(checkpoint, text, k=10_000)
    final = everything[-1].ids[0]
    assert found.answer == everything[-1].tokens[0]
    assert found.ranks[-1] == 1
    assert found.answers == len(everything[-1].ids)
    assert [guess.ids for guess in found.predictions] == [guess.ids[:5] for guess in everything]
    for rank, probability, guess in zip(found.ranks, found.probabilities, everything, strict=True):
        assert probability == pytest.approx(guess.probabilities[guess.ids.index(final)], rel=1e-4)
        assert guess.probabilities[rank - 1] == pytest.approx(probability, rel=1e-4)
