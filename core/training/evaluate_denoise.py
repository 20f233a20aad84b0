"""Measures a model that undoes corruptions: chrF before and after, and texts rebuilt exactly, for each of the five."""

from __future__ import annotations

from pathlib import Path

from core.checkpoints.spec import Checkpoint
from core.language.denoise import CORRUPTIONS, damage_text
from core.training import corpus as corpora
from core.training import measures
from core.training import recipe as recipes
from core.training.evaluate_encoders import STORY, Found, story_chunks

TEXTS = 200
"""Held-out texts of the corpus that are measured, for each corruption."""


def denoise(checkpoint: Checkpoint, corpus: Path | None) -> Found:
    """Texts of at least two sentences, of the story and of held-out books."""
    room = int(checkpoint.tokenizer.model_max_length) - 6  # masks for empty spans make a text longer
    texts = {STORY: story_chunks(checkpoint.tokenizer, room)}
    if corpus is not None:
        texts[f"{TEXTS} texts from books of the corpus held out from training"] = _held_out(checkpoint, corpus, room)
    return {on: _undone(checkpoint, some) for on, some in texts.items()}


def _undone(checkpoint: Checkpoint, texts: list[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for kind in CORRUPTIONS:
        damaged = [damage_text(checkpoint, text, kind, seed) for seed, text in enumerate(texts)]
        made = measures.rewrite(checkpoint.model, checkpoint.tokenizer, damaged, beams=1)
        numbers = measures.repair(made, damaged, texts)
        found |= {f"{kind} {name}": numbers[name] for name in ("chrF before", "chrF after", "exact after")}
    return found


def _held_out(checkpoint: Checkpoint, corpus: Path, room: int) -> list[str]:
    """Pairs of sentences that follow each other, one from each of many places."""
    recipe = recipes.load(checkpoint.spec.slug)
    source = recipes.SourceFile("stories.txt", sentences=True, group=2)
    every = int(recipe.data["hold_out_every"])
    found = [
        item.text
        for item in corpora.read(corpus, source, every=every)
        if item.held_out
        and len(corpora.sentences(item.text)) == 2
        and len(checkpoint.tokenizer(item.text)["input_ids"]) <= room
    ]
    return found[:: max(1, len(found) // TEXTS)][:TEXTS]
