r"""Adapters (Houlsby et al., 2019): several tasks learn on one encoder that stays as it is.

For each task the loss is the cross-entropy of its answers, through its adapters and, for comparison, of a head alone on
the encoder's own states; T tasks, each with a batch of its own in every step:

.. math:: L = -\frac{1}{T} \sum_{t=1}^{T} \big(\log p_t(y \mid x) + \log q_t(y \mid x)\big)

No parameter belongs to two terms, so every adapter and every head learns as if it were alone, and a head alone sees the
very texts, in the same order, that its adapters see. A recipe with ``tune = "all"`` tunes a whole copy of the encoder
for each task instead, to compare; such a stage is only measured.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from core.checkpoints.adapters import ARCHITECTURE, AdapterBert
from core.training import batches, models, task_texts
from core.training.batches import Epochs
from core.training.objective import Batch, Objective
from core.training.task_texts import Rows, Texts
from core.training.tokens import Ints

MEASURED = 160
"""Held-out texts of each task that a run is measured on."""
DROPOUT = 0.1


def encoder(folder: Path) -> Any:
    """The published encoder as a BertModel without pooler; dropout is off in training."""
    from transformers import BertConfig, BertModel

    config = BertConfig.from_pretrained(folder)
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
    config._attn_implementation = "eager"  # on short rows faster than the fused kernel
    trunk = BertModel(config, add_pooling_layer=False)
    trunk.load_state_dict({name.removeprefix("bert."): value for name, value in models.trunk_state(folder).items()})
    return trunk


class Tuned(nn.Module):
    """A whole copy of the encoder with a head for each task: what adapters save."""

    def __init__(self, trunk: Any, answers: Mapping[str, int]) -> None:
        super().__init__()
        self.trunks = nn.ModuleDict({name: copy.deepcopy(trunk) for name in answers})
        width = trunk.config.hidden_size
        self.heads = nn.ModuleDict({name: nn.Linear(width, count) for name, count in answers.items()})

    def scores(self, inputs: Mapping[str, Tensor], task: str) -> Tensor:
        """(rows, answers)."""
        states = self.trunks[task](**inputs).last_hidden_state
        seen = inputs["attention_mask"][..., None].to(states.dtype)
        found: Tensor = self.heads[task]((states * seen).sum(1) / seen.sum(1))
        return found


class AdaptersObjective(Objective):
    """A batch of every task in each step; texts of about equal length together."""

    def read(self) -> None:
        recipe = self.recipe
        self.folder = models.trunk_folder(str(recipe.model["package"]))
        self.tokenizer = models.trunk_tokenizer(self.folder)
        self.rows = Rows(self.tokenizer)
        self.tasks: dict[str, dict[str, Any]] = recipe.model["tasks"]
        self.train, self.test = (
            {
                task: task_texts.prepare(recipe, task, self.tokenizer, self.corpus, self.cache, held_out=held_out)
                for task in self.tasks
            }
            for held_out in (False, True)
        )
        self._by_task = {task: Epochs(recipe.seed, partial(self._plan, task)) for task in self.tasks}

    def new_model(self) -> Any:
        answers = {task: len(told["answers"]) for task, told in self.tasks.items()}
        self.tuned = self.recipe.model.get("tune") == "all"
        trunk = encoder(self.folder)
        return Tuned(trunk, answers) if self.tuned else AdapterBert(trunk, answers, int(self.recipe.model["size"]))

    def _plan(self, task: str, rng: np.random.Generator) -> list[Ints]:
        passes = [source.passes for source in task_texts.sources_of(self.recipe, task)]
        shares = {name: float(told.get("share", 1.0)) for name, told in self.tasks.items()}
        most = int(self.recipe.step_tokens * shares[task] / sum(shares.values()))
        items = batches.mix(self.train[task].source, passes, rng)
        length = batches.round_up(self.train[task].lengths)[items]
        return batches.plan(items, length, length, most, rng)

    def batch(self, step: int) -> Batch:
        """Tensors named ``<task>.<name>``."""
        found: dict[str, Tensor] = {}
        for number, task in enumerate(self.tasks):
            rng = np.random.default_rng([self.recipe.seed, 1, step, number])
            index = self._by_task[task][step]
            rows = self.rows.batch(self.train[task], index, str(self.tasks[task]["form"]), repeat(rng))
            found |= {f"{task}.{name}": torch.from_numpy(value) for name, value in rows.items()}
        return found

    def scores(self, batch: Mapping[str, Tensor], task: str) -> dict[str, Tensor]:
        """(rows, answers) scores of one task's batch, by what gave them."""
        inputs = {name: batch[name] for name in ("input_ids", "token_type_ids", "attention_mask")}
        if self.tuned:
            return {"tuned": self.model.scores(inputs, task).float()}
        adapted = self.model.answer(inputs, task).logits.float()
        return {"adapters": adapted, "alone": self.model.answer_alone(inputs, task).float()}

    def loss(self, batch: Batch) -> Tensor:
        total = []
        for task in self.tasks:
            own = {name: batch[f"{task}.{name}"] for name in _NAMES}
            total += [functional.cross_entropy(s, own["answers"]) for s in self.scores(own, task).values()]
        return torch.stack(total).sum() / len(self.tasks)

    def size(self, batch: Batch) -> int:
        return sum(int(batch[f"{task}.attention_mask"].sum()) for task in self.tasks)

    def measure(self) -> dict[str, float]:
        """Right answers in percent for each task, on the same held-out texts each time."""
        found: dict[str, float] = {}
        for task, told in self.tasks.items():
            right: dict[str, list[bool]] = {}
            for batch in measured(self.rows, self.test[task], str(told["form"]), MEASURED, self.device):
                for name, scores in self.scores(batch, task).items():
                    right.setdefault(name, []).extend((scores.argmax(-1) == batch["answers"]).tolist())
            found |= {f"{task} {_SPOKEN[name]}": 100 * float(np.mean(hits)) for name, hits in right.items()}
        return found

    def export(self, folder: Path) -> None:
        """Each task in a file of its own, float16; the encoder and its tokeniser stay in their package."""
        if self.tuned:
            return
        for task, part in self.model.tasks.items():
            models.ship_tensors(dict(part.named_parameters()), folder / f"{task}.safetensors")
        config = copy.deepcopy(self.model.config)
        config.architectures = [ARCHITECTURE]
        config.hidden_dropout_prob = config.attention_probs_dropout_prob = DROPOUT
        config.adapter_size = int(self.recipe.model["size"])
        config.adapter_tasks = self.tasks
        config.save_pretrained(folder)


_NAMES = ("input_ids", "token_type_ids", "attention_mask", "answers")
_SPOKEN = {"adapters": "accuracy", "alone": "accuracy, head alone", "tuned": "accuracy, everything tuned"}


def measured(
    rows: Rows, texts: Texts, form: str, most: int, device: torch.device | str = "cpu"
) -> Iterator[dict[str, Tensor]]:
    """Batches over held-out texts, evenly spread, with the same disorder each time."""
    some = task_texts.evenly(texts, most)
    length = batches.round_up(texts.lengths[some])
    for index in batches.plan(some, length, length, 4096, np.random.default_rng(0), least=0.0):
        draws = (np.random.default_rng([0, 3, int(row)]) for row in index)
        batch = rows.batch(texts, index, form, draws)
        yield {name: torch.from_numpy(value).to(device) for name, value in batch.items()}
