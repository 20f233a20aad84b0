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


@cache
def _pairs() -> dict[Feature, tuple[Pair, ...]]:
    rows = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return TypeAdapter(dict[Feature, tuple[Pair, ...]]).validate_python(rows)


def pairs_of(spec: CheckpointSpec) -> dict[str, Pair]:
    """The pairs for what a model offers by slug, the one that it opens with first."""
    pairs = [pair for pairs in spec.entries(_pairs()) for pair in pairs]
    pairs = [pair for pair in pairs if not pair.models or spec.slug in pair.models]
    for slug in ("attraction", "letter"):
        if spec.slug in checkpoints.first(f"patching-{slug}"):
            pairs.sort(key=lambda pair: pair.slug != slug)
    return {pair.slug: pair for pair in pairs}
