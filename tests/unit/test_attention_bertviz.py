"""bertviz's pages: what they are sent is what the trace holds, and what cannot be shown is said."""

from __future__ import annotations

import hashlib
import re
from typing import Any

import numpy as np
import pytest

from core.attention import bertviz
from core.attention.trace import AttentionMap, AttentionTrace, MapKind
from core.errors import NoAttentionMatrix, OutOfRange
from core.settings import ASSETS
from tests.attention_pages import data_of, unpacked


def _map(kind: MapKind, queries: int, keys: int, layers: int = 2, heads: int = 3, *, vectors: bool = False) -> Any:
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.ones(keys), (layers, heads, queries)).astype(np.float32)
    names = tuple(f"q{i}" for i in range(queries)), tuple(f"k{i}" for i in range(keys))
    shape = (layers, heads, queries, 4)
    more = {name: rng.normal(size=shape).astype(np.float32) for name in ("queries", "keys") if vectors}
    return AttentionMap(kind, *names, weights, **more)  # type: ignore[arg-type]


def _data(view: bertviz.View = "head", *, maps: dict[str, AttentionMap], **how: Any) -> dict[str, Any]:
    return data_of(bertviz.render(AttentionTrace("x", **maps), view, **how))  # type: ignore[arg-type]


def test_the_wanted_map_comes_first_and_others_of_its_size_can_be_chosen() -> None:
    maps = {"encoder": _map("encoder", 4, 4), "decoder": _map("decoder", 3, 3), "cross": _map("cross", 3, 4)}
    sent = _data(maps=maps, kind="cross")["attention"]
    assert [one["name"] for one in sent] == ["Cross", "Encoder", "Decoder"]
    assert sent[0]["weights"]["shape"] == [2, 3, 3, 4]
    other = {"encoder": _map("encoder", 4, 4, layers=3), "decoder": _map("decoder", 3, 3)}
    assert [one["name"] for one in _data(maps=other, kind="decoder")["attention"]] == ["Decoder"]


def test_a_framed_page_shows_what_can_be_drawn_and_one_with_menus_has_all() -> None:
    maps = {"encoder": _map("encoder", 80, 80, layers=1, heads=12)}
    whole, framed = (_data(maps=maps, controls=controls) for controls in (True, False))
    # 12 heads x 64² lines are below 50,000, 12 x 65² are above.
    assert whole["most"] == framed["most"] == bertviz.tokens_at_once(maps["encoder"]) == 64
    assert whole["attention"][0]["weights"]["shape"] == [1, 12, 80, 80]
    assert framed["attention"][0]["weights"]["shape"] == [1, 12, 64, 64]
    assert framed["attention"][0]["left_text"] == [f"q{i}" for i in range(64)]


def test_layers_and_heads_can_be_left_out() -> None:
    found = _map("encoder", 4, 4, layers=3, heads=5)
    chosen = {"layer": 2, "heads": [3], "include_layers": [0, 2], "include_heads": [3, 1]}
    params = _data(maps={"encoder": found}, **chosen)
    assert (params["include_layers"], params["include_heads"]) == ([1, 3], [2, 4])
    assert (params["layer"], params["heads"], params["total_heads"]) == (3, [1], 5)
    sent = found.weights[np.ix_([0, 2], [1, 3])]
    error = np.abs(unpacked(params["attention"][0]["weights"]) - sent).max()
    assert error <= sent.max() / 510 + 1e-7
    assert "these heads: 2, 4." in bertviz.render(AttentionTrace("x", encoder=found), **chosen)  # type: ignore[arg-type]
    assert _data("model", maps={"encoder": found}, **chosen)["open"] == [1, 1]  # among those that are sent
    assert "open" not in _data("model", maps={"encoder": found}, layer=2)


def test_the_neuron_view_gets_queries_and_keys() -> None:
    found = _map("encoder", 5, 5, vectors=True)
    params = _data("neuron", maps={"encoder": found}, layer=1, heads=[2])
    assert (params["layer"], params["head"], params["bidirectional"]) == (1, 2, True)
    for name in ("queries", "keys"):
        vectors = getattr(found, name)
        step = np.abs(vectors).max(axis=(2, 3), keepdims=True) / 127
        assert (np.abs(unpacked(params["attention"][0][name]) - vectors) <= 0.51 * step).all()


def test_the_neuron_view_hides_what_comes_after_the_query() -> None:
    maps = {kind: _map(kind, 5, 5, vectors=True) for kind in ("encoder", "decoder")}  # type: ignore[arg-type]
    params = _data("neuron", maps=maps, kind="decoder")
    assert params["bidirectional"] is False
    # One switch serves the whole page, so a map whose queries attend both ways has a page of its own.
    assert [one["name"] for one in params["attention"]] == ["Decoder"]


@pytest.mark.parametrize(("layer", "heads"), [(2, None), (-1, None), (0, [3])])
def test_layers_and_heads_that_do_not_exist(layer: int, heads: list[int] | None) -> None:
    with pytest.raises(OutOfRange):
        _data(maps={"encoder": _map("encoder", 4, 4)}, layer=layer, heads=heads)


def test_what_cannot_be_shown_is_said() -> None:
    signed = AttentionMap("encoder", ("a",), ("a",), np.full((1, 1, 1, 1), -0.5, np.float32))
    for maps, view, kind, sentence in (
        ({"encoder": _map("encoder", 4, 4)}, "neuron", None, "query and key vector"),
        ({"encoder": _map("encoder", 4, 4)}, "head", "cross", "no cross map"),
        ({}, "head", None, "no map"),
        ({"encoder": signed}, "head", None, "The grid draws differences"),
    ):
        with pytest.raises(NoAttentionMatrix, match=sentence):
            _data(view, maps=maps, kind=kind)  # type: ignore[arg-type]


def test_kept_scripts_are_as_published() -> None:
    rows = re.findall(
        r"\| `([\w.-]+)` \| [\d.]+ \| `([\w.]+)` \| `([0-9a-f]{64})` \|", (ASSETS / "vendor/README.md").read_text()
    )
    assert len(rows) == 3
    for folder, name, digest in rows:
        content = (ASSETS / "vendor" / folder / name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == digest
        assert b"</script" not in content.lower()
        assert (ASSETS / "vendor" / folder / "LICENSE").is_file()
