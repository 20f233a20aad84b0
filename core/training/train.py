"""The one training loop: any objective, resumable, with a learning curve and a checkpoint at its end.

The budget is tokens where the recipe names them, else time; the learning rate is a function of its used share, so that
the last decay always happens. With time, a slower machine sees fewer tokens and finishes its decay all the same.

Everything random in a step follows from the seed and the number of the step, so a run that was killed and goes on
from its last state takes the same steps as one that was not.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import math
import shutil
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import torch

from core.checkpoints.registry import bundled_root
from core.errors import AtlasError
from core.training import corpus, optimizers, state
from core.training import recipe as recipes
from core.training.evaluate import cli_evaluate
from core.training.files import StorageError, replacing_folder, room_for, write_file
from core.training.objective import Objective
from core.training.objectives import build
from core.training.recipe import Recipe, write_card

STATE = Path(__file__).resolve().parents[2] / "var" / "training"
CURVE = ("tokens", "steps", "minutes", "split", "measure", "value")
SIGNALS = (signal.SIGINT, signal.SIGTERM)
Row = tuple[int, int, float, str, str, float]


class Diverged(AtlasError):
    """A loss, a gradient or a weight is no finite number any more."""


class Interrupted(AtlasError):
    """The run was asked to stop, and has saved its state."""


@dataclass
class Progress:
    """How far a run is."""

    step: int = 0
    tokens: int = 0
    minutes: float = 0.0
    curve: list[Row] = field(default_factory=list)
    losses: float = 0.0
    """Sum of the losses since the last measurement, in nats, and how many they are."""
    counted: int = 0


class Trainer:
    """Runs an objective to the end of its budget.

    Args:
        recipe: seed, budget, optimizer.
        objective: model and data.
        folder: where state and curve are kept.
        steps: take this many steps as the budget (tests).
        clock: seconds; replaced in tests.
    """

    def __init__(
        self,
        recipe: Recipe,
        objective: Objective,
        folder: Path,
        *,
        steps: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.recipe, self.objective, self.folder = recipe, objective, folder
        self.steps, self.clock = steps, clock
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        objective.model.to(self.device)
        self.optimizers = optimizers.build(objective.model, recipe.optimizer)
        self.trained = list(state.trained(objective.model).values())
        self.progress = Progress()
        self.saved: int | None = None
        """Step of the state on the disk."""
        self.stopping = False
        """Whether a signal asked to stop; it does so after the step at hand, where the state is whole."""
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
        """One optimizer step; returns its loss in nats.

        Raises:
            Diverged: loss or gradient is not finite; the weights are still those of the step before.
        """
        settings, done = self.recipe.optimizer, self.progress
        optimizers.set_rate(self.optimizers, self.used(), settings.get("warmup", 0.02))
        batch = {name: value.to(self.device) for name, value in self.objective.batch(done.step).items()}
        torch.manual_seed(int(np.random.SeedSequence([self.recipe.seed, 4, done.step]).generate_state(1)[0]))
        with self._precision():
            loss = self.objective.loss(batch)
        loss.backward()  # type: ignore[no-untyped-call]
        norm = float(torch.nn.utils.clip_grad_norm_(self.trained, float(settings.get("clip", 1.0))))
        value = float(loss.detach())
        if not (math.isfinite(value) and math.isfinite(norm)):
            raise self._diverged(f"The loss is {value:.4g} and its gradient {norm:.4g} at step {done.step + 1}")
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        done.step += 1
        done.tokens += self.objective.size(batch)
        done.minutes += (self.clock() - self._mark) / 60
        self._mark = self.clock()
        done.losses += value
        done.counted += 1
        return value

    def run(self, *, save_seconds: float = 120.0, measure_share: float = 0.05, quiet: bool = False) -> list[float]:
        """Trains to the end of the budget; returns the losses of this call's steps.

        Raises:
            Diverged: a number is not finite any more; the state on the disk is from before.
            Interrupted: a signal asked to stop; the state is saved.
            StorageError: the disk is full; the state on the disk is the last one that was saved.
        """
        before: dict[int, Any] = {}
        if threading.current_thread() is threading.main_thread():
            before = {number: signal.signal(number, self._asked) for number in SIGNALS}
        try:
            return self._run(save_seconds, measure_share, Report(self, quiet))
        except StorageError as error:
            raise StorageError(f"{error} {self._way_back('Once there is room, the same command')}") from error
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _run(self, save_seconds: float, measure_share: float, report: Report) -> list[float]:
        losses: list[float] = []
        self.objective.model.train()
        self._mark = saved = self.clock()
        measured = int(self.used() / measure_share)
        while self.used() < 1.0:
            losses.append(self.step())
            if int(self.used() / measure_share) > measured or self.used() >= 1.0:
                measured = int(self.used() / measure_share)
                self.check_weights()
                self.note("train", {"loss": self.progress.losses / self.progress.counted})
                self.note("held-out", self.measure())
                self.progress.losses, self.progress.counted = 0.0, 0
            if self.clock() - saved > save_seconds:
                self.save()
                saved = self.clock()
            report.show(losses[-50:], last=self.used() >= 1.0)
            if self.stopping and self.used() < 1.0:
                self.save()
                raise Interrupted(
                    f"Stopped after step {self.progress.step:,}, as asked. {self._way_back('The same command')}"
                )
            self._mark = self.clock()  # measuring and saving are pauses
        self.save()
        return losses

    def measure(self) -> dict[str, float]:
        """The objective's held-out numbers, in evaluation mode."""
        self.objective.model.eval()
        with torch.no_grad(), self._precision():
            found = self.objective.measure()
        self.objective.model.train()
        return found

    def note(self, split: str, values: dict[str, float]) -> None:
        """Adds numbers to the learning curve and writes it."""
        done = self.progress
        for name, value in values.items():
            done.curve.append((done.tokens, done.step, round(done.minutes, 2), split, name, round(value, 4)))
        out = io.StringIO(newline="")
        csv.writer(out).writerows([CURVE, *done.curve])
        write_file(self.folder / "curve.csv", out.getvalue())

    def save(self) -> None:
        """Writes the state in one step; a state of broken weights never reaches the disk."""
        self.check_weights()
        state.write(self.folder, self.recipe, self.objective.model, self.optimizers, dict(vars(self.progress)))
        self.saved = self.progress.step

    def resume(self) -> bool:
        """Takes up the saved state; False where there is none.

        Raises:
            StateError: it is damaged, or belongs to another recipe or model.
        """
        progress = state.take_up(self.folder, self.recipe, self.objective.model, self.optimizers)
        if progress is None:
            return False
        try:
            self.progress = Progress(**progress)
        except TypeError as error:
            raise state.damaged(self.folder) from error
        self.progress.curve = [tuple(row) for row in self.progress.curve]  # type: ignore[misc]
        self.saved = self.progress.step
        return True

    def check_weights(self) -> None:
        """Raises `Diverged` rather than let a state or a measurement of broken weights come to the disk."""
        if not all(bool(parameter.isfinite().all()) for parameter in self.trained):
            raise self._diverged(f"Some weights are no finite numbers after step {self.progress.step}")

    def _asked(self, number: int, frame: FrameType | None) -> None:
        if self.stopping and number == signal.SIGINT:  # asked twice: at once, without saving
            raise KeyboardInterrupt
        self.stopping = True

    def _precision(self) -> torch.autocast:
        return optimizers.mixed(self.device.type, wanted=bool(self.recipe.optimizer.get("bfloat16", True)))

    def _diverged(self, what: str) -> Diverged:
        way = self._way_back("Lower the rate in the recipe; the same command then")
        return Diverged(f"{what}: training stopped there. {way}")

    def _way_back(self, command: str) -> str:
        if self.saved is None:
            return f"{command} starts over: nothing had been saved yet."
        return f"{command} goes on from step {self.saved:,}, which is saved."


class Report:
    """Loss, tokens, speed and time left on the error stream: one line kept up to date in a terminal, else one a minute.

    The time left is that of what this run has done so far, its pauses included.
    """

    def __init__(self, trainer: Trainer, quiet: bool) -> None:
        self.trainer, self.quiet = trainer, quiet
        self.end, every = ("\r", 1.0) if sys.stderr.isatty() else ("\n", 60.0)
        self.every = every
        self._begin = (trainer.clock(), trainer.used())
        self._told: float | None = None
        self._past = deque([(trainer.clock(), trainer.progress.tokens)], maxlen=int(60 / every) + 1)

    def show(self, losses: list[float], *, last: bool = False) -> None:
        """Tells how far the run is; most calls tell nothing."""
        now, done, used = self.trainer.clock(), self.trainer.progress, self.trainer.used()
        if self.quiet or not (last or self._told is None or now - self._told >= self.every):
            return
        self._told = now
        self._past.append((now, done.tokens))
        speed = (done.tokens - self._past[0][1]) / max(1e-9, now - self._past[0][0])
        left = max(0.0, 1 - used) * (now - self._begin[0]) / max(1e-9, used - self._begin[1])
        loss = sum(losses) / len(losses)
        print(
            f"{self.trainer.recipe.slug}: {100 * min(1.0, used):.1f} %, loss {loss:.3f}, step {done.step:,}, "
            f"{done.tokens / 1e6:.2f}M tokens, {speed:,.0f} tokens/s, {duration(left)} left ",
            end="\n" if last else self.end,
            file=sys.stderr,
            flush=True,
        )


def duration(seconds: float) -> str:
    """``45 s``, ``12 min`` or ``3 h 05 min``; the next minute from half of one on."""
    if round(seconds) < 60:
        return f"{round(seconds)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


def train(
    recipe: str,
    folder: Path,
    *,
    minutes: float | None = None,
    threads: int | None = None,
    state_folder: Path | None = None,
    output: Path | None = None,
    fresh: bool = False,
    further: bool = False,
) -> Path:
    """Trains a recipe to the end of its budget and writes the checkpoint; takes up an interrupted run by itself.

    A checkpoint in its own place is measured, and its card states the numbers. A finished run is only written again.
    A recipe without a card is a stage of another one: its weights stay beside its state, in ``out``.

    Args:
        recipe: name of a file in ``assets/recipes``.
        folder: the training text.
        minutes: planned training time instead of the recipe's.
        threads: torch threads; torch's own choice by default.
        state_folder: where the training state is kept (default ``var/training/<recipe>``).
        output: folder of the finished checkpoint (default: its place among the bundled ones).
        fresh: start over, dropping the saved state.
        further: where no state is saved, go on from the bundled checkpoint (`core.training.state.go_on`).

    Returns:
        The checkpoint's folder.

    Raises:
        AtlasError: corpus or recipe cannot be used, the disk is full, the saved state does not fit, a number is not
            finite, or a signal asked to stop; the sentence says what to do. The last good state is kept.
    """
    chosen = recipes.load(recipe)
    corpus.check(folder, chosen.sources)
    if minutes is not None:
        chosen = dataclasses.replace(chosen, minutes=minutes, tokens=0)
    if threads is not None:
        torch.set_num_threads(threads)
    place = state_folder or STATE / recipe
    if fresh and place.exists():
        shutil.rmtree(place)
    bundled = bundled_root().joinpath(*chosen.place)
    try:
        with room_for(place):
            trainer = Trainer(chosen, build(chosen, folder, place / "data"), place)
        if trainer.resume():
            done = trainer.progress
            print(f"Resuming {chosen.slug} at step {done.step:,}, {done.minutes:.1f} minutes in.", flush=True)
        elif further:
            rows = state.go_on(chosen, trainer.objective, bundled)
            trainer.progress = Progress(step=rows[-1][1], tokens=rows[-1][0], minutes=rows[-1][2], curve=rows)
        trainer.run()
    except KeyboardInterrupt as error:
        raise Interrupted(
            "Interrupted at once. The same command goes on from the last saved state, or begins where there is none."
        ) from error
    target = output or (bundled if chosen.card else place / "out")
    steps, tokens = trainer.progress.step, trainer.progress.tokens
    try:
        with replacing_folder(target) as new:
            trainer.objective.export(new)
            shutil.copyfile(place / "curve.csv", new / "curve.csv")
            if chosen.card:
                write_card(new, chosen, steps=steps, tokens=tokens)
        if chosen.card and target == bundled:
            write_card(target, chosen, steps=steps, tokens=tokens, measures=cli_evaluate(chosen.slug, folder))
    except StorageError as error:
        raise StorageError(
            f"{error} Training is finished and saved: once there is room, the same command only writes the result."
        ) from error
    return target
