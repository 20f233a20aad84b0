r"""Adapters in a frozen encoder (Houlsby et al., 2019, arXiv 1902.00751): a small network after each sub-layer.

With :math:`h` what a sub-layer (self-attention, feed-forward) gives and :math:`x` what came into it, a layer of BERT
passes on

.. math::

    \mathrm{norm}\big(x + a(h)\big), \qquad a(h) = h + W_{up}\, \mathrm{gelu}(W_{down} h + b_{down}) + b_{up},

where :math:`W_{down}` is m x d and :math:`W_{up}` d x m with a bottleneck m much smaller than the width d. Both start
near zero, so that training starts at the encoder as it is. A task trains its adapters, norms of its own in the layers
and a head on top; the encoder stays as it is for all of them. The answer is read from the mean state of the attended
tokens:

.. math:: p(y \mid \text{text}) = \mathrm{softmax}\Big(V \tfrac{1}{n} \sum_i h_i + c\Big)_y.

Beside it stands the simplest thing that could work, "the head alone": the same layer on the encoder's own mean state.

Which task's adapters run is said by a context variable, of which every thread has its own: swapping writes one
reference, and two visitors on one encoder never meet. Shapes: d width, m bottleneck, L layers.

Reading a bundled folder of adapters: the published encoder once, and each task's file beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from core.checkpoints.folder import count_elements
from core.errors import CheckpointRefused

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PretrainedConfig

ARCHITECTURE = "AdapterBert"
"""What ``config.json`` names as the architecture of such a folder."""
START = 0.01
"""Standard deviation of the matrices before training, cut off at twice that; the authors' code has a tenth of it."""


class Adapter(nn.Module):
    """The bottleneck of one sub-layer, with the norm that follows it.

    Args:
        norm: the encoder's, whose numbers the task's own starts from.
        size: m.
    """

    def __init__(self, norm: nn.LayerNorm, size: int) -> None:
        super().__init__()
        width = norm.weight.shape[0]
        self.down, self.up = nn.Linear(width, size), nn.Linear(size, width)
        for layer in (self.down, self.up):
            nn.init.trunc_normal_(layer.weight, std=START, a=-2 * START, b=2 * START)
            nn.init.zeros_(layer.bias)
        self.norm = nn.LayerNorm(width, eps=norm.eps)
        self.norm.load_state_dict(norm.state_dict())

    def update(self, hidden: Tensor) -> Tensor:
        """(..., d) what a sub-layer gives, to the (..., d) that the adapter adds to it."""
        added: Tensor = self.up(functional.gelu(self.down(hidden)))
        return added

    def forward(self, hidden: Tensor, came: Tensor) -> Tensor:
        """(..., d) what the sub-layer gives and what came into it, to what the layer passes on."""
        added = self.update(hidden)
        watched = _WATCH.get()
        if watched is not None:
            watched.append(float((added.norm(dim=-1) / hidden.norm(dim=-1)).detach().mean()))
        passed: Tensor = self.norm(hidden + added + came)
        return passed


class Task(nn.Module):
    """All that one task trains: an adapter for each sub-layer, its head, and for comparison a head alone.

    Args:
        norms: the encoder's norms, those of attention and feed-forward by turns, 2 L.
        size: m.
        answers: how many there are.
    """

    def __init__(self, norms: Sequence[nn.LayerNorm], size: int, answers: int) -> None:
        super().__init__()
        width = norms[0].weight.shape[0]
        self.adapters = nn.ModuleList(Adapter(norm, size) for norm in norms)
        self.head, self.alone = nn.Linear(width, answers), nn.Linear(width, answers)
        for layer in (self.head, self.alone):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)

    def parameters_of(self, part: str) -> int:
        """How many numbers are trained: of ``"adapters"`` (bottlenecks, norms and head) or of ``"alone"``."""
        wanted = part == "alone"
        return sum(value.numel() for name, value in self.named_parameters() if name.startswith("alone") == wanted)


_ACTIVE: ContextVar[Task | None] = ContextVar("task", default=None)
_WATCH: ContextVar[list[float] | None] = ContextVar("watch", default=None)


@contextmanager
def running(task: Task | None, watch: list[float] | None = None) -> Iterator[None]:
    """Within the block this thread's runs go through the adapters of ``task``; ``watch`` collects sizes of updates."""
    before = _ACTIVE.set(task), _WATCH.set(watch)
    try:
        yield
    finally:
        _ACTIVE.reset(before[0])
        _WATCH.reset(before[1])


class Adapted(nn.Module):
    """A sub-layer's own output (dense layer and norm) with a place for the adapter of the task that runs."""

    def __init__(self, output: Any, number: int) -> None:
        super().__init__()
        self.output = output
        self.number = number

    def forward(self, hidden_states: Tensor, input_tensor: Tensor) -> Tensor:
        """As the output's own, where no task runs."""
        task = _ACTIVE.get()
        if task is None:
            plain: Tensor = self.output(hidden_states, input_tensor)
            return plain
        passed: Tensor = task.adapters[self.number](self.output.dense(hidden_states), input_tensor)
        return passed


@dataclass(frozen=True, slots=True)
class Answer:
    """What a batch gives under one task."""

    logits: Tensor
    """(rows, answers)."""
    updates: tuple[float, ...] = field(default=())
    """Mean of :math:`|W_{up} f(W_{down} h)| / |h|` over the tokens of each of the 2 L sub-layers, where asked for."""


class AdapterBert(nn.Module):
    """One encoder, frozen, and the tasks that share it.

    Args:
        trunk: a BertModel without pooler.
        answers: for each task how many answers it has.
        size: m.
    """

    def __init__(self, trunk: Any, answers: Mapping[str, int], size: int) -> None:
        super().__init__()
        self.trunk = trunk.requires_grad_(False)
        self.config = trunk.config
        norms: list[nn.LayerNorm] = []
        for layer in trunk.encoder.layer:
            for sublayer in (layer.attention, layer):
                norms.append(sublayer.output.LayerNorm)
                sublayer.output = Adapted(sublayer.output, len(norms) - 1)
        self.tasks = nn.ModuleDict({name: Task(norms, size, count) for name, count in answers.items()})

    def pooled(self, inputs: Mapping[str, Tensor], task: str | None = None, watch: list[float] | None = None) -> Tensor:
        """(rows, d) mean states of ``inputs`` as a tokeniser names them; through the adapters of ``task``, if any."""
        part: Any = None if task is None else self.tasks[task]
        with running(part, watch):
            states = self.trunk(**inputs).last_hidden_state
        attended = inputs["attention_mask"][..., None].to(states.dtype)
        mean: Tensor = (states * attended).sum(1) / attended.sum(1)
        return mean

    def answer(self, inputs: Mapping[str, Tensor], task: str, *, watch: bool = False) -> Answer:
        """The scores of a task's answers through its adapters; with ``watch`` the size of every update (one row)."""
        sizes: list[float] | None = [] if watch else None
        part: Any = self.tasks[task]
        return Answer(part.head(self.pooled(inputs, task, sizes)), tuple(sizes or ()))

    def answer_alone(self, inputs: Mapping[str, Tensor], task: str) -> Tensor:
        """(rows, answers) scores of the head alone, on the encoder as it is."""
        part: Any = self.tasks[task]
        with torch.no_grad():
            mean = self.pooled(inputs)
        scores: Tensor = part.alone(mean)
        return scores

    def forward(self, **inputs: Any) -> Any:
        """The encoder's own output, without any task."""
        return self.trunk(**inputs)


def read_adapters(folder: Path, config: PretrainedConfig, trunk: dict[str, Tensor]) -> AdapterBert:
    """The encoder with every task that the configuration names, in float32.

    Args:
        folder: holds ``<task>.safetensors`` for each task.
        config: of the encoder, with ``adapter_size`` and ``adapter_tasks``.
        trunk: the encoder's state under the names of a BertModel; a pooler is left aside.

    Raises:
        CheckpointRefused: a file is missing or damaged, or does not fit the encoder.
    """
    from safetensors.torch import load_file
    from transformers import BertModel

    tasks = config.adapter_tasks
    config._attn_implementation = "eager"
    encoder = BertModel(config, add_pooling_layer=False)
    report = encoder.load_state_dict({n: v.float() for n, v in trunk.items() if "pooler" not in n}, strict=False)
    lacking = [name for name in report.missing_keys if "position_ids" not in name]
    if lacking or report.unexpected_keys:
        raise CheckpointRefused(f"The encoder under “{folder.name}” is another one than its adapters were trained for.")
    model = AdapterBert(
        encoder, {name: len(settings["answers"]) for name, settings in tasks.items()}, config.adapter_size
    )
    for name, task in model.tasks.items():
        file = folder / f"{name}.safetensors"
        if not file.is_file():
            raise CheckpointRefused(f"The adapters for “{name}” are missing in “{folder.name}”.")
        count_elements(file)
        try:
            task.load_state_dict({key: value.float() for key, value in load_file(file).items()})
        except RuntimeError:
            raise CheckpointRefused(f"The adapters for “{name}” in “{folder.name}” do not fit the encoder.") from None
    return model
