"""How live models know places: learned tables, fixed ones, and the part of their scores that is about distance.

Everything is asked of the models as they run. The table of places is what their embedding adds for each place in turn,
so that offsets (RoBERTa's, BART's) need not be known; terms of scores are those of
`core.attention.architectures.scores`.

Legend: n places, w width, L layers, H heads, D = 2 n - 1 distances, from -(n - 1) to n - 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.attention.trace import Floats, frozen
from core.checkpoints.spec import Checkpoint
from core.errors import InputUnusable
from core.vectors.positions import along_distance

MOST = 128
"""Places that are shown of a table."""
TERMS: dict[str, str] = {
    "position": "distance",
    "c2p": "content to position",
    "p2c": "position to content",
}


@dataclass(frozen=True, slots=True, eq=False)
class ByDistance:
    """One term of the scores of every head, by distance; arrays are read-only, nan where no pair is that far apart."""

    means: Floats  # (L, H, D)
    spreads: Floats  # (L, H, D) standard deviation over the pairs of tokens at that distance

    @property
    def reach(self) -> int:
        """n - 1."""
        return (int(self.means.shape[-1]) - 1) // 2


def table(checkpoint: Checkpoint) -> Floats:
    """(n, w) what the embedding adds for the first `MOST` places, or for as many as there are.

    Raises:
        InputUnusable: nothing is added for a place.
    """
    import torch

    from core.attention.inside.states import embedding_of
    from core.language.limits import max_tokens, own_language
    from core.vectors.reading import tokens_of

    tokens, _ = tokens_of(checkpoint, "a")
    filler = next(token.id for token in tokens if not token.special)
    count = min(MOST, max_tokens(checkpoint) or MOST)
    ids = torch.full((1, count), filler)
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids), **own_language(checkpoint.model, ids)}
    for step in embedding_of(checkpoint, inputs):
        if step.name == "position":
            return frozen(step.values.copy())
    raise InputUnusable(f"{checkpoint.spec.name} adds nothing for a place.")


def terms(checkpoint: Checkpoint, text: str) -> dict[str, ByDistance]:
    """The terms of a text's scores that know distance, by name (`TERMS`).

    T5's depends on nothing else; in DeBERTa, XLNet and Transformer-XL a word's query or key takes part, so that pairs
    at one distance differ. Of an encoder-decoder the encoder is asked.

    Raises:
        InputUnusable: the scores have no such term.
        InputEmpty, InputTooLong: as `core.vectors.reading.read`.
    """
    from core.attention.architectures.vectors import each
    from core.language.segments import SEGMENT, remembers
    from core.vectors.reading import tokens_of

    tokens, _ = tokens_of(checkpoint, text)
    if remembers(checkpoint.model):
        tokens = tokens[:SEGMENT]  # what it reads at once: before that there is memory
    found = each(checkpoint, _inputs(checkpoint, [token.id for token in tokens]))
    layers = found["encoder"] if "encoder" in found else found["decoder"]
    names = [name for name in TERMS if name in layers[0][1].terms]
    if not names:
        raise InputUnusable(f"No part of the scores of {checkpoint.spec.name} is about distance.")
    return {name: _measured(layers, name) for name in names}


def _inputs(checkpoint: Checkpoint, ids: list[int]) -> dict[str, Any]:
    import torch

    row = torch.tensor([ids])
    inputs = {"input_ids": row, "attention_mask": torch.ones_like(row)}
    if checkpoint.spec.offers("rewrites"):
        inputs["decoder_input_ids"] = row[:, :1]
    return inputs


def _measured(layers: list[tuple[Any, Any]], name: str) -> ByDistance:
    means, spreads = [], []
    for _, met in layers:
        term = met.terms[name].float().cpu().numpy()
        known = None if met.allowed is None else np.broadcast_to(met.allowed.cpu().numpy(), term.shape)
        rows = [along_distance(head, None if known is None else known[h]) for h, head in enumerate(term)]
        means.append([row[0] for row in rows])
        spreads.append([row[1] for row in rows])
    return ByDistance(frozen(np.array(means, dtype=np.float32)), frozen(np.array(spreads, dtype=np.float32)))


@dataclass(frozen=True, slots=True, eq=False)
class Turned:
    """Queries and keys of a text before they are turned; arrays are read-only."""

    tokens: tuple[str, ...]
    queries: Floats  # (L, H, n, d)
    keys: Floats  # (L, H, n, d), repeated where heads share them
    turned_queries: Floats  # (L, H, n, d), as the model turned them
    turned_keys: Floats
    factor: float
    base: float


def turned(checkpoint: Checkpoint, text: str) -> Turned:
    """What a decoder with rotary positions turns.

    Raises:
        InputUnusable: its queries are not turned, or only seen after that.
        InputEmpty, InputTooLong: as `core.vectors.reading.read`.
    """
    from core.attention.architectures.vectors import each
    from core.attention.tokens import label
    from core.vectors.reading import tokens_of

    tokens, _ = tokens_of(checkpoint, text)
    layers = each(checkpoint, _inputs(checkpoint, [token.id for token in tokens])).get("decoder", [])
    if layers and layers[0][0].names.score == "hooked":
        raise InputUnusable(
            f"Of {checkpoint.spec.name} queries and keys can be read as they enter the scores, not before they are "
            "rotated. Models such as LLaMA, Mistral and Qwen 2 show both."
        )
    if not layers or layers[0][1].before_rope is None:
        raise InputUnusable(f"{checkpoint.spec.name} does not turn its queries and keys.")

    def stacked(take: Any) -> Floats:
        return frozen(np.stack([take(met).float().cpu().numpy() for _, met in layers]))

    def spread(met: Any) -> Any:
        keys = met.before_rope[1]
        return keys.repeat_interleave(len(met.query) // len(keys), dim=0)

    settings: Mapping[str, Any] = checkpoint.model.config.rope_parameters or {}
    return Turned(
        tuple(label(token) for token in tokens),
        stacked(lambda met: met.before_rope[0]),
        stacked(spread),
        stacked(lambda met: met.query),
        stacked(lambda met: met.key),
        float(layers[0][1].factor),
        float(settings.get("rope_theta", 10_000.0)),
    )
