"""Training runs that a test starts in processes of their own: killed again and again, or two that train together.

``python tests/runs.py killed FOLDER`` and ``python tests/runs.py together FOLDER``. Processes are forked from this one,
so that torch is imported once, with what it would import later.
"""

from __future__ import annotations

import json
import os
import signal
import socket
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

from core.training import processes
from core.training.recipe import Recipe
from core.training.trainer import Trainer

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


class Sometimes(nn.Module):
    """A line; one part of it serves even batches only, another none at all."""

    def __init__(self) -> None:
        super().__init__()
        self.line, self.even, self.never = nn.Linear(4, 1), nn.Linear(4, 1), nn.Linear(4, 1)

    def forward(self, x: Tensor, even: bool) -> Tensor:
        out: Tensor = self.line(x) + (self.even(x) if even else 0.0)
        return out


class Shared(Line):
    """Batches of different size, so that tokens differ by process."""

    def __init__(self, seed: int = 3) -> None:
        super().__init__(seed)
        self.model = Sometimes()

    def batch(self, number: int) -> dict[str, Tensor]:
        size = 16 + number
        x = torch.from_numpy(np.random.default_rng(number).normal(size=(size, 4))).float()
        return {"x": x, "y": 2 * x.sum(1, keepdim=True) + 1, "even": torch.tensor(number % 2 == 0)}

    def loss(self, batch: dict[str, Tensor]) -> Tensor:
        return ((self.model(batch["x"], bool(batch["even"])) - batch["y"]) ** 2).mean()


def toy(**changed: Any) -> Recipe:
    """A recipe for these objectives."""
    given: dict[str, Any] = {
        "sources": (),
        "optimizer": {"rate": 0.01, "weight_decay": 0.1, "bfloat16": False, "warmup": 0.0},
    }
    return Recipe("toy", "toy", seed=1, minutes=1.0, step_tokens=16, **(given | changed))


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


def together(folder: Path) -> dict[str, Any]:
    """Two processes take three steps and save, two more take it up and finish; the folders are as on two machines."""
    import accelerate  # noqa: F401 - once, for all children

    codes = []
    for number in range(2):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        children = [
            _fork(lambda rank=rank, port=port, number=number: _one(folder, rank, port, number)) for rank in (0, 1)
        ]
        codes += [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    return {"codes": codes}


def _one(folder: Path, rank: int, port: int, number: int) -> None:
    os.environ.update(
        RANK=str(rank),
        WORLD_SIZE="2",
        LOCAL_RANK=str(rank),
        LOCAL_WORLD_SIZE="2",
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT=str(port),
        ACCELERATE_USE_CPU="true",
    )
    joined = processes.join()

    def turn() -> list[str]:
        (folder / f"turn{number}.{rank}").touch()
        return sorted(path.name for path in folder.glob(f"turn{number}.*"))

    seen = joined.in_turn(turn)
    objective = Shared(seed=3 + rank)  # the main process's weights have to reach the other one
    trainer = Trainer(toy(), objective, folder / str(rank), steps=6, processes=joined)
    resumed = trainer.resume()
    if number == 0:
        trainer.objective.model.train()
        losses = [trainer.step() for _ in range(3)]
        trainer.save()
    else:
        losses = trainer.run(quiet=True)
    try:
        joined.compare(b"text of process %d" % rank)
        refused = ""
    except processes.ProcessesError as error:
        refused = str(error)
    told = {
        "refused": refused,
        "weights": {name: value.tolist() for name, value in objective.model.state_dict().items()},
        "losses": losses,
        "tokens": trainer.progress.tokens,
        "batches": trainer.progress.batches,
        "resumed": resumed,
        "rank": joined.rank,
        "seen": seen,
    }
    (folder / f"{number}.{rank}.json").write_text(json.dumps(told))
    joined.leave()


if __name__ == "__main__":
    print(json.dumps({"killed": killed, "together": together}[sys.argv[1]](Path(sys.argv[2]))))
