"""Adapters on a frozen encoder: their sum by hand, several threads; their tasks, training and what is shipped."""

from __future__ import annotations

import math
from itertools import repeat
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from transformers import BertConfig, BertModel

from core.checkpoints.adapters import Adapter, AdapterBert, read_adapters
from core.errors import CheckpointRefused
from lab import models
from lab import recipe as recipes
from lab.objectives import adapters
from lab.objectives.adapters import AdaptersObjective, Rows, Texts
from lab.recipe import SourceFile
from lab.tokens import Ragged
from tests import tinyadapters

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
    plain, given = bert(), inputs()
    before = plain(**given).last_hidden_state
    model = AdapterBert(bert(), {"one": 2}, 3).eval()
    torch.testing.assert_close(model(**given).last_hidden_state, before)
    mean = torch.stack(
        [state[: int(real.sum())].mean(0) for state, real in zip(before, given["attention_mask"], strict=True)]
    )
    torch.testing.assert_close(model.pooled(given), mean)
    torch.testing.assert_close(model.pooled(given, "one"), mean, atol=1e-3, rtol=0)  # a start near nothing
    for adapter in model.tasks["one"].adapters:
        nn.init.zeros_(adapter.up.weight)
    torch.testing.assert_close(model.pooled(given, "one"), mean)


def test_adapters_are_those_of_hooks_in_the_librarys_model() -> None:
    model, given = adapted(), inputs()
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
        states = other(**given).last_hidden_state
        seen = given["attention_mask"][..., None]
        scores = part.head((states * seen).sum(1) / seen.sum(1))
        found = model.answer(given, task, watch=True)
        torch.testing.assert_close(found.logits, scores)
        assert found.updates == pytest.approx(sizes)
        assert len(found.updates) == 4
    assert model.answer(given, "one").updates == ()


def test_two_threads_run_different_tasks_on_one_encoder() -> None:
    model, given = adapted(), inputs()
    with torch.no_grad():
        expected = {task: model.answer(given, task).logits for task in ("one", "two")}
    plain = model.pooled(given)
    barrier, wrong = Barrier(3), []

    def work(task: str | None) -> None:
        barrier.wait()
        for _ in range(40):
            with torch.inference_mode():
                same = (
                    model.pooled(given).equal(plain)
                    if task is None
                    else model.answer(given, task).logits.equal(expected[task])
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
    model, given = adapted(), inputs()
    before = model.pooled(given)
    with pytest.raises((RuntimeError, IndexError)):
        model.answer({**given, "input_ids": given["input_ids"] + 100}, "one")  # ids beyond the vocabulary
    torch.testing.assert_close(model.pooled(given), before)


def test_what_is_trained_is_counted_by_hand() -> None:
    model = AdapterBert(bert(), {"one": 2, "two": 4}, 3)
    each = 2 * 16 * 3 + 3 + 16 + 2 * 16  # both matrices and their biases, a norm
    assert model.tasks["one"].parameters_of("adapters") == 4 * each + 16 * 2 + 2
    assert model.tasks["two"].parameters_of("adapters") == 4 * each + 16 * 4 + 4
    assert model.tasks["two"].parameters_of("alone") == 16 * 4 + 4
    trained = sum(value.numel() for value in model.parameters() if value.requires_grad)
    assert trained == 2 * 4 * each + 2 * (16 * 2 + 2) + 2 * (16 * 4 + 4)
    assert not any(value.requires_grad for value in model.backbone.parameters())


def test_a_task_learns_by_itself() -> None:
    model, given = adapted(), inputs()
    model.answer(given, "one").logits.logsumexp(-1).sum().backward()  # type: ignore[no-untyped-call]
    trained = {name for name, value in model.named_parameters() if value.grad is not None}
    assert trained == {f"tasks.one.{name}" for name, _ in model.tasks["one"].named_parameters() if "alone" not in name}
    model.zero_grad()
    model.answer_alone(given, "two").logsumexp(-1).sum().backward()  # type: ignore[no-untyped-call]
    assert {name for name, value in model.named_parameters() if value.grad is not None} == {
        "tasks.two.alone.weight",
        "tasks.two.alone.bias",
    }


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The tiny encoder in the place of the published one."""
    folder = tinyadapters.backbone(tmp_path / "package")
    monkeypatch.setattr(models, "backbone_folder", lambda _: folder)
    return folder


@pytest.fixture
def made(tmp_path: Path, package: Path) -> AdaptersObjective:
    return AdaptersObjective(tinyadapters.recipe(), tinyadapters.corpus(tmp_path / "corpus"), tmp_path / "run" / "data")


def pieces(*words: str) -> Any:
    """A tokenizer of the tokenizers library whose pieces are these words."""
    from tokenizers import Tokenizer, models

    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    return Tokenizer(models.WordPiece({name: at for at, name in enumerate(names)}, unk_token="[UNK]"))


def test_only_adjacent_words_are_swapped() -> None:
    tokenizer = pieces("the", "small", "cat", "##s", "don", "'", "t", "sleep", ".")
    names = tokenizer.get_vocab()
    rows = Rows(tokenizer)

    def changed(text: str) -> set[str]:
        back = {index: name for name, index in names.items()}
        found = [rows.swap_words([names[p] for p in text.split()], np.random.default_rng(seed)) for seed in range(40)]
        return {"-" if ids is None else " ".join(back[i] for i in ids) for ids in found}

    assert changed("the small cat ##s sleep .") == {
        "small the cat ##s sleep .",
        "the cat ##s small sleep .",
        "the small sleep cat ##s .",
    }
    assert changed("cat ##s don ' t sleep .") == {"-"}  # nothing that touches the apostrophe moves, nor the full stop
    assert changed("the the .") == {"-"}  # exchanging equals would change nothing


def test_half_of_the_texts_are_shown_with_two_words_exchanged() -> None:
    tokenizer = pieces("a", "b", "c")
    count = 200
    texts = Texts(Ragged.of([[5, 6], [7, 7, 7]] * (count // 2)), np.zeros(count, int), np.zeros(count, int))
    batch = Rows(tokenizer).batch(texts, np.arange(count), "swapped-words", repeat(np.random.default_rng(3)))
    found = list(zip(*(batch[name].tolist() for name in ("input_ids", "attention_mask", "answers")), strict=True))
    for ids, real, answer in found[0::2]:
        assert (ids, real) == ([2, *((6, 5) if answer else (5, 6)), 3, 0, 0, 0, 0], [1] * 4 + [0] * 4)
    for ids, real, answer in found[1::2]:  # nothing can be exchanged here, so the answer stays
        assert (ids, real, answer) == ([2, 7, 7, 7, 3, 0, 0, 0], [1] * 5 + [0] * 3, 0)
    assert 30 <= batch["answers"].sum() <= 70
    assert not batch["token_type_ids"].any()
    assert texts.lengths.tolist() == [4, 5] * (count // 2)


def test_answers_stand_before_the_tab_or_are_the_sources_own(tmp_path: Path) -> None:
    (tmp_path / "r.tsv").write_text("bad\tIt broke.\ngood\tIt works.\nbad\tIt works!\n", encoding="utf-8")
    sides = [
        list(adapters.read(tmp_path, SourceFile("r.tsv"), "labeled", ["bad", "good"], every=2, held_out=held))
        for held in (False, True)
    ]
    found = {tuple(text) for side in sides for text in side}
    assert found == {("It broke.", 0), ("It works.", 1), ("It works!", 0)}
    # The words of a text decide on its side, whatever its label says: both of these stand together.
    assert sum({"It works.", "It works!"} <= {text.text for text in side} for side in sides) == 1
    source = SourceFile("r.tsv", task="kind/two")
    texts = adapters.read(tmp_path, source, "source", ["one", "two"], every=10**9, held_out=False)
    assert {text.answer for text in texts} == {1}


def test_the_last_mark_is_taken_away_and_both_kinds_are_as_frequent(tmp_path: Path) -> None:
    lines = [
        "Who is it?",
        "It is Tom.",
        "He sat.",
        "We ran.",
        "Stop!",
        "Why? Because.",
        "Is he in?",
        "Can we go?",
        "Yes",
    ]
    (tmp_path / "d.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    texts = adapters.read(tmp_path, SourceFile("d.txt"), "last-mark", [], every=10**9, held_out=False)
    assert [tuple(text) for text in texts] == [
        ("Who is it", 1),
        ("It is Tom", 0),
        ("He sat", 0),
        ("Is he in", 1),
        ("Can we go", 1),
    ]


def test_the_first_loss_is_that_of_a_uniform_distribution(made: AdaptersObjective) -> None:
    # Heads start at zero: ln 2 or ln 4 for each task, through the adapters and by the head alone.
    assert float(made.loss(made.batch(0)).detach()) == pytest.approx(2 * (3 * math.log(2) + math.log(4)) / 4, rel=1e-5)
    assert not any(value.requires_grad for value in made.model.backbone.parameters())
    batch = made.batch(3)
    assert made.size(batch) == sum(int((batch[f"{task}.attention_mask"]).sum()) for task in tinyadapters.TASKS)


def test_what_is_shipped_answers_as_what_was_trained(made: AdaptersObjective, tmp_path: Path, package: Path) -> None:
    from transformers import AutoConfig

    with torch.no_grad():
        for value in made.model.tasks.parameters():
            value.add_(0.2 * torch.randn_like(value))
    made.export(tmp_path / "out")
    files = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert files == sorted(["config.json", *(f"{task}.safetensors" for task in tinyadapters.TASKS)])
    state = load_file(package / "model.safetensors")
    loaded = read_adapters(tmp_path / "out", AutoConfig.from_pretrained(tmp_path / "out"), state).eval()
    batch = made.batch(1)
    for task in tinyadapters.TASKS:
        inputs = {name: batch[f"{task}.{name}"] for name in ("input_ids", "token_type_ids", "attention_mask")}
        own = made.scores(inputs, task)
        torch.testing.assert_close(loaded.answer(inputs, task).logits, own["adapters"], atol=5e-3, rtol=0)
        torch.testing.assert_close(loaded.answer_alone(inputs, task), own["alone"], atol=5e-3, rtol=0)
    (tmp_path / "out" / "genre.safetensors").unlink()
    with pytest.raises(CheckpointRefused, match="for “genre” are missing"):
        read_adapters(tmp_path / "out", AutoConfig.from_pretrained(tmp_path / "out"), state)
    state.popitem()
    with pytest.raises(CheckpointRefused, match="is not the one that its adapters were trained for"):
        read_adapters(tmp_path / "out", AutoConfig.from_pretrained(tmp_path / "out"), state)


def test_the_card_states_how_many_numbers_are_trained() -> None:
    from transformers import BertConfig, BertModel

    recipe = recipes.load("atlas-adapter-bert")
    published = BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536)
    with torch.device("meta"):
        backbone = BertModel(published, add_pooling_layer=False)
        tasks = {name: len(told["answers"]) for name, told in recipe.model["tasks"].items()}
        model = AdapterBert(backbone, tasks, recipe.model["size"])
    stated = recipe.card["extra"]["trained"]
    for task, count in tasks.items():
        of: Any = model.tasks[task]
        assert stated[f"adapters, norms and head of a task with {count} answers"] == of.parameters_of("adapters")
        assert stated[f"head alone, {count} answers"] == of.parameters_of("alone")
    assert set(recipe.card["extra"]["tasks"]) == set(tasks)
