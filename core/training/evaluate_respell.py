"""Measures a model that sets spelling right: exact sentences and character error rate, for each kind of noise."""

from __future__ import annotations

from pathlib import Path

from core.checkpoints.spec import Checkpoint
from core.language.edits import error_rate
from core.language.noise import NOISES, noisy
from core.training import corpus as corpora
from core.training import measures
from core.training import recipe as recipes
from core.training.evaluate_encoders import Found

TEXTS = 150
"""Held-out sentences of the corpus that are measured, under each noise at its default rate and without."""


def respell(checkpoint: Checkpoint, corpus: Path | None) -> Found:
    """Sentences written for this project, and with the corpus its held-out ones."""
    recipe = recipes.load(checkpoint.spec.slug)
    longest = int(recipe.data["longest"]) - 1
    written = [row[0] for row in measures.read_table(measures.TRANSLATIONS)]
    texts = {f"{len(written)} sentences written for this project": written}
    if corpus is not None:
        texts[f"{TEXTS} sentences of the corpus held out from training"] = held_out(recipe, corpus, longest)
    return {on: respelt(checkpoint, some) for on, some in texts.items()}


def respelt(checkpoint: Checkpoint, texts: list[str]) -> dict[str, float]:
    """Greedy answers: what is exact after each noise, the error rates before and after, what is right and stays so."""
    ways = {kind: [noisy(text, kind, seed=seed) for seed, text in enumerate(texts)] for kind in NOISES}
    # all at once, so that texts of one length are read together whatever their noise
    every = [text for given in (*ways.values(), texts) for text in given]
    answers = measures.rewrite(checkpoint.model, checkpoint.tokenizer, every, beams=1, rows=64, longest=160)
    count = len(texts)
    found: dict[str, float] = {}
    for number, (kind, given) in enumerate(ways.items()):
        made = answers[number * count : (number + 1) * count]
        found[f"{kind} exact after"] = 100 * sum(a == b for a, b in zip(made, texts, strict=True)) / len(texts)
        found[f"{kind} CER before"] = error_rate(given, texts)
        found[f"{kind} CER after"] = error_rate(made, texts)
    kept = answers[-count:]
    found["left untouched"] = 100 * sum(a == b for a, b in zip(kept, texts, strict=True)) / len(texts)
    means = ("exact after", "CER before", "CER after")
    return {name: sum(found[f"{kind} {name}"] for kind in NOISES) / len(NOISES) for name in means} | found


def held_out(recipe: recipes.Recipe, corpus: Path, longest: int) -> list[str]:
    """`TEXTS` sentences that training did not see, of at most ``longest`` bytes, evenly from all sources."""
    every, shortest = int(recipe.data["hold_out_every"]), int(recipe.data["shortest"]) - 1
    found: list[str] = []
    for source in recipe.sources:
        for item in corpora.read(corpus, source, every=every):
            if item.held_out and shortest <= len(item.text.encode()) <= longest:
                found.append(item.text)
    return found[:: max(1, len(found) // TEXTS)][:TEXTS]
