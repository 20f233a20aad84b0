"""Pictures of a block's tensors and of the way through it: numbers by hand, no model."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from core.attention.inside.steps import HEADS, MAPS, ROWS, Part, Step
from core.attention.inside.wiring import ENCODER, norm_first, slug, wires
from core.attention.views.export import step_table
from core.figures import block as figures
from core.figures.block import HEADING, LEFT, ROW, flow
from core.theme import BLUE, DARK, LIGHT
from core.ui.attention.block import component_data
from core.ui.attention.step import inputs_of

TOKENS = ("[CLS]", "<b>cat</b>", "sat")


def step(part: Part, name: str, formula: str = "X", axes: tuple[str, ...] = ROWS) -> Step:
    shape = {ROWS: (3, 4), HEADS: (2, 3, 2), MAPS: (2, 3, 3)}[axes]
    return Step(part, name, formula, axes, np.ones(shape, dtype=np.float32))


def steps(*, before: bool) -> list[Step]:
    """A small block: norms before its parts, or after."""
    attention = [
        step("attention", "queries", axes=HEADS),
        step("attention", "keys", axes=HEADS),
        step("attention", "values", axes=HEADS),
        step("attention", "scores", axes=MAPS),
        step("attention", "mask", axes=MAPS),
        step("attention", "weights", axes=MAPS),
        step("attention", "mix", axes=HEADS),
        step("attention", "projected"),
    ]
    inner = [step("feed-forward", name) for name in ("inner", "activation", "outer")]
    found = [step("embedding", "token"), step("embedding", "position"), step("embedding", "sum")]
    for part in (attention, inner):
        norm, residual = step(part[0].part, "norm"), step(part[0].part, "residual")
        found += [norm, *part, residual] if before else [*part, residual, norm]
    return found


def named(before: bool) -> dict[str, tuple[str, ...]]:
    """What each step is made of, by slug."""
    found = wires(steps(before=before))
    return {wire.slug: tuple(found[i].slug for i in wire.of) for wire in found}


def test_norms_behind_the_sums_stand_on_the_stream() -> None:
    of = named(before=False)
    assert of["embedding-sum"] == ("embedding-token", "embedding-position")
    assert of["attention-queries"] == ("embedding-sum",)
    assert of["attention-scores"] == ("attention-queries", "attention-keys")
    assert of["attention-weights"] == ("attention-scores", "attention-mask")
    assert of["attention-mix"] == ("attention-values", "attention-weights")
    assert of["attention-residual"] == ("embedding-sum", "attention-projected")
    assert of["attention-norm"] == ("attention-residual",)
    assert of["feed-forward-inner"] == ("attention-norm",)
    assert of["feed-forward-residual"] == ("attention-norm", "feed-forward-outer")
    assert not norm_first(steps(before=False))
    on_stream = [wire.slug for wire in wires(steps(before=False)) if wire.lane == 0]
    assert on_stream == [
        "embedding-token",
        "embedding-sum",
        "attention-residual",
        "attention-norm",
        "feed-forward-residual",
        "feed-forward-norm",
    ]


def test_norms_before_the_parts_stand_beside_the_stream() -> None:
    of = named(before=True)
    assert of["attention-norm"] == ("embedding-sum",)
    assert of["attention-values"] == ("attention-norm",)
    assert of["attention-residual"] == ("embedding-sum", "attention-projected")
    assert of["feed-forward-norm"] == ("attention-residual",)
    assert of["feed-forward-inner"] == ("feed-forward-norm",)
    assert norm_first(steps(before=True))
    assert all(wire.lane > 0 for wire in wires(steps(before=True)) if wire.slug.endswith("-norm"))


def test_a_gate_and_the_encoders_text_come_in() -> None:
    found = [
        step("embedding", "input"),
        step("cross-attention", "queries", axes=HEADS),
        step("cross-attention", "keys", axes=HEADS),
        step("cross-attention", "scores: distance", "b_{j-i}", MAPS),
        step("cross-attention", "scores: content", r"q_i \cdot k_j", MAPS),
        step("cross-attention", "scores", axes=MAPS),
        step("cross-attention", "residual"),
        step("feed-forward", "gate"),
        step("feed-forward", "inner"),
        step("feed-forward", "activation"),
    ]
    hang = wires(found)
    assert (hang[2].of, hang[2].outside) == ((), ENCODER)
    assert hang[3].of == ()
    assert hang[4].of == (1, 2)
    assert hang[5].of == (3, 4)
    assert hang[9].of == (7, 8)
    assert inputs_of(hang[2], found) == ENCODER
    assert inputs_of(hang[8], found) == "residual of cross-attention"
    assert slug(found[3]) == "cross-attention-scores-distance"


def test_the_drawing_has_a_row_for_each_step_and_a_box_for_each_part() -> None:
    found = steps(before=False)
    drawn = flow(found, wires(found))
    assert drawn.height == 3 * HEADING + len(found) * ROW
    assert [point.y for point in drawn.points[:4]] == [
        HEADING + ROW // 2,
        HEADING + ROW // 2 + ROW,
        HEADING + ROW // 2 + 2 * ROW,
        2 * HEADING + 3 * ROW + ROW // 2,
    ]
    assert drawn.points[0].x == LEFT
    assert [point.shape for point in drawn.points[2:4]] == ["sum", "step"]
    assert [box.height for box in drawn.boxes] == [8 * ROW, 3 * ROW]
    assert drawn.boxes[0].top == 2 * HEADING + 3 * ROW
    straight = next(line for line in drawn.lines if (line.start, line.end) == (0, 2))
    assert straight.path == f"M{LEFT} {drawn.points[0].y}V{drawn.points[2].y}"
    assert len(drawn.lines) == sum(len(wire.of) for wire in wires(found))


def test_a_convolution_goes_around_the_stream() -> None:
    found = [*steps(before=False), step("end", "convolution")]
    hang = wires(found)
    assert hang[-1].of == (2, len(found) - 2)
    drawn = flow(found, hang)
    around = next(line.path for line in drawn.lines if line.end == len(found) - 1 and line.start == 2)
    assert around.count("Q") == 2
    assert drawn.width > flow(found[:-1], hang[:-1]).width


def test_a_small_matrix_is_drawn_as_it_is() -> None:
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    found = figures.fold(values)
    assert (found.down, found.across, found.sentence) == (1, 1, "")
    np.testing.assert_array_equal(found.values, values)


def test_a_wide_matrix_is_folded_to_what_is_furthest_from_zero() -> None:
    values = np.zeros((2, 1_000), dtype=np.float32)
    values[0, :3] = (1, -5, 2)
    values[1, 999] = 4
    found = figures.fold(values)
    assert (found.down, found.across) == (1, 3)
    assert found.values.shape == (2, 334)
    assert found.values[0, 0] == -5
    assert found.values[1, 333] == 4
    assert "of 3 neighboring values" in found.sentence


@pytest.mark.parametrize("shape", [(256, 256), (256, 3_072), (1, 5_000), (177, 177), (20, 384)])
def test_a_picture_is_never_large(shape: tuple[int, int]) -> None:
    for square in (False, shape[1] <= 256):
        found = figures.fold(np.ones(shape, dtype=np.float32), square=square)
        assert found.values.size <= figures.MOST_CELLS
        assert not np.isnan(found.values).any()


def test_what_was_not_computed_stays_so_in_a_fold() -> None:
    values = np.full((200, 200), -np.inf, dtype=np.float32)
    values[0, 0] = 0.5
    found = figures.fold(values, square=True)
    assert found.down == found.across == 2
    assert found.values[0, 0] == 0.5
    assert np.isnan(found.values[1:, 1:]).all()


def test_colours_end_where_few_numbers_would_drown_the_rest() -> None:
    values = np.ones((100, 10), dtype=np.float32)
    assert figures.limit(values) == figures.Limit(1.0, 0)
    values[3, 3] = -40
    assert figures.limit(values) == figures.Limit(1.0, 1)
    assert figures.limit(np.zeros((2, 2), dtype=np.float32)).at == 1.0
    assert figures.limit(np.full((2, 2), -np.inf, dtype=np.float32)).at == 1.0


def test_numbers_leave_out_what_was_not_computed() -> None:
    values = np.array([[1.0, -np.inf], [3.0, -4.0]], dtype=np.float32)
    found = figures.numbers(values)
    assert found.mean == 0.0
    assert found.spread == pytest.approx(np.sqrt((1 + 9 + 16) / 3))
    assert (found.largest, found.largest_at) == (3.0, (1, 0))
    assert (found.smallest, found.smallest_at) == (-4.0, (1, 1))


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.0, "0"), (265.3, "265"), (1234.5, "1230"), (-0.01234, "−0.0123"), (9.9999, "10"), (2e-7, "0.0000002")],
)
def test_numbers_are_written_without_an_exponent(number: float, text: str) -> None:
    assert figures.written(number) == text


def test_vectors_are_drawn_around_zero_beside_their_norms() -> None:
    values = np.array([[3, -4], [0, 0], [0, 1]], dtype=np.float32)
    heat, bars = figures.vectors(values, TOKENS, BLUE, theme=LIGHT).data
    assert heat.zmin == -heat.zmax == -4
    assert list(bars.x) == [5, 0, 1]
    assert list(bars.y) == list(heat.y) == ["1 · [CLS]", "2 · &lt;b&gt;cat&lt;/b&gt;", "3 · sat"]


def test_weights_have_a_grey_ground_where_nothing_was_computed() -> None:
    weights = np.array([[1, 0, 0], [0.5, 0.5, 0], [0, 0.25, 0.75]], dtype=np.float32)
    seen = np.tri(3, dtype=np.bool_)
    figure = figures.weights(weights, seen, TOKENS, TOKENS, theme=DARK)
    assert np.isnan(figure.data[0].z).tolist() == (~seen).tolist()
    assert figure.data[0].zmin == 0
    assert figure.layout.plot_bgcolor == DARK.unseen
    everywhere = figures.weights(weights, np.ones_like(seen), TOKENS, TOKENS, theme=LIGHT)
    assert everywhere.layout.plot_bgcolor is None


def test_a_mask_is_one_colour_and_grey() -> None:
    figure = figures.mask(np.tri(3, dtype=np.bool_), TOKENS, TOKENS, theme=LIGHT)
    assert np.isnan(figure.data[0].z).sum() == 3
    assert figure.data[0].showscale is False
    assert figures.mask(np.tri(1, dtype=np.bool_), TOKENS[:1], TOKENS[:1], theme=LIGHT).layout.plot_bgcolor is None


def test_scores_are_drawn_around_zero() -> None:
    figure = figures.scores(np.array([[2, -1]], dtype=np.float32), TOKENS[:1], TOKENS[:2], theme=LIGHT)
    assert (figure.data[0].zmin, figure.data[0].zmax) == (-2, 2)
    assert figure.data[0].colorscale[2] == (0.5, LIGHT.ground)


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
    found = steps(before=True)
    data = component_data(found, wires(found), chosen="attention-mix", label="Steps")
    assert [part["name"] for part in data["parts"]] == ["Embedding", "Attention", "Feed-forward"]
    rows = [row for part in data["parts"] for row in part["steps"]]
    assert len(rows) == len(data["points"]) == len(found)
    mix = next(row for row in rows if row["slug"] == "attention-mix")
    assert mix["said"] == "mix, step 11 of 18, 2 by 3 by 2, from values, weights"
    assert mix["shape"] == "2 × 3 × 2"
