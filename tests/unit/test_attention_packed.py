"""The pages of attention: numbers as bytes, the grid's and bertviz's data, and nothing that becomes markup."""

from __future__ import annotations

import base64
import hashlib
import re
import zlib
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.attention import bertviz, combine
from core.attention.tokens import short
from core.attention.trace import AttentionMap, AttentionTrace, MapKind
from core.attention.views import export, grid
from core.errors import NoAttentionMatrix, OutOfRange
from core.settings import ASSETS
from core.theme import THEMES, Theme, mixed
from core.webpage import component_asset
from tests.attention_pages import data_of, unpacked


@pytest.mark.parametrize(
    ("token", "shown"),
    [
        ("cat", "cat"),
        ("abcdef", "abcdef"),
        ("abcdefg", "abcde…"),
        ("日本語", "日本語"),  # two columns each
        ("日本語学", "日本…"),
        ("a\u202eb", "a‹u+2…"),
        ("\n", "⏎"),
        ("", ""),
        ("x" * 10_000, "xxxxx…"),
    ],
)
def test_labels_fit_their_columns(token: str, shown: str) -> None:
    assert short(token, 6) == shown


@pytest.mark.parametrize("bits", [8, 16])
def test_each_head_has_steps_of_its_own(bits: export.Bits) -> None:
    values = np.array([[[[0.01, 0.002]], [[-3.0, 1.0]], [[0.0, 0.0]]]], np.float32)  # (1, 3, 1, 2)
    kept = export.by_head(values, bits, signed=True)
    error = np.abs(unpacked(kept) - values).max(axis=(0, 2, 3))
    top = 2 ** (bits - 1) - 1
    assert (error <= np.array([0.01, 3.0, 0.0]) / top * 0.51 + 1e-9).all()
    assert unpacked(kept)[0, 1, 0, 0] == pytest.approx(-3.0, rel=1e-6)


def test_flags_are_eight_a_byte() -> None:
    mask = np.array([[[[True, False, True], [True, True, True], [False, False, True]]]])
    kept = export.flags(mask)
    assert kept["shape"] == [1, 1, 3, 3]
    assert list(zlib.decompress(base64.b64decode(kept["bytes"]))) == [0b10111100, 0b10000000]


def _found(kind: MapKind, allowed: Any = None) -> AttentionMap:
    return AttentionMap(kind, ("a", "b"), ("a", "b"), np.full((2, 3, 2, 2), 0.5, np.float32), allowed=allowed)


def test_the_computed_mask_is_stored_for_as_few_heads_as_possible() -> None:
    lower = np.array([[True, False], [True, True]])
    assert export.computed(_found("encoder")) is None
    assert export.computed(_found("encoder", np.ones((1, 1, 2, 2), bool))) is None
    for attention_map in (_found("decoder"), _found("encoder", lower), _found("query", lower[None, None])):
        mask = export.computed(attention_map)
        assert mask.shape == (1, 1, 2, 2)
        assert (mask == lower).all()
    each = np.stack([lower, np.ones((2, 2), bool)])[:, None]
    mask = export.computed(_found("encoder", each))
    assert mask.shape == (2, 1, 2, 2)


def test_a_decoder_that_attends_to_later_tokens_is_not_causal() -> None:
    lower = np.array([[True, False], [True, True]])
    assert export.is_causal(_found("decoder"))
    assert export.is_causal(_found("query", lower))
    assert not export.is_causal(_found("encoder"))
    assert not export.is_causal(_found("decoder", ~lower))


NASTY = ("</script><script>alert(1)</script>", "<!--", "&amp;", "a\u2028b", "\u202egnp.exe", "x" * 10_000)
RENDERERS: dict[str, Callable[[AttentionMap], str]] = {
    "head": lambda found: bertviz.render(AttentionTrace("x", encoder=found), title=NASTY[0]),
    "model": lambda found: bertviz.render(AttentionTrace("x", encoder=found), "model", title=NASTY[0]),
    "grid": lambda found: grid.render(found, title=NASTY[0]),
}


@pytest.mark.parametrize("name", RENDERERS)
def test_a_page_asks_for_nothing_and_nothing_in_it_becomes_markup(name: str) -> None:
    n = len(NASTY)
    attention_map = AttentionMap("encoder", NASTY, NASTY, np.full((1, 1, n, n), 1 / n, np.float32))
    page = RENDERERS[name](attention_map)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy.group(1).startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy.group(1)
    for tag in ("script", "style"):
        for content in re.findall(f"<{tag}>(.*?)</{tag}>", page, re.S):
            digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in policy.group(1)
    assert not re.search(r"\s(src|href|style|on\w+)=", page.split("<script")[0])
    assert not re.search(r"<(script|link|img|iframe)[^>]+(src|href)=", page)
    assert page.count("</script>") == (2 if name == "grid" else 6)  # data and scripts: bertviz brings three libraries
    assert "alert(1)</script>" not in page
    assert not {"\u2028", "\u202e"} & set(page)
    data = data_of(page)
    keys = data["keys"] if name == "grid" else data["attention"][0]["right_text"]
    assert keys[2] == "&amp;"
    assert keys[4].startswith("‹u+202e›")  # drawn, so that it turns nothing round
    assert len(keys[5]) <= 60


def _map(kind: MapKind = "encoder", n: int = 5, layers: int = 2, heads: int = 3, **more: Any) -> AttentionMap:
    weights = np.random.default_rng(0).dirichlet(np.ones(n), (layers, heads, n)).astype(np.float32)
    names = ("[CLS]", *(f"t{i}" for i in range(1, n)))
    return AttentionMap(kind, names, names, weights, **more)


@pytest.mark.parametrize(("bits", "steps"), [(8, 255), (16, 65535)])
def test_weights_come_back_within_half_a_step_of_their_head(bits: Any, steps: int) -> None:
    attention_map = _map()
    error = np.abs(unpacked(data_of(grid.render(attention_map, bits=bits))["weights"]) - attention_map.weights).max(
        axis=(2, 3)
    )
    assert (error <= attention_map.weights.max(axis=(2, 3)) / steps / 2 + 1e-7).all()
    assert error.max() <= 1 / 2 / steps


def test_a_page_of_bertvizs_fits_in_a_megabyte() -> None:
    """6 layers x 12 heads of 110 tokens, as peaked as MiniLM's: softmax of scores with a standard deviation of 2."""
    scores = np.random.default_rng(0).normal(scale=2, size=(6, 12, 110, 110))
    weights = np.exp(scores)
    weights = (weights / weights.sum(axis=-1, keepdims=True)).astype(np.float32)
    names = tuple(f"token{i}" for i in range(110))
    page = bertviz.render(AttentionTrace("x", encoder=AttentionMap("encoder", names, names, weights)))
    assert len(page) <= 1_000_000
    error = np.abs(unpacked(data_of(page)["attention"][0]["weights"]) - weights).max(axis=(2, 3))
    assert (error <= weights.max(axis=(2, 3)) / 510 + 1e-7).all()


def test_differences_keep_their_sign() -> None:
    difference = combine.difference(combine.part(_map(), layer=0), combine.part(_map(), layer=1))
    data = data_of(grid.render(difference))
    assert data["signed"]
    np.testing.assert_allclose(
        unpacked(data["weights"]), difference.weights, atol=np.abs(difference.weights).max() / 254 + 1e-7
    )
    assert data["note"].startswith("Differences: ")
    assert data_of(grid.render(_map(), difference=True))["signed"]


def test_what_was_not_computed_is_told_and_has_a_legend() -> None:
    full, part = grid.render(_map()), grid.render(_map("decoder"))
    assert data_of(full)["computed"] is None
    assert "not computed" not in full.split("<main>")[1].split("</main>")[0]
    assert "not computed" in part.split("<main>")[1].split("</main>")[0]
    kept = data_of(part)["computed"]
    flags = np.unpackbits(np.frombuffer(zlib.decompress(base64.b64decode(kept["bytes"])), np.uint8))[:25].reshape(5, 5)
    assert (flags == np.tri(5)).all()


def test_special_tokens_and_the_second_sentence_travel() -> None:
    data = data_of(grid.render(_map(second=3, special_queries=(0,), special_keys=(0, 4))))
    assert data["specials"] == {"queries": [0], "keys": [0, 4]}
    assert data_of(grid.render(_map()))["specials"] == {"queries": [], "keys": []}
    assert data["second"] == 3


def test_a_requested_head_is_open() -> None:
    assert not data_of(grid.render(_map()))["open"]
    assert not data_of(grid.render(_map(), layer=1))["open"]
    data = data_of(grid.render(_map(), layer=1, head=2))
    assert (data["layer"], data["head"], data["open"]) == (1, 2, True)
    assert data_of(grid.render(_map(layers=1, heads=1)))["open"]
    for wanted in ({"layer": 2}, {"head": -1}):
        with pytest.raises(OutOfRange):
            grid.render(_map(), **wanted)


def _drawn(kind: MapKind, queries: int, keys: int, layers: int = 2, heads: int = 3, *, vectors: bool = False) -> Any:
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.ones(keys), (layers, heads, queries)).astype(np.float32)
    names = tuple(f"q{i}" for i in range(queries)), tuple(f"k{i}" for i in range(keys))
    shape = (layers, heads, queries, 4)
    more = {name: rng.normal(size=shape).astype(np.float32) for name in ("queries", "keys") if vectors}
    return AttentionMap(kind, *names, weights, **more)  # type: ignore[arg-type]


def _data(view: bertviz.View = "head", *, maps: dict[str, AttentionMap], **how: Any) -> dict[str, Any]:
    return data_of(bertviz.render(AttentionTrace("x", **maps), view, **how))  # type: ignore[arg-type]


def test_the_wanted_map_comes_first_and_others_of_its_size_can_be_chosen() -> None:
    maps = {
        "encoder": _drawn("encoder", 4, 4),
        "decoder": _drawn("decoder", 3, 3),
        "cross": _drawn("cross", 3, 4),
    }
    sent = _data(maps=maps, kind="cross")["attention"]
    assert [entry["name"] for entry in sent] == ["Cross", "Encoder", "Decoder"]
    assert sent[0]["weights"]["shape"] == [2, 3, 3, 4]
    other = {"encoder": _drawn("encoder", 4, 4, layers=3), "decoder": _drawn("decoder", 3, 3)}
    assert [entry["name"] for entry in _data(maps=other, kind="decoder")["attention"]] == ["Decoder"]


def test_a_framed_page_shows_what_can_be_drawn_and_one_with_menus_has_all() -> None:
    maps = {"encoder": _drawn("encoder", 80, 80, layers=1, heads=12)}
    full, framed = (_data(maps=maps, controls=controls) for controls in (True, False))
    # 12 heads x 64² lines are below 50,000, 12 x 65² are above.
    assert full["most"] == framed["most"] == bertviz.tokens_at_once(maps["encoder"]) == 64
    assert full["attention"][0]["weights"]["shape"] == [1, 12, 80, 80]
    assert framed["attention"][0]["weights"]["shape"] == [1, 12, 64, 64]
    assert framed["attention"][0]["left_text"] == [f"q{i}" for i in range(64)]


def test_layers_and_heads_can_be_left_out() -> None:
    maps = _drawn("encoder", 4, 4, layers=3, heads=5)
    chosen = {"layer": 2, "heads": [3], "include_layers": [0, 2], "include_heads": [3, 1]}
    params = _data(maps={"encoder": maps}, **chosen)
    assert (params["include_layers"], params["include_heads"]) == ([1, 3], [2, 4])
    assert (params["layer"], params["heads"], params["total_heads"]) == (3, [1], 5)
    sent = maps.weights[np.ix_([0, 2], [1, 3])]
    error = np.abs(unpacked(params["attention"][0]["weights"]) - sent).max()
    assert error <= sent.max() / 510 + 1e-7
    assert "these heads: 2, 4." in bertviz.render(AttentionTrace("x", encoder=maps), **chosen)  # type: ignore[arg-type]
    for strong in (False, True):
        assert (
            "stroke-width" in bertviz.render(AttentionTrace("x", encoder=maps), strong=strong).split("</style>")[0]
        ) is strong
    assert _data("model", maps={"encoder": maps}, **chosen)["open"] == [1, 1]  # among those that are sent
    assert "open" not in _data("model", maps={"encoder": maps}, layer=2)


@pytest.mark.parametrize("look", THEMES.values(), ids=THEMES.keys())
def test_a_weight_of_one_head_has_its_branchs_color_and_heads_side_by_side_one_each(look: Theme) -> None:
    single = mixed(look.accent("decoder"), look.ink, 0.5 if look.dark else 0.0)
    maps, how = {"encoder": _drawn("encoder", 4, 4, layers=3, heads=5)}, {"theme": look.name, "branch": "decoder"}
    assert set(_data("model", maps=maps, **how)["colors"]) == {single}
    assert len(_data("model", maps=maps, **how)["colors"]) == 10  # bertviz counts layers modulo ten
    assert _data(maps=maps, include_heads=[2], **how)["colors"][0] == single
    assert len(set(_data(maps=maps, **how)["colors"])) == len(look.categorical)
    style = bertviz.render(AttentionTrace("x", **maps), **how).split("</style>")[0]  # type: ignore[arg-type]
    ends = {"negative": look.differences[0][1], "positive": look.differences[-1][1]}
    for name, color in {"branch": single, "query": look.query, "key": look.key, **ends}.items():
        assert f"--{name}: {color};" in style


def test_both_colors_of_signs_that_bertviz_writes_are_replaced() -> None:
    spec = find_spec("bertviz")
    assert spec is not None
    assert spec.origin is not None
    script = Path(spec.origin).with_name("neuron_view.js").read_text(encoding="utf-8")
    style = component_asset("bertviz.css")
    written = re.findall(r"'(?:pos|neg)': '#(\w\w)(\w\w)(\w\w)'", script)
    assert len(written) == 4
    for color in written:
        assert f"fill: rgb({', '.join(str(int(part, 16)) for part in color)})" in style


def test_the_neuron_view_gets_queries_and_keys() -> None:
    maps = _drawn("encoder", 5, 5, vectors=True)
    params = _data("neuron", maps={"encoder": maps}, layer=1, heads=[2])
    assert (params["layer"], params["head"], params["bidirectional"]) == (1, 2, True)
    for name in ("queries", "keys"):
        vectors = getattr(maps, name)
        step = np.abs(vectors).max(axis=(2, 3), keepdims=True) / 127
        assert (np.abs(unpacked(params["attention"][0][name]) - vectors) <= 0.51 * step).all()


def test_the_neuron_view_hides_what_comes_after_the_query() -> None:
    maps = {kind: _drawn(kind, 5, 5, vectors=True) for kind in ("encoder", "decoder")}  # type: ignore[arg-type]
    params = _data("neuron", maps=maps, kind="decoder")
    assert params["bidirectional"] is False
    # One switch serves the whole page, so a map whose queries attend both ways has a page of its own.
    assert [entry["name"] for entry in params["attention"]] == ["Decoder"]


@pytest.mark.parametrize(("layer", "heads"), [(2, None), (-1, None), (0, [3])])
def test_layers_and_heads_that_do_not_exist(layer: int, heads: list[int] | None) -> None:
    with pytest.raises(OutOfRange):
        _data(maps={"encoder": _drawn("encoder", 4, 4)}, layer=layer, heads=heads)


def test_what_cannot_be_shown_is_said() -> None:
    signed = AttentionMap("encoder", ("a",), ("a",), np.full((1, 1, 1, 1), -0.5, np.float32))
    for maps, view, kind, sentence in (
        ({"encoder": _drawn("encoder", 4, 4)}, "neuron", None, "query and key vector"),
        ({"encoder": _drawn("encoder", 4, 4)}, "head", "cross", "no cross attention map"),
        ({}, "head", None, "no attention map"),
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
