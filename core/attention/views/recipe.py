"""A view of the page Attention as a small JSON file: model, text, settings, and versions.

``settings`` are the page's URL parameters (`core.links`), so a recipe can do exactly what a link can: reading one
applies the same checks, and a file that fails any of them opens nothing. The weights' SHA-256 and the versions do not
change what opens; differences from this installation are reported.

    {"format": "transformer-atlas-recipe", "version": 1, "page": "attention", "section": "heads",
     "model": {"slug": ..., "name": ..., "source": ..., "revision": ..., "weights": [{"file", "bytes", "sha256"}]},
     "settings": {"text": ..., "layer": 1, "head": 3, ...}, "seed": 0, "versions": {"torch": ..., ...}}
"""

from __future__ import annotations

import codecs
import json
import platform
import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError

from core import links
from core.checkpoints.sizes import Weights
from core.checkpoints.spec import CheckpointSpec
from core.content import content
from core.errors import AtlasError
from core.links import parameters
from core.links.parameters import MARK, Value, carried
from core.settings import ROOT, settings

FORMAT, VERSION, PAGE = "transformer-atlas-recipe", 1, "attention"
SEED = 0
"""The seed of random blocks and buckets on this page (`core.attention.capture`)."""
NAMED = ("torch", "transformers")
_OUTSIDE = ("tab", "model")
_COMPARED = ("transformer-atlas", *NAMED)
_VERSION = re.compile(r"[\w.+-]{1,40}", re.ASCII)


class RecipeRefused(AtlasError):
    """A file is not a recipe, or names something that does not exist here."""


class _Weights(BaseModel, strict=True, extra="forbid"):
    file: Annotated[str, Field(max_length=200)]
    bytes: int
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class _Model(BaseModel, strict=True):
    slug: str
    weights: Annotated[list[_Weights], Field(max_length=16)] = []


class _File(BaseModel, strict=True, extra="forbid"):
    format: Literal["transformer-atlas-recipe"]
    version: Annotated[int, Field(ge=VERSION, le=VERSION)]
    page: Literal["attention"]
    section: str
    model: _Model | None
    settings: dict[str, str | int | float | list[str | int]]
    seed: Annotated[int, Field(ge=SEED, le=SEED)]
    versions: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Recipe:
    """The validated content of a file."""

    values: dict[str, Value]
    """The page's state."""
    model: str | None
    weights: tuple[Weights, ...]
    versions: dict[str, str]


@cache
def versions() -> dict[str, str]:
    """What runs here."""
    return {"transformer-atlas": _atlas(), "python": platform.python_version()} | {
        name: version(name) for name in NAMED
    }


def most_bytes() -> int:
    """The longest recipe in bytes, which is the upload limit."""
    return settings().max_upload_kb * 1_000


def write(
    section: str,
    settings: Mapping[str, Value],
    spec: CheckpointSpec | None,
    weights: tuple[Weights, ...] = (),
    revision: str | None = None,
) -> bytes:
    """A recipe as JSON (UTF-8).

    Args:
        settings: values of the section's parameters.
        spec: the model; None for a section about several.

    Raises:
        RecipeRefused: it would be longer than :func:`most_bytes`.
    """
    model = None
    if spec is not None:
        named: dict[str, Any] = {"slug": spec.slug, "name": spec.name, "source": spec.source, "revision": revision}
        model = named | {"weights": [asdict(weight) for weight in weights]}
    whole = {
        "format": FORMAT,
        "version": VERSION,
        "page": PAGE,
        "section": section,
        "model": model,
        "settings": {n: v for n, v in settings.items() if n not in _OUTSIDE and v not in (None, ())},
        "seed": SEED,
        "versions": versions(),
    }
    data = (json.dumps(whole, ensure_ascii=False, indent=2) + "\n").encode()
    if len(data) > most_bytes():
        raise RecipeRefused(content("attention", "recipe").part("Too long", most=f"{most_bytes():,}"))
    return data


def read(data: bytes, choices: Mapping[str, Collection[str]]) -> Recipe:
    """The recipe in a file. ``choices`` as for `core.links.read`.

    Raises:
        RecipeRefused: the first reason why it opens nothing: too large, not a recipe, of another version, or naming
            something that does not exist here.
    """
    file = _parse(data)
    query = {"tab": file.section} | ({} if file.model is None else {"model": file.model.slug})
    for name, value in file.settings.items():
        if name in _OUTSIDE:
            raise RecipeRefused(f"“{name}” is not a setting of a recipe. Remove it from its settings.")
        query[name] = _as_in_a_link(name, value)
    values, refused = links.read(*links.current(PAGE, query), choices)
    if refused:
        raise RecipeRefused(refused[0].sentence.replace("The link", "The recipe", 1))
    weights = () if file.model is None else tuple(Weights(**weight.model_dump()) for weight in file.model.weights)
    versions = {
        name: version
        for name, version in file.versions.items()
        if name in _COMPARED and isinstance(version, str) and _VERSION.fullmatch(version)
    }
    return Recipe(values, None if file.model is None else file.model.slug, weights, versions)


def differences(recipe: Recipe, weights: tuple[Weights, ...], here: Mapping[str, str]) -> tuple[str, ...]:
    """Sentences on differences from when the recipe was made: other weights, other versions."""
    words = content("attention", "recipe")
    sentences = []
    if recipe.weights and weights and recipe.weights != weights:
        sentences.append(words.part("Other weights"))
    other = [
        f"{name} {version} (here {here[name]})"
        for name, version in recipe.versions.items()
        if here.get(name) not in (None, version)
    ]
    if other:
        sentences.append(words.part("Other versions", versions=", ".join(other)))
    return tuple(sentences)


def _parse(data: bytes) -> _File:
    words = content("attention", "recipe")
    if len(data) > most_bytes():
        raise RecipeRefused(words.part("Too large", most=f"{most_bytes():,}", size=f"{len(data):,}"))
    try:
        return _File.model_validate_json(data.removeprefix(codecs.BOM_UTF8))
    except ValidationError as errors:
        error = errors.errors()[0]
    part = str(error["loc"][0]) if error["loc"] else ""
    if error["type"] == "json_invalid":
        raise RecipeRefused(words.part("No JSON"))
    if part in ("", "format"):
        raise RecipeRefused(words.part("No recipe"))
    if part == "version":
        raise RecipeRefused(words.part("Another version", version=VERSION))
    where = " of ".join(f"“{_short(str(step))}”" for step in reversed(error["loc"][:2]))
    raise RecipeRefused(f"This recipe cannot be read: its {where} is missing or is not what this page writes.")


def _as_in_a_link(name: str, value: str | int | float | list[str | int]) -> str:
    """A setting as a link would carry it."""
    kind = links.PAGES[PAGE].get(name)
    number = isinstance(kind, parameters.Integer | parameters.Integers | parameters.Real)
    several = isinstance(kind, parameters.Words | parameters.Integers)
    parts = value if isinstance(value, list) else [value]
    if kind and (isinstance(value, list) != several or any(isinstance(part, str) == number for part in parts)):
        raise RecipeRefused(f"The recipe's “{_short(name)}” is of another kind than this page takes.")
    if isinstance(kind, parameters.Words) and any("," in str(part) for part in parts):
        raise RecipeRefused(f"The recipe's “{_short(name)}” has a comma in a word.")
    raw = ("," if isinstance(kind, parameters.Words) else ".").join(map(str, parts))
    looks_packed = isinstance(kind, parameters.Text) and raw.startswith(MARK)
    return (carried(raw) or raw) if looks_packed else raw


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"


def _atlas() -> str:
    """The version of this app, as its project file states it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["version"])
