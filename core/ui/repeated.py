"""A stored training run that a visitor repeats on this server."""

from __future__ import annotations

from collections.abc import Sequence

from streamlit.delta_generator import DeltaGenerator

from core import session
from core.costs.trained import Run
from core.ui.measuring import Measurement
from core.ui.section import View


class Repeated:
    """A run of seed 0 with its button; ``own`` is its repetition, None before any."""

    def __init__(self, view: View, stored: Sequence[Run], wanted: Run, at: DeltaGenerator) -> None:
        self.stored = next(run for run in stored if run.point == wanted.point)
        self._measurement: Measurement[Run] = Measurement(
            view.state, "again", ("training run", wanted.point), training=True
        )
        self._measurement.draw(at)
        self.own = self._measurement.result
        if self.own:
            view.note("Again", own=f"{self.own.loss:.4f}", stored=f"{self.stored.loss:.4f}")
        else:
            view.note("Repeat")

    def run(self) -> None:
        """Train if the button was clicked; called last."""
        self._measurement.run(self._train)

    def _train(self, tell: session.Progress) -> Run:
        from core.training.scaling import repeat

        return repeat(self.stored, tell)
