"""Training on long texts: segments with a memory, hashed attention, windows; beside the library and by hand."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional

from core.checkpoints.spec import Card, Checkpoint
from core.interventions.heldout import story
from core.run.model import call
from core.sparse import bigbird, reformer
from lab import evaluate, evaluate_decoders, evaluate_encoders, measures, optimizers, xlnet_model
from lab.corpus import held_out
from lab.models import new_model
from lab.objective import linear_cross_entropy
from lab.objectives.causal import CausalModel, SegmentModel
from lab.objectives.hashed import PAD, HashedModel, in_bytes
from lab.recipe import RecipeError
from lab.tokenizers import END, single_bytes
from tests import tiny, tinyrecipes
from tests.tinyfamilies import loaded

SMALL = {"type": "xlnet", "d_model": 24, "n_layer": 2, "n_head": 3, "d_inner": 48, "mem_len": 24}


@pytest.fixture(scope="module")
def objective(tiny_world: tuple[Path, Path]) -> Any:
    return tinyrecipes.objective("atlas-transformer-xl", *tiny_world)


def random_model(segment: int = 8, **more: int) -> SegmentModel:
    torch.manual_seed(0)
    made = SegmentModel(SMALL | more, 60, 0, segment).eval()
    for name, parameter in made.named_parameters():
        if parameter.requires_grad and parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=0.3 if "embedding" not in name else 1.0)
    return made


IDS = torch.randint(1, 60, (2, 32), generator=torch.Generator().manual_seed(1))


def test_without_memory_every_segment_is_a_text_of_its_own() -> None:
    model = random_model()
    with torch.no_grad():
        alone = model(IDS, remember=False)
        for begin in range(0, 32, 8):
            torch.testing.assert_close(alone[:, begin : begin + 8], model(IDS[:, begin : begin + 8]))
    assert (alone - model(IDS)).abs()[:, 8:].max() > 0.01


def test_the_library_reads_segments_the_same() -> None:
    model = random_model(mem_len=12)
    library = xlnet_model.whole(model.full).eval()
    memory, result = None, []
    with torch.no_grad():
        for part in IDS.split(8, dim=1):
            out = library(part, mems=memory)
            memory = out.mems
            result.append(out.logits)
        torch.testing.assert_close(model.full.lm_loss(model(IDS)), torch.cat(result, 1), atol=1e-4, rtol=1e-4)
    assert memory[0].shape == (12, 2, 24)


def test_the_memory_takes_no_gradient() -> None:
    model = random_model()
    embedded = torch.nn.Parameter(model.full.transformer.word_embedding.weight.detach().clone())
    model.full.transformer.word_embedding.weight = embedded
    ids = torch.arange(1, 17)[None]  # every word once, in two segments
    # Weighed: the plain sum of normalized states is always 0, and its slope is rounding.
    weights = torch.randn(24, generator=torch.Generator().manual_seed(0))
    (model(ids)[:, 8:] @ weights).sum().backward()  # type: ignore[no-untyped-call]
    used = embedded.grad.abs().amax(1) > 0
    assert used[9:17].all()
    assert not used[:9].any()


def test_the_next_token_is_the_label(objective: Any) -> None:
    batch = objective.batch(0)
    assert torch.equal(batch["ids"][:, 1:], batch["labels"][:, :-1])
    assert batch["ids"].shape == (5, 48)
    with torch.no_grad():
        scores = objective.model.full.lm_loss(objective.model(batch["ids"]))
        by_segment = [
            functional.cross_entropy(s.flatten(0, 1), y.flatten())
            for s, y in zip(scores.split(8, dim=1), batch["labels"].split(8, dim=1), strict=True)
        ]
        torch.testing.assert_close(objective.loss(batch), torch.stack(by_segment).mean())


def test_measures_by_hand(objective: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Even(SegmentModel):
        """Gives every token the same score."""

        def forward(self, ids: torch.Tensor, remember: bool = True) -> torch.Tensor:
            return super().forward(ids, remember) * 0

    monkeypatch.setattr(objective.model, "__class__", Even)
    measures = objective.measure()
    starts = np.arange(0, len(objective.test) - 48, 48)
    labels = np.stack([objective.test[s + 1 : s + 49] for s in starts[:: max(1, len(starts) // 150)]]).astype(int)
    size = objective.tokenizer.get_vocab_size()
    expected = [math.log2(size) * part.size / objective.bytes[part].sum() for part in (labels, labels[:, 8:])]
    assert list(measures.values()) == pytest.approx([expected[0], expected[1], expected[1]], rel=1e-5)


def test_windows_have_to_be_segments(tiny_world: tuple[Path, Path]) -> None:
    loaded = tinyrecipes.recipe("atlas-transformer-xl")
    with pytest.raises(RecipeError, match="a multiple of the segment, 7"):
        tinyrecipes.objective(dataclasses.replace(loaded, data=loaded.data | {"segment": 7}), *tiny_world)


def test_an_unknown_type_is_refused_in_a_sentence() -> None:
    with pytest.raises(RecipeError, match="no model of the type 'nonsense'"):
        new_model({"type": "nonsense"}, "CausalLM")


@pytest.mark.parametrize("name", ["atlas-gpt-2", "atlas-gpt-neo", "atlas-llama", "atlas-ctrl"])
def test_embeddings_are_tied_and_stay_with_adam(name: str, tmp_path: Path) -> None:
    model = CausalModel(tinyrecipes.recipe(name).model, 60, 0)
    table = model.full.get_input_embeddings().weight
    assert model.full.lm_head.weight is table
    adam, muon = optimizers.build(model, {"rate": 1e-3, "muon": 1e-3})
    assert any(p is table for group in adam.param_groups for p in group["params"])
    assert all(p.ndim == 2 for group in muon.param_groups for p in group["params"])
    model.full.save_pretrained(tmp_path)
    assert sum(value.shape == (60, 16) for value in load_file(tmp_path / "model.safetensors").values()) == 1


def test_cross_entropy_with_a_bias_is_the_librarys() -> None:
    torch.manual_seed(0)
    hidden, bias = torch.randn(7, 5, requires_grad=True), torch.randn(9, requires_grad=True)
    weight = nn.Parameter(torch.randn(9, 5))
    labels = torch.tensor([0, 8, 3, 3, 1, 2, 7])
    gradients = torch.autograd.grad(linear_cross_entropy(hidden, weight, labels, bias), (hidden, weight, bias))
    loss = functional.cross_entropy(functional.linear(hidden, weight, bias), labels)
    for mine, theirs in zip(gradients, torch.autograd.grad(loss, (hidden, weight, bias)), strict=True):
        torch.testing.assert_close(mine, theirs)
    even = linear_cross_entropy(torch.zeros(2, 5), weight, labels[:2], torch.zeros(9))
    assert float(even) == pytest.approx(math.log(9))


SMALL_HASHED: dict[str, Any] = tiny.REFORMER | tiny.sized((8, 8), 8, 4) | {"num_hashes": 2}


def model_of() -> HashedModel:
    torch.manual_seed(0)
    return HashedModel(SMALL_HASHED)


def test_a_byte_is_a_token() -> None:
    tokenizer = single_bytes((PAD, END))
    assert tokenizer.get_vocab_size() == 258
    assert tokenizer.encode("Aé\n").ids == [2 + 65, 2 + 0xC3, 2 + 0xA9, 2 + 10] == in_bytes("Aé\n")
    assert tokenizer.decode(in_bytes("naïve 12\t€")) == "naïve 12\t€"
    assert tokenizer.encode("<|endoftext|>a").ids == [1, 2 + 97]


def test_gradients_are_those_of_the_reversible_layers() -> None:
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
        tokens = [token for name, lines in books.items() if (name in held) == inside for token in [1, *in_bytes(lines)]]
        assert stream.tolist() == tokens


def test_muon_trains_hidden_matrices_alone() -> None:
    model = model_of()
    muon = optimizers.build(model, {"rate": 1e-3, "muon": 1e-3})[1]
    shapes = {tuple(group["params"][0].shape) for group in muon.param_groups}
    assert shapes == {(16, 16), (32, 16), (16, 32)}
    assert len(muon.param_groups) == (4 + 2) + (3 + 2)


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return loaded(tiny.tiny_longformer(tmp_path_factory.mktemp("longformer"), positions=1024), "masked-lm")


@pytest.fixture(scope="module")
def hashing(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return loaded(tiny.tiny_reformer(tmp_path_factory.mktemp("reformer")), "causal-lm")


def test_pairs_far_by_hand() -> None:
    ids = np.array([9, 5, 7, 5, 7, 7, 8, 9])
    rare = np.array([5, 7, 9])
    assert evaluate_encoders.pairs_far(ids, rare, 2, 9) == [(0, 7), (1, 3)]
    assert evaluate_encoders.pairs_far(ids, rare, 3, 9) == [(0, 7)]
    assert evaluate_encoders.pairs_far(ids, np.array([7]), 1, 9) == []  # three times


def test_the_base_reads_pieces_and_the_windows_the_whole(long: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    """A base that is the same model, with chunks as long as the text: both predict alike."""
    ids = np.random.default_rng(0).integers(5, len(long.tokenizer), 64)

    from core import checkpoints

    class Base:
        @staticmethod
        def model(input_ids: torch.Tensor) -> Any:
            mask = torch.zeros_like(input_ids)
            mask[:, 0] = 1
            return call(
                long.model,
                input_ids=input_ids,
                attention_mask=torch.ones_like(input_ids),
                global_attention_mask=mask,
            )

    monkeypatch.setattr(evaluate_encoders, "SHORT", 64)
    monkeypatch.setattr(checkpoints, "load", lambda _: Base)
    card = Card("Tiny", "-", (), (), "-", 0, 0, 0, "-", base="the same")
    grown = dataclasses.replace(long, spec=dataclasses.replace(long.spec, card=card))
    numbers = evaluate_encoders.windowed(grown, [ids])
    assert numbers["top-5"] == numbers["base in pieces top-5"] == numbers["in pieces top-5"]


def test_pieces_are_read_at_their_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that adds one to its left neighbor, on a text that counts: it fails after a mask or a piece's start."""
    checkpoint = loaded(tiny.tiny_bigbird(tmp_path), "masked-lm")
    size = len(checkpoint.tokenizer)
    text = np.array([checkpoint.tokenizer.cls_token_id, *range(10, 50), checkpoint.tokenizer.sep_token_id])

    def forward(_: Any, ids: list[int], positions: list[int], how: Any) -> Any:
        return np.eye(size + 1)[[ids[at - 1] + 1 for at in positions]]

    masked = np.array([3, 4, 9, 11, 22])  # 4 follows a mask; 9 and 11 are where pieces of 8 and of 10 + 2 begin
    corrupted = text.copy()
    corrupted[masked] = checkpoint.tokenizer.mask_token_id
    monkeypatch.setattr(evaluate_encoders, "token_ids", lambda *_, **__: text.tolist())
    monkeypatch.setattr(measures, "mask_words", lambda *_: (corrupted, masked))
    monkeypatch.setattr(bigbird, "forward", forward)
    for piece, right in ((100, 80.0), (10, 60.0), (12, 60.0)):
        monkeypatch.setattr(evaluate_encoders, "PIECE", piece)
        numbers = evaluate_encoders.sparse_and_full(checkpoint, (["-"], len(text)))
        top = {"sparse top-1": 80.0, "full top-1": 80.0, f"full, in pieces of {piece} top-1": right}
        assert {name: share for name, share in numbers.items() if name.endswith("top-1")} == top


def test_far_words_are_predicted_with_the_other_occurrence_and_without(long: Checkpoint) -> None:
    books = [np.random.default_rng(1).permutation(np.repeat(np.arange(5, 5 + 100), 2)) for _ in range(2)]
    far_words = evaluate_encoders.far_words(long, books, length=128)
    names = {
        attention + name.format(f"{low} to {high} tokens away")
        for attention in ("", "full, ")
        for name in ("rare word repeated {}, top-5", "rare word, repetition {} masked, top-5")
        for low, high in evaluate_encoders.FAR
    }
    assert set(far_words) == names
    assert all(0 <= value <= 100 for value in far_words.values())


def test_bits_of_the_story_are_the_librarys(hashing: Checkpoint) -> None:
    result = evaluate.measure("hashed-lm", hashing)
    (on,) = result
    text = story()
    theirs = measures.bits_per_byte(hashing, text)
    assert result[on]["bits per byte"] == pytest.approx(theirs, rel=1e-4)
    shares = [result[on][f"attention weight covered, {n} round{'s' * (n > 1)}"] for n in reformer.ROUNDS]
    assert shares == sorted(shares)
    assert 0 < shares[0] < shares[-1] <= 100 + 1e-3


def test_reading_is_measured_by_hand(hashing: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    book = np.random.default_rng(0).integers(2, 258, 2 * 256).tolist()
    monkeypatch.setattr(evaluate_decoders, "ENDS", 32)
    numbers = evaluate_decoders.by_reading(hashing, [book])
    bits = [reformer.surprisals(hashing.model, book[at : at + 256]) for at in (0, 256)]
    assert numbers["bits per byte"] == pytest.approx(float(torch.cat(bits).mean()), rel=1e-5)
    ends = torch.cat([part[-evaluate_decoders.ENDS :] for part in bits])
    assert numbers["bits per byte, 256 read"] == pytest.approx(float(ends.mean()), rel=1e-5)
    read = (
        reformer.surprisals(hashing.model, book[-64:])[-32:].mean()
        + reformer.surprisals(hashing.model, book[192:256])[-32:].mean()
    )
    assert numbers["bits per byte, 64 read"] == pytest.approx(float(read) / 2, rel=1e-5)
