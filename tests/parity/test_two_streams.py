"""Both streams of XLNet in one run: the library's own numbers, sites of each stream, and edits of one alone."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from core.language.permuted import streams
from core.language.segments import run_segments, run_text
from core.patterns import ranks
from core.run.run import Site, run
from tests import tinyfamilies
from tests.library import library_model

GENERATOR = torch.Generator().manual_seed(1)
IDS = torch.randint(5, 100, (2, 14), generator=GENERATOR)
SEGMENTS = {"token_type_ids": (torch.arange(14) > 8).long().expand(2, -1)}
PADDED = {"attention_mask": torch.ones(2, 14).index_fill(1, torch.tensor([12, 13]), 0)}
STATES = ("resid_pre", "ln1", "resid_mid", "mlp_out", "resid_post")


def targets() -> dict[str, torch.Tensor]:
    """Three tokens to predict of the first row, others of the second."""
    rows = [streams(IDS[:1], ranks(places, 14), places) for places in ([4, 9, 2], [0, 7, 13])]
    return {name: torch.cat([row[name] for row in rows]) for name in rows[0]}


@pytest.mark.parametrize("name", ["xlnet", "xlnet-left"])
@pytest.mark.parametrize("targeted", [False, True])
@pytest.mark.parametrize("more", [{}, SEGMENTS, PADDED], ids=["plain", "segments", "padded"])
def test_states_and_answers_of_both_streams_are_the_librarys(name: str, targeted: bool, more: dict[str, Any]) -> None:
    model: Any = tinyfamilies.make(name).model
    rows = slice(None) if name == "xlnet" else slice(1)  # the library's causal mask takes a single row beside another
    inputs = {"input_ids": IDS, **more, **(targets() if targeted else {})}
    inputs = {part: tensor[rows] for part, tensor in inputs.items()}
    with torch.inference_mode():
        theirs = library_model(model)(**inputs, output_hidden_states=True)
    recorded = run(model, inputs, keep=set(STATES))
    torch.testing.assert_close(recorded.output.logits, theirs.logits, atol=1e-5, rtol=1e-5)
    kinds: Any = ("decoder", "query") if targeted else ("encoder" if name == "xlnet" else "decoder",)
    assert {site.kind for site in recorded.tensors} == set(kinds)
    for number, kind in enumerate(kinds):
        states = [recorded[kind, 0, "resid_pre"], *recorded.layers(kind, "resid_post")]
        for state, expected in zip(states, theirs.hidden_states[number :: len(kinds)], strict=True):
            torch.testing.assert_close(state, expected, atol=1e-5, rtol=1e-5)


def test_the_sites_of_a_stream_follow_from_each_other() -> None:
    model: Any = tinyfamilies.make("xlnet").model
    keep = {*STATES, "pattern", "z", "attn_out", "mlp_post", "v", "terms", "scores"}
    recorded = run(model, {"input_ids": IDS, **SEGMENTS, **targets()}, keep=keep)
    for kind, count in (("decoder", 14), ("query", 3)):
        for layer, block in enumerate(model.transformer.layer):
            at = {name: recorded[kind, layer, name] for name in keep - {"terms"}}
            assert at["pattern"].shape == (2, 2, count, 14)
            torch.testing.assert_close(sum(recorded.terms(kind, layer).values()), at["scores"])
            torch.testing.assert_close((at["pattern"] @ at["v"]).transpose(1, 2), at["z"])
            torch.testing.assert_close(torch.einsum("bqnd,hnd->bqh", at["z"], block.rel_attn.o), at["attn_out"])
            middle = block.rel_attn.layer_norm(at["resid_pre"] + at["attn_out"])
            torch.testing.assert_close(middle, at["resid_mid"])
            torch.testing.assert_close(block.ff.layer_2(at["mlp_post"]), at["mlp_out"])
            torch.testing.assert_close(block.ff.layer_norm(middle + at["mlp_out"]), at["resid_post"])


@pytest.mark.parametrize(("edited", "other"), [("decoder", "query"), ("query", "decoder")])
def test_a_head_is_ablated_in_one_stream(edited: Any, other: Any) -> None:
    model: Any = tinyfamilies.make("xlnet").model
    inputs = {"input_ids": IDS, **targets()}

    def without(z: torch.Tensor) -> torch.Tensor:
        return z.index_fill(2, torch.tensor([1]), 0)

    plain = run(model, inputs, keep={"resid_post", "attn_out"})
    ablated = run(model, inputs, keep={"resid_post", "attn_out"}, edits={Site(edited, 0, "z"): without})
    assert not torch.allclose(ablated[edited, 0, "resid_post"], plain[edited, 0, "resid_post"])
    assert torch.equal(ablated[other, 0, "resid_post"], plain[other, 0, "resid_post"])
    passed_on = not torch.equal(ablated[other, 1, "resid_post"], plain[other, 1, "resid_post"])
    assert passed_on is (edited == "decoder")  # nothing attends to the query stream
    assert torch.equal(run(model, inputs).output.logits, plain.output.logits)


def test_the_run_of_a_long_text_is_that_of_its_segments() -> None:
    model: Any = tinyfamilies.make("xlnet-left").model
    recorded = run_text(model, {"input_ids": IDS[:1]}, {"pattern", "k", "z", "resid_post", "mask"}, segment=5)
    assert recorded["decoder", 1, "k"].shape == (1, 2, 14, 8)
    assert recorded["decoder", 1, "z"].shape == (1, 14, 2, 8)
    patterns, masks = recorded.layers("decoder", "pattern"), recorded.layers("decoder", "mask")
    with torch.inference_mode():
        passes = list(run_segments(library_model(model), IDS[:1], segment=5, output_attentions=True))
    end = 0
    for out in passes:
        for layer, expected in enumerate(out.attentions):
            rows, keys = expected.shape[2:]
            part = slice(end, end + rows), slice(end + rows - keys, end + rows)
            torch.testing.assert_close(patterns[layer][0, :, *part], expected[0], atol=1e-5, rtol=1e-5)
            assert torch.equal(masks[layer][0, 0, *part], expected[0, 0] > 0)
        end += rows
    torch.testing.assert_close(patterns[1].sum(-1), torch.ones(1, 2, 14))
