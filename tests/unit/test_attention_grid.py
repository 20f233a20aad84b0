"""The grid page: its numbers are those of the map, it asks for nothing, and its colours are the app's."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from typing import Any

import numpy as np
import pytest

from core.attention import combine
from core.attention.trace import AttentionMap, MapKind
from core.attention.views import grid
from core.errors import OutOfRange

NASTY = ("</script><script>alert(1)</script>", "<!--", "&amp;", "a\u2028b", "\u202egnp.exe", "x" * 10_000)


def _map(kind: MapKind = "encoder", n: int = 5, layers: int = 2, heads: int = 3, **more: Any) -> AttentionMap:
    weights = np.random.default_rng(0).dirichlet(np.ones(n), (layers, heads, n)).astype(np.float32)
    names = ("[CLS]", *(f"t{i}" for i in range(1, n)))
    return AttentionMap(kind, names, names, weights, **more)


def _data(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found is not None
    data: dict[str, Any] = json.loads(found.group(1))
    return data


def _numbers(data: dict[str, Any]) -> np.ndarray[Any, Any]:
    kept = data["weights"]
    whole = np.frombuffer(
        base64.b64decode(kept["bytes"]), dtype=f"<{'i' if kept['signed'] else 'u'}{kept['bits'] // 8}"
    )
    return whole.reshape(kept["shape"]) * np.reshape(kept["scale"], (*kept["shape"][:2], 1, 1))


@pytest.mark.parametrize(("bits", "steps"), [(8, 255), (16, 65535)])
def test_weights_come_back_within_half_a_step_of_their_head(bits: Any, steps: int) -> None:
    found = _map()
    error = np.abs(_numbers(_data(grid.render(found, bits=bits))) - found.weights).max(axis=(2, 3))
    assert (error <= found.weights.max(axis=(2, 3)) / steps / 2 + 1e-7).all()
    assert error.max() <= 1 / 2 / steps


def test_differences_keep_their_sign() -> None:
    found = combine.difference(combine.part(_map(), layer=0), combine.part(_map(), layer=1))
    data = _data(grid.render(found))
    assert data["signed"]
    np.testing.assert_allclose(_numbers(data), found.weights, atol=np.abs(found.weights).max() / 254 + 1e-7)
    assert data["note"].startswith("Differences: ")
    assert _data(grid.render(_map(), difference=True))["signed"]


def test_what_was_not_computed_is_told_and_has_a_legend() -> None:
    whole, part = grid.render(_map()), grid.render(_map("decoder"))
    assert _data(whole)["computed"] is None
    assert "not computed" not in whole.split("<main>")[1].split("</main>")[0]
    assert "not computed" in part.split("<main>")[1].split("</main>")[0]
    kept = _data(part)["computed"]
    flags = np.unpackbits(np.frombuffer(base64.b64decode(kept["bytes"]), np.uint8))[:25].reshape(5, 5)
    assert (flags == np.tri(5)).all()


def test_special_tokens_and_the_second_sentence_travel() -> None:
    data = _data(grid.render(_map(second=3)))
    assert data["specials"] == {"queries": [0], "keys": [0]}
    assert data["second"] == 3


def test_a_head_that_is_asked_for_is_open() -> None:
    assert not _data(grid.render(_map()))["open"]
    assert not _data(grid.render(_map(), layer=1))["open"]
    data = _data(grid.render(_map(), layer=1, head=2))
    assert (data["layer"], data["head"], data["open"]) == (1, 2, True)
    assert _data(grid.render(_map(layers=1, heads=1)))["open"]
    for wanted in ({"layer": 2}, {"head": -1}):
        with pytest.raises(OutOfRange):
            grid.render(_map(), **wanted)


def test_tokens_and_title_cannot_become_markup() -> None:
    n = len(NASTY)
    found = AttentionMap("encoder", NASTY, NASTY, np.full((1, 1, n, n), 1 / n, np.float32))
    page = grid.render(found, title=NASTY[0])
    assert page.count("</script>") == 2  # the data and the script
    assert "alert(1)</script>" not in page
    assert not {"\u2028", "\u202e"} & set(page)
    keys = _data(page)["keys"]
    assert keys[0] == NASTY[0]
    assert keys[4] == "‹u+202e›gnp.exe"  # drawn, so that it turns nothing round
    assert len(keys[5]) == 60
    assert len(page) < 60_000


def test_nothing_is_asked_from_anywhere() -> None:
    page = grid.render(_map())
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None
    assert policy.group(1).startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy.group(1)
    for tag in ("script", "style"):
        for content in re.findall(f"<{tag}>(.*?)</{tag}>", page, re.S):
            digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in policy.group(1)
    assert not re.search(r"\s(src|href|style|on\w+)=", page.split("<script")[0])


def test_sizes_are_as_stated() -> None:
    found = _map(n=128, layers=12, heads=12)
    assert len(grid.render(found)) <= 3_200_000
