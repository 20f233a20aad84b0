"""Pictures of a block and of XLNet's streams and memory: numbers by hand, no model."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

import numpy as np
import pytest

from core import patterns
from core.attention.inside.block import wires
from core.attention.inside.steps import ENCODER, HEADS, MAPS, ROWS, Part, Step
from core.attention.views.export import step_table
from core.figures import block as figures
from core.figures.bars import saved_alt, saved_bars
from core.figures.masks import stream_maps, stream_table, stream_words
from core.theme import BLUE, DARK, LIGHT, VERMILION
from core.ui.attention.block import component_data
from core.ui.attention.step import inputs_of

TOKENS = ("[CLS]", "<b>cat</b>", "sat")


def step(part: Part, name: str, *sources: str, axes: tuple[str, ...] = ROWS, residual: bool = False) -> Step:
    shape = {ROWS: (3, 4), HEADS: (2, 3, 2), MAPS: (2, 3, 3)}[axes]
    return Step(part, name, "X", axes, np.ones(shape, dtype=np.float32), sources=sources, residual=residual)


def steps(*, before: bool) -> list[Step]:
    """A small block: norms before its parts, or after."""
    result = [
        step("embedding", "token", residual=True),
        step("embedding", "position"),
        step("embedding", "sum", "embedding-token", "embedding-position", residual=True),
    ]
    for part in ("attention", "feed-forward"):
        at = result[-1].slug
        if before:
            result.append(step(part, "norm", at))
        read = result[-1].slug
        if part == "attention":
            result += [step(part, name, read, axes=HEADS) for name in ("queries", "keys", "values")]
            result += [
                step(part, "scores", "attention-queries", "attention-keys", axes=MAPS),
                step(part, "mask", axes=MAPS),
                step(part, "weights", "attention-scores", "attention-mask", axes=MAPS),
                step(part, "mix", "attention-values", "attention-weights", axes=HEADS),
                step(part, "projected", "attention-mix"),
            ]
        else:
            result.append(step(part, "inner", read))
            result += [step(part, "activation", result[-1].slug), step(part, "outer", f"{part}-activation")]
        result.append(step(part, "residual", at, result[-1].slug, residual=True))
        if not before:
            result.append(step(part, "norm", result[-1].slug, residual=True))
    return result


def test_steps_stand_on_the_stream_or_in_the_first_free_lane() -> None:
    lanes = {wire.slug: wire.lane for wire in wires(steps(before=False))}
    on_stream = ["embedding-token", "embedding-sum", "attention-residual", "attention-norm"]
    assert [slug for slug, lane in lanes.items() if lane == 0][:4] == on_stream
    assert [lanes[f"attention-{name}"] for name in ("queries", "keys", "values", "scores")] == [1, 2, 3, 1]
    assert [lanes[f"attention-{name}"] for name in ("mask", "weights", "mix")] == [2, 1, 1]
    assert all(wire.lane > 0 for wire in wires(steps(before=True)) if wire.slug.endswith("-norm"))


def test_what_a_step_is_computed_from_is_said() -> None:
    drawn_steps = steps(before=True)
    hang = wires(drawn_steps)
    number = [wire.slug for wire in hang].index("attention-mix")
    assert [drawn_steps[i].name for i in hang[number].of] == ["values", "weights"]
    assert inputs_of(hang[-3], drawn_steps) == "inner"
    keys = replace(step("cross-attention", "keys", axes=HEADS), outside=ENCODER)
    assert inputs_of(wires([keys])[0], [keys]) == ENCODER
    assert step("cross-attention", "scores: distance").slug == "cross-attention-scores-distance"


def test_a_wide_matrix_is_folded_to_what_is_furthest_from_zero() -> None:
    values = np.zeros((2, 1_000), dtype=np.float32)
    values[0, :3] = (1, -5, 2)
    values[1, 999] = 4
    folded = figures.fold(values)
    assert (folded.down, folded.across) == (1, 3)
    assert folded.values.shape == (2, 334)
    assert folded.values[0, 0] == -5
    assert folded.values[1, 333] == 4
    assert "of 3 neighboring values" in folded.sentence


def test_what_was_not_computed_stays_so_in_a_fold() -> None:
    values = np.full((200, 200), -np.inf, dtype=np.float32)
    values[0, 0] = 0.5
    folded = figures.fold(values, square=True)
    assert folded.down == folded.across == 2
    assert folded.values[0, 0] == 0.5
    assert np.isnan(folded.values[1:, 1:]).all()


def test_the_color_scale_ends_below_outliers() -> None:
    values = np.ones((100, 10), dtype=np.float32)
    assert figures.limit(values) == figures.Limit(1.0, 0)
    values[3, 3] = -40
    assert figures.limit(values) == figures.Limit(1.0, 1)
    assert figures.limit(np.zeros((2, 2), dtype=np.float32)).at == 1.0
    assert figures.limit(np.full((2, 2), -np.inf, dtype=np.float32)).at == 1.0


def test_numbers_leave_out_what_was_not_computed() -> None:
    values = np.array([[1.0, -np.inf], [3.0, -4.0]], dtype=np.float32)
    numbers = figures.numbers(values)
    assert numbers.mean == 0.0
    assert numbers.spread == pytest.approx(np.sqrt((1 + 9 + 16) / 3))
    assert (numbers.largest, numbers.largest_at) == (3.0, (1, 0))
    assert (numbers.smallest, numbers.smallest_at) == (-4.0, (1, 1))


def test_vectors_are_drawn_around_zero_beside_their_norms() -> None:
    values = np.array([[3, -4], [0, 0], [0, 1]], dtype=np.float32)
    heat, bars = figures.vectors(values, TOKENS, BLUE, theme=LIGHT).data
    assert heat.zmin == -heat.zmax == -4
    assert list(bars.x) == [5, 0, 1]
    assert list(bars.y) == list(heat.y) == ["1 · [CLS]", "2 · &lt;b&gt;cat&lt;/b&gt;", "3 · sat"]


def test_weights_are_hatched_where_nothing_was_computed() -> None:
    weights = np.array([[1, 0, 0], [0.5, 0.5, 0], [0, 0.25, 0.75]], dtype=np.float32)
    seen = np.tri(3, dtype=np.bool_)
    figure = figures.weights(weights, seen, TOKENS, TOKENS, theme=DARK)
    assert np.isnan(figure.data[0].z).tolist() == (~seen).tolist()
    assert figure.data[0].zmin == 0
    assert DARK.hatch in unquote(figure.layout.images[0].source)
    everywhere = figures.weights(weights, np.ones_like(seen), TOKENS, TOKENS, theme=LIGHT)
    assert not everywhere.layout.images


def test_the_values_of_a_step_as_a_table() -> None:
    rows = list(csv.reader(io.StringIO(step_table(step("attention", "queries", axes=HEADS), TOKENS).csv())))
    assert rows[0] == ["head", "#", "token", "1", "2"]
    assert rows[5] == ["2", "2", "<b>cat</b>", "1", "1"]
    assert len(rows) == 1 + 2 * 3
    maps = list(csv.reader(io.StringIO(step_table(step("attention", "scores", axes=MAPS), TOKENS, TOKENS).csv())))
    assert maps[0] == ["head", "#", "query", *TOKENS]
    plain = list(csv.reader(io.StringIO(step_table(step("embedding", "token"), TOKENS).csv())))
    assert plain[0] == ["#", "token", "1", "2", "3", "4"]
    assert plain[1] == ["1", "[CLS]", "1", "1", "1", "1"]


def test_the_list_says_all_that_it_draws() -> None:
    drawn_steps = steps(before=True)
    data = component_data(drawn_steps, wires(drawn_steps), chosen="attention-mix", label="Steps")
    assert [part["name"] for part in data["parts"]] == ["Embedding", "Attention", "Feed-forward"]
    rows = [row for part in data["parts"] for row in part["steps"]]
    assert len(rows) == len(data["points"]) == len(drawn_steps)
    mix = next(row for row in rows if row["slug"] == "attention-mix")
    assert mix["said"] == "mix, step 11 of 18, 2 by 3 by 2, from values, weights"
    assert mix["shape"] == "2 × 3 × 2"


READ = ["[CLS]", "a<b", "cat", "[SEP]"]
RANK = [0, 2, 1, 0]


def sides() -> tuple[Any, Any]:
    query = ~patterns.perm_mask(np.array(RANK))
    return query | np.eye(4, dtype=bool), query


def test_two_maps_with_a_dot_in_each_attended_cell() -> None:
    content, query = sides()
    figure = stream_maps(READ, RANK, content, query, VERMILION, theme=LIGHT)
    left, right = figure.data
    assert np.array_equal(left.z == 1, content)
    assert np.array_equal(right.z == 1, query)
    assert [[cell == "●" for cell in row] for row in right.text] == query.tolist()
    assert right.customdata[1][1] == "a&lt;b (2) cannot attend to a&lt;b (2)"
    assert right.customdata[1][2] == "a&lt;b (2) attends to cat (1)"
    long = stream_maps(["x"] * 40, [0] * 40, np.ones((40, 40), bool), np.ones((40, 40), bool), VERMILION, theme=LIGHT)
    assert not any(cell for row in long.data[0].text for cell in row)


def test_the_table_and_the_sentence_say_the_same() -> None:
    content, query = sides()
    rows = stream_table(READ, RANK, content, query)
    assert [row["predicted in step"] for row in rows] == [None, 2, 1, None]
    assert rows[1]["its query stream attends to"] == "[CLS], cat, [SEP]"
    assert rows[1]["its content stream attends to"] == "all"
    assert rows[2]["its query stream attends to"] == "[CLS], [SEP]"
    said = stream_words(READ, RANK)
    assert "Known from the start: [CLS], [SEP]." in said
    assert said.endswith("Predicted in this order: cat, a<b.")


def test_bars_go_up_where_the_memory_helps_and_lines_stand_between_segments() -> None:
    saved = [0.0, 0.0, 1.5, -0.5, 0.25]
    figure = saved_bars(["a", "b", "<c>", "d", "e"], saved, 2, VERMILION, theme=LIGHT)
    bars = figure.data[0]
    assert list(bars.y) == saved
    assert [color == VERMILION for color in bars.marker.color] == [False, False, True, False, True]
    assert bars.customdata[2] == "token 3, “&lt;c&gt;”: +1.50 bits"
    assert [line.x0 for line in figure.layout.shapes] == [2.5, 4.5]
    assert "lowers the surprisal of 2 of the 3 tokens after it" in saved_alt(saved, 2)
