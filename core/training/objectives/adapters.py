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
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from core.checkpoints.adapters import ARCHITECTURE, AdapterBert
from core.training import batches, task_texts
from core.training.batches import Epochs, Ints
from core.training.objectives.trunk import trunk_folder, trunk_state, trunk_tokenizer
from core.training.recipe import Recipe
from core.training.task_texts import Rows, Texts

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
    trunk.load_state_dict({name.removeprefix("bert."): value for name, value in trunk_state(folder).items()})
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


class AdaptersObjective:
    """A batch of every task in each step; texts of about equal length together."""

    def __init__(self, recipe: Recipe, corpus_folder: Path, cache: Path) -> None:
        self.recipe = recipe
        self.folder = trunk_folder(str(recipe.model["package"]))
        tokenizer = trunk_tokenizer(self.folder)
        self.rows = Rows(tokenizer)
        self.tasks: dict[str, dict[str, Any]] = recipe.model["tasks"]

        def side(task: str, *, held_out: bool) -> Texts:
            return task_texts.prepare(recipe, task, tokenizer, corpus_folder, cache, held_out=held_out)

        self.train = {task: side(task, held_out=False) for task in self.tasks}
        self.test = {task: side(task, held_out=True) for task in self.tasks}
        self._lengths = {task: batches.round_up(texts.lengths) for task, texts in self.train.items()}
        torch.manual_seed(recipe.seed)
        answers = {task: len(told["answers"]) for task, told in self.tasks.items()}
        self.tuned = recipe.model.get("tune") == "all"
        trunk = encoder(self.folder)
        size = int(recipe.model["size"])
        self.model: Any = Tuned(trunk, answers) if self.tuned else AdapterBert(trunk, answers, size)
        self._epochs = {task: Epochs(recipe.seed, self._planner(task)) for task in self.tasks}

    def _planner(self, task: str) -> Any:
        passes = [source.passes for source in task_texts.sources_of(self.recipe, task)]
        shares = {name: float(told.get("share", 1.0)) for name, told in self.tasks.items()}
        most = int(self.recipe.step_tokens * shares[task] / sum(shares.values()))

        def epoch(rng: np.random.Generator) -> list[Ints]:
            items = batches.mix(np.asarray(self.train[task].source), passes, rng)
            length = self._lengths[task][items]
            return batches.plan(items, length, length, most, rng)

        return epoch

    def batch(self, step: int) -> dict[str, Tensor]:
        """Tensors named ``<task>.<name>``."""
        found: dict[str, Tensor] = {}
        for number, task in enumerate(self.tasks):
            rng = np.random.default_rng([self.recipe.seed, 1, step, number])
            index = self._epochs[task][step]
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

    def loss(self, batch: dict[str, Tensor]) -> Tensor:
        total = []
        for task in self.tasks:
            own = {name: batch[f"{task}.{name}"] for name in _NAMES}
            total += [functional.cross_entropy(s, own["answers"]) for s in self.scores(own, task).values()]
        return torch.stack(total).sum() / len(self.tasks)

    def size(self, batch: dict[str, Tensor]) -> int:
        return sum(int(batch[f"{task}.attention_mask"].sum()) for task in self.tasks)

    def measure(self) -> dict[str, float]:
        """Right answers in percent for each task, on the same held-out texts each time."""
        found: dict[str, float] = {}
        for task, told in self.tasks.items():
            device = next(self.model.parameters()).device
            right: dict[str, list[bool]] = {}
            for batch in measured(self.rows, self.test[task], str(told["form"]), MEASURED, device):
                for name, scores in self.scores(batch, task).items():
                    right.setdefault(name, []).extend((scores.argmax(-1) == batch["answers"]).tolist())
            found |= {f"{task} {_SPOKEN[name]}": 100 * float(np.mean(hits)) for name, hits in right.items()}
        return found

    def export(self, folder: Path) -> None:
        """Each task in a file of its own, float16; the encoder and its tokeniser stay in their package."""
        from safetensors.torch import save_file

        folder.mkdir(parents=True, exist_ok=True)
        if self.tuned:
            return
        for task, part in self.model.tasks.items():
            own = part.named_parameters()
            state = {name: value.detach().to(torch.float16).contiguous().cpu() for name, value in own}
            save_file(state, folder / f"{task}.safetensors", metadata={"format": "pt"})
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
