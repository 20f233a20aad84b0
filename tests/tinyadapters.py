"""A tiny random encoder with the files of its package, adapters on it, a corpus for four tasks, and a recipe for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from core.checkpoints.adapters import AdapterBert
from core.checkpoints.spec import Checkpoint, CheckpointSpec
from lab.recipe import Recipe, SourceFile
from tests import tiny, tinycorpus

TASKS: dict[str, dict[str, Any]] = {
    "sentiment": {
        "name": "Opinion",
        "question": "Good or bad?",
        "form": "labeled",
        "answers": ["negative", "positive"],
    },
    "genre": {"name": "Kind", "question": "Which?", "form": "source", "answers": ["story", "line", "review", "none"]},
    "words": {"name": "Words", "question": "Swapped?", "form": "swapped-words", "answers": ["in order", "swapped"]},
    "question": {
        "name": "Question",
        "question": "Which mark?",
        "form": "last-mark",
        "answers": ["full stop", "question mark"],
    },
}
SOURCES = (
    SourceFile("reviews.tsv", task="sentiment"),
    SourceFile("stories.txt", task="genre/story", sentences=True),
    SourceFile("lines.txt", task="genre/line"),
    SourceFile("lines.txt", task="words"),
    SourceFile("stories.txt", task="words", sentences=True),
    SourceFile("marks.txt", task="question"),
)


def recipe(**changed: Any) -> Recipe:
    """Four tasks on the tiny encoder; a bottleneck of 3."""
    fields: dict[str, Any] = {
        "model": {"package": "tiny", "size": 3, "tasks": TASKS},
        "data": {"hold_out_every": 4, "shortest": 3, "longest": 24},
        "optimizer": {"rate": 1e-2, "bfloat16": False},
    }
    return Recipe("toy", "adapters", seed=5, minutes=1.0, step_tokens=256, sources=SOURCES, **fields | changed)


def corpus(folder: Path) -> Path:
    """The tiny corpus, opinions behind their labels, and lines that end in either mark."""
    folder.mkdir(parents=True, exist_ok=True)
    tinycorpus.write(folder)
    rng = np.random.default_rng(1)
    rows = []
    for _ in range(120):
        label = str(rng.choice(["negative", "positive"]))
        word = str(rng.choice(tinycorpus.WORDS))
        sentence = "good and good and good" if label == "positive" else "small or small or small"
        rows.append(f"{label}\tThe {word} is {sentence}.")
    marks = [
        " ".join(rng.choice(tinycorpus.WORDS, size=6)).capitalize() + str(rng.choice([".", "?"])) for _ in range(150)
    ]
    (folder / "marks.txt").write_text("\n".join(marks) + "\n", encoding="utf-8")
    (folder / "reviews.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return folder


def backbone(folder: Path) -> Path:
    """A random BertModel of two layers and width 16 with its tokenizer, as the package keeps them."""
    from transformers import BertConfig, BertModel

    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(2)
    tokenizer = tiny.wordpiece_tokenizer()
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        initializer_range=0.3,  # as drawn usually, all words look much the same to it
    )
    BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def checkpoint(folder: Path) -> Checkpoint:
    """Random adapters for the four tasks on the encoder of :func:`backbone`, which is written to ``folder``."""
    from transformers import AutoTokenizer, BertModel

    backbone(folder)
    encoder = BertModel.from_pretrained(folder, add_pooling_layer=False, attn_implementation="eager")
    torch.manual_seed(1)
    model: Any = AdapterBert(encoder, {name: len(task["answers"]) for name, task in TASKS.items()}, 3)
    with torch.no_grad():
        for value in model.tasks.parameters():
            value.add_(0.3 * torch.randn_like(value))
    model.config.adapter_tasks = TASKS
    spec = CheckpointSpec("x", "X", None, "encoder", "adapters", "bundled", "-", "-", True, max_positions=48)
    return Checkpoint(model.eval(), AutoTokenizer.from_pretrained(folder), spec)
