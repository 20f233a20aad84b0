"""Measures a model with control codes: does it tell the code of a passage, and what does a text cost under its code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from core.checkpoints.spec import Checkpoint
from core.language.codes import codes_of
from core.training import measures
from core.training import recipe as recipes
from core.training.evaluate_encoders import Found
from core.training.objectives.codes import LENGTH, bits_per_byte, passages, right_codes, spread

PASSAGES = 100
"""Passages that are measured at most, for each code."""
WINDOWS = 20
"""Runs as long as the model's positions that are measured in bits per byte at most, for each code."""


def codes(checkpoint: Checkpoint, corpus: Path | None) -> Found:
    """The story and the translations written for this project; the held-out part of each source of the recipe."""
    rows = measures.read_table(measures.TRANSLATIONS)
    written = {
        "Story": measures.STORY.read_text(encoding="utf-8").splitlines(),
        "Dialogue": [row[0] for row in rows],
        "French": [row[1] for row in rows],
        "German": [row[2] for row in rows],
    }
    found = {
        f"{label}: text written for this project": measured(checkpoint, label, text.copy)
        for label, text in written.items()
    }
    if corpus is not None:
        for label in codes_of(checkpoint):
            text = partial(held_out, checkpoint, corpus, label)
            found[f"{label}: text of the corpus held out from training"] = measured(checkpoint, label, text)
    return found


def held_out(checkpoint: Checkpoint, corpus: Path, label: str) -> Iterator[str]:
    """The held-out lines of the sources that have a code."""
    from core.training.objectives.codes import texts

    recipe = recipes.load(checkpoint.spec.slug)
    for source in recipe.sources:
        if source.task == label:
            lines = texts(corpus, source, every=int(recipe.data["hold_out_every"]))
            yield from (text for _, text, held in lines if held)


def measured(checkpoint: Checkpoint, label: str, lines: Callable[[], Iterable[str]]) -> dict[str, float]:
    """Passages whose code is found, in percent, and bits per byte under the code ``label`` of a text.

    Args:
        lines: gives the text line by line; called twice, so that no text need be held.
    """
    model, tokenizer, known = checkpoint.model, checkpoint.tokenizer, codes_of(checkpoint)

    def rows() -> Iterator[list[int]]:
        return (tokenizer(line + "\n", verbose=False)["input_ids"] for line in lines() if line.strip())

    short = spread(passages(rows(), LENGTH), PASSAGES)
    wide = spread(passages(rows(), int(model.config.max_position_embeddings)), WINDOWS) or short
    size = sum(_bytes(tokenizer, text) for text in wide)
    return {
        "right code": right_codes(model, short, list(known.values()), known[label]),
        "bits per byte": bits_per_byte(model, wide, known[label], size),
    }


def _bytes(tokenizer: Any, ids: list[int]) -> int:
    """Bytes of text that the tokens stand for: a byte-level token has one character a byte."""
    special = set(tokenizer.all_special_ids)
    kept = [i for i in ids if i not in special]
    return sum(map(len, tokenizer.convert_ids_to_tokens(kept)))
