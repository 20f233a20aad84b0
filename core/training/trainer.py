"""The one training loop: any objective, CPU or GPU in bfloat16, resumable, with a learning curve.

The budget is time, or tokens where the recipe says so; the learning rate is a function of the used share of it. With
time, a slower machine sees fewer tokens but always finishes its decay (pauses do not count). State is written to a new
file and renamed, so that an interrupted run loses at most the steps since the last save.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from core.training import optimizers, schedule
from core.training.objectives import Objective
from core.training.recipe import Recipe

CURVE = ("tokens", "steps", "minutes", "split", "measure", "value")
STATE = "state.pt"


@dataclass
class Progress:
    """How far a run is."""

    step: int = 0
    tokens: int = 0
    minutes: float = 0.0
    curve: list[tuple[int, int, float, str, str, float]] = field(default_factory=list)


class Trainer:
    """Runs an objective to the end of its budget.

    Args:
        recipe: seed, budget, optimiser.
        objective: model and data.
        folder: where state and curve are kept.
        steps: stop after this many steps and take them as the budget instead of minutes (tests).
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
        self.recipe = recipe
        self.objective = objective
        self.folder = folder
        self.steps = steps
        self.clock = clock
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        objective.model.to(self.device)
        self.optimizers = optimizers.build(objective.model, recipe.optimizer)
        self.progress = Progress()
        self.trained = [p for p in objective.model.parameters() if p.requires_grad]
        folder.mkdir(parents=True, exist_ok=True)

    def used(self) -> float:
        """Share of the budget that is used, 0 to 1."""
        if self.steps is not None:
            return self.progress.step / self.steps
        if self.recipe.tokens:
            return self.progress.tokens / self.recipe.tokens
        return self.progress.minutes / self.recipe.minutes

    def step(self) -> float:
        """One optimiser step; returns its loss in nats."""
        settings = self.recipe.optimizer
        factor = schedule.rate(self.used(), warmup=settings.get("warmup", 0.02), hold=settings.get("hold", 0.0))
        optimizers.set_rate(self.optimizers, factor)
        batch = {k: v.to(self.device) for k, v in self.objective.batch(self.progress.step).items()}
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=bool(settings.get("bfloat16", True))):
            loss = self.objective.loss(batch)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.trained, float(settings.get("clip", 1.0)))
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        self.progress.step += 1
        self.progress.tokens += self.objective.size(batch)
        return float(loss.detach())

    def run(self, *, save_seconds: float = 120.0, measure_share: float = 0.05, quiet: bool = False) -> list[float]:
        """Trains to the end of the budget; returns the losses of this call's steps."""
        from tqdm import tqdm  # type: ignore[import-untyped]

        losses: list[float] = []
        recent: list[float] = []
        self.objective.model.train()
        last = saved = self.clock()
        measured = int(self.used() / measure_share)
        bar = tqdm(total=100, initial=round(100 * self.used(), 1), disable=quiet, unit="%", mininterval=20)
        while self.used() < 1.0:
            loss = self.step()
            losses.append(loss)
            recent.append(loss)
            now = self.clock()
            self.progress.minutes += (now - last) / 60
            last = now
            bar.n = round(min(100.0, 100 * self.used()), 1)
            bar.set_postfix(
                loss=f"{sum(recent[-50:]) / len(recent[-50:]):.3f}",
                tokens=f"{self.progress.tokens / 1e6:.2f}M",
                step=self.progress.step,
            )
            if int(self.used() / measure_share) > measured or self.used() >= 1.0:
                measured = int(self.used() / measure_share)
                self.note("train", {"loss": sum(recent) / len(recent)})
                self.note("held-out", self.measure())
                recent.clear()
                last = self.clock()
            if now - saved > save_seconds:
                self.save()
                saved = last = self.clock()
        bar.close()
        self.save()
        return losses

    def measure(self) -> dict[str, float]:
        """The objective's held-out numbers, in evaluation mode."""
        self.objective.model.eval()
        with torch.no_grad(), torch.autocast(self.device.type, dtype=torch.bfloat16):
            found = self.objective.measure()
        self.objective.model.train()
        return found

    def note(self, split: str, values: dict[str, float]) -> None:
        """Adds numbers to the learning curve and writes it."""
        done = self.progress
        for name, value in values.items():
            done.curve.append((done.tokens, done.step, round(done.minutes, 2), split, name, round(value, 4)))
        write_curve(self.folder / "curve.csv", done.curve)

    def save(self) -> None:
        """Writes the state beside the old one, then renames it over."""
        state: dict[str, Any] = {
            "model": {n: p.detach() for n, p in self.objective.model.named_parameters() if p.requires_grad},
            "optimizers": [o.state_dict() for o in self.optimizers],
            "random": torch.get_rng_state(),
            "progress": vars(self.progress),
        }
        fresh = self.folder / (STATE + ".new")
        torch.save(state, fresh)
        fresh.rename(self.folder / STATE)

    def resume(self) -> bool:
        """Takes up the saved state; False where there is none."""
        path = self.folder / STATE
        if not path.is_file():
            return False
        state = torch.load(path, map_location=self.device, weights_only=True)
        self.objective.model.load_state_dict(state["model"], strict=False)
        for optimizer, saved in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        torch.set_rng_state(state["random"].cpu())
        self.progress = Progress(**state["progress"])
        self.progress.curve = [tuple(row) for row in self.progress.curve]  # type: ignore[misc]
        return True


def write_curve(path: Path, rows: list[tuple[int, int, float, str, str, float]]) -> None:
    """The learning curve as CSV with the columns `CURVE`."""
    with path.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(CURVE)
        writer.writerows(rows)
