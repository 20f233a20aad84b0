"""A small corpus of sentence pairs made from a seed: English, and two languages that are English with other endings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from core.checkpoints.spec import Checkpoint, CheckpointSpec
from tests.tinycorpus import WORDS


def write(folder: Path, size: int = 200) -> Path:
    """``size`` English sentences with a translation into each language; every third is missing in German."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    english = [" ".join(rng.choice(WORDS, size=rng.integers(4, 9))).capitalize() + "." for _ in range(size)]
    french = {text: translated(text, "é") for text in english}
    german = {text: translated(text, "ß") for number, text in enumerate(english) if number % 3}
    rows = {
        "en-fr": french.items(),
        "en-de": german.items(),
        "fr-de": [(french[text], other) for text, other in german.items()],
    }
    for name, pairs in rows.items():
        write_pairs(folder, name, [*pairs])
    return folder


def translated(text: str, ending: str) -> str:
    """Every word with an ending."""
    return " ".join(word.removesuffix(".") + ending for word in text.split()) + "."


def write_pairs(folder: Path, name: str, pairs: list[tuple[str, str]]) -> None:
    """One file of the corpus."""
    text = "".join(f"{first}\t{other}\n" for first, other in pairs)
    (folder / f"parallel.{name}.tsv").write_text(text, encoding="utf-8")


def shipped(objective: Any, out: Path, auto: str, spec: CheckpointSpec) -> Checkpoint:
    """What the objective exports to ``out`` as transformers' class ``auto`` loads it, with all its weights."""
    import torch
    import transformers

    objective.export(out)
    model, report = getattr(transformers, auto).from_pretrained(
        out, output_loading_info=True, dtype=torch.float32, attn_implementation="eager"
    )
    assert not report["missing_keys"]
    assert not report["unexpected_keys"]
    return Checkpoint(model.eval(), transformers.AutoTokenizer.from_pretrained(out), spec)
