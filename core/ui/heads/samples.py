"""Texts for the heads to open with; written for this project."""

from __future__ import annotations

from core import session
from core.checkpoints.spec import Checkpoint, CheckpointSpec

LONG = (
    "Every morning the old man walked down to the harbour with his dog. The dog ran ahead, along the wall and over the "
    "wet stones, and waited for him at the last boat. They both looked out at the sea. When the weather was good the "
    "man told the dog about the years in which he had been a sailor: about storms, about islands where nobody lived, "
    "about a friend who had never come home. When it rained they sat in the little house of the harbour master and "
    "drank tea, or rather the man drank it and the dog slept below the table. One day in spring a small white ship "
    "came in, and a stranger stood at the rail and called the old man by his name. The dog barked. The man did not say "
    "a word."
)
"""For models that do not compute every pair: long enough to see what is left out."""
FEW_BYTES = (
    "The cat sat by the door and waited for the girl. The girl came home late and the cat was cross. The girl gave the "
    "cat some milk, and the cat sat by the fire and was happy again. Then the girl went to bed."
)
"""For models that read bytes."""


def samples(spec: CheckpointSpec) -> tuple[str, ...]:
    """Texts to begin with, the first one at once; sparse models get one that is longer than their window."""
    usual = spec.family.samples
    if spec.branch != "efficient" and not spec.offers("memory"):
        return usual
    long = FEW_BYTES if spec.offers("hashing") else LONG
    if not _fits(session.checkpoint(spec.slug), long):
        return usual
    return (long, *usual) if spec.branch == "efficient" else (*usual, long)


def _fits(checkpoint: Checkpoint, text: str) -> bool:
    from core.attention.capture import MAX_TOKENS
    from core.language.limits import max_tokens

    return len(checkpoint.tokenizer(text)["input_ids"]) <= min(MAX_TOKENS, max_tokens(checkpoint) or MAX_TOKENS)


def short(sample: str, most: int = 90) -> str:
    """The beginning of a sample, for a button."""
    return sample if len(sample) <= most else f"{sample[:most].rsplit(' ', 1)[0]} …"
