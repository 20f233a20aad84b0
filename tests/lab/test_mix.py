"""The weights of layers that a task learns."""

from __future__ import annotations

import numpy as np
import pytest

from lab.mix import learn_task


def test_a_task_learns_the_layer_that_knows() -> None:
    random = np.random.default_rng(7)
    count, width = 240, 12
    answers = random.integers(0, 3, count)
    states = random.normal(size=(3, count, width)).astype(np.float32)
    states[1, np.arange(count), answers] += 6  # layer 1 alone knows
    learned_mix = learn_task(states, [str(answer) for answer in answers], [i // 4 for i in range(count)], "made")
    assert learned_mix.weights[1] > 0.7
    assert sum(learned_mix.weights) == pytest.approx(1, abs=1e-5)
    assert learned_mix.accuracy > 0.9
    assert learned_mix.alone[1] > 0.9 > 0.6 > max(learned_mix.alone[0], learned_mix.alone[2])
    assert learned_mix.commonest < 0.6
    assert learned_mix.classes == 3
