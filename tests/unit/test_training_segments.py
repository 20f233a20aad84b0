"""Transformer-XL: segments against one pass, what the memory reaches, the shift, and what is shipped."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from core.training import xlnet_model
from core.training.objectives.causal import SegmentModel
from core.training.recipe import RecipeError
from tests import tinyrecipes

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
    memory, found = None, []
    with torch.no_grad():
        for part in IDS.split(8, dim=1):
            out = library(part, mems=memory)
            memory = out.mems
            found.append(out.logits)
        torch.testing.assert_close(model.full.lm_loss(model(IDS)), torch.cat(found, 1), atol=1e-4, rtol=1e-4)
    assert memory[0].shape == (12, 2, 24)


def test_the_memory_takes_no_slope() -> None:
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


def test_measures_by_hand(objective: Any) -> None:
    class Even(SegmentModel):
        """Gives every token the same score."""

        def forward(self, ids: torch.Tensor, remember: bool = True) -> torch.Tensor:
            return super().forward(ids, remember) * 0

    kept = objective.model.__class__
    objective.model.__class__ = Even
    found = objective.measure()
    objective.model.__class__ = kept
    starts = np.arange(0, len(objective.test) - 48, 48)
    labels = np.stack([objective.test[s + 1 : s + 49] for s in starts[:: max(1, len(starts) // 150)]]).astype(int)
    size = objective.tokenizer.get_vocab_size()
    expected = [math.log2(size) * part.size / objective.bytes[part].sum() for part in (labels, labels[:, 8:])]
    assert list(found.values()) == pytest.approx([expected[0], expected[1], expected[1]], rel=1e-5)


def test_windows_have_to_be_segments(tiny_world: tuple[Path, Path]) -> None:
    found = tinyrecipes.recipe("atlas-transformer-xl")
    with pytest.raises(RecipeError, match="some segments of 7"):
        tinyrecipes.objective(dataclasses.replace(found, data=found.data | {"segment": 7}), *tiny_world)
