"""The training loop of all objectives: resumable, with a learning curve and a checkpoint at its end.

The budget is in tokens where the recipe has them, else in minutes. The learning rate is a function of the used share of
the budget, so that a slower machine also completes the decay.

All randomness of a step follows from the seed and the step number, so a resumed run takes the same steps as an
uninterrupted one.
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
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import torch
from tqdm import tqdm  # type: ignore[import-untyped]

from core.checkpoints.registry import BESIDE, UPDATES, bundled_root
from core.checkpoints.spec import Measure
from core.errors import AtlasError
from lab import corpus, optimizers, state
from lab import recipe as recipes
from lab.evaluate import cli_evaluate, evaluable
from lab.files import StorageError, replacing_folder, room_for, write_file
from lab.objective import Objective
from lab.objectives import build
from lab.recipe import Recipe, write_card

STATE = Path(__file__).resolve().parents[1] / "var" / "training"
CURVE = ("tokens", "steps", "minutes", "split", "measure", "value")
SIGNALS = (signal.SIGINT, signal.SIGTERM)
CurveRow = tuple[int, int, float, str, str, float]


class Diverged(AtlasError):
    """A loss, a gradient or a weight is not finite."""


class Interrupted(AtlasError):
    """A signal stopped the run, which saved its state."""


@dataclass
class Progress:
    step: int = 0
    tokens: int = 0
    minutes: float = 0.0
    curve: list[CurveRow] = field(default_factory=list)
    losses: float = 0.0
    """Sum of the losses since the last measurement, in nats; ``counted`` is their number."""
    counted: int = 0


class Trainer:
    """Runs an objective to the end of its budget.

    Args:
        recipe: seed, budget, optimizer.
        objective: model and data.
        folder: where state and curve are stored.
        steps: the budget as a number of steps (tests).
    """

    def __init__(self, recipe: Recipe, objective: Objective, folder: Path, *, steps: int | None = None) -> None:
        self.recipe, self.objective, self.folder, self.steps = recipe, objective, folder, steps
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        objective.model.to(self.device)
        self.optimizers = optimizers.build(objective.model, recipe.optimizer)
        self.trained = list(state.trained(objective.model).values())
        self.progress = Progress()
        self.saved: int | None = None
        """Step of the state on the disk."""
        self.stopping = False
        """Whether a signal arrived; the run stops after the current step."""
        self._mark = time.monotonic()
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
        """Take an optimizer step with torch's generator seeded by its number; otherwise as :meth:`update`."""
        torch.manual_seed(int(np.random.SeedSequence([self.recipe.seed, 4, self.progress.step]).generate_state(1)[0]))
        return self.update()

    def update(self) -> float:
        """Take an optimizer step; returns its loss in nats.

        Raises:
            Diverged: loss or gradient is not finite; the weights are unchanged.
        """
        settings, done = self.recipe.optimizer, self.progress
        optimizers.set_rate(self.optimizers, self.used(), settings.get("warmup", 0.02))
        batch = {name: value.to(self.device) for name, value in self.objective.batch(done.step).items()}
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
        now = time.monotonic()
        done.minutes += (now - self._mark) / 60
        self._mark = now
        done.losses += value
        done.counted += 1
        return value

    def run(self, *, save_seconds: float = 120.0, measure_share: float = 0.05, quiet: bool = False) -> list[float]:
        """Train to the end of the budget; returns the losses of the steps.

        Raises:
            Diverged: a value is not finite; the saved state is an earlier one.
            Interrupted: a signal stopped the run; the state is saved.
            StorageError: the disk is full; the saved state is an earlier one.
        """
        before: dict[int, Any] = {}
        if threading.current_thread() is threading.main_thread():
            before = {number: signal.signal(number, self._stop) for number in SIGNALS}
        try:
            with progress_bar(self, quiet) as bar:
                return self._run(save_seconds, measure_share, bar)
        except StorageError as error:
            raise StorageError(f"{error} {self._resumption('Once there is room, the same command')}") from error
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _run(self, save_seconds: float, measure_share: float, bar: Any) -> list[float]:
        losses: list[float] = []
        self.objective.model.train()
        self._mark = saved = time.monotonic()
        measured = int(self.used() / measure_share)
        while (used := self.used()) < 1.0:
            losses.append(self.step())
            bar.set_postfix_str(f"loss {np.mean(losses[-50:]):.3f}, step {self.progress.step:,}", refresh=False)
            bar.update(min(1.0, self.used()) - used)
            if int(self.used() / measure_share) > measured or self.used() >= 1.0:
                measured = int(self.used() / measure_share)
                self.check_weights()
                self.note("train", {"loss": self.progress.losses / self.progress.counted})
                self.note("held-out", self.measure())
                self.progress.losses, self.progress.counted = 0.0, 0
            if time.monotonic() - saved > save_seconds:
                self.save()
                saved = time.monotonic()
            if self.stopping and self.used() < 1.0:
                self.save()
                raise Interrupted(f"Stopped after step {self.progress.step:,}. {self._resumption('The same command')}")
            self._mark = time.monotonic()  # measuring and saving are pauses
        self.save()
        return losses

    def measure(self) -> dict[str, float]:
        """The objective's measures on held-out text, in evaluation mode."""
        self.objective.model.eval()
        with torch.no_grad(), self._precision():
            numbers = self.objective.measure()
        self.objective.model.train()
        return numbers

    def own_measures(self) -> Sequence[Measure]:
        """The objective's own rows of the card, in evaluation mode."""
        self.objective.model.eval()
        with torch.no_grad():
            return self.objective.measures()

    def note(self, split: str, values: dict[str, float]) -> None:
        """Add values to the learning curve and write it."""
        done = self.progress
        for name, value in values.items():
            done.curve.append((done.tokens, done.step, round(done.minutes, 2), split, name, round(value, 4)))
        out = io.StringIO(newline="")
        csv.writer(out).writerows([CURVE, *done.curve])
        write_file(self.folder / "curve.csv", out.getvalue())

    def save(self) -> None:
        """Save the state atomically. Raises `Diverged` where weights are not finite."""
        self.check_weights()
        state.write(self.folder, self.recipe, self.objective.model, self.optimizers, dict(vars(self.progress)))
        self.saved = self.progress.step

    def resume(self) -> bool:
        """Restore the saved state; False without one.

        Raises:
            StateError: it is corrupt, or of another recipe or model.
        """
        progress = state.restore(self.folder, self.recipe, self.objective.model, self.optimizers)
        if progress is None:
            return False
        self.progress = Progress(**progress)
        self.saved = self.progress.step
        return True

    def check_weights(self) -> None:
        """Raise `Diverged` where weights are not finite, before they are saved or measured."""
        if not all(bool(parameter.isfinite().all()) for parameter in self.trained):
            raise self._diverged(f"Some weights are not finite after step {self.progress.step}")

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if self.stopping and number == signal.SIGINT:  # a second Ctrl-C stops at once, without saving
            raise KeyboardInterrupt
        self.stopping = True

    def _precision(self) -> torch.autocast:
        return optimizers.mixed(self.device.type, wanted=bool(self.recipe.optimizer.get("bfloat16", True)))

    def _diverged(self, what: str) -> Diverged:
        resumption = self._resumption("Lower the rate in the recipe; the same command then")
        return Diverged(f"{what}: training stopped there. {resumption}")

    def _resumption(self, command: str) -> str:
        if self.saved is None:
            return f"{command} starts over: nothing had been saved yet."
        return f"{command} resumes at step {self.saved:,}, which is saved."


def progress_bar(trainer: Trainer, quiet: bool) -> Any:
    """Share of the budget, loss, step and time left, on stderr: one line in a terminal, else one per minute."""
    terminal = sys.stderr.isatty()
    return tqdm(
        desc=trainer.recipe.slug,
        total=1.0,
        initial=trainer.used(),
        mininterval=1.0 if terminal else 60.0,
        bar_format="{desc}: {percentage:.1f}%{postfix}, {elapsed} elapsed, {remaining} left" + "\n" * (not terminal),
        disable=quiet,
    )


def train(
    recipe: str,
    folder: Path,
    *,
    minutes: float | None = None,
    threads: int | None = None,
    state_folder: Path | None = None,
    output: Path | None = None,
    fresh: bool = False,
) -> Path:
    """Train a recipe to the end of its budget, or resume it, and write the checkpoint.

    A bundled checkpoint is evaluated, and its card has the measures. A finished run is only written again. A recipe
    without a card is a stage of another one; its weights are in ``out`` beside its state.

    Args:
        recipe: name of a file in ``assets/recipes``.
        folder: the corpus.
        minutes: training time instead of the recipe's.
        threads: torch threads; torch's default if None.
        state_folder: folder of the training state (default ``var/training/<recipe>``).
        output: folder of the finished checkpoint (default: the bundled one).
        fresh: start over without the saved state.

    Returns:
        The checkpoint's folder.

    Raises:
        AtlasError: corpus or recipe cannot be used, the disk is full, the saved state does not fit, a value is not
            finite, or a signal arrived; the message says what to do. The last good state is unchanged.
    """
    chosen = recipes.load(recipe)
    corpus.check(folder, chosen.sources)
    if minutes is not None:
        chosen = dataclasses.replace(chosen, minutes=minutes, tokens=0)
    if threads is not None:
        torch.set_num_threads(threads)
    state_folder = state_folder or STATE / recipe
    if fresh and state_folder.exists():
        shutil.rmtree(state_folder)
    try:
        with room_for(state_folder):
            trainer = Trainer(chosen, build(chosen, folder, state_folder / "data"), state_folder)
        done = trainer.progress
        if trainer.resume():
            done = trainer.progress
            print(f"Resuming {chosen.slug} at step {done.step:,}, {done.minutes:.1f} minutes in.", flush=True)
        trainer.run()
    except KeyboardInterrupt as error:
        raise Interrupted(
            "Interrupted at once. The same command resumes from the last saved state, or starts over where there is "
            "none."
        ) from error
    bundled = bundled_root().joinpath(*chosen.location)
    target = output or (bundled if chosen.card else state_folder / "out")
    try:
        with replacing_folder(target) as new:
            trainer.objective.export(new)
            for part in filter(
                Path.is_dir, (target / name for name in (*BESIDE, *UPDATES, "pairs"))
            ):  # trained by recipes of their own
                shutil.copytree(part, new / part.name)
            shutil.copyfile(state_folder / "curve.csv", new / "curve.csv")
            if chosen.card:
                rows = trainer.own_measures()
                write_card(new, chosen, steps=done.step, tokens=done.tokens, measures=rows)
        if chosen.card and target == bundled and chosen.slug in evaluable():
            measures = cli_evaluate(chosen.slug, folder)
            write_card(target, chosen, steps=done.step, tokens=done.tokens, measures=measures)
    except StorageError as error:
        raise StorageError(
            f"{error} Training is finished and saved: once there is room, the same command only writes the result."
        ) from error
    return target
