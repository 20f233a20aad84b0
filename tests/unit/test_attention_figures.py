"""Attention figures: tokens cannot become markup, numbers are those of the map, one scale."""

from __future__ import annotations

import numpy as np
import plotly.io
import pytest

from core.attention.trace import AttentionMap
from core.figures import attention as figures
from core.figures.labels import label
from core.theme import GREEN, LIGHT


def _map(n: int = 4, layers: int = 2, heads: int = 3, tokens: tuple[str, ...] | None = None) -> AttentionMap:
    weights = np.random.default_rng(0).dirichlet(np.ones(n), (layers, heads, n)).astype(np.float32)
    names = tokens or tuple(f"t{i}" for i in range(n))
    return AttentionMap("encoder", names, names, weights)


def test_a_label_keeps_quotation_marks() -> None:
    # plotly knows the entities &amp; &lt; &gt;, but would print &quot; as it stands
    assert label('"Tom & <b>Jerry</b>"') == '"Tom &amp; &lt;b&gt;Jerry&lt;/b&gt;"'


@pytest.mark.parametrize(("count", "mode"), [(20, "array"), (21, "auto")])
def test_few_tokens_are_all_named_and_many_as_there_is_room(count: int, mode: str) -> None:
    words = tuple(f'"{i}' for i in range(count))
    axis = figures.attention_map(_map(count, tokens=words), 0, 0, theme=LIGHT).layout.xaxis
    assert axis.tickmode == mode
    assert axis.labelalias['1 · "0'] == '"0'
    assert len(axis.labelalias) == count


def test_heat_map_shows_the_head_that_was_asked_for() -> None:
    found = _map()
    trace = figures.attention_map(found, 1, 2, theme=LIGHT).data[0]
    np.testing.assert_allclose(trace.z, found.weights[1, 2], atol=5.1e-5)
    assert trace.zmin == 0


def test_tokens_are_escaped() -> None:
    figure = figures.attention_map(_map(2, tokens=("<b>", "</script>")), 0, 0, theme=LIGHT)
    json = plotly.io.to_json(figure)
    assert "&lt;b&gt;" in json
    assert '<b>"' not in json
    assert "</script>" not in json


def test_overview_points_are_in_the_order_of_layers_and_heads() -> None:
    points = figures.overview(_map(), 0, 0, GREEN, theme=LIGHT).data[1]
    assert points.text[1 * 3 + 2] == "layer 2, head 3"
    assert len(points.x) == 6


def test_thumbnails_keep_the_largest_weight_of_a_cell() -> None:
    weights = np.zeros((1, 1, 100, 100), dtype=np.float32)
    weights[0, 0, 99, 50] = 0.7
    small = figures._thumbnails(weights)
    assert small.shape == (1, 1, 28, 28)
    assert small[0, 0, 27, 14] == 255
    assert np.count_nonzero(small) == 1
