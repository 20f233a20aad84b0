"""A masked word as Home shows it: the predictions, and the row of the head whose attention from the mask is clearest.

What Home opens with is stored in ``assets/measured/home.json``, which ``python -m lab home`` writes, so that a server's
first visitor need not wait for torch and a model. It counts only for the files that it was computed from.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter

from core.attention.capture import capture
from core.attention.heads import clearest_head
from core.checkpoints import package
from core.checkpoints.spec import Checkpoint, CheckpointSpec
from core.language.fill_mask import fill_mask
from core.settings import ASSETS

FILE = ASSETS / "measured" / "home.json"
OPENS_WITH = "The baker put the [MASK] into the oven."
GUESSES = 5
"""The number of predictions."""
MODEL_FILES = ("config.json", "difference.safetensors", "tokenizer.json")
"""What the stored one depends on, beside the package's weights, whose SHA-256 is verified before use."""


@dataclass(frozen=True, slots=True)
class MaskedWord:
    position: int
    """Index among ``tokens``."""
    predictions: tuple[str, ...]
    probabilities: tuple[float, ...]
    """In descending order."""
    tokens: tuple[str, ...]
    special: tuple[int, ...]
    """The positions of special tokens."""
    layer: int
    head: int
    """Both from 0."""
    weights: tuple[float, ...]
    """The head's attention from the mask to each of ``tokens``."""


def read_masked_word(checkpoint: Checkpoint, text: str, mask: int = 0) -> MaskedWord:
    """The masked word of ``text``; ``mask`` counts its masks.

    Raises:
        AtlasError: what `fill_mask` and `capture` refuse.
    """
    prediction = fill_mask(checkpoint, text, GUESSES)[mask]
    (attention_map, *_) = capture(checkpoint, text).maps
    at = prediction.position
    layer, head = clearest_head(attention_map, at)
    return MaskedWord(
        at,
        prediction.tokens,
        prediction.probabilities,
        attention_map.query_tokens,
        attention_map.special_queries,
        layer,
        head,
        tuple(attention_map.weights[layer, head, at].tolist()),
    )


@dataclass(frozen=True, slots=True)
class Stored:
    """The masked word of :data:`OPENS_WITH`, and the SHA-256 of each of :data:`MODEL_FILES`."""

    sha256: dict[str, str]
    word: MaskedWord


def stored(spec: CheckpointSpec, text: str) -> MaskedWord | None:
    """What is stored of ``text``, if it was computed by the model ``spec`` as its files are now."""
    if text != OPENS_WITH or spec.source != "package":
        return None
    opening = _read()
    return opening.word if opening.sha256 == hashes(Path(spec.location)) else None


@cache
def _read() -> Stored:
    return TypeAdapter(Stored).validate_json(FILE.read_bytes())


def hashes(folder: Path) -> dict[str, str]:
    """The SHA-256 of each of :data:`MODEL_FILES` that is there."""
    states = {file: file.stat() for name in MODEL_FILES if (file := folder / name).is_file()}
    return {file.name: package.sha256(file, state.st_mtime_ns, state.st_size) for file, state in states.items()}
