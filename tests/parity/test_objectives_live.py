"""What the bundled models make of examples: the same losses as transformers computes from ids and labels."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from core import checkpoints
from core.checkpoints.spec import Checkpoint
from core.errors import InputTooLong, InputUnusable
from core.language import losses
from core.language.tokens import tokenise
from core.objectives import denoising, masked, permutation, translation
from core.objectives.example import Cell, Example


def pieces(checkpoint: Checkpoint, text: str) -> list[str]:
    return [token.piece for token in tokenise(checkpoint, text, special=False)]


def numbers(checkpoint: Checkpoint, cells: tuple[Cell, ...]) -> torch.Tensor:
    return torch.tensor([checkpoint.tokenizer.convert_tokens_to_ids([cell.token for cell in cells])])


def test_a_decoder_pays_what_transformers_makes_it_pay() -> None:
    bart = checkpoints.load("atlas-bart")
    sentences = [pieces(bart, "The king gave her a ring."), pieces(bart, "She went home.")]
    example = denoising.corrupt(sentences, np.random.default_rng(0), ("infill",))
    found = losses.losses(bart, example, "written")
    labels = torch.tensor([bart.tokenizer.convert_tokens_to_ids([str(cell.target) for cell in example.decoder])])
    with torch.no_grad():
        # given labels alone, transformers makes the decoder's input itself: one place behind, </s> first
        expected = float(bart.model(input_ids=numbers(bart, example.source), labels=labels).loss)
    assert found.mean == pytest.approx(expected, rel=1e-4)
    assert not found.source
    with pytest.raises(InputTooLong, match="64"):
        losses.losses(bart, denoising.corrupt([["a"] * 70], np.random.default_rng(0), ("mask",)), "written")


def test_along_an_order_each_token_is_asked_without_those_after_it() -> None:
    xlnet = checkpoints.load("atlas-xlnet")
    whole = ["[CLS]", *pieces(xlnet, "Once upon a time there was a king."), "[SEP]"]
    order = 1 + np.random.default_rng(3).permutation(len(whole) - 2)
    example = permutation.corrupt(whole, order.tolist(), 3, (0, len(whole) - 1))
    found = losses.losses(xlnet, example, "order")
    ids = numbers(xlnet, example.source)
    for step, place in enumerate(example.order):
        later = example.order[step:]
        unseen = torch.zeros(1, len(whole), len(whole))
        for row in range(len(whole)):
            found_at = example.order.index(row) if row in example.order else 0
            unseen[0, row, list(example.order[found_at:])] = 1.0
        where = torch.zeros(1, 1, len(whole))
        where[0, 0, place] = 1.0
        blanked = ids.clone()
        blanked[0, list(later)] = 7  # whatever stands there and later, nobody may see it
        with torch.no_grad():
            out = xlnet.model(blanked, perm_mask=unseen, target_mapping=where, use_mems=False).logits[0, 0]
        target = int(ids[0, place])
        assert found.source[place].nats == pytest.approx(-float(out.log_softmax(-1)[target]), rel=1e-3, abs=1e-4)


def test_a_pair_is_read_with_its_languages_and_its_positions() -> None:
    xlm = checkpoints.load("atlas-xlm")
    first, second = pieces(xlm, "My sister reads a book."), pieces(xlm, "Ma sœur lit un livre.")
    rng = np.random.default_rng(1)
    example = translation.corrupt(first, second, ["the"], rng, rate=0.3)
    found = losses.losses(xlm, example, "translation")
    ids = numbers(xlm, example.source)
    half = len(first) + 2
    langs = torch.tensor(
        [[xlm.model.config.lang2id["en"]] * half + [xlm.model.config.lang2id["fr"]] * (len(second) + 2)]
    )
    positions = torch.tensor([[*range(half), *range(len(second) + 2)]])
    with torch.no_grad():
        logs = xlm.model(input_ids=ids, langs=langs, position_ids=positions).logits[0].log_softmax(-1)
    for place in example.asked:
        target = xlm.tokenizer.convert_tokens_to_ids(example.source[place].target)
        assert found.source[place].nats == pytest.approx(-float(logs[place, target]), rel=1e-4, abs=1e-5)
    with pytest.raises(InputUnusable):
        losses.losses(checkpoints.load("atlas-bert"), example, "translation")


def test_teacher_and_student_answer_as_each_does_alone() -> None:
    teacher, student = checkpoints.load("atlas-bert"), checkpoints.load("atlas-distilbert")
    whole = ["[CLS]", *pieces(teacher, "The king gave his daughter a golden ring."), "[SEP]"]
    example = masked.corrupt(whole, ["the"], np.random.default_rng(0), rate=0.3, fixed=(0, len(whole) - 1))
    found = losses.scored(teacher, student, example)
    ids = numbers(teacher, example.source)
    with torch.no_grad():
        plain = student.model(input_ids=ids).logits[0, list(example.asked)].numpy()
    assert found.student == pytest.approx(plain, abs=1e-4)
    assert found.teacher.shape == plain.shape == (len(example.asked), len(found.names))
    assert found.states[0].shape == found.states[1].shape
    assert [teacher.tokenizer.convert_ids_to_tokens(int(i)) for i in found.truth] == [
        example.source[place].target for place in example.asked
    ]
    with pytest.raises(InputUnusable, match="No token"):
        losses.scored(teacher, student, Example((), (Cell("[CLS]"),)))
