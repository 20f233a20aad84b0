"""The head view page: complete, offline, safe, small; its numbers are those of the trace."""

from __future__ import annotations

import base64
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


def _map(kind: MapKind, queries: int, keys: int, layers: int = 2, heads: int = 3) -> AttentionMap:
    weights = np.random.default_rng(0).dirichlet(np.ones(keys), (layers, heads, queries)).astype(np.float32)
    return AttentionMap(kind, tuple(f"q{i}" for i in range(queries)), tuple(f"k{i}" for i in range(keys)), weights)


def _weights(packed: dict[str, Any]) -> np.ndarray[Any, Any]:
    return np.frombuffer(base64.b64decode(packed["weights"]), dtype=np.uint8).reshape(packed["shape"]) / 255


def test_weights_come_back_within_half_a_step() -> None:
    found = _map("encoder", 5, 5)
    packed = data_of(bertviz.render(AttentionTrace("x", encoder=found)))["attention"][0]
    assert np.abs(_weights(packed) - found.weights).max() <= 0.5 / 255 + 1e-6


def test_layers_are_named_from_one_and_the_choice_is_kept() -> None:
    params = data_of(bertviz.render(AttentionTrace("x", encoder=_map("encoder", 4, 4)), layer=1, heads=[2]))
    assert params["include_layers"] == [1, 2]
    assert params["layer"] == 2
    assert params["heads"] == [2]


def test_wanted_map_comes_first_and_others_can_be_chosen() -> None:
    trace = AttentionTrace("x", encoder=_map("encoder", 4, 4), decoder=_map("decoder", 3, 3), cross=_map("cross", 3, 4))
    page = bertviz.render(trace, kind="cross")
    assert [packed["name"] for packed in data_of(page)["attention"]] == ["Cross", "Encoder", "Decoder"]
    assert data_of(page)["attention"][0]["shape"] == [2, 3, 3, 4]
    assert '<option value="0">Cross</option>' in page


def test_maps_of_other_sizes_are_left_out() -> None:
    trace = AttentionTrace("x", encoder=_map("encoder", 4, 4, layers=3), decoder=_map("decoder", 3, 3))
    assert [packed["name"] for packed in data_of(bertviz.render(trace, kind="decoder"))["attention"]] == ["Decoder"]


def test_a_sentence_of_forty_tokens_stays_small() -> None:
    page = bertviz.render(AttentionTrace("x", encoder=_map("encoder", 40, 40, layers=6, heads=12)))
    scripts = sum(map(len, re.findall(r"<script>(.*?)</script>", page, re.S)))
    assert len(page) - scripts < 200_000


def test_long_texts_are_cut_for_this_view() -> None:
    found = _map("encoder", 200, 200, layers=1, heads=12)
    shown = bertviz.shown_tokens(found)
    assert shown == 64  # 12 heads x 64² lines are below 50,000, 12 x 65² are above
    assert data_of(bertviz.render(AttentionTrace("x", encoder=found)))["attention"][0]["shape"] == [1, 12, 64, 64]
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


def test_a_part_of_the_text_is_sent() -> None:
    found = _map("encoder", 9, 9)
    packed = data_of(bertviz.render(AttentionTrace("x", encoder=found), start=2, count=3))["attention"][0]
    assert packed["left_text"] == ["q2", "q3", "q4"]
    np.testing.assert_allclose(_weights(packed), found.weights[:, :, 2:5, 2:5], atol=0.5 / 255 + 1e-6)
    assert packed["first"] == {"rows": 2, "columns": 2}
    with pytest.raises(OutOfRange, match="no token 10; this text has 9"):
        bertviz.render(AttentionTrace("x", encoder=found), start=9)


def test_the_shorter_side_of_a_part_is_sent_by_its_end() -> None:
    trace = AttentionTrace("x", cross=_map("cross", 3, 9))
    packed = data_of(bertviz.render(trace, start=5, count=4))["attention"][0]
    assert packed["left_text"] == ["q0", "q1", "q2"]
    assert packed["right_text"] == ["k5", "k6", "k7", "k8"]


def test_more_than_a_view_can_show_is_sent_only_where_the_page_can_offer_it() -> None:
    trace = AttentionTrace("x", encoder=_map("encoder", 80, 80, layers=1, heads=12))
    whole, framed = (data_of(bertviz.render(trace, count=80, controls=c)) for c in (True, False))
    assert whole["attention"][0]["shape"] == [1, 12, 80, 80]
    assert framed["attention"][0]["shape"] == [1, 12, 64, 64]
    assert whole["most"] == framed["most"] == 64


def test_layers_and_heads_can_be_left_out() -> None:
    found = _map("encoder", 4, 4, layers=3, heads=5)
    page = bertviz.render(
        AttentionTrace("x", encoder=found), layer=2, heads=[3], include_layers=[0, 2], include_heads=[3, 1]
    )
    params = data_of(page)
    assert (params["include_layers"], params["include_heads"]) == ([1, 3], [2, 4])
    assert (params["layer"], params["heads"], params["total_heads"]) == (3, [1], 5)
    sent = found.weights[np.ix_([0, 2], [1, 3])]
    np.testing.assert_allclose(_weights(params["attention"][0]), sent, atol=0.5 / 255 + 1e-6)
    assert "From left to right they are heads 2, 4." in page
    with pytest.raises(OutOfRange, match="Layer 2 is not among those"):
        bertviz.render(AttentionTrace("x", encoder=found), layer=1, include_layers=[0, 2])


def test_the_neuron_view_gets_queries_and_keys() -> None:
    trace = AttentionTrace("x", encoder=_with_vectors("encoder"))
    found = trace.encoder
    assert found is not None
    params = data_of(bertviz.render(trace, "neuron", layer=1, heads=[2]))
    assert (params["layer"], params["head"], params["bidirectional"]) == (1, 2, True)
    for name, vectors in (("queries", found.queries), ("keys", found.keys)):
        assert vectors is not None
        step = np.abs(vectors).max(axis=(2, 3), keepdims=True) / 127
        assert (np.abs(unpacked(params["attention"][0][name]) - vectors) <= 0.51 * step).all()


def test_the_model_view_enlarges_a_head() -> None:
    trace = AttentionTrace("x", encoder=_map("encoder", 4, 4, layers=3, heads=5))
    page = bertviz.render(trace, "model", layer=2, heads=[3], include_layers=[0, 2], include_heads=[1, 3, 4])
    assert data_of(page)["open"] == [1, 1]  # among those that are sent
    assert "open" not in data_of(bertviz.render(trace, "model", layer=2))


def test_the_neuron_view_hides_what_comes_after_the_query() -> None:
    trace = AttentionTrace("x", encoder=_with_vectors("encoder"), decoder=_with_vectors("decoder"))
    params = data_of(bertviz.render(trace, "neuron", kind="decoder"))
    assert params["bidirectional"] is False
    # One switch serves the whole page, so a map that sees both ways has a page of its own.
    assert [packed["name"] for packed in params["attention"]] == ["Decoder"]


def _with_vectors(kind: MapKind) -> AttentionMap:
    found, rng = _map(kind, 5, 5), np.random.default_rng(3)
    queries, keys = (rng.normal(size=(2, 3, 5, 4)).astype(np.float32) for _ in range(2))
    return AttentionMap(kind, found.query_tokens, found.key_tokens, found.weights, queries=queries, keys=keys)


def test_differences_are_left_to_the_grid() -> None:
    found = AttentionMap("encoder", ("a",), ("a",), np.full((1, 1, 1, 1), -0.5, np.float32))
    with pytest.raises(NoAttentionMatrix, match="The grid draws differences"):
        bertviz.render(AttentionTrace("x", encoder=found))


@pytest.mark.parametrize(
    ("view", "tokens", "words"),
    [
        ("head", 64, "3 heads at a time with the whole text"),
        ("model", 32, "9 heads at a time"),
        ("neuron", 70, "Choose a part of the text; the grid"),
    ],
)
def test_what_a_view_can_carry_is_said(view: bertviz.View, tokens: int, words: str) -> None:
    found = AttentionMap("encoder", ("a",) * 128, ("a",) * 128, np.zeros((12, 12, 128, 128), np.float32))
    carried = bertviz.carries(found, view)
    assert (carried.tokens, carried.whole) == (tokens, False)
    assert words in carried.sentence
    if view == "model":
        assert bertviz.carries(found, view, layers=3, heads=3) == bertviz.Carried(
            128, 9, True, "The model view shows all 128 tokens of this text."
        )


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
