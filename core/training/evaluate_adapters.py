"""Measures every task of an encoder with adapters: through its adapters, and by the head alone on the same texts."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from core.checkpoints.spec import Checkpoint
from core.language.adapters import tasks
from core.training import measures, task_texts
from core.training import recipe as recipes
from core.training.evaluate_encoders import Found
from core.training.models import trunk_folder, trunk_tokenizer
from core.training.objectives.adapters import measured

TEXTS = measures.ROOT / "assets" / "heldout" / "adapters.tsv"
MOST = 1000
"""Held-out texts of the corpus that are measured at most, for each task."""


def adapters(checkpoint: Checkpoint, corpus: Path | None) -> Found:
    """Texts written for this project, and held-out ones of the corpus, under every task."""
    told: dict[str, dict[str, Any]] = checkpoint.model.config.adapter_tasks
    order = [info.slug for info in tasks(checkpoint)]
    found: Found = {}
    for task in order:
        about = told[task]
        rows = [row for row in measures.read_table(TEXTS) if row[0] == task]
        batches = written(checkpoint, rows, list(about["answers"]))
        found[f"{task}: {len(rows)} texts written for this project"] = right(checkpoint, task, batches)
    if corpus is not None:
        recipe = recipes.load(checkpoint.spec.slug)
        tokenizer = trunk_tokenizer(trunk_folder(str(recipe.model["package"])))
        for task in order:
            about = told[task]
            with TemporaryDirectory() as folder:
                texts = task_texts.prepare(recipe, task, tokenizer, corpus, Path(folder), held_out=True)
                count = len(task_texts.evenly(texts, MOST))
                batches = measured(task_texts.Rows(tokenizer), texts, str(about["form"]), MOST)
                on = f"{task}: {count} texts of the corpus held out from training"
                found[on] = right(checkpoint, task, batches)
                del texts, batches  # the files are mapped while these live
    return found


def written(
    checkpoint: Checkpoint, rows: list[list[str]], answers: list[str], *, at_once: int = 16
) -> Iterable[dict[str, Any]]:
    """Batches of rows (task, answer, text) of like length, as `measured` gives them."""
    order = sorted(rows, key=lambda row: len(row[2]))
    for part in (order[at : at + at_once] for at in range(0, len(order), at_once)):
        texts = [text for _, _, text in part]
        given = checkpoint.tokenizer(texts, return_tensors="pt", padding=True, return_token_type_ids=True)
        yield {**given, "answers": torch.tensor([answers.index(answer) for _, answer, _ in part])}


@torch.inference_mode()
def right(checkpoint: Checkpoint, task: str, batches: Iterable[dict[str, Any]]) -> dict[str, float]:
    """Percent of right answers, through the adapters and by the head alone; and of always giving the commonest one."""
    model: Any = checkpoint.model
    adapted: list[bool] = []
    alone: list[bool] = []
    answers: list[int] = []
    for batch in batches:
        inputs = {name: batch[name] for name in ("input_ids", "token_type_ids", "attention_mask")}
        adapted += (model.answer(inputs, task).logits.argmax(-1) == batch["answers"]).tolist()
        alone += (model.answer_alone(inputs, task).argmax(-1) == batch["answers"]).tolist()
        answers += batch["answers"].tolist()
    return {
        "accuracy": 100 * float(np.mean(adapted)),
        "accuracy, head alone": 100 * float(np.mean(alone)),
        "accuracy, commonest answer always": 100 * float(np.bincount(answers).max() / len(answers)),
    }
