"""The list of live models: orders, leading measures, and kinds that nobody has thought of yet."""

from __future__ import annotations

from typing import Any

import pytest

from core.checkpoints.listing import Listed, live, ordered
from core.checkpoints.sizes import Size
from core.checkpoints.spec import Card, CheckpointSpec, Measure


def model(slug: str, *, size: Size | None = None, measure: Measure | None = None, **changes: Any) -> Listed:
    card = None
    if "tokens" in changes or measure is not None:
        measures = (measure,) if measure else ()
        card = Card(slug, "", (), (), slug, 1, changes.pop("tokens", 0), 1, "", measures=measures)
    values: dict[str, Any] = {
        "slug": slug,
        "name": slug.upper(),
        "system": None,
        "branch": "encoder",
        "kind": "masked-lm",
        "source": "bundled",
        "origin": "",
        "location": "",
        "ready": True,
        "card": card,
    }
    return Listed(CheckpointSpec(**{**values, **changes}), size)


MODELS = (
    model("a", size=Size(5, 40, 100, 200), tokens=10, branch="efficient"),
    model("b", size=Size(50, 100), tokens=30),
    model("c", size=Size(7, 400), branch="decoder"),
    model("d", branch="of-its-own", kind="unheard-of"),
)


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("branch", "bcad"),  # encoder, decoder, efficient; a branch that has no page last
        ("name", "abcd"),
        ("few", "cbad"),  # 7, 50, 105 with its base; unknown last
        ("many", "abcd"),
        ("bytes", "bacd"),  # 100, 240, 400
        ("tokens", "bacd"),  # 30, 10, not stated
        ("fast", "cbad"),
    ],
)
def test_orders(by: str, expected: str) -> None:
    assert "".join(m.spec.slug for m in ordered(MODELS, by, {"c": 0.01, "b": 0.02})) == expected


def test_only_like_qualities_are_put_in_order() -> None:
    bits = [
        model(slug, measure=Measure("bits per byte", value, "bits", "a story"))
        for slug, value in (("x", 1.3), ("y", 1.0))
    ]
    shares = [model(slug, measure=Measure("top-1", value, "%", "cloze")) for slug, value in (("u", 60.0), ("v", 63.0))]
    none = model("n")
    found = [m.spec.slug for m in ordered([none, *shares, *bits], "quality")]
    assert found == ["y", "x", "v", "u", "n"]  # fewer bits are better, more right words are


def test_live_models_state_size_tokens_and_quality() -> None:
    found = {m.spec.slug: m for m in live()}
    assert found["atlas-gpt-2"].tokens == 31_002_624
    quality = found["atlas-gpt-2"].quality
    assert (quality.name, quality.unit) == ("bits per byte", "bits")
    named = {slug: found[slug].quality for slug in ("atlas-electra", "atlas-bart")}  # not the first of their cards
    assert [measure and measure.name for measure in named.values()] == ["balanced accuracy", "mask chrF after"]
    assert all(m.spec.ready and m.size is not None for m in found.values())
