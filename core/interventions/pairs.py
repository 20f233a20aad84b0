"""Pairs of texts that differ in one word and favor two answers (``pairs.toml``)."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

from pydantic import BaseModel, TypeAdapter

from core import checkpoints
from core.checkpoints.spec import CheckpointSpec, Feature


class Pair(BaseModel, frozen=True, extra="forbid"):
    slug: str
    name: str
    first: str
    second: str
    answers: tuple[str, str] = ("", "")
    """An empty one is the most probable answer to its text."""
    task: str | None = None
    step: int = 0
    """Of an encoder-decoder: the token of the output, from 0."""
    models: tuple[str, ...] = ()
    """The models whose answers it changes; without any, it is for all."""
    without: tuple[str, ...] = ()
    """The models whose answers it does not change, or whose tokens of the two texts differ in number."""


@cache
def _pairs() -> dict[Feature, tuple[Pair, ...]]:
    rows = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return TypeAdapter(dict[Feature, tuple[Pair, ...]]).validate_python(rows)


def pairs_of(spec: CheckpointSpec) -> dict[str, Pair]:
    """The pairs for what a model offers by slug, the one that it opens with first."""
    pairs = [pair for pairs in spec.entries(_pairs()) for pair in pairs]
    pairs = [p for p in pairs if spec.slug not in p.without and (not p.models or spec.slug in p.models)]
    if spec.slug in checkpoints.first("patching-attraction"):
        pairs.sort(key=lambda pair: pair.slug != "attraction")
    return {pair.slug: pair for pair in pairs}
