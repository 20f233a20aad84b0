"""Adapters on a frozen encoder: their sum by hand, several threads."""

from __future__ import annotations

import math
from threading import Barrier, Thread
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import BertConfig, BertModel

from core.checkpoints.adapters import Adapter, AdapterBert
from core.errors import InputUnusable

CONFIG: dict[str, Any] = {
    "vocab_size": 40,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 12,
}


def bert() -> Any:
    torch.manual_seed(4)
    return BertModel(BertConfig(**CONFIG), add_pooling_layer=False).eval()


def adapted(size: int = 3, spread: float = 0.3) -> AdapterBert:
    """Two tasks whose numbers are far from the start."""
    model = AdapterBert(bert(), {"one": 2, "two": 4}, size).eval()
    torch.manual_seed(9)
    with torch.no_grad():
        for value in model.tasks.parameters():
            value.add_(spread * torch.randn_like(value))
    return model


def inputs(rows: int = 3) -> dict[str, Tensor]:
    torch.manual_seed(6)
    ids = torch.randint(5, 40, (rows, 9))
    real = torch.ones_like(ids)
    real[0, 6:] = 0
    return {"input_ids": ids, "attention_mask": real, "token_type_ids": torch.zeros_like(ids)}


def test_an_adapter_by_hand() -> None:
    adapter = Adapter(nn.LayerNorm(2), 1)
    with torch.no_grad():
        adapter.down.weight.copy_(torch.tensor([[1.0, 2.0]]))
        adapter.down.bias.fill_(-2.0)
        adapter.up.weight.copy_(torch.tensor([[3.0], [-1.0]]))
        adapter.up.bias.copy_(torch.tensor([0.5, 0.0]))
    added = adapter.update(torch.tensor([[1.0, 1.0]]))
    gelu = 0.5 * (1 + math.erf(1 / math.sqrt(2)))  # of 1 · 1 + 2 · 1 - 2 = 1
    torch.testing.assert_close(added, torch.tensor([[3 * gelu + 0.5, -gelu]]))
    # The norm sees h + added + what came in; two numbers become 1 and -1, the larger one first.
    passed = adapter(torch.tensor([[1.0, 1.0]]), torch.tensor([[0.0, 7.0]]))
    torch.testing.assert_close(passed, torch.tensor([[-1.0, 1.0]]), atol=1e-4, rtol=0)


def test_without_a_task_or_with_an_idle_one_the_encoder_is_as_it_was() -> None:
    plain, tensors = bert(), inputs()
    before = plain(**tensors).last_hidden_state
    model = AdapterBert(bert(), {"one": 2}, 3).eval()
    torch.testing.assert_close(model(**tensors).last_hidden_state, before)
    mean = torch.stack(
        [state[: int(real.sum())].mean(0) for state, real in zip(before, tensors["attention_mask"], strict=True)]
    )
    torch.testing.assert_close(model.pooled(tensors), mean)
    torch.testing.assert_close(model.pooled(tensors, "one"), mean, atol=1e-3, rtol=0)  # a start near nothing
    for adapter in model.tasks["one"].adapters:
        nn.init.zeros_(adapter.up.weight)
    torch.testing.assert_close(model.pooled(tensors, "one"), mean)


def test_adapters_are_those_of_hooks_in_the_librarys_model() -> None:
    model, tensors = adapted(), inputs()
    for task in ("one", "two"):
        part, other = model.tasks[task], bert()
        sizes: list[float] = []
        places = [place for layer in other.encoder.layer for place in (layer.attention, layer)]
        for place, adapter in zip(places, part.adapters, strict=True):
            place.output.LayerNorm.load_state_dict(adapter.norm.state_dict())

            def add(_: Any, __: Any, out: Tensor, adapter: Any = adapter, sizes: list[float] = sizes) -> Tensor:
                added = adapter.up(nn.functional.gelu(adapter.down(out)))
                sizes.append(float((added.norm(dim=-1) / out.norm(dim=-1)).detach().mean()))
                return out + added

            place.output.dense.register_forward_hook(add)
        states = other(**tensors).last_hidden_state
        seen = tensors["attention_mask"][..., None]
        scores = part.head((states * seen).sum(1) / seen.sum(1))
        prediction = model.answer(tensors, task, watch=True)
        torch.testing.assert_close(prediction.logits, scores)
        assert prediction.updates == pytest.approx(sizes)
        assert len(prediction.updates) == 4
    assert model.answer(tensors, "one").updates == ()


def test_two_threads_run_different_tasks_on_one_encoder() -> None:
    model, tensors = adapted(), inputs()
    with torch.no_grad():
        expected = {task: model.answer(tensors, task).logits for task in ("one", "two")}
    plain = model.pooled(tensors)
    barrier, wrong = Barrier(3), []

    def work(task: str | None) -> None:
        barrier.wait()
        for _ in range(40):
            with torch.inference_mode():
                same = (
                    model.pooled(tensors).equal(plain)
                    if task is None
                    else model.answer(tensors, task).logits.equal(expected[task])
                )
            if not same:
                wrong.append(task)

    threads = [Thread(target=work, args=(task,)) for task in ("one", "two", None)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_failed_run_leaves_no_task_behind() -> None:
    model, tensors = adapted(), inputs()
    before = model.pooled(tensors)
    with pytest.raises(InputUnusable, match="IndexError"):
        model.answer({**tensors, "input_ids": tensors["input_ids"] + 100}, "one")  # ids beyond the vocabulary
    torch.testing.assert_close(model.pooled(tensors), before)


def test_what_is_trained_is_counted_by_hand() -> None:
    model = AdapterBert(bert(), {"one": 2, "two": 4}, 3)
    each = 2 * 16 * 3 + 3 + 16 + 2 * 16  # both matrices and their biases, a norm
    assert model.tasks["one"].trained == 4 * each + 16 * 2 + 2
    assert model.tasks["two"].trained == 4 * each + 16 * 4 + 4
    assert model.tasks["two"].trained_alone == 16 * 4 + 4
    trained = sum(value.numel() for value in model.parameters() if value.requires_grad)
    assert trained == 2 * 4 * each + 2 * (16 * 2 + 2) + 2 * (16 * 4 + 4)
    assert not any(value.requires_grad for value in model.backbone.parameters())


def test_a_task_learns_by_itself() -> None:
    model, tensors = adapted(), inputs()
    model.answer(tensors, "one").logits.logsumexp(-1).sum().backward()  # type: ignore[no-untyped-call]
    trained = {name for name, value in model.named_parameters() if value.grad is not None}
    assert trained == {f"tasks.one.{name}" for name, _ in model.tasks["one"].named_parameters() if "alone" not in name}
    model.zero_grad()
    model.answer_alone(tensors, "two").logsumexp(-1).sum().backward()  # type: ignore[no-untyped-call]
    assert {name for name, value in model.named_parameters() if value.grad is not None} == {
        "tasks.two.alone.weight",
        "tasks.two.alone.bias",
    }
