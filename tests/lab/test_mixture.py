"""The tasks of T5's mixture: each pair follows from its rule, and no held-out sentence is trained on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch

from core import checkpoints
from core.content import content
from core.objectives.sentinels import filled
from lab import corpus, evaluate_mixture, mixture
from lab.parallel import PREFIXES, Pair
from lab.recipe import SourceFile
from tests import tinyrecipes

WORDS = ["Thank", "you", "for", "inviting", "me", "to", "your", "party", "last", "week"]


@pytest.mark.parametrize(
    ("hidden", "source", "target"),
    [
        ([2, 3, 8], "Thank you <extra_id_0> me to your party <extra_id_1> week",
         "<extra_id_0> for inviting <extra_id_1> last <extra_id_2>"),
        ([0, 9], "<extra_id_0> you for inviting me to your party last <extra_id_1>",
         "<extra_id_0> Thank <extra_id_1> week <extra_id_2>"),
    ],
)  # fmt: skip
def test_spans_are_those_of_the_paper(hidden: list[int], source: str, target: str) -> None:
    assert mixture.corrupted(WORDS, np.isin(np.arange(len(WORDS)), hidden)) == (source, target)
    parts = filled(source, target)
    assert "".join(part for part, _ in parts).split() == WORDS
    assert {word for part, span in parts if span for word in part.split()} == {WORDS[at] for at in hidden}
    assert filled("A <extra_id_0> sat.", "no answer") == (("A ", False), ("<extra_id_0>", False), (" sat.", False))


def test_spans_hide_a_share_of_the_words_anywhere() -> None:
    spans = [next(mixture.spans(" ".join(WORDS), number)) for number in range(60)]
    assert {len(target.split()) - 2 for _, target in spans} <= {2, 3}  # two words; one more sentinel where they wrap
    assert {"<extra_id_0>"} < {source.split()[0] for source, _ in spans}
    assert not list(mixture.spans("Too short.", 0))


def test_similarity_is_that_of_the_most_similar_translations_in_one_language() -> None:
    single = [("fr", frozenset("abcd")), ("de", frozenset("xyz"))]
    assert mixture.similarity(single, [("fr", frozenset("abce")), ("de", frozenset("pqz"))]) == 5 * 3 / 5
    assert mixture.similarity(single, [("de", frozenset("abcd"))]) == 0.0
    assert mixture.similarity(single, single) == 5.0


def test_the_expected_number_weighs_each_string_by_its_loss() -> None:
    checkpoint = checkpoints.load("atlas-t5")
    model, tokenizer = checkpoint.model, checkpoint.tokenizer
    text = f"similarity: I like tea.{mixture.SECOND}I like coffee."
    inputs = tokenizer(text, return_tensors="pt")["input_ids"]
    weights = []
    for number in evaluate_mixture.NUMBERS:
        labels = tokenizer(number, return_tensors="pt")["input_ids"]
        with torch.inference_mode():
            weights.append(math.exp(-float(model(input_ids=inputs, labels=labels).loss) * labels.shape[1]))
    mean = sum(weight * float(number) for weight, number in zip(weights, evaluate_mixture.NUMBERS, strict=True))
    assert evaluate_mixture.expected(checkpoint, text) == pytest.approx(mean / sum(weights), abs=1e-3)


def test_labels_follow_from_the_text() -> None:
    assert list(mixture.question("Is it late?", 0)) == [("Is it late", "question")]
    kept = [pair for number in range(400) for pair in mixture.question("It is late.", number)]
    assert set(kept) == {("It is late", "statement")}
    assert 50 < len(kept) < 110
    sentences = "It has a long tail. " * 8
    assert list(mixture.summary(f"The cat is a small animal that lives in houses. {sentences}", 0)) == [
        (" ".join(sentences.split()), "The cat is a small animal that lives in houses.")
    ]
    assert not list(mixture.summary(f"Cats sleep a lot. {sentences}", 0))
    assert all(mixture.damaged("The cat sat on a mat.", Random(seed)) != "The cat sat on a mat." for seed in range(50))


def test_every_task_has_examples_and_words() -> None:
    words = content("demos", "rewrite")
    for task in PREFIXES:
        assert len(words.front["samples"][task]) > 2
        assert words.has(f"Try: {task}")
        assert words.has(f"Notice: {task}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tinyrecipes.corpus(tmp_path_factory.mktemp("corpus"))


@pytest.mark.parametrize(("file", "task"), [("parallel.en-fr.tsv", "similarity"), ("reviews.tsv", "sentiment")])
def test_no_held_out_sentence_is_trained_on(folder: Path, file: str, task: str) -> None:
    def sentences(pairs: Sequence[Pair]) -> set[str]:
        return {side for text, _ in pairs for side in text.split(mixture.SECOND)}

    trained, held = (
        list(mixture.pairs(folder, SourceFile(file, task=task), every=5, held_out=side)) for side in (False, True)
    )
    assert trained
    assert held
    assert not any(corpus.held_out(text, 5) for text in sentences(trained))
    assert all(any(corpus.held_out(text, 5) for text in sentences([pair])) for pair in held)
