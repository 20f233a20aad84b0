"""Losses of the page of objectives against those of transformers and torch for the same labels."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch.nn import functional
from transformers import BertForNextSentencePrediction

from core import checkpoints
from core.checkpoints.spec import Checkpoint
from core.errors import InputTooLong, InputUnusable
from core.language import losses as live
from core.language.losses import ids_of, losses
from core.language.tokens import tokenize
from core.objectives import causal, contrastive, denoising, distillation, masked, permutation, replaced, translation
from core.objectives.example import Cell, Example
from core.objectives.sentence_pairs import next_sentence

TOKENS = ["[CLS]", "the", "king", "gave", "his", "daughter", "a", "golden", "ring", ".", "[SEP]"]


def _labels(slug: str, example: Example) -> torch.Tensor:
    vocabulary = checkpoints.load(slug).tokenizer
    result = [-100 if c.target is None else int(vocabulary.convert_tokens_to_ids(c.target)) for c in example.source]
    return torch.tensor([result])


@pytest.mark.parametrize("slug", ["atlas-bert", "atlas-roberta", "atlas-albert"])
def test_masked_tokens(slug: str) -> None:
    checkpoint = checkpoints.load(slug)
    example = masked.corrupt(TOKENS, ["well", "##ly"], np.random.default_rng(1), rate=0.5, fixed=(0, 10))
    loss_values = losses(checkpoint, example, "masks")
    ids = torch.tensor([ids_of(checkpoint, [cell.token for cell in example.source])])
    with torch.inference_mode():
        theirs = checkpoint.model(input_ids=ids, labels=_labels(slug, example)).loss
    assert set(loss_values.source) == set(example.targets)
    assert loss_values.mean == pytest.approx(float(theirs), rel=1e-4)
    assert loss_values.options == checkpoint.model.config.vocab_size
    for place in loss_values.source.values():
        assert place.prediction_probability >= place.probability - 1e-6
        assert place.bits == pytest.approx(place.nats / math.log(2))


@pytest.mark.parametrize("slug", ["atlas-bert", "atlas-bigbird"])
def test_masked_tokens_in_the_second_segment(slug: str) -> None:
    checkpoint = checkpoints.load(slug)
    pair = next_sentence(TOKENS[1:5], TOKENS[5:10], ["x"], np.random.default_rng(2))
    example = masked.mask_pair(pair, ["well"], np.random.default_rng(3), rate=0.5)
    ids = torch.tensor([ids_of(checkpoint, [cell.token for cell in example.source])])
    types = torch.tensor([[cell.segment for cell in example.source]])
    with torch.inference_mode():
        theirs = checkpoint.model(input_ids=ids, token_type_ids=types, labels=_labels(slug, example)).loss
        without = checkpoint.model(input_ids=ids, labels=_labels(slug, example)).loss
    assert losses(checkpoint, example, "masks").mean == pytest.approx(float(theirs), rel=1e-4)
    assert float(theirs) != pytest.approx(float(without), rel=1e-3)


def test_the_next_token() -> None:
    checkpoint = checkpoints.load("atlas-gpt-2")
    pieces = checkpoint.tokenizer.tokenize("The king gave his daughter a ring.")
    example = causal.corrupt(pieces, "<|endoftext|>")
    ids = torch.tensor([ids_of(checkpoint, ["<|endoftext|>", *pieces])])
    with torch.inference_mode():
        theirs = checkpoint.model(input_ids=ids, labels=ids).loss
    assert losses(checkpoint, example, "next").mean == pytest.approx(float(theirs), rel=1e-4)


def test_the_next_sentence() -> None:
    pairs = checkpoints.load("atlas-bert", "pairs")
    assert isinstance(pairs.model, BertForNextSentencePrediction)
    for seed, answer in ((2, 0), (0, 1)):
        example = next_sentence(TOKENS[1:5], TOKENS[5:10], ["the", "sea"], np.random.default_rng(seed))
        assert example.labels[0].answer == answer
        ids = torch.tensor([ids_of(pairs, [cell.token for cell in example.source])])
        types = torch.tensor([[cell.segment for cell in example.source]])
        label = torch.tensor([example.labels[0].answer])
        with torch.inference_mode():
            theirs = pairs.model(input_ids=ids, token_type_ids=types, labels=label).loss
        loss_values = losses(pairs, example, "pair")
        assert loss_values.labels[0].nats == pytest.approx(float(theirs), rel=1e-4)
        assert sum(loss_values.choices[0]) == pytest.approx(1)
        assert loss_values.mean is None


def test_verdicts_on_replaced_tokens() -> None:
    judge = checkpoints.load("atlas-electra")
    example = replaced.corrupt(TOKENS, {2: "fish", 8: "ring"}, fixed=(0, 10))
    ids = torch.tensor([ids_of(judge, [cell.token for cell in example.source])])
    labels = torch.tensor([[float(cell.target == replaced.REPLACED) for cell in example.source]])
    with torch.inference_mode():
        scores = judge.model(input_ids=ids).logits
    theirs = torch.nn.functional.binary_cross_entropy_with_logits(scores[0, 1:-1], labels[0, 1:-1])
    loss_values = losses(judge, example, "verdicts")
    assert set(loss_values.source) == set(range(1, 10))
    assert loss_values.mean == pytest.approx(float(theirs), rel=1e-4)


def test_no_targets_have_no_loss_and_too_many_are_refused() -> None:
    checkpoint = checkpoints.load("atlas-bert")
    assert (
        losses(checkpoint, masked.mask_tokens(["[CLS]", "[SEP]"], {}, (), np.random.default_rng(0)), "masks").mean
        is None
    )
    long = masked.corrupt(["the"] * 200, ["x"], np.random.default_rng(0))
    with pytest.raises(InputTooLong):
        losses(checkpoint, long, "masks")


def pieces(checkpoint: Checkpoint, text: str) -> list[str]:
    return [token.piece for token in tokenize(checkpoint, text, special=False)]


def numbers(checkpoint: Checkpoint, cells: tuple[Cell, ...]) -> torch.Tensor:
    return torch.tensor([checkpoint.tokenizer.convert_tokens_to_ids([cell.token for cell in cells])])


def test_a_decoder_pays_what_transformers_makes_it_pay() -> None:
    bart = checkpoints.load("atlas-bart")
    sentences = [pieces(bart, "The king gave her a ring."), pieces(bart, "She went home.")]
    example = denoising.corrupt(sentences, np.random.default_rng(0), ("infill",))
    losses = live.losses(bart, example, "written")
    labels = torch.tensor([bart.tokenizer.convert_tokens_to_ids([str(cell.target) for cell in example.decoder])])
    with torch.no_grad():
        # given labels alone, transformers makes the decoder's input itself: one place behind, </s> first
        expected = float(bart.model(input_ids=numbers(bart, example.source), labels=labels).loss)
    assert losses.mean == pytest.approx(expected, rel=1e-4)
    assert not losses.source
    with pytest.raises(InputTooLong, match="64"):
        live.losses(bart, denoising.corrupt([["a"] * 70], np.random.default_rng(0), ("mask",)), "written")


def test_along_an_order_each_token_is_predicted_without_those_after_it() -> None:
    xlnet = checkpoints.load("atlas-xlnet")
    framed = ["[CLS]", *pieces(xlnet, "Once upon a time there was a king."), "[SEP]"]
    order = 1 + np.random.default_rng(3).permutation(len(framed) - 2)
    example = permutation.corrupt(framed, order.tolist(), 3, (0, len(framed) - 1))
    losses = live.losses(xlnet, example, "order")
    ids = numbers(xlnet, example.source)
    for step, place in enumerate(example.order):
        later = example.order[step:]
        unseen = torch.zeros(1, len(framed), len(framed))
        for row in range(len(framed)):
            found_at = example.order.index(row) if row in example.order else 0
            unseen[0, row, list(example.order[found_at:])] = 1.0
        where = torch.zeros(1, 1, len(framed))
        where[0, 0, place] = 1.0
        blanked = ids.clone()
        blanked[0, list(later)] = 7  # whatever stands there and later, nobody may see it
        with torch.no_grad():
            out = xlnet.model(blanked, perm_mask=unseen, target_mapping=where, use_mems=False).logits[0, 0]
        target = int(ids[0, place])
        assert losses.source[place].nats == pytest.approx(-float(out.log_softmax(-1)[target]), rel=1e-3, abs=1e-4)


def test_a_pair_is_read_with_its_languages_and_its_positions() -> None:
    xlm = checkpoints.load("atlas-xlm")
    first, second = pieces(xlm, "My sister reads a book."), pieces(xlm, "Ma sœur lit un livre.")
    rng = np.random.default_rng(1)
    example = translation.corrupt(first, second, ["the"], rng, rate=0.3)
    losses = live.losses(xlm, example, "translation")
    ids = numbers(xlm, example.source)
    half = len(first) + 2
    langs = torch.tensor(
        [[xlm.model.config.lang2id["en"]] * half + [xlm.model.config.lang2id["fr"]] * (len(second) + 2)]
    )
    positions = torch.tensor([[*range(half), *range(len(second) + 2)]])
    with torch.no_grad():
        logs = xlm.model(input_ids=ids, langs=langs, position_ids=positions).logits[0].log_softmax(-1)
    for place in example.targets:
        target = xlm.tokenizer.convert_tokens_to_ids(example.source[place].target)
        assert losses.source[place].nats == pytest.approx(-float(logs[place, target]), rel=1e-4, abs=1e-5)
    with pytest.raises(InputUnusable):
        live.losses(checkpoints.load("atlas-bert"), example, "translation")


def test_teacher_and_student_answer_as_each_does_alone() -> None:
    teacher, student = checkpoints.load("atlas-bert"), checkpoints.load("atlas-distilbert")
    framed = ["[CLS]", *pieces(teacher, "The king gave his daughter a golden ring."), "[SEP]"]
    example = masked.corrupt(framed, ["the"], np.random.default_rng(0), rate=0.3, fixed=(0, len(framed) - 1))
    scored = live.scored(teacher, student, example)
    ids = numbers(teacher, example.source)
    with torch.no_grad():
        plain = student.model(input_ids=ids).logits[0, list(example.targets)].numpy()
    assert scored.student == pytest.approx(plain, abs=1e-4)
    assert scored.teacher.shape == plain.shape == (len(example.targets), len(scored.names))
    assert scored.states[0].shape == scored.states[1].shape
    assert [teacher.tokenizer.convert_ids_to_tokens(int(i)) for i in scored.truth] == [
        example.source[place].target for place in example.targets
    ]
    with pytest.raises(InputUnusable, match="No token"):
        live.scored(teacher, student, Example((), (Cell("[CLS]"),)))


IMAGES, TEXTS = [10.0, 95.0, 200.0, 300.0], [25.0, 80.0, 260.0, 310.0]


def circle(angles: torch.Tensor) -> torch.Tensor:
    return torch.stack([angles.cos(), angles.sin()], dim=-1)


@pytest.mark.parametrize("temperature", [0.07, 0.5, 1.0])
def test_image_and_text_as_torch_has_it(temperature: float) -> None:
    left, right = (torch.deg2rad(torch.tensor(a, dtype=torch.float64)).requires_grad_() for a in (IMAGES, TEXTS))
    scores = circle(left) @ circle(right).T / temperature
    labels = torch.arange(4)
    loss = (functional.cross_entropy(scores, labels) + functional.cross_entropy(scores.T, labels)) / 2
    loss.backward()
    result = contrastive.image_text(IMAGES, TEXTS, temperature)
    assert result.value == pytest.approx(loss.item(), abs=1e-12)
    assert result.probability == pytest.approx(scores.softmax(1).detach().numpy(), abs=1e-12)
    for slope, angles in zip(result.gradients, (left, right), strict=True):
        assert slope == pytest.approx(angles.grad.numpy(), abs=1e-10)


@pytest.mark.parametrize("temperature", [0.07, 0.3])
def test_supervised_as_torch_has_it(temperature: float) -> None:
    points, classes = [*IMAGES, *TEXTS], [0, 0, 1, 1, 0, 2, 1, 0]
    angles = torch.deg2rad(torch.tensor(points, dtype=torch.float64)).requires_grad_()
    scores = circle(angles) @ circle(angles).T / temperature
    loss = torch.zeros((), dtype=torch.float64)
    for i, of in enumerate(classes):
        others = [k for k in range(8) if k != i]
        partners = [j for j in others if classes[j] == of]
        row = scores[i, others][None]
        for j in partners:
            loss = loss + functional.cross_entropy(row, torch.tensor([others.index(j)])) / len(partners)
    loss.backward()
    result = contrastive.supervised(points, classes, temperature)
    assert result.value == pytest.approx(loss.item(), abs=1e-10)
    assert result.gradients[0] == pytest.approx(angles.grad.numpy(), abs=1e-9)
    assert result.terms[5] == 0.0  # alone in its class


def test_the_three_losses_of_distillation_as_torch_has_them() -> None:
    torch.manual_seed(0)
    teacher, student = torch.randn(2, 3, 11, dtype=torch.float64)
    truth = torch.tensor([4, 0, 10])
    states = torch.randn(2, 5, 7, dtype=torch.float64)
    losses = distillation.losses(
        teacher.numpy(), student.numpy(), truth.numpy(), (states[0].numpy(), states[1].numpy()), 2.0
    )
    soft = functional.kl_div(
        (student / 2).log_softmax(-1), (teacher / 2).log_softmax(-1), reduction="batchmean", log_target=True
    )
    assert losses.soft.mean() == pytest.approx(4 * soft.item())
    assert losses.hard.mean() == pytest.approx(functional.cross_entropy(student, truth).item())
    likeness = functional.cosine_similarity(states[0], states[1], dim=-1).mean().item()
    assert losses.states.mean() == pytest.approx(1 - likeness)
    assert losses.total == pytest.approx(20 * soft.item() + 2 * losses.hard.mean() + 1 - likeness)
    assert np.allclose(np.exp(contrastive.log_softmax(teacher.numpy(), 2.0)), (teacher / 2).softmax(-1).numpy())
