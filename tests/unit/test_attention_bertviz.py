"""The head view page: complete, offline, safe, small; its numbers are those of the trace."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from typing import Any

import numpy as np
import pytest

from core.attention import bertviz
from core.attention.trace import AttentionMap, AttentionTrace, MapKind
from core.errors import NoAttentionMatrix, OutOfRange
from core.settings import ASSETS

NASTY = ("</script><script>alert(1)</script>", "<!--", "&amp;", "a\u2028b", "\"'\\", "⟨E2 98⟩")


def _map(kind: MapKind, queries: int, keys: int, layers: int = 2, heads: int = 3) -> AttentionMap:
    weights = np.random.default_rng(0).dirichlet(np.ones(keys), (layers, heads, queries)).astype(np.float32)
    return AttentionMap(kind, tuple(f"q{i}" for i in range(queries)), tuple(f"k{i}" for i in range(keys)), weights)


def _data(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found is not None
    data: dict[str, Any] = json.loads(found.group(1))
    return data


def _weights(packed: dict[str, Any]) -> np.ndarray[Any, Any]:
    return np.frombuffer(base64.b64decode(packed["weights"]), dtype=np.uint8).reshape(packed["shape"]) / 255


def test_weights_come_back_within_half_a_step() -> None:
    found = _map("encoder", 5, 5)
    packed = _data(bertviz.render(AttentionTrace("x", encoder=found)))["attention"][0]
    assert np.abs(_weights(packed) - found.weights).max() <= 0.5 / 255 + 1e-6


def test_layers_are_named_from_one_and_the_choice_is_kept() -> None:
    params = _data(bertviz.render(AttentionTrace("x", encoder=_map("encoder", 4, 4)), layer=1, heads=[2]))
    assert params["include_layers"] == [1, 2]
    assert params["layer"] == 2
    assert params["heads"] == [2]


def test_wanted_map_comes_first_and_others_can_be_chosen() -> None:
    trace = AttentionTrace("x", encoder=_map("encoder", 4, 4), decoder=_map("decoder", 3, 3), cross=_map("cross", 3, 4))
    page = bertviz.render(trace, kind="cross")
    assert [packed["name"] for packed in _data(page)["attention"]] == ["Cross", "Encoder", "Decoder"]
    assert _data(page)["attention"][0]["shape"] == [2, 3, 3, 4]
    assert '<option value="0">Cross</option>' in page


def test_maps_of_other_sizes_are_left_out() -> None:
    trace = AttentionTrace("x", encoder=_map("encoder", 4, 4, layers=3), decoder=_map("decoder", 3, 3))
    assert [packed["name"] for packed in _data(bertviz.render(trace, kind="decoder"))["attention"]] == ["Decoder"]


def test_tokens_and_title_cannot_become_markup() -> None:
    n = len(NASTY)
    trace = AttentionTrace("x", encoder=AttentionMap("encoder", NASTY, NASTY, np.full((1, 1, n, n), 1 / n, np.float32)))
    page = bertviz.render(trace, title=NASTY[0])
    assert "alert(1)</script>" not in page
    assert page.count("</script>") == 5  # the data, two libraries, the glue, the view
    assert "\u2028" not in page
    assert _data(page)["attention"][0]["left_text"][2] == "&amp;"
    assert _data(page)["attention"][0]["left_text"][0] == "</script><s…"


@pytest.mark.parametrize("view", ["head", "model"])
def test_nothing_is_asked_from_anywhere(view: bertviz.View) -> None:
    page = bertviz.render(AttentionTrace("x", encoder=_map("encoder", 4, 4)), view)
    assert not re.search(r"<(script|link|img|iframe)[^>]+(src|href)=", page)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None
    assert policy.group(1).startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy.group(1)
    for script in re.findall(r"<script>(.*?)</script>", page, re.S):
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy.group(1)


def test_a_sentence_of_forty_tokens_stays_small() -> None:
    page = bertviz.render(AttentionTrace("x", encoder=_map("encoder", 40, 40, layers=6, heads=12)))
    scripts = sum(map(len, re.findall(r"<script>(.*?)</script>", page, re.S)))
    assert len(page) - scripts < 200_000


def test_long_texts_are_cut_for_this_view() -> None:
    found = _map("encoder", 200, 200, layers=1, heads=12)
    shown = bertviz.shown_tokens(found)
    assert shown == 64  # 12 heads x 64² lines are below 50,000, 12 x 65² are above
    assert _data(bertviz.render(AttentionTrace("x", encoder=found)))["attention"][0]["shape"] == [1, 12, 64, 64]
    assert bertviz.shown_tokens(_map("encoder", 7, 9)) == 9


@pytest.mark.parametrize(("layer", "heads"), [(2, None), (-1, None), (0, [3])])
def test_layers_and_heads_that_do_not_exist(layer: int, heads: list[int] | None) -> None:
    with pytest.raises(OutOfRange):
        bertviz.render(AttentionTrace("x", encoder=_map("encoder", 4, 4)), layer=layer, heads=heads)


def test_what_cannot_be_shown_is_said() -> None:
    trace = AttentionTrace("x", encoder=_map("encoder", 4, 4))
    with pytest.raises(NoAttentionMatrix):
        bertviz.render(trace, "neuron")
    with pytest.raises(NoAttentionMatrix):
        bertviz.render(trace, kind="cross")
    with pytest.raises(NoAttentionMatrix):
        bertviz.render(AttentionTrace("x"))


def test_kept_scripts_are_as_published() -> None:
    rows = re.findall(
        r"\| `([\w.-]+)` \| [\d.]+ \| `([\w.]+)` \| `([0-9a-f]{64})` \|", (ASSETS / "vendor/README.md").read_text()
    )
    assert len(rows) == 2
    for folder, name, digest in rows:
        content = (ASSETS / "vendor" / folder / name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == digest
        assert b"</script" not in content.lower()
        assert (ASSETS / "vendor" / folder / "LICENSE").is_file()
