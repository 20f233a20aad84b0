"""A training run that a test starts in a process of its own and kills again and again: ``python tests/runs.py FOLDER``.

Processes are forked from this one, so that torch is imported once, with what it would import later.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import torch
import torch._dynamo
from torch import Tensor, nn

from lab.recipe import Recipe
from lab.train import Trainer

STEPS = 60
KILLS = 6


class Line:
    """Fits y = 2 Σx + 1 with a two-layer network on batches that follow from their number."""

    def __init__(self, seed: int = 3, told: int | None = None) -> None:
        torch.manual_seed(seed)
        self.model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.2), nn.Linear(8, 1))
        self.told = told

    def batch(self, number: int) -> dict[str, Tensor]:
        if self.told is not None:
            os.write(self.told, b".")
        x = torch.from_numpy(np.random.default_rng(number).normal(size=(16, 4))).float()
        return {"x": x, "y": 2 * x.sum(1, keepdim=True) + 1}

    def loss(self, batch: dict[str, Tensor]) -> Tensor:
        return ((self.model(batch["x"]).float() - batch["y"]) ** 2).mean()

    def size(self, batch: dict[str, Tensor]) -> int:
        return len(batch["x"])

    def measure(self) -> dict[str, float]:
        return {"loss": float(self.loss(self.batch(10_000)))}

    def export(self, folder: Path) -> None:
        (folder / "weights.txt").write_text(str(self.model.state_dict()))


def toy(**changed: Any) -> Recipe:
    """A recipe for this objective."""
    fields: dict[str, Any] = {
        "sources": (),
        "optimizer": {"rate": 0.01, "weight_decay": 0.1, "bfloat16": False, "warmup": 0.0},
    }
    return Recipe("toy", "toy", seed=1, minutes=1.0, step_tokens=16, **(fields | changed))


def _fork(work: Any) -> int:
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
    return child


def _run(folder: Path, told: int | None = None) -> None:
    trainer = Trainer(toy(tokens=16 * STEPS), Line(told=told), folder)
    trainer.resume()
    trainer.run(save_seconds=0.0, measure_share=0.1, quiet=True)


def killed(folder: Path) -> dict[str, Any]:
    """One run from beginning to end in ``whole``, one in ``cut`` that is killed at moments drawn by chance."""
    os.waitpid(_fork(lambda: _run(folder / "whole")), 0)
    random, seen, kills = Random(5), [], 0
    while True:
        out, into = os.pipe()
        child = _fork(lambda into=into: _run(folder / "cut", into))
        os.close(into)
        for _ in range(random.randint(2, 9) if kills < KILLS else 10**6):
            if not os.read(out, 1):
                break
        if kills < KILLS:
            time.sleep(random.uniform(0.0, 0.006))  # a step and a save take about as long
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        os.close(out)
        state = folder / "cut" / "state.pt"
        seen.append(torch.load(state, weights_only=True)["progress"]["step"] if state.is_file() else 0)
        if not os.WIFSIGNALED(status):
            return {"kills": kills, "steps": seen, "status": os.waitstatus_to_exitcode(status)}
        kills += 1


if __name__ == "__main__":
    print(json.dumps(killed(Path(sys.argv[1]))))
