"""The numbers that lessons name, of the models that gave them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import pytest

from core import checkpoints, session, studies
from core.catalogue.results import tables
from core.interventions.breaking import break_part, part_losses
from core.lazy import torch
from core.lessons.checks import FineTuned, Published, Repetition, Weight
from core.vectors.contextual import anisotropy_baseline, sense_separation
from core.vectors.mix import mix_layers
from core.vectors.occurrences import EXAMPLES
from tests.app.test_lessons import lesson_of, said

GIRL = "Once upon a time there was a little girl who"
DARK, OPENED = "It was a dark night and the", "She put the key into the lock and opened the"
CAT = "The shoemaker had a wife and a cat. He sat by the fire and stroked his"


@pytest.fixture(scope="module")
def gpt() -> Callable[[str], tuple[Any, Any]]:
    """The logits after a text, and the vocabulary, of the model of lesson 5."""
    checkpoint = checkpoints.load("atlas-gpt-2")

    def after(text: str) -> tuple[Any, Any]:
        ids = checkpoint.tokenizer(text, return_tensors="pt").input_ids
        with torch.no_grad():
            return checkpoint.model(ids).logits[0, -1], checkpoint.tokenizer.get_vocab()

    return after


@pytest.mark.parametrize(
    ("text", "token", "temperature", "percent"),
    [
        (DARK, "Ġsun", 1, 7.7),
        (DARK, "Ġwind", 1, 3.8),
        (DARK, "Ġsun", 0.5, 46),
        (DARK, "Ġwind", 0.5, 11.5),
        (DARK, "Ġsun", 2, 0.7),
        (DARK, "Ġwind", 2, 0.5),
        (f"Anna had a gold key and a silver box. {OPENED}", "Ġdoor", 1, 51),
        (f"Anna had a gold key and a silver box. {OPENED}", "Ġbox", 1, 2),
        (f"Anna had a gold key and a silver box. {OPENED}", "Ġlid", 1, 6),
        (f"Anna had a gold key and a silver box. {OPENED}", "Ġkey", 1, 7),
        (OPENED, "Ġdoor", 1, 49),
        (CAT, "Ġhead", 1, 11),
        (CAT, "Ġhair", 1, 6),
        (CAT, "Ġtail", 1, 3),
        ("Once upon a", "Ġtime", 1, 85),
        ("Once upon a ", "z", 1, 31),
        ("Once upon a ti", "pper", 1, 14),
        ("The little gi", "ver", 1, 89),
        ("The dog sat on the", "Ġstone", 1, 0.6),
        ("The dog sat on the stone. The dog sat on the", "Ġstone", 1, 10),
        ("The dog sat on the stone. The dog sat on the stone. The dog sat on the", "Ġstone", 1, 20),
    ],
)
def test_the_shares_that_lesson_5_names_are_the_models(
    gpt: Callable[[str], tuple[Any, Any]], text: str, token: str, temperature: float, percent: float
) -> None:
    logits, vocabulary = gpt(text)
    share = 100 * float((logits / temperature).softmax(-1)[vocabulary[token]])
    assert percent == round(share, 0 if isinstance(percent, int) else 1)
    assert f"{percent}%" in said("5-gpt")


def test_the_counts_that_lesson_5_names_are_the_models(gpt: Callable[[str], tuple[Any, Any]]) -> None:
    def kept(text: str) -> int:
        return int((gpt(text)[0].softmax(-1).sort(descending=True).values.cumsum(-1) < 0.8).sum()) + 1

    assert (kept("Once upon a"), kept(DARK)) == (1, 383)
    logits, vocabulary = gpt("Once upon a ")
    assert len(vocabulary) == 6_144
    assert float(logits.softmax(-1)[vocabulary["Ġtime"]]) < 0.001
    assert float(gpt(CAT)[0].softmax(-1)[vocabulary["Ġcat"]]) < 0.01
    repeated = {
        (text, tokens, strategy): round(
            100
            * Repetition(kind="repetition", model="atlas-gpt-2", text=text, tokens=tokens, strategy=strategy).answer()
        )
        for text, tokens in ((DARK, 30), (DARK, 60), ("The fox said to the", 30), (GIRL, 60))
        for strategy in get_args(Repetition.model_fields["strategy"].annotation)
    }
    assert [*repeated.values()] == [0, 71, 45, 88, 29, 68, 45, 33]


@pytest.mark.parametrize(
    ("text", "weight"),
    [
        ("The king gave the queen a golden ring", 0.223),
        ("The king gave the queen a golden horse", 0.223),
        ("The dog gave the queen a golden ring", 0.289),
    ],
)
def test_the_weights_that_lesson_16_names_are_the_heads(text: str, weight: float) -> None:
    check = Weight(kind="weight", model="atlas-llama", text=text, layer=4, head=1, query="␣queen", key="␣gave")
    assert round(check.answer(), 3) == weight
    assert str(weight) in said("16-modern-decoder")


def test_the_shares_that_lesson_10_names_are_the_recorded_ones() -> None:
    named = {
        "ten": {"all": "94%", "head": "82%", "words": "36%", "random": "34%"},
        "pair": {"all": "83%", "head": "73%", "words": "47%", "random": "50%"},
        "topic": {"all": "60%", "head": "52%", "words": "60%", "random": "36%"},
    }
    for task, runs in named.items():
        checks = {run: FineTuned.model_validate({"kind": "fine-tuned", "task": task, "run": run}) for run in runs}
        assert {run: f"{check.answer():.0%}" for run, check in checks.items()} == runs
    widths, text = studies.get("widths"), " ".join(step.text for step in lesson_of("10-fine-tuning").steps)
    for number in ("all", "head", "lora", "adapters"):
        assert f"{widths.number(number).mean:.1%}" in text


def test_the_losses_that_lesson_3_names_are_the_models() -> None:
    losses = part_losses(checkpoints.load("minilm"))
    assert losses is not None
    parts = ("feed-forward", "positions", "residual", "norm")
    bits = [losses.intact, *map(losses.broken.__getitem__, parts), losses.uniform]
    assert [round(each, 1) for each in bits] == [5.0, 10.2, 12.3, 13.4, 15.6, 14.9]
    assert all(f"{round(each, 1)}" in said("3-block") for each in bits)
    assert round(losses.broken["order"]) == 18


@pytest.mark.parametrize(
    ("gap_last", "gap_first", "general", "shares"),
    [
        ("The doctor cured the [MASK].", "The [MASK] cured the doctor.", 7.0, {"disease": 74, "medicine": 33}),
        ("The child taught the [MASK].", "The [MASK] taught the child.", 6, {"teacher": 95}),
    ],
)
def test_two_orders_of_lesson_3_are_one_bag_of_words(
    gap_last: str, gap_first: str, general: float, shares: dict[str, int]
) -> None:
    last, first = (break_part(checkpoints.load("minilm"), text, "positions").changes for text in (gap_last, gap_first))
    after = [{change.token: change.after for change in changes} for changes in (last, first)]
    assert [max(shares, key=shares.__getitem__) for shares in after] == ["general", "general"]
    assert after[0]["general"] == pytest.approx(after[1]["general"], rel=1e-4)
    assert general == round(100 * after[0]["general"], 0 if isinstance(general, int) else 1)
    intact = {change.token: round(100 * change.before) for change in (*last, *first)}
    assert shares.items() <= intact.items()
    assert all(f"{percent}%" in said("3-block") for percent in (general, *shares.values()))


@pytest.mark.parametrize(
    ("text", "task", "part", "token", "before", "after"),
    [
        ("The house is small.", "en-fr", "padding", "La", 97, 0.4),
        ("The house is small.", "en-fr", "padding", "<pad>", 0, 54),
        ("The dog is old.", "en-fr", "padding", "Le", 97, 1),
        ("The dog is old.", "en-fr", "padding", "<pad>", 0, 51),
        ("The house is small.", "en-de", "padding", "Das", 89, 0),
        ("The cat is small.", "en-de", "padding", "Die", 99.5, 1),
    ],
)
def test_the_shares_that_lesson_6_names_are_the_models(
    text: str, task: str, part: str, token: str, before: float, after: float
) -> None:
    broken = break_part(checkpoints.load("atlas-t5"), text, part, task=task)
    (change,) = (change for change in broken.changes if change.token == token)
    assert before == round(100 * change.before, 0 if isinstance(before, int) else 1)
    assert after == round(100 * change.after, 0 if isinstance(after, int) else 1)
    assert broken.control is not None
    assert broken.control < 1e-4, "with the right mask nothing changes"


def test_a_causal_mask_in_the_encoder_is_another_thing() -> None:
    changes = break_part(checkpoints.load("atlas-t5"), "The house is small.", "causal-added").changes
    assert next(change.after for change in changes if change.token == "La") < 0.1


def test_the_scores_that_lesson_6_cites_are_the_papers() -> None:
    variants = {
        "causal model, denoising": "74.7",
        "prefix model, denoising": "81.8",
        "encoder-decoder, denoising": "83.3",
    }
    for variant, named in variants.items():
        check = Published(kind="published", table="t5-architectures", dataset="GLUE", variant=variant)
        assert f"{check.answer():.1f}" == named
        assert named in said("6-encoder-decoder")


def test_the_cosines_that_lesson_9_names_are_the_models() -> None:
    text = said("9-word-vectors")

    def measures(slug: str, word: str, layer: int | None) -> list[str]:
        vectors = session.word_vectors(slug, word, EXAMPLES[word])
        states = [each.vectors for each in (vectors.own, vectors.around)]
        own, around = (mix_layers(each, [0.0] * 3) if layer is None else each[layer] for each in states)
        senses = [occurrence.line.sense for occurrence in vectors.own.occurrences]
        found = sense_separation(own, senses, anisotropy_baseline(around, vectors.around.lines))
        assert found.same is not None
        assert found.other is not None
        gap = f"{found.same - found.other:.2f}"
        return [
            *(f"{value:.2f}" for value in (found.same, found.other, found.baseline or 0)),
            f"{found.nearest:.0%}",
            gap,
        ]

    assert measures("elmo", "bank", None)[:2] == ["0.89", "0.80"]
    assert "0.89 within a sense and 0.80 across senses; 80%" in text
    assert measures("minilm", "bank", 6)[:2] + measures("minilm", "bank", 6)[3:4] == ["0.67", "0.43", "90%"]
    assert measures("atlas-bert", "play", 4)[1:3] == ["0.86", "0.61"]
    assert [measures("minilm", "play", 6)[at] for at in (0, 2)] == ["0.69", "0.11"]
    gaps = [
        measures(*case)[4]
        for case in (("minilm", "play", 1), ("minilm", "play", 6), ("elmo", "play", 2), ("atlas-bert", "play", 4))
    ]
    assert gaps == ["0.10", "0.25", "0.16", "0.02"]


@pytest.mark.parametrize(
    ("heads", "seconds", "average"),
    [
        ("64 key-value heads", 1.51, 47.2),
        ("1 key-value head, 5% more training", 0.24, 46.6),
        ("8 key-value heads, 5% more training", 0.28, 47.1),
    ],
)
def test_the_figures_of_lesson_16_are_the_papers(heads: str, seconds: float, average: float) -> None:
    step = next(step for step in lesson_of("16-modern-decoder").steps if "T5-XXL" in step.text)
    for dataset, figure in (("one sample of seven tasks", seconds), ("seven tasks", average)):
        check = Published(kind="published", table="gqa-heads", dataset=dataset, variant=f"v1.1 XXL, {heads}")
        assert check.answer() == figure
        assert str(figure) in step.text + step.note


@pytest.mark.parametrize(
    ("table", "dataset", "system", "named"),
    [
        ("roberta-data", "SQuAD 2.0", None, "81.8 87.3 87.7 89.4"),
        ("roberta-data", "SST-2", None, "93.7 95.3 95.6 96.4"),
        ("roberta-data", "MNLI matched", None, "86.6 89.0 89.3 90.2"),
        ("roberta-masking", "SST-2", "roberta", "92.5 92.9"),
        ("roberta-masking", "MNLI matched", "roberta", "84.3 84.0"),
        ("albert-sharing", "five tasks", None, "81.6 80.1 81.7"),
        ("albert-sizes", "five tasks", None, "88.7 85.2"),
        ("albert-time", "five tasks", None, "87.2 88.7"),
        ("albert-sentences", "five tasks", None, "80.1 79.2"),
        ("distilbert-glue-v2", "GLUE with WNLI", None, "68.7 79.5 77.0"),
        ("distilbert-glue-v2", "RTE", None, "53.4 69.3 59.9"),
        ("electra-losses", "GLUE", None, "82.2 82.4 84.3 85.0"),
        ("spanbert-squad", "SQuAD 2.0", None, "83.3 85.9 86.6 88.7"),
        ("deberta-parts", "MNLI matched", None, "84.9 86.3 86.0"),
        ("deberta-parts", "RACE", None, "66.8 71.7 69.6"),
    ],
)
def test_the_figures_that_lesson_8_names_are_the_papers(
    table: str, dataset: str, system: str | None, named: str
) -> None:
    rows = [row for row in tables()[table] if row.measure.dataset == dataset and system in (None, row.system)]
    assert set(named.split()) <= {row.printed for row in rows}
    assert all(figure in said("8-bert-family") for figure in named.split())
