"""What `assets/content/interventions/break.md` says of the bundled models, computed again."""

from __future__ import annotations

from functools import cache

import pytest
import torch

from core import checkpoints
from core.errors import InputUnusable
from core.interventions.breaking import SWITCHES, PartLosses, break_part, part_losses
from core.language.makers import inputs
from core.run.run import run

FIRST = "The capital of [MASK] is Paris, and the capital of Italy is Rome."


@cache
def losses() -> dict[str, PartLosses]:
    """Of the bundled models by slug, as far as their parts can be broken."""
    measured = {}
    for spec in checkpoints.available():
        try:
            of_model = part_losses(checkpoints.load(spec.slug))
        except InputUnusable:
            continue
        assert of_model is not None
        measured[spec.slug] = of_model
    return measured


def test_positions_in_reverse_cost_more_than_none() -> None:
    both = [broken for each in losses().values() if "reversed" in (broken := each.broken)]
    assert len(both) == 18
    assert all(broken["reversed"] > broken["positions"] for broken in both)


def test_a_decoder_without_positions_loses_less_than_most_encoders() -> None:
    added: dict[str, dict[str, float]] = {}
    for slug, each in losses().items():
        family = checkpoints.load(slug).spec.family
        if family.answers != "replaced tokens":  # whose bits are those of two classes
            added.setdefault(family.side, {})[slug] = each.broken["positions"] - each.intact
    assert 0.75 <= min(added["decoder"].values()) <= max(added["decoder"].values()) < 2.05
    assert {slug for slug, bits in added["encoder"].items() if bits < 3.5} == {"atlas-xlm"}


def test_seeing_later_tokens_helps_no_decoder() -> None:
    assert all(each.broken.get("causal", 99) > each.intact for each in losses().values())


def test_minilm_loses_more_than_five_bits_to_most_switches() -> None:
    each = losses()["minilm"]
    assert sum(bits > each.intact + 5 for bits in each.broken.values()) > len(each.broken) / 2
    for slug in ("atlas-bert", "atlas-distilbert"):
        small = losses()[slug]
        assert max(small.broken["feed-forward"], small.broken["first"]) < small.intact + 1


def test_the_numbers_of_minilm_are_those_of_its_first_example() -> None:
    checkpoint = checkpoints.load("minilm")
    tensors = inputs(checkpoint, FIRST, step=0).tensors
    for switch, after in (("causal-added", 1), ("padding", 77), ("mask-hidden", 93)):
        (change, *_) = break_part(checkpoint, FIRST, switch).changes
        assert (change.token, round(100 * change.before), round(100 * change.after)) == ("france", 94, after)
    shares = []
    for edits in ({}, SWITCHES["keys"].broken(checkpoint, tensors).edits):
        scores = run(checkpoint.model, tensors, keep={"scores"}, edits=edits)["encoder", 0, "scores"]
        shares.append(float((scores.argmax(-1) == torch.arange(scores.shape[-1])).float().mean()))
    assert shares == pytest.approx([0.07, 0.89], abs=0.005)
    lengths = []
    for edits in ({}, SWITCHES["norm"].broken(checkpoint, tensors).edits):
        state = run(checkpoint.model, tensors, keep={"resid_post"}, edits=edits)["encoder", 5, "resid_post"]
        lengths.append(float(state.norm(dim=-1).mean()))
    assert lengths == pytest.approx([2.6, 214_000], rel=0.02)
