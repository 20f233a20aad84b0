"""The one training loop: any objective, one process or several, resumable, with a learning curve.

The budget is time, or tokens where the recipe says so; the learning rate is a function of the used share of it. With
time, a slower machine sees fewer tokens but always finishes its decay (pauses do not count).

Everything random in a step follows from the seed and the number of the batch, so a run that was killed and goes on from
its last state takes the same steps as one that was not. With n processes a step takes n batches, one each; the slopes
are averaged (`core.training.processes`), tokens are summed.
"""

from __future__ import annotations

import csv
import io
import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

from core.errors import AtlasError
from core.training import optimizers, precision, schedule, state
from core.training.files import StorageError, write_text
from core.training.interrupt import Interrupt
from core.training.objectives import Objective
from core.training.pace import Pace, Report
from core.training.processes import Alone
from core.training.recipe import Recipe

CURVE = ("tokens", "steps", "minutes", "split", "measure", "value")
STATE = "state.pt"


class Diverged(AtlasError):
    """A loss, a slope or a weight is no finite number any more."""


class Interrupted(AtlasError):
    """The run was asked to stop, and has saved its state."""


@dataclass
class Progress:
    """How far a run is."""

    step: int = 0
    tokens: int = 0
    minutes: float = 0.0
    curve: list[tuple[int, int, float, str, str, float]] = field(default_factory=list)
    batches: int = 0
    """Batches that all processes together have taken."""
    losses: float = 0.0
    """Sum of the losses since the last measurement, in nats, and how many they are."""
    counted: int = 0


class Trainer:
    """Runs an objective to the end of its budget.

    Args:
        recipe: seed, budget, optimiser.
        objective: model and data.
        folder: where state and curve are kept.
        steps: stop after this many steps and take them as the budget instead of minutes (tests).
        clock: seconds; replaced in tests.
        processes: this process and those that it trains with.
    """

    def __init__(
        self,
        recipe: Recipe,
        objective: Objective,
        folder: Path,
        *,
        steps: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        processes: Alone | None = None,
    ) -> None:
        self.recipe = recipe
        self.objective = objective
        self.folder = folder
        self.steps = steps
        self.clock = clock
        self.processes = processes or Alone()
        self.device = self.processes.device
        objective.model.to(self.device)
        self.processes.equalise(objective.model)
        self.optimizers = optimizers.build(objective.model, recipe.optimizer)
        self.progress = Progress()
        self.trained = list(state.trained(objective.model).values())
        self.saved: int | None = None
        """Step of the state on the disk."""
        self.interrupt = Interrupt()
        self.stopping = False
        """Whether the processes agreed, in the last step, to stop: one may have been asked after the others were."""
        self._mark = clock()
        folder.mkdir(parents=True, exist_ok=True)

    def used(self) -> float:
        """Share of the budget that is used, 0 to 1."""
        done, budget = self.progress.minutes, self.recipe.minutes
        if self.steps is not None:
            done, budget = self.progress.step, self.steps
        elif self.recipe.tokens:
            done, budget = self.progress.tokens, self.recipe.tokens
        return done / budget if budget else 1.0

    def step(self) -> float:
        """One optimiser step; returns its loss in nats, the mean over the processes.

        Raises:
            Diverged: loss or slope is not finite; the weights are still those of the step before.
        """
        settings, done, processes = self.recipe.optimizer, self.progress, self.processes
        factor = schedule.rate(self.used(), warmup=settings.get("warmup", 0.02), hold=settings.get("hold", 0.0))
        optimizers.set_rate(self.optimizers, factor)
        number = done.batches + processes.rank
        batch = {k: v.to(self.device) for k, v in self.objective.batch(number).items()}
        torch.manual_seed(int(np.random.SeedSequence([self.recipe.seed, 4, number]).generate_state(1)[0]))
        with self._precision():
            loss = self.objective.loss(batch)
        loss.backward()  # type: ignore[no-untyped-call]
        processes.average(self.trained)
        norm = float(torch.nn.utils.clip_grad_norm_(self.trained, float(settings.get("clip", 1.0))))
        now = self.clock()
        spent, self._mark = (now - self._mark) / 60, now
        mean, tokens, minutes, asked = processes.total(
            [
                float(loss.detach()) / processes.count,
                self.objective.size(batch),
                spent if processes.main else 0.0,  # one clock for all, or they would end at different steps
                self.interrupt.asked,
            ]
        )
        if not (math.isfinite(mean) and math.isfinite(norm)):
            raise Diverged(
                f"The loss is {mean:.4g} and its slope {norm:.4g} at step {done.step + 1}: training stopped there. "
                f"{self._way_back('Lower the rate in the recipe; the same command then')}"
            )
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        self.stopping = bool(asked)
        done.step += 1
        done.batches += processes.count
        done.tokens += round(tokens)
        done.minutes += minutes
        done.losses += mean
        done.counted += 1
        return mean

    def run(self, *, save_seconds: float = 120.0, measure_share: float = 0.05, quiet: bool = False) -> list[float]:
        """Trains to the end of the budget; returns the losses of this call's steps.

        Raises:
            Diverged: a number is not finite any more; the state on the disk is from before.
            Interrupted: a signal asked to stop; the state is saved.
            StorageError: the disk is full; the state on the disk is the last one that was saved.
        """
        report = Report(quiet or not self.processes.main, self.recipe.slug)
        try:
            with Interrupt() as self.interrupt:
                return self._run(report, save_seconds, measure_share)
        except StorageError as error:
            raise StorageError(f"{error} {self._way_back('Once there is room, the same command')}") from error
        finally:
            report.close()

    def _run(self, report: Report, save_seconds: float, measure_share: float) -> list[float]:
        done = self.progress
        losses: list[float] = []
        recent: deque[float] = deque(maxlen=50)
        self.objective.model.train()
        pace = Pace(done.tokens, self.used())
        self._mark = saved = self.clock()
        measured = int(self.used() / measure_share)
        while self.used() < 1.0:
            before = done.minutes
            losses.append(self.step())
            recent.append(losses[-1])
            pace.step(60 * (done.minutes - before), done.tokens, self.used())
            now = self._mark
            if int(self.used() / measure_share) > measured or self.used() >= 1.0:
                measured = int(self.used() / measure_share)
                self._measure_and_note()
            if now - saved > save_seconds:
                self.save()
                saved = now
            if self._mark != now:
                pace.pause(self._mark - now)
            report.show(now, pace, sum(recent) / len(recent), done.step, last=self.used() >= 1.0)
            if self.stopping and self.used() < 1.0:
                self.save()
                raise Interrupted(f"Stopped after step {done.step:,}, as asked. {self._way_back('The same command')}")
        self.save()
        return losses

    def _measure_and_note(self) -> None:
        """Both sides of the learning curve; the time that it takes is a pause."""
        done = self.progress
        if self.processes.main:
            self._check_weights()
            self.note("train", {"loss": done.losses / done.counted})
            self.note("held-out", self.measure())
        done.losses, done.counted = 0.0, 0
        self._mark = self.clock()

    def measure(self) -> dict[str, float]:
        """The objective's held-out numbers, in evaluation mode."""
        self.objective.model.eval()
        with torch.no_grad(), self._precision():
            found = self.objective.measure()
        self.objective.model.train()
        return found

    def _precision(self) -> torch.autocast:
        """bfloat16 where the device has it, unless the recipe says otherwise."""
        return precision.mixed(self.device.type, wanted=bool(self.recipe.optimizer.get("bfloat16", True)))

    def note(self, split: str, values: dict[str, float]) -> None:
        """Adds numbers to the learning curve and writes it."""
        done = self.progress
        for name, value in values.items():
            done.curve.append((done.tokens, done.step, round(done.minutes, 2), split, name, round(value, 4)))
        write_curve(self.folder / "curve.csv", done.curve)

    def save(self) -> None:
        """Writes the state beside the old one, then renames it over; the time that it takes is a pause."""
        if self.processes.main:
            self._check_weights()
            state.write(
                self.folder / STATE, self.recipe, self.objective.model, self.optimizers, dict(vars(self.progress))
            )
        self.saved = self.progress.step
        self._mark = self.clock()

    def resume(self) -> bool:
        """Takes up the saved state; False where there is none.

        Raises:
            StateError: it is damaged, or belongs to another recipe or model.
        """
        path = self.folder / STATE
        source: Path | io.BytesIO = path
        if self.processes.count > 1:  # the state lies on the main process's machine, which others may not see
            data = self.processes.share(path.read_bytes() if self.processes.main and path.is_file() else None)
            if data is None:
                return False
            source = io.BytesIO(data)
        elif not path.is_file():
            return False
        found = state.read(source, path, self.recipe, self.objective.model)
        try:
            self.progress = Progress(**{"batches": found["progress"]["step"], **found["progress"]})
        except (KeyError, TypeError) as error:
            raise state.StateError(f"The saved state {path} is damaged. Give --fresh to start over.") from error
        self.progress.curve = [tuple(row) for row in self.progress.curve]  # type: ignore[misc]
        self.objective.model.load_state_dict(found["model"], strict=False)
        state.take_up(self.optimizers, found["optimizers"], path)
        self.saved = self.progress.step
        return True

    def _check_weights(self) -> None:
        """Raises `Diverged` rather than let a state or a measurement of broken weights come to the disk."""
        if not all(bool(parameter.isfinite().all()) for parameter in self.trained):
            raise Diverged(
                f"Some weights are no finite numbers after step {self.progress.step}: training stopped there. "
                f"{self._way_back('Lower the rate in the recipe; the same command then')}"
            )

    def _way_back(self, command: str) -> str:
        """Where ``command`` goes on, as a sentence."""
        if self.saved is None:
            return f"{command} starts over: nothing had been saved yet."
        return f"{command} goes on from step {self.saved:,}, which is saved."


def write_curve(path: Path, rows: list[tuple[int, int, float, str, str, float]]) -> None:
    """The learning curve as CSV with the columns `CURVE`, in one step."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(CURVE)
    writer.writerows(rows)
    write_text(path, out.getvalue())
