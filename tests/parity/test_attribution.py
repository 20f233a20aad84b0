"""Shares of a logit against transformers' own model with norms, activation and other parts held at their values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from core import checkpoints
from core.errors import InputUnusable
from core.interventions.attribution import Attribution, attribute
from core.interventions.pairs import pairs_of
from core.language.makers import inputs
from tests.library import library_model


class Held(nn.Module):
    """What a module does, linear around one input."""

    def __init__(self, factor: torch.Tensor, bias: torch.Tensor, centered: bool) -> None:
        super().__init__()
        self.factor, self.bias, self.centered = factor, bias, centered

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x - x.mean(-1, keepdim=True) if self.centered else x) * self.factor + self.bias


def seen(model: Any, tensors: dict[str, Any], paths: list[str]) -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    """The input and the output of modules in one pass."""
    found: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}
    hooks = [
        model.get_submodule(path).register_forward_hook(
            lambda _, given, out, path=path: found.__setitem__(path, (given[0].clone(), out.clone()))
        )
        for path in paths
    ]
    with torch.inference_mode():
        model(**tensors)
    for hook in hooks:
        hook.remove()
    return found


def without(
    model: Any,
    tensors: dict[str, Any],
    sub_layers: list[str],
    norms: list[str],
    path: str,
    vector: torch.Tensor,
    at: int,
) -> torch.Tensor:
    """The logits at ``at`` if what a sub-layer wrote lacks ``vector``, and everything else stays as it is."""
    found = seen(model, tensors, [*sub_layers, *norms])
    for name in sub_layers:
        taken = torch.zeros_like(found[name][1])
        if name == path:
            taken[0, at] = vector
        model.get_submodule(name).register_forward_hook(
            lambda _, __, ___, constant=found[name][1] - taken: constant  # what it wrote in the whole model
        )
    for name in norms:
        given, out = found[name]
        module = model.get_submodule(name)
        centered = isinstance(module, nn.LayerNorm)
        bias = module.bias if centered else torch.zeros(())
        factor = (out - bias) / (given - given.mean(-1, keepdim=True) if centered else given)
        owner, _, last = name.rpartition(".")
        setattr(model.get_submodule(owner), last, Held(factor, bias, centered))
    with torch.inference_mode():
        return model(**tensors).logits[0, at]


BERT = ("bert.encoder.layer.{}.attention.output.dense", "bert.encoder.layer.{}.output.dense")
GPT_2 = ("transformer.h.{}.attn.c_proj", "transformer.h.{}.mlp.c_proj")


@pytest.mark.parametrize(
    ("slug", "sub_layers", "norms", "activation", "heads"),
    [
        (
            "minilm",
            BERT,
            lambda i: [
                f"bert.encoder.layer.{i}.attention.output.LayerNorm",
                f"bert.encoder.layer.{i}.output.LayerNorm",
            ],
            ["cls.predictions.transform.transform_act_fn", "cls.predictions.transform.LayerNorm"],
            12,
        ),
        ("atlas-gpt-2", GPT_2, lambda i: [], ["transformer.ln_f"], 8),
    ],
)
def test_a_share_is_what_the_logit_lacks_without_it(
    slug: str, sub_layers: tuple[str, str], norms: Callable[[int], list[str]], activation: list[str], heads: int
) -> None:
    checkpoint = checkpoints.load(slug)
    pair = next(iter(pairs_of(checkpoint.spec).values()))
    shares = attribute(checkpoint, pair.first, pair.answers)
    question = inputs(checkpoint, pair.first, step=0)
    layers = checkpoint.model.config.num_hidden_layers
    paths = [name.format(i) for i in range(layers) for name in sub_layers]
    held = [name for i in range(layers) for name in norms(i)] + activation
    ids = [checkpoint.tokenizer(f" {word}", add_special_tokens=False)["input_ids"][0] for word in pair.answers]
    with torch.inference_mode():
        whole = library_model(checkpoint.model)(**question.tensors).logits[0, question.position]
    assert shares.total == pytest.approx(float(whole[ids[0]] - whole[ids[1]]), abs=1e-3)
    assert sum(part.value for part in shares.parts) == pytest.approx(shares.total, abs=2e-3)
    strongest = max((part for part in shares.parts if part.head is not None), key=lambda part: part.value)
    feed_forward = max((part for part in shares.parts if part.source == "feed-forward"), key=lambda part: part.value)
    for part, name in ((strongest, sub_layers[0]), (feed_forward, sub_layers[1])):
        library = library_model(checkpoint.model)
        path = name.format(part.layer)
        given, out = seen(library, question.tensors, [path])[path]
        vector = out[0, question.position]
        if part.head is not None:
            weight = library.get_submodule(path).weight
            weight = weight.T if slug == "atlas-gpt-2" else weight
            size = weight.shape[1] // heads
            here = slice(part.head * size, (part.head + 1) * size)
            vector = weight[:, here] @ given[0, question.position, here]
        lacking = without(library, question.tensors, paths, held, path, vector, question.position)
        difference = float(lacking[ids[0]] - lacking[ids[1]])
        assert part.value == pytest.approx(shares.total - difference, abs=5e-3)
        assert part.value > 0.15


@pytest.mark.parametrize(
    "slug", ["atlas-llama", "atlas-t5", "atlas-bart", "atlas-electra", "atlas-roberta", "atlas-albert"]
)
def test_shares_sum_in_every_kind_of_model(slug: str) -> None:
    checkpoint = checkpoints.load(slug)
    shares = attribute(checkpoint, next(iter(pairs_of(checkpoint.spec).values())).first)
    assert sum(part.value for part in shares.parts) == pytest.approx(shares.total, abs=2e-3)
    assert any(part.head is not None and abs(part.value) > 0.01 for part in shares.parts)


@pytest.mark.parametrize(
    ("slug", "reason"),
    [
        ("atlas-xlnet", "its layers carry two streams"),
        ("atlas-reformer", "its layers carry two streams"),
        ("atlas-adapter-bert", "its head reads the mean of all states"),
    ],
)
def test_models_whose_parts_do_not_sum_are_refused(slug: str, reason: str) -> None:
    with pytest.raises(InputUnusable, match=f"do not sum to its logits here: {reason}."):
        attribute(checkpoints.load(slug), "The cat [MASK] on the mat." if slug == "atlas-xlnet" else "The cat sat.")


def shares_of(slug: str) -> tuple[dict[tuple[str, int | None], float], Attribution]:
    """The sums by source and layer, as shares of the first example's difference."""
    checkpoint = checkpoints.load(slug)
    pair = next(iter(pairs_of(checkpoint.spec).values()))
    shares = attribute(checkpoint, pair.first, pair.answers, step=pair.step, beside=pair.second)
    sums: dict[tuple[str, int | None], float] = {}
    for part in shares.parts:
        sums[part.source, part.layer] = sums.get((part.source, part.layer), 0) + part.value / shares.total
    return sums, shares


def test_where_encoders_write_the_first_example() -> None:
    minilm, _ = shares_of("minilm")
    last = sum(share for (source, layer), share in minilm.items() if layer in (4, 5))
    assert last == pytest.approx(0.85, abs=0.01)
    _, bert = shares_of("atlas-bert")
    head = max((part for part in bert.parts if part.head is not None), key=lambda part: part.value)
    assert (head.layer, head.value / bert.total) == (0, pytest.approx(0.5, abs=0.03))
    albert, _ = shares_of("atlas-albert")
    assert albert["feed-forward", 3] > 1


@pytest.mark.parametrize("slug", ["atlas-gpt-2", "atlas-gpt-neo", "atlas-llama", "atlas-ctrl"])
def test_two_heads_write_most_of_what_a_decoder_attends_to(slug: str) -> None:
    sums, shares = shares_of(slug)
    heads = sorted((part for part in shares.parts if part.head is not None), key=lambda part: -part.value)
    assert heads[0].layer == 3
    attended = sum(share for (source, _), share in sums.items() if source == "attention")
    assert sum(part.value for part in heads[:2]) / shares.total > 0.7 * attended


@pytest.mark.parametrize(
    ("slug", "source", "written"),
    [
        ("atlas-t5", "feed-forward", 0.58),
        ("atlas-bart", "feed-forward", 0.62),
        ("atlas-byt5", "feed-forward", 0.57),
        ("atlas-m2m-100", "cross", 0.54),
        ("atlas-bert2bert", "cross", 0.89),
    ],
)
def test_what_crosses_is_written_by_feed_forward_layers_or_by_cross_attention(
    slug: str, source: str, written: float
) -> None:
    sums, _ = shares_of(slug)
    assert sum(share for (name, _), share in sums.items() if name == source) == pytest.approx(written, abs=0.01)
