r"""Adapters in a frozen encoder (Houlsby et al., 2019, arXiv 1902.00751): a small network after each sub-layer.

With :math:`x` the input of a sub-layer (self-attention, feed-forward) and :math:`h` its output, a sub-layer of BERT
returns

.. math::

    \mathrm{norm}\big(x + a(h)\big), \qquad a(h) = h + W_{up}\, \mathrm{gelu}(W_{down} h + b_{down}) + b_{up},

where :math:`W_{down}` is m x d and :math:`W_{up}` d x m, with a bottleneck m much smaller than the hidden size d. Both
are initialized near zero, so training starts from the unchanged encoder. Each task trains its adapters, its own norms
in the layers, and a head; the encoder is frozen. The head reads the mean state of the tokens that are not padding:

.. math:: p(y \mid \text{text}) = \mathrm{softmax}\Big(V \tfrac{1}{n} \sum_i h_i + c\Big)_y.

The baseline is "the head alone": the same layer on the mean state of the encoder without adapters.

A context variable, which every thread has for itself, selects the adapters, so that visitors can share one encoder.
Shapes: d hidden size, m bottleneck, L layers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from core.checkpoints.folder import count_elements
from core.errors import CheckpointRefused
from core.lazy import transformers
from core.run.model import Model, Module, Output, call

ARCHITECTURE = "AdapterBert"
"""What ``config.json`` names as the architecture of such a folder."""
INIT_STD = 0.01
"""Standard deviation of the initial matrices, truncated at twice that; the authors' code has a tenth of it."""


class Adapter(nn.Module):
    """The bottleneck of one sub-layer, with the norm that follows it.

    Args:
        norm: the encoder's, from which the task's own is initialized.
        size: m.
    """

    def __init__(self, norm: nn.LayerNorm, size: int) -> None:
        super().__init__()
        width = norm.weight.shape[0]
        self.down, self.up = nn.Linear(width, size), nn.Linear(size, width)
        for layer in (self.down, self.up):
            nn.init.trunc_normal_(layer.weight, std=INIT_STD, a=-2 * INIT_STD, b=2 * INIT_STD)
            nn.init.zeros_(layer.bias)
        self.norm = nn.LayerNorm(width, eps=norm.eps)
        self.norm.load_state_dict(norm.state_dict())

    def update(self, hidden: Tensor) -> Tensor:
        """What the adapter adds to the output ``hidden`` of a sub-layer; both (..., d)."""
        added: Tensor = self.up(functional.gelu(self.down(hidden)))
        return added

    def forward(self, hidden: Tensor, residual: Tensor) -> Tensor:
        """The normalized sum of a sub-layer's output, its update and its input ``residual``; all (..., d)."""
        added = self.update(hidden)
        watched = _WATCH.get()
        if watched is not None:
            watched.append(float((added.norm(dim=-1) / hidden.norm(dim=-1)).detach().mean()))
        output: Tensor = self.norm(hidden + added + residual)
        return output


class Task(nn.Module):
    """The parameters of one task: an adapter per sub-layer, a head, and for comparison a head alone.

    Args:
        norms: the encoder's 2 L norms, attention and feed-forward alternating.
        size: m.
        answers: how many classes the task has.
    """

    def __init__(self, norms: Sequence[nn.LayerNorm], size: int, answers: int) -> None:
        super().__init__()
        width = norms[0].weight.shape[0]
        self.adapters = nn.ModuleList(Adapter(norm, size) for norm in norms)
        self.head, self.alone = nn.Linear(width, answers), nn.Linear(width, answers)
        for layer in (self.head, self.alone):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)

    @cached_property
    def trained(self) -> int:
        """The parameters of bottlenecks, norms and head."""
        return sum(value.numel() for value in self.parameters()) - self.trained_alone

    @cached_property
    def trained_alone(self) -> int:
        """The parameters of the head alone."""
        return sum(value.numel() for value in self.alone.parameters())


_ACTIVE: ContextVar[Task | None] = ContextVar("task", default=None)
_WATCH: ContextVar[list[float] | None] = ContextVar("watch", default=None)


@contextmanager
def running(task: Task | None, watch: list[float] | None = None) -> Iterator[None]:
    """Within the block, forward passes of this thread use the adapters of ``task``; ``watch`` collects update norms."""
    before = _ACTIVE.set(task), _WATCH.set(watch)
    try:
        yield
    finally:
        _ACTIVE.reset(before[0])
        _WATCH.reset(before[1])


class Adapted(nn.Module):
    """The output module of a sub-layer (dense layer and norm), which applies the adapter of the running task."""

    def __init__(self, output: Module, number: int) -> None:
        super().__init__()
        self.output = output
        self.number = number

    def forward(self, hidden_states: Tensor, input_tensor: Tensor) -> Tensor:
        """The output module's own result where no task runs."""
        task = _ACTIVE.get()
        if task is None:
            unadapted: Tensor = self.output(hidden_states, input_tensor)
            return unadapted
        adapted: Tensor = task.adapters[self.number](self.output.dense(hidden_states), input_tensor)
        return adapted


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a batch under one task."""

    logits: Tensor
    """(rows, answers)."""
    updates: tuple[float, ...] = field(default=())
    """Mean of :math:`|W_{up} f(W_{down} h)| / |h|` over the tokens, per sub-layer (2 L); empty unless watched."""


class AdapterBert(nn.Module):
    """One encoder, frozen, and the tasks that share it.

    Args:
        encoder: a BertModel without pooler.
        answers: the number of classes of each task.
        size: m.
    """

    def __init__(self, encoder: Model, answers: Mapping[str, int], size: int) -> None:
        super().__init__()
        self.backbone = encoder.requires_grad_(False)
        self.config = encoder.config
        norms: list[nn.LayerNorm] = []
        for layer in encoder.encoder.layer:
            for sublayer in (layer.attention, layer):
                norms.append(sublayer.output.LayerNorm)
                sublayer.output = Adapted(sublayer.output, len(norms) - 1)
        self.tasks = nn.ModuleDict({name: Task(norms, size, count) for name, count in answers.items()})

    def task(self, name: str) -> Task:
        task = self.tasks[name]
        assert isinstance(task, Task)
        return task

    def pooled(self, inputs: Mapping[str, Tensor], task: str | None = None, watch: list[float] | None = None) -> Tensor:
        """Mean states (rows, d) of a tokenizer's ``inputs``; through the adapters of ``task``, if any."""
        with running(None if task is None else self.task(task), watch):
            states = call(self.backbone, **inputs).last_hidden_state
        attended = inputs["attention_mask"][..., None].to(states.dtype)
        mean: Tensor = (states * attended).sum(1) / attended.sum(1)
        return mean

    def answer(self, inputs: Mapping[str, Tensor], task: str, *, watch: bool = False) -> Answer:
        """The logits of a task through its adapters; with ``watch`` also the norms of all updates."""
        sizes: list[float] | None = [] if watch else None
        return Answer(self.task(task).head(self.pooled(inputs, task, sizes)), tuple(sizes or ()))

    def answer_alone(self, inputs: Mapping[str, Tensor], task: str) -> Tensor:
        """Logits (rows, answers) of the head alone, on the encoder without adapters."""
        with torch.no_grad():
            mean = self.pooled(inputs)
        scores: Tensor = self.task(task).alone(mean)
        return scores

    def forward(self, **inputs: object) -> Output:
        """The encoder's output, without any task."""
        return call(self.backbone, **inputs)


def read_adapters(folder: Path, config: transformers.PretrainedConfig, encoder_state: dict[str, Tensor]) -> AdapterBert:
    """The encoder with every task that the configuration names, in float32.

    Args:
        folder: holds ``<task>.safetensors`` for each task.
        config: of the encoder, with ``adapter_size`` and ``adapter_tasks``.
        encoder_state: the encoder's state dict under the names of a BertModel; a pooler is ignored.

    Raises:
        CheckpointRefused: a file is missing or damaged, or does not fit the encoder.
    """
    from safetensors.torch import load_file
    from transformers import BertModel

    tasks = config.adapter_tasks
    config._attn_implementation = "eager"
    encoder = BertModel(config, add_pooling_layer=False)
    report = encoder.load_state_dict(
        {n: v.float() for n, v in encoder_state.items() if "pooler" not in n}, strict=False
    )
    if report.unexpected_keys or any("position_ids" not in name for name in report.missing_keys):
        raise CheckpointRefused(f"The encoder under “{folder.name}” is not the one that its adapters were trained for.")
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
