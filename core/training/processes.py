r"""One process, or several that train one model together, on GPUs of one machine or of many.

Each of the n processes holds the whole model and takes batches of its own; before the optimiser's step all take the
mean of their slopes,

.. math:: g = \frac{1}{n} \sum_{r=0}^{n-1} \nabla L(\theta; B_r),

so their weights stay equal. accelerate finds each process's device and the way to the others, whoever started them:
``accelerate launch`` or ``torchrun``. One process alone needs neither.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from core.errors import AtlasError

T = TypeVar("T")
PATIENCE = timedelta(hours=12)
"""How long one process waits for another, which may be reading the corpus, measuring or saving."""


class ProcessesError(AtlasError):
    """Several processes cannot train together, or one of them ended."""


class Alone:
    """One process; what several would exchange is there already."""

    rank = 0
    """Number of this process, from 0."""
    count = 1
    """Processes in all."""
    main = True
    """True in the one process that saves, measures, reports and exports."""
    device: torch.device

    def __init__(self) -> None:
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def in_turn(self, make: Callable[[], T]) -> T:
        """Calls ``make`` in the main process first, then once on each other machine, then in the rest.

        What the first ones leave on the disk, the others find there.
        """
        return make()

    def average(self, parameters: Sequence[nn.Parameter]) -> None:
        """Replaces every slope by its mean over the processes; one that no process has stays None."""

    def total(self, numbers: Sequence[float]) -> list[float]:
        """The sums of numbers over the processes."""
        return list(numbers)

    def share(self, data: bytes | None) -> bytes | None:
        """The main process's bytes, in every process."""
        return data

    def compare(self, data: bytes) -> None:
        """Raises `ProcessesError` where ``data`` is not the main process's: machines that read different texts."""

    def equalise(self, model: nn.Module) -> None:
        """Gives the main process's parameters and buffers to all."""

    def leave(self) -> None:
        """Ends the connection to the others."""


class Several(Alone):
    """The processes that a launcher started.

    Raises:
        ProcessesError: accelerate is not installed, or the processes do not find each other.
    """

    def __init__(self) -> None:
        try:
            from accelerate import PartialState
        except ImportError as error:
            raise ProcessesError(
                "Several processes need the package accelerate: pip install -r requirements-dev.txt."
            ) from error
        accelerator = torch.accelerator.current_accelerator(check_available=True)
        asked = os.environ.get("ACCELERATE_USE_CPU", "").lower() in ("1", "true", "yes")
        # accelerate takes processors only when told to; Apple's GPU cannot be shared
        processors = asked or accelerator is None or accelerator.type == "mps"
        with _connected():
            self._state: Any = PartialState(cpu=processors, timeout=PATIENCE)
        self.rank = int(self._state.process_index)
        self.count = int(self._state.num_processes)
        if self.count != int(os.environ["WORLD_SIZE"]):
            raise ProcessesError(f"accelerate cannot join processes on {self._state.device}. Start one process alone.")
        self.main = self.rank == 0
        self.device = self._state.device

    def in_turn(self, make: Callable[[], T]) -> T:
        own = 0 if self.main else 1 if self._state.is_local_main_process else 2
        made: list[T] = []
        for turn in range(3):
            if turn == own:
                made.append(make())
            with _connected():
                self._state.wait_for_everyone()
        return made[0]

    def average(self, parameters: Sequence[nn.Parameter]) -> None:
        here = torch.tensor([p.grad is not None for p in parameters], dtype=torch.float32, device=self.device)
        slopes = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
        flat = torch.cat([*(slope.reshape(-1) for slope in slopes), here])  # one message instead of hundreds
        self._sum(flat)
        *parts, anywhere = torch.split(flat / self.count, [*(p.numel() for p in parameters), len(parameters)])
        for parameter, part, some in zip(parameters, parts, anywhere.tolist(), strict=True):
            parameter.grad = part.view_as(parameter).to(parameter.dtype) if some else None

    def total(self, numbers: Sequence[float]) -> list[float]:
        found = torch.tensor(numbers, dtype=torch.float64, device=self.device)
        self._sum(found)
        summed: list[float] = found.tolist()
        return summed

    def share(self, data: bytes | None) -> bytes | None:
        size = torch.tensor([-1 if data is None else len(data)], device=self.device)
        self._send(size)
        if size.item() < 0:
            return None
        held = bytearray(data) if self.main and data is not None else bytearray(int(size.item()))
        # frombuffer refuses an empty buffer
        sent = torch.frombuffer(held, dtype=torch.uint8).to(self.device) if held else torch.empty(0, dtype=torch.uint8)
        self._send(sent)
        return sent.cpu().numpy().tobytes()

    def compare(self, data: bytes) -> None:
        if self.share(data) != data:
            raise ProcessesError(
                f"Process {self.rank} has other training data than process 0. Let all machines share one folder var, "
                "or copy it from the first one."
            )

    def equalise(self, model: nn.Module) -> None:
        for tensor in (*model.parameters(), *model.buffers()):
            self._send(tensor.data)

    def leave(self) -> None:
        self._state.destroy_process_group()

    @staticmethod
    def _sum(tensor: Tensor) -> None:
        with _connected():
            torch.distributed.all_reduce(tensor)

    @staticmethod
    def _send(tensor: Tensor) -> None:
        with _connected():
            torch.distributed.broadcast(tensor, src=0)


@contextmanager
def _connected() -> Iterator[None]:
    """Where the connection breaks, the process at its other end has said why; here a sentence will do."""
    try:
        yield
    except (RuntimeError, ValueError) as error:  # torch's errors of connections are RuntimeErrors
        raise ProcessesError(
            "This process lost the others that it trains with, or did not find them. The one that ended first says why."
        ) from error


def join() -> Alone:
    """This process, connected to the others where a launcher started several."""
    return Several() if int(os.environ.get("WORLD_SIZE", "1")) > 1 else Alone()
