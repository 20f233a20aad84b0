"""Reformer over bytes: its tokens, its slopes against the library's reversible ones, its repeatable steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch.nn import functional

from core.training import optimizers
from core.training.corpus import held_out
from core.training.objectives.hashed import PAD, HashedModel, in_bytes
from core.training.tokenizers import END, single_bytes
from tests import tiny, tinyrecipes

SMALL: dict[str, Any] = tiny.REFORMER | tiny.sized((8, 8), 8, 4) | {"num_hashes": 2}


def model_of() -> HashedModel:
    torch.manual_seed(0)
    return HashedModel(SMALL)


def test_a_byte_is_a_token() -> None:
    tokenizer = single_bytes((PAD, END))
    assert tokenizer.get_vocab_size() == 258
    assert tokenizer.encode("Aé\n").ids == [2 + 65, 2 + 0xC3, 2 + 0xA9, 2 + 10] == in_bytes("Aé\n")
    assert tokenizer.decode(in_bytes("naïve 12\t€")) == "naïve 12\t€"
    assert tokenizer.encode("<|endoftext|>a").ids == [1, 2 + 97]


def test_slopes_are_those_of_the_reversible_layers() -> None:
    ids = torch.randint(2, 258, (2, 64))
    labels = torch.randint(2, 258, (2, 64))
    ours, theirs = model_of().train(), model_of().train()
    for model in (ours, theirs):  # the same rotations, whoever draws them when
        for layer in model.full.reformer.encoder.layers:
            layer.attention.self_attention.hash_seed = 5
    states = ours(ids)
    reversible = theirs.full.reformer(ids).last_hidden_state
    torch.testing.assert_close(states, reversible)
    for model, hidden in ((ours, states), (theirs, reversible)):
        functional.cross_entropy(model.full.lm_head.decoder(hidden).flatten(0, 1), labels.flatten()).backward()
    slopes = dict(theirs.named_parameters())
    for name, value in ours.named_parameters():
        if not value.requires_grad:
            continue
        expected = slopes[name].grad
        assert expected is not None, name
        assert value.grad is not None, name
        assert value.grad.abs().max() > 0, name
        torch.testing.assert_close(value.grad, expected, atol=2e-6, rtol=1e-3)


def test_books_end_to_end_and_whole_books_held_out(tiny_world: tuple[Path, Path]) -> None:
    folder, states = tiny_world
    objective = tinyrecipes.objective("atlas-reformer", folder, states)
    text = (folder / "stories.txt").read_text(encoding="utf-8")
    books = {book.split("\n", 1)[0]: book.split("\n", 1)[1] for book in text.split("=== ")[1:]}
    held = [name for name in books if held_out(name, 25)]
    assert 0 < len(held) < len(books)
    for stream, inside in ((objective.train, False), (objective.test, True)):
        whole = [token for name, lines in books.items() if (name in held) == inside for token in [1, *in_bytes(lines)]]
        assert stream.tolist() == whole


def test_muon_takes_hidden_matrices_alone() -> None:
    model = model_of()
    muon = optimizers.build(model, {"rate": 1e-3, "muon": 1e-3})[1]
    shapes = {tuple(group["params"][0].shape) for group in muon.param_groups}
    assert shapes == {(16, 16), (32, 16), (16, 32)}
    assert len(muon.param_groups) == (4 + 2) + (3 + 2)
