"""Our page hands bertviz's script the parameters that bertviz itself would give it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.attention import bertviz as ours
from core.attention.trace import AttentionMap, AttentionTrace

theirs = pytest.importorskip("bertviz")


@pytest.mark.parametrize(("view", "call"), [("head", "head_view"), ("model", "model_view")])
def test_parameters_equal_bertviz_own(view: ours.View, call: str) -> None:
    import torch

    rng = np.random.default_rng(1)

    def found(kind: Any, queries: int, keys: int) -> AttentionMap:
        weights = rng.dirichlet(np.ones(keys), (2, 3, queries)).astype(np.float32)
        return AttentionMap(kind, tuple("abcdef"[:queries]), tuple("uvwxyz"[:keys]), weights)

    encoder, cross = found("encoder", 4, 4), found("cross", 3, 4)
    decoder = found("decoder", 3, 3)
    page = ours.render(AttentionTrace("x", encoder, decoder, cross), view)
    mine = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S).group(1))  # type: ignore[union-attr]

    def tensors(kept: AttentionMap) -> list[Any]:
        return [torch.tensor(layer)[None] for layer in kept.weights]

    html = getattr(theirs, call)(
        encoder_attention=tensors(encoder),
        decoder_attention=tensors(decoder),
        cross_attention=tensors(cross),
        encoder_tokens=list(encoder.key_tokens),
        decoder_tokens=list(decoder.key_tokens),
        html_action="return",
    ).data
    expected = json.loads(re.search(r"const params = (\{.*\}); // HACK", html).group(1))  # type: ignore[union-attr]

    same_keys = set(expected) - {"root_div_id", "include_layers", "include_heads"}
    assert set(expected) <= set(mine)
    for name in same_keys - {"attention", "display_mode", "layer", "heads"}:
        assert mine[name] == expected[name], name
    # bertviz names layers and heads from 0, our pages from 1; the script treats both as names.
    assert mine["include_layers"] == [layer + 1 for layer in expected["include_layers"]]
    assert [packed["name"] for packed in mine["attention"]] == [packed["name"] for packed in expected["attention"]]
    for packed, reference in zip(mine["attention"], expected["attention"], strict=True):
        assert packed["weights"]["shape"] == list(np.shape(reference["attn"]))


@pytest.mark.parametrize("view", ["head", "model", "neuron"])
def test_the_page_holds_the_installed_script_unchanged(view: ours.View) -> None:
    script = (Path(theirs.__file__).parent / f"{view}_view.js").read_text(encoding="utf-8")
    one = np.ones((1, 1, 1, 1), dtype=np.float32)
    map_ = AttentionMap("encoder", ("a",), ("a",), one, queries=one, keys=one)
    assert script in ours.render(AttentionTrace("x", map_), view)


def test_the_neuron_view_is_given_what_bertviz_gives_it() -> None:
    """bertviz's own function runs old copies of models; the names that its script reads are what can be compared."""
    folder = Path(theirs.__file__).parent
    script = (folder / "neuron_view.js").read_text(encoding="utf-8")
    assert "const params = window.bertviz_params" in script
    asked = set(re.findall(r"params\['(\w+)'\]", script))
    asked_of_a_map = set(
        re.findall(r"(?:attnData|attentionFilter)(?:\.|\[')(attn|queries|keys|left_text|right_text)", script)
    )
    assert asked_of_a_map == {"attn", "queries", "keys", "left_text", "right_text"}
    two = np.full((2, 1, 2, 2), 0.5, dtype=np.float32)
    map_ = AttentionMap("decoder", ("a", "b"), ("a", "b"), two, queries=two, keys=two)
    page = ours.render(AttentionTrace("x", decoder=map_), "neuron")
    mine = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S).group(1))  # type: ignore[union-attr]
    assert asked <= set(mine)
    # For GPT-2 bertviz says the same; see ``show`` in its neuron_view.py.
    assert mine["bidirectional"] is False
