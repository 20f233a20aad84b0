"""Training adapters: texts, swapped words, losses, and what is shipped."""

from __future__ import annotations

import math
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import BertConfig, BertModel

from core.checkpoints.adapters import AdapterBert, read_adapters
from core.errors import CheckpointRefused
from lab import models
from lab import recipe as recipes
from lab.objectives import adapters
from lab.objectives.adapters import AdaptersObjective, Rows, Texts
from lab.recipe import SourceFile
from lab.tokens import Ragged
from tests import tinyadapters


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
        parts = [rows.swap_words([names[p] for p in text.split()], np.random.default_rng(seed)) for seed in range(40)]
        return {"-" if ids is None else " ".join(back[i] for i in ids) for ids in parts}

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
    result = list(zip(*(batch[name].tolist() for name in ("input_ids", "attention_mask", "answers")), strict=True))
    for ids, real, answer in result[0::2]:
        assert (ids, real) == ([2, *((6, 5) if answer else (5, 6)), 3, 0, 0, 0, 0], [1] * 4 + [0] * 4)
    for ids, real, answer in result[1::2]:  # nothing can be exchanged here, so the answer stays
        assert (ids, real, answer) == ([2, 7, 7, 7, 3, 0, 0, 0], [1] * 5 + [0] * 3, 0)
    assert 30 <= batch["answers"].sum() <= 70
    assert not batch["token_type_ids"].any()
    assert texts.lengths.tolist() == [4, 5] * (count // 2)


def test_answers_stand_before_the_tab_or_are_the_sources_own(tmp_path: Path) -> None:
    (tmp_path / "r.tsv").write_text("bad\tIt broke.\ngood\tIt works.\nbad\tIt works!\n", encoding="utf-8")
    sides = [
        list(adapters.labeled_texts(tmp_path, SourceFile("r.tsv"), "labeled", ["bad", "good"], every=2, held_out=held))
        for held in (False, True)
    ]
    result = {tuple(text) for side in sides for text in side}
    assert result == {("It broke.", 0), ("It works.", 1), ("It works!", 0)}
    # The words of a text decide on its side, whatever its label says: both of these stand together.
    assert sum({"It works.", "It works!"} <= {text.text for text in side} for side in sides) == 1
    source = SourceFile("r.tsv", task="kind/two")
    texts = adapters.labeled_texts(tmp_path, source, "source", ["one", "two"], every=10**9, held_out=False)
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
    texts = adapters.labeled_texts(tmp_path, SourceFile("d.txt"), "last-mark", [], every=10**9, held_out=False)
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
        scores = made.scores(inputs, task)
        torch.testing.assert_close(loaded.answer(inputs, task).logits, scores["adapters"], atol=5e-3, rtol=0)
        torch.testing.assert_close(loaded.answer_alone(inputs, task), scores["alone"], atol=5e-3, rtol=0)
    (tmp_path / "out" / "genre.safetensors").unlink()
    with pytest.raises(CheckpointRefused, match="for “genre” are missing"):
        read_adapters(tmp_path / "out", AutoConfig.from_pretrained(tmp_path / "out"), state)
    state.popitem()
    with pytest.raises(CheckpointRefused, match="is not the one that its adapters were trained for"):
        read_adapters(tmp_path / "out", AutoConfig.from_pretrained(tmp_path / "out"), state)


def test_the_card_states_how_many_numbers_are_trained() -> None:

    recipe = recipes.load("atlas-adapter-bert")
    published = BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536)
    with torch.device("meta"):
        backbone = BertModel(published, add_pooling_layer=False)
        tasks = {name: len(settings["answers"]) for name, settings in recipe.model["tasks"].items()}
        model = AdapterBert(backbone, tasks, recipe.model["size"])
    stated = recipe.card["extra"]["trained"]
    for task, count in tasks.items():
        of: Any = model.tasks[task]
        assert stated[f"adapters, norms and head of a task with {count} answers"] == of.trained
        assert stated[f"head alone, {count} answers"] == of.trained_alone
    assert set(recipe.card["extra"]["tasks"]) == set(tasks)
