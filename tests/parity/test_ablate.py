"""A head that is off is its columns at zero; each reading of the lens is the answer of a model cut off there."""

from __future__ import annotations

import copy
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from core import checkpoints
from core.attention import heads as on_maps
from core.attention.ablation.ablate import (
    REFERENCE,
    By,
    Head,
    SubLayer,
    ablate_heads,
    heads_of,
    kl_bits,
    rank_heads,
    rank_layers,
    sharpness,
    without,
)
from core.attention.ablation.question import ask
from core.attention.capture import capture
from core.attention.inside.lens import by_layer, lens, trajectory
from core.attention.scores import attention_layers
from core.checkpoints.adapters import running
from core.checkpoints.spec import Checkpoint
from core.errors import InputEmpty, InputTooLong, InputUnusable, OutOfRange
from core.language.adapters import classify
from core.language.makers import inputs
from core.language.types import labels
from tests import tinyadapters, tinyfamilies
from tests.library import library_model
from tests.tinyfamilies import MASKED, PLAIN, answer_of, text_for


def mutilated(checkpoint: Checkpoint, off: set[Head]) -> Any:
    """A copy of the model whose projections do not read these heads."""
    model: Any = copy.deepcopy(checkpoint.model)
    if model.config.model_type == "albert":  # its layers share one module, so that the copy gets one for each
        model = copy.deepcopy(tinyfamilies.make("albert", num_hidden_groups=3).model)
        state = checkpoint.model.state_dict()
        model.load_state_dict({name: state[re.sub(r"groups\.\d", "groups.0", name)] for name in model.state_dict()})
    for kind, layer, head in off:
        if checkpoint.spec.kind == "permutation-lm":
            in_streams(model.transformer.layer[layer], kind, head)
            continue
        place = attention_layers(Checkpoint(model, checkpoint.tokenizer, checkpoint.spec))[kind][layer]
        if place.stack.blueprint is None:
            submodule = model.get_submodule(place.module)
            beside = model.get_submodule(place.module.rpartition(".")[0])  # as BERT has it
            projection = next(
                getattr(module, name)
                for module in (submodule, getattr(beside, "output", None))
                for name in ("o_proj", "out_proj", "Wo", "dense", "c_proj", "o")
                if hasattr(module, name)
            )
            width = projection.in_features // place.heads
            projection.weight[:, head * width : (head + 1) * width] = 0
            continue
        if not place.names.out:
            model.get_submodule(place.module).o[:, head] = 0
            continue
        projection = model.get_submodule(place.path(place.names.out))
        across = "Conv1D" in type(projection).__name__
        weight = projection.weight.T if across else projection.weight  # (out, in)
        width = weight.shape[1] // place.heads
        weight[:, head * width : (head + 1) * width] = 0
    return model


def in_streams(layer: Any, kind: str, head: int) -> None:
    """From now on XLNet's ``layer`` has attention of its own for each stream, one or both of which lacks ``head``."""
    if not hasattr(layer, "two"):
        layer.two = torch.nn.ModuleList((copy.deepcopy(layer.rel_attn), copy.deepcopy(layer.rel_attn)))

        def both(*arguments: Any, **more: Any) -> Any:
            content, query = (entry(*arguments, **more) for entry in layer.two)
            return content[0], query[1], *content[2:]

        layer.rel_attn.forward = both
    for entry, stream in zip(layer.two, ("decoder", "query"), strict=True):
        if kind in ("encoder", stream):
            entry.o[:, head] = 0


@pytest.mark.parametrize("name", tinyfamilies.FAMILIES)
def test_a_head_off_is_its_columns_at_zero(name: str) -> None:
    checkpoint = tinyfamilies.make(name)
    question = inputs(checkpoint, text_for(checkpoint), step=0)
    every = heads_of(checkpoint)
    last_of_each = {head.kind: head for head in every}
    off = [set(), {every[1]}, set(last_of_each.values()), set(every), {head for head in every if head.layer == 1}]
    if name == "xlnet":
        off += [{Head("decoder", 0, 1)}, {Head("query", 1, 0)}, {Head("decoder", 0, 0), Head("query", 0, 1)}]
    logs = ask(question, len(off), edits=without(checkpoint, off)).logs
    for row, heads in enumerate(off):
        expected = answer_of(mutilated(checkpoint, heads), question)
        torch.testing.assert_close(logs[row], expected, atol=2e-4, rtol=1e-4)
        assert row == 0 or not torch.allclose(logs[row], logs[0], atol=1e-4), "nothing was switched off"
    torch.testing.assert_close(ask(question).logs[0], answer_of(checkpoint.model, question), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", ["bert", "albert", "xlnet", "electra-judge", "gpt2", "reformer", "t5", "bert2bert"])
def test_ranked_effects_are_those_of_one_head_at_a_time(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = tinyfamilies.make(name)
    text = text_for(checkpoint)
    monkeypatch.setattr("core.attention.ablation.ablate.AT_ONCE", 45)
    head_effects = rank_heads(checkpoint, text)
    every = heads_of(checkpoint)
    assert {effect.head for effect in head_effects} == set(every)
    assert [effect.bits for effect in head_effects] == sorted((effect.bits for effect in head_effects), reverse=True)
    for effect in (head_effects[0], head_effects[-1]):
        ablation = ablate_heads(checkpoint, text, [effect.head])
        assert ablation.bits == pytest.approx(effect.bits, abs=1e-5)
        assert ablation.after.tokens[0] == effect.answer
        assert ablation.before.probabilities[0] == pytest.approx(effect.before, rel=1e-4)
        top = next(change for change in ablation.changes if change.id == ablation.before.ids[0])
        assert top.after == pytest.approx(effect.after, rel=1e-3)
    assert head_effects[0].sharpness is not None


def test_bits_by_hand() -> None:
    before, after = torch.tensor([0.5, 0.5, 0.0]).log(), torch.tensor([0.25, 0.25, 0.5]).log()
    assert float(kl_bits(before, after)) == pytest.approx(1.0)
    assert float(kl_bits(before, before)) == 0.0
    checkpoint = tinyfamilies.make("bert")
    ablation = ablate_heads(checkpoint, MASKED, [head for head in heads_of(checkpoint) if head.layer == 0], k=211)
    p, q = (np.array([getattr(change, when) for change in ablation.changes]) for when in ("before", "after"))
    assert ablation.bits == pytest.approx(float((p * np.log2(p / q)).sum()), rel=1e-4)
    assert p.sum() == pytest.approx(1.0, abs=1e-5)


def test_streams_run_through_the_same_heads() -> None:
    """Off in both is off in each, and what the content stream becomes in the last layer is read by nothing."""
    xlnet = tinyfamilies.make("xlnet")
    with torch.no_grad():
        for layer in xlnet.model.transformer.layer:  # type: ignore[attr-defined, union-attr]
            layer.rel_attn.o.mul_(8)  # else the first layer's heads are worth no more than rounding
    kinds = Counter(head.kind for head in heads_of(xlnet))
    assert kinds == {"encoder": 4, "decoder": 4, "query": 4}
    both = ablate_heads(xlnet, MASKED, [Head("encoder", 0, 1)])
    apart = ablate_heads(xlnet, MASKED, [Head("decoder", 0, 1), Head("query", 0, 1)])
    assert both.after.tokens == apart.after.tokens
    assert both.bits == pytest.approx(apart.bits, rel=1e-3, abs=3e-6)
    effects = {effect.head: effect for effect in rank_heads(xlnet, MASKED)}
    for head in (0, 1):
        assert effects[Head("decoder", 1, head)].bits == pytest.approx(0.0, abs=3e-6)
        assert effects[Head("query", 1, head)].bits == pytest.approx(effects[Head("encoder", 1, head)].bits)
    assert max(effects[Head("decoder", 0, head)].bits for head in (0, 1)) > 1e-4
    sharp = [effects[Head(kind, 0, 0)].sharpness for kind in kinds]
    assert sharp[0] == sharp[1] != sharp[2]
    assert None not in sharp


@pytest.mark.parametrize("task", tinyadapters.TASKS)
def test_a_class_without_heads_is_that_of_an_encoder_whose_projections_lack_them(task: str, tmp_path: Path) -> None:
    checkpoint = tinyadapters.checkpoint(tmp_path)
    question = inputs(checkpoint, PLAIN, task, step=0)
    every = heads_of(checkpoint)
    off = [set(), {every[1]}, {every[0], every[2]}, set(every)]
    logs = ask(question, len(off), edits=without(checkpoint, off)).logs
    text = PLAIN.rstrip(".") if task == "question" else PLAIN
    for row, heads in enumerate(off):
        model = mutilated(checkpoint, heads)
        with torch.inference_mode():
            answer = model.answer(checkpoint.tokenizer(text, return_tensors="pt"), task).logits[0].log_softmax(-1)
        torch.testing.assert_close(logs[row], answer, atol=1e-5, rtol=1e-4)
    assert ((logs[1:] - logs[0]).abs().amax(1) > 0.02).all(), "nothing was switched off"
    full = classify(checkpoint, PLAIN, task)
    assert logs[0].exp().tolist() == pytest.approx(full.adapted, rel=1e-4)
    ablation = ablate_heads(checkpoint, PLAIN, [every[1]], task=task)
    assert {change.token for change in ablation.changes} == set(full.task.answers)
    assert ablation.before.tokens[0] == full.answer
    effect = next(effect for effect in rank_heads(checkpoint, PLAIN, task=task) if effect.head == every[1])
    assert effect.bits == pytest.approx(ablation.bits, abs=1e-6)


def test_adapters_predict_for_the_first_task_and_refuse_in_sentences(tmp_path: Path) -> None:
    checkpoint = tinyadapters.checkpoint(tmp_path)
    question = inputs(checkpoint, PLAIN, step=0)
    assert (question.task, question.answers, question.position) == ("sentiment", ("negative", "positive"), 0)
    assert labels(question.tokens[:2]) == ("[CLS]", "the")
    with pytest.raises(OutOfRange, match="no adapters for “speech”"):
        rank_heads(checkpoint, PLAIN, task="speech")
    with pytest.raises(InputEmpty):
        ablate_heads(checkpoint, " ")
    with pytest.raises(InputTooLong, match="48"):
        ablate_heads(checkpoint, "cat " * 60)
    with pytest.raises(OutOfRange, match="no adapters for “speech”"):
        lens(checkpoint, PLAIN, "speech")


def test_maps_and_sharpness_of_adapters_are_those_of_the_run_through_them(tmp_path: Path) -> None:
    """The second layer reads what the first one's adapters wrote, so its maps differ from task to task."""
    checkpoint = tinyadapters.checkpoint(tmp_path)
    model: Any = checkpoint.model
    encoded = checkpoint.tokenizer(PLAIN, return_tensors="pt")
    torch.manual_seed(0)
    with torch.no_grad():  # as it is drawn, all maps are all but even
        for parameter in model.backbone.parameters():
            parameter.normal_(0.0, 0.3)
    with torch.inference_mode():
        bare = model.backbone(**encoded, output_attentions=True).attentions[1][0]
        for task in ("genre", "words"):
            with running(model.tasks[task]):
                attention = model.backbone(**encoded, output_attentions=True).attentions[1][0]
            drawn = capture(checkpoint, PLAIN, vectors=True, task=task).encoder
            np.testing.assert_allclose(drawn.weights[1], attention.numpy(), atol=1e-6)
            again = torch.tensor(drawn.queries[1] @ drawn.keys[1].swapaxes(-1, -2)) / 8**0.5  # type: ignore[index]
            torch.testing.assert_close(again.softmax(-1), attention, atol=1e-5, rtol=1e-4)
            expected = sharpness(attention, None)
            assert expected != pytest.approx(sharpness(bare, None), abs=1e-3)
            effects = {effect.head: effect for effect in rank_heads(checkpoint, PLAIN, task=task)}
            for head in (0, 1):
                assert effects[Head("encoder", 1, head)].sharpness == pytest.approx(expected[head], abs=1e-5)
    without = capture(checkpoint, PLAIN).encoder
    np.testing.assert_allclose(without.weights[1], bare.numpy(), atol=1e-6)
    with pytest.raises(OutOfRange, match="no adapters for “speech”"):
        capture(checkpoint, PLAIN, task="speech")


def test_the_shared_model_is_as_before() -> None:
    checkpoint = tinyfamilies.make("gpt2")
    hooks = [(*module._forward_pre_hooks, *module._forward_hooks) for module in checkpoint.model.modules()]
    with torch.inference_mode():
        before = checkpoint.model(torch.tensor([[5, 6, 7]])).logits
        rank_heads(checkpoint, PLAIN)
        after = checkpoint.model(torch.tensor([[5, 6, 7]])).logits
    torch.testing.assert_close(after, before, atol=0, rtol=0)
    assert hooks == [(*module._forward_pre_hooks, *module._forward_hooks) for module in checkpoint.model.modules()]


def test_sharpness_is_one_minus_the_spread_of_the_map() -> None:
    checkpoint = tinyfamilies.make("gpt2")
    decoder = capture(checkpoint, PLAIN).decoder
    assert decoder is not None
    spread = on_maps.scores(decoder).grids["spread"]
    for effect in rank_heads(checkpoint, PLAIN):
        assert effect.sharpness == pytest.approx(1 - spread[effect.head.layer, effect.head.head], abs=1e-5)


def test_sharpness_by_hand() -> None:
    even, sharp = torch.full((1, 3, 4), 0.25), torch.eye(4)[None, :3]
    assert sharpness(even, None) == pytest.approx((0.0,), abs=1e-6)
    assert sharpness(sharp, None) == pytest.approx((1.0,))
    half = torch.tensor([[[0.5, 0.5, 0.0, 0.0]]])
    assert sharpness(half, None) == pytest.approx((0.5,))
    assert sharpness(half, torch.tensor([[[True, True, False, False]]])) == pytest.approx((0.0,), abs=1e-6)
    assert sharpness(sharp[:, :1], torch.tensor([[[True, False, False, False]]])) == (0.0,)


def test_other_answers_of_the_same_text() -> None:
    t5, bert = tinyfamilies.make("t5", num_decoder_layers=2), tinyfamilies.make("bert")
    assert labels(inputs(t5, PLAIN, step=0).tokens) == ("<pad>",)
    third = inputs(t5, PLAIN, step=2)
    assert len(third.tokens) == 3
    with torch.inference_mode():
        written = t5.model.generate(third.tensors["input_ids"], do_sample=False, max_new_tokens=2, min_new_tokens=2)[0]
    assert third.tensors["decoder_input_ids"][0].tolist() == written.tolist()
    assert inputs(bert, MASKED, step=0).position == 3
    judge = tinyfamilies.make("electra-judge")
    assert ablate_heads(judge, PLAIN).before.tokens[0] in ("replaced", "original")


def test_what_cannot_be_predicted_is_refused_in_a_sentence() -> None:
    bert, t5 = (tinyfamilies.make(name) for name in ("bert", "t5"))
    with pytest.raises(InputUnusable, match=r"\[MASK\]"):
        ablate_heads(bert, PLAIN)
    with pytest.raises(OutOfRange, match="no head 3 in layer 1"):
        ablate_heads(bert, MASKED, [Head("encoder", 0, 2)])
    with pytest.raises(OutOfRange, match="no head 1 in layer 3 of its cross"):
        ablate_heads(bert, MASKED, [Head("cross", 2, 0)])
    with pytest.raises(OutOfRange, match="no token 10000"):
        rank_heads(t5, PLAIN, step=10_000)


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
    place = next(result for side, result in reversed(attention_layers(checkpoint).items()) if side != "cross")[0]
    parent, _, name = (place.stack.prefix + place.names.module.partition(".{i}")[0]).rpartition(".")
    setattr(model.get_submodule(parent), name, getattr(model.get_submodule(parent), name)[:layers])
    return model


@pytest.mark.parametrize("name", tinyfamilies.FAMILIES)
def test_each_lens_prediction_is_that_of_a_truncated_model(name: str) -> None:
    checkpoint = tinyfamilies.make(name)
    question = inputs(checkpoint, text_for(checkpoint), step=0)
    result = by_layer(question, 4)
    layers = len(result) - 1
    for layer in range(1, layers + 1):
        expected = answer_of(cut(checkpoint, layer), question)
        best = expected.topk(min(4, len(expected)))
        assert result[layer].layer == layer
        assert result[layer].ids == tuple(best.indices.tolist())
        assert result[layer].probabilities == pytest.approx(best.values.exp().tolist(), rel=1e-3)
    full = ask(question).logs[0]
    assert result[-1].probabilities[0] == pytest.approx(float(full.exp().max()), rel=1e-5)


@pytest.mark.parametrize("task", tinyadapters.TASKS)
def test_a_task_s_head_reads_the_mean_of_each_layer_as_that_of_the_last(task: str, tmp_path: Path) -> None:
    checkpoint = tinyadapters.checkpoint(tmp_path)
    model: Any = checkpoint.model
    layer_predictions = lens(checkpoint, PLAIN, task)
    tensors = inputs(checkpoint, PLAIN, task, step=0).tensors
    full = model.backbone.encoder.layer
    assert len(layer_predictions) == len(full) + 1
    for layer, guess in enumerate(layer_predictions):
        model.backbone.encoder.layer = full[:layer]
        with torch.inference_mode():
            expected = model.answer(tensors, task).logits[0].softmax(-1)
        assert guess.layer == layer
        assert guess.probabilities == pytest.approx(sorted(expected.tolist(), reverse=True), rel=1e-4)
        assert guess.ids[0] == int(expected.argmax())
    model.backbone.encoder.layer = full
    assert layer_predictions[0].probabilities != layer_predictions[-1].probabilities
    assert dict(zip(layer_predictions[-1].tokens, layer_predictions[-1].probabilities, strict=True)) == pytest.approx(
        dict(
            zip(classify(checkpoint, PLAIN, task).task.answers, classify(checkpoint, PLAIN, task).adapted, strict=True)
        ),
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


def test_the_lens_refuses_a_text_without_a_mask_and_an_unknown_architecture() -> None:
    albert = tinyfamilies.make("albert")
    with pytest.raises(InputUnusable, match=r"\[MASK\]"):
        lens(albert, PLAIN)
    albert.model.config.model_type = "fnet"
    del albert.model._plan
    with pytest.raises(InputUnusable, match="no head"):
        lens(albert, MASKED)


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5", "electra-judge"])
def test_the_way_of_the_final_answer(name: str) -> None:
    """Its probability and its rank after each layer, against all answers sorted."""
    checkpoint = tinyfamilies.make(name)
    text = text_for(checkpoint)
    lens_trajectory, everything = trajectory(checkpoint, text), lens(checkpoint, text, k=10_000)
    final = everything[-1].ids[0]
    assert lens_trajectory.answer == everything[-1].tokens[0]
    assert lens_trajectory.ranks[-1] == 1
    assert lens_trajectory.answers == len(everything[-1].ids)
    assert [guess.ids for guess in lens_trajectory.predictions] == [guess.ids[:5] for guess in everything]
    for place, probability, guess in zip(lens_trajectory.ranks, lens_trajectory.probabilities, everything, strict=True):
        assert probability == pytest.approx(guess.probabilities[guess.ids.index(final)], rel=1e-4)
        assert guess.probabilities[place - 1] == pytest.approx(probability, rel=1e-4)


@pytest.mark.parametrize("by", ["zero", "mean", "other"])
def test_a_part_is_replaced_as_a_hook_on_the_library_would(by: By) -> None:
    checkpoint = checkpoints.load("minilm")
    text, layer, head, size = "The man went to the [MASK] to borrow some money.", 3, 1, 32
    library = library_model(checkpoint.model)
    projection = library.bert.encoder.layer[layer].attention.output.dense
    second = library.bert.encoder.layer[layer].output.dense
    seen: dict[str, list[torch.Tensor]] = {"z": [], "mlp": []}
    hooks = [
        projection.register_forward_pre_hook(lambda _, given: seen["z"].append(given[0][0])),
        second.register_forward_hook(lambda _, __, out: seen["mlp"].append(out[0])),
    ]
    with torch.inference_mode():
        for reference in REFERENCE:
            library(**checkpoint.tokenizer(reference, return_tensors="pt"))
    for hook in hooks:
        hook.remove()
    question = inputs(checkpoint, text, step=0)
    count = len(question.tokens)

    def in_place(of: list[torch.Tensor]) -> torch.Tensor:
        if by == "zero":
            return torch.zeros(count, of[0].shape[-1])
        return torch.cat(of).mean(0).expand(count, -1) if by == "mean" else of[-1][torch.arange(count) % len(of[-1])]

    def answer(module: Any, change: Any, before: bool) -> torch.Tensor:
        hook = module.register_forward_pre_hook(change) if before else module.register_forward_hook(change)
        with torch.inference_mode():
            logits = library(**question.tensors).logits[0, question.position]
        hook.remove()
        return logits.log_softmax(-1)

    def replaced(_: Any, given: Any) -> Any:
        z = given[0].clone()
        z[0, :, head * size : (head + 1) * size] = in_place(seen["z"])[:, head * size : (head + 1) * size]
        return (z,)

    with torch.inference_mode():
        whole = library(**question.tensors).logits[0, question.position].log_softmax(-1)
    expected = {
        Head("encoder", layer, head): answer(projection, replaced, before=True),
        SubLayer("encoder", layer, "feed-forward"): answer(
            second, lambda *_: in_place(seen["mlp"])[None], before=False
        ),
        SubLayer("encoder", layer, "whole"): answer(
            library.bert.encoder.layer[layer], lambda _, given, __: given[0], before=False
        ),
    }
    found = {effect.head: effect.bits for effect in rank_heads(checkpoint, text, by=by)}
    found |= {effect.layer: effect.bits for effect in rank_layers(checkpoint, text, by=by)}  # type: ignore[misc]
    for part, logs in expected.items():
        bits = float(kl_bits(whole, logs))
        assert found[part] == pytest.approx(bits, rel=1e-3, abs=1e-4)  # type: ignore[index]
        assert ablate_heads(checkpoint, text, [part], by=by).bits == pytest.approx(bits, rel=1e-3, abs=1e-4)
        assert bits > 0.005
