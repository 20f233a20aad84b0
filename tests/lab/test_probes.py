"""Probes on states that are made, and beside another implementation."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from core.attention.roles.treebank import ROOT, SHIPPED, read_treebank
from core.vectors.mix import normed
from core.vectors.probing import COLUMNS
from lab import probes
from lab.probes import FOLDS, ReadWords, control_classes, distance, fit, probe


def test_a_head_is_named_by_where_it_is() -> None:
    assert [distance(3, head) for head in (ROOT, 2, 0, 4, 8)] == ["root", "←1", "←3", "1→", "4+→"]
    assert distance(9, 5) == "←4+"


def test_a_control_gives_a_word_one_class_wherever_it_occurs() -> None:
    texts = ["a", "b", "a", "c"] * 50
    classes = ["X", "Y", "X", "Y"] * 50
    drawn = [control_classes(texts, classes, seed) for seed in range(8)]
    assert all(len(set(zip(texts, labels, strict=True))) == 3 for labels in drawn)
    assert len({tuple(labels[:4]) for labels in drawn}) > 1
    many = control_classes([str(i) for i in range(900)], ["X"] * 9 + ["Y"], 0)
    assert 0.05 < many.count("Y") / 900 < 0.15


def test_a_layer_of_words_has_no_selectivity_and_one_of_classes_has() -> None:
    random = np.random.default_rng(0)
    kinds, count = 40, 800
    word = random.integers(0, kinds, count)
    speech = random.integers(0, 3, kinds)[word]
    states = random.normal(size=(2, count, kinds), scale=0.1).astype(np.float32)
    states[0, np.arange(count), word] += 3  # which word it is
    states[1, np.arange(count), speech] += 3  # which class it has, and nothing else
    names = tuple("ABC"[i] for i in speech)
    folds = tuple((np.arange(count) % FOLDS).tolist())
    words = ReadWords(normed(states), tuple(map(str, word)), folds, {"speech": names})
    rows, weight, bias, classes = probe(words, "speech")
    assert (weight.shape, bias.shape, classes) == ((2, kinds, 3), (2, 1, 3), ["A", "B", "C"])
    counts = np.array([row[3:] for row in rows]).reshape(2, FOLDS, 7).sum(axis=1)
    total, right, control, lookup, majority, unseen, _ = counts.T
    assert total.tolist() == [count] * 2
    assert unseen.tolist() == [0, 0]
    assert lookup.tolist() == [count] * 2
    assert majority[0] == max(np.bincount(speech))
    assert min(right) > 0.97 * count
    assert control[0] > 0.97 * count
    assert control[1] < 0.75 * count


def test_probes_are_those_of_scikit_learn() -> None:
    random = np.random.default_rng(1)
    states = normed(random.normal(size=(1, 300, 8)).astype(np.float32))
    truth = (states[0] @ random.normal(size=(8, 3)) + random.normal(size=(300, 3))).argmax(-1)
    trained = np.arange(300) < 240
    weight, bias = fit(
        torch.from_numpy(states), torch.from_numpy(truth)[None], torch.from_numpy(trained)[None], classes=3
    )
    strength = 1 / (2 * probes.DECAY * trained.sum())
    other = LogisticRegression(C=strength, max_iter=1000).fit(states[0][trained], truth[trained])
    ours = (states[0] @ weight[0].numpy() + bias[0].numpy()).argmax(-1)
    assert (ours == other.predict(states[0])).mean() >= 0.97
    assert (ours == truth)[~trained].mean() > 0.5


def test_the_command_writes_what_the_page_reads(
    tmp_path: Path, checkpoint_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = list(read_treebank(SHIPPED))[:15]
    monkeypatch.setattr(probes, "read_treebank", lambda _: some)
    probes.cli_probes(["dir-tiny-bert"], tmp_path)
    with (tmp_path / "dir-tiny-bert.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert tuple(header) == COLUMNS
    assert {row[0] for row in rows} == {"speech", "distance", "identity"}
    words = [int(row[3]) for row in rows if row[:2] == ["speech", "0"]]
    assert sum(words) == sum(len(sentence.words) for sentence in some)
    assert {row[5] for row in rows if row[0] == "identity"} == {""}
    assert (tmp_path / "dir-tiny-bert.safetensors").is_file()
