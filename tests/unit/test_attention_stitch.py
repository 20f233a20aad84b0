"""Rows of generation steps put together by hand-made numbers."""

from __future__ import annotations

import numpy as np
import pytest

from core.attention.capture import MAX_TOKENS
from core.attention.generated import stitch
from core.errors import InputTooLong, NoAttentionMatrix
from core.language.types import Alternative, GenerationStep


def _step(index: int, rows: list[list[float]] | None) -> GenerationStep:
    def block(values: list[list[float]] | None) -> np.ndarray | None:  # type: ignore[type-arg]
        return None if values is None else np.array(values, dtype=np.float32)[None, None]

    token = Alternative(index, f" w{index}", 1.0, 1.0)
    return GenerationStep(index, token, (), "", attention=block(rows))


PROMPT = _step(0, [[1.0, 0.0], [0.4, 0.6]])


def test_rows_fill_the_lower_triangle() -> None:
    found = stitch([PROMPT, _step(1, [[0.2, 0.3, 0.5]])], ["a", "b"])
    assert found.query_tokens == ("a", "b", "␣w0")
    np.testing.assert_allclose(found.weights[0, 0], [[1, 0, 0], [0.4, 0.6, 0], [0.2, 0.3, 0.5]])


def test_rows_with_a_gap_are_refused() -> None:
    with pytest.raises(NoAttentionMatrix):
        stitch([PROMPT, _step(1, [[0.1, 0.2, 0.3, 0.4]]), _step(2, [[0.1, 0.2, 0.3, 0.4]])], ["a", "b"])
    with pytest.raises(NoAttentionMatrix):
        stitch([PROMPT, _step(1, [[0.5, 0.5]])], ["a", "b"])


def test_steps_without_attention_are_refused() -> None:
    for steps in ([], [_step(0, None)], [PROMPT, _step(1, None)]):
        with pytest.raises(NoAttentionMatrix):
            stitch(steps, ["a", "b"])


def test_too_many_tokens_are_refused() -> None:
    with pytest.raises(InputTooLong, match=str(MAX_TOKENS)):
        stitch([PROMPT], ["a"] * (MAX_TOKENS + 1))
