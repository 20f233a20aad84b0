"""A view of the page Attention as a small file that opens it again: which model, which text, what is shown, with what.

A recipe is JSON. ``settings`` are the page's own parameters (`core.links`), so whatever a link may ask for a recipe may
and nothing else: reading one goes through the same checks, and a file that fails any of them opens nothing. The
weights' SHA-256 and the versions do not change what opens; where they differ from what is here, that is said.

    {"format": "transformer-atlas-recipe", "version": 1, "page": "attention", "section": "heads",
     "model": {"slug": ..., "name": ..., "source": ..., "revision": ..., "weights": [{"file", "bytes", "sha256"}]},
     "settings": {"text": ..., "layer": 1, "head": 3, ...}, "seed": 0, "versions": {"torch": ..., ...}}
"""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError

from core import links
from core.checkpoints.sizes import Weights
from core.checkpoints.spec import CheckpointSpec
from core.errors import AtlasError
from core.links import Value
from core.links.packed import MARK, carried

FORMAT, VERSION, PAGE = "transformer-atlas-recipe", 1, "attention"
MOST_BYTES = 20_000
SEED = 0
"""What random blocks and buckets are drawn with on this page (`core.attention.architectures.shapes`)."""
NAMED = ("torch", "transformers")
_OUTSIDE = ("tab", "model")
_COMPARED = ("transformer-atlas", *NAMED)
_VERSION = re.compile(r"[\w.+-]{1,40}", re.ASCII)
_SURROGATE = re.compile("[\ud800-\udfff]")


class RecipeRefused(AtlasError):
    """A file is no recipe, or asks for something that is not here."""


class _Weights(BaseModel, strict=True, extra="forbid"):
    file: Annotated[str, Field(max_length=200)]
    bytes: int
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class _Model(BaseModel, strict=True):
    slug: str
    weights: Annotated[list[_Weights], Field(max_length=16)] = []


class _File(BaseModel, strict=True):
    """What stands in a file."""

    format: str
    version: int
    page: Literal["attention"]
    section: str
    model: _Model | None
    settings: dict[Any, Any]
    seed: Annotated[int, Field(ge=SEED, le=SEED)]
    versions: dict[Any, Any]


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a file asks for, checked."""

    values: dict[str, Value]
    """The page's state."""
    model: str | None
    weights: tuple[Weights, ...]
    versions: dict[str, str]


def versions() -> dict[str, str]:
    """What runs here; a package that is not installed is left out."""
    found = {"transformer-atlas": _atlas(), "python": platform.python_version()}
    for name in NAMED:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


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
        RecipeRefused: it would be longer than :data:`MOST_BYTES`.
    """
    model = None
    if spec is not None:
        named: dict[str, Any] = {"slug": spec.slug, "name": spec.name, "source": spec.source, "revision": revision}
        model = named | {"weights": [asdict(one) for one in weights]}
    kept = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in settings.items()
        if name not in _OUTSIDE and value not in (None, ())
    }
    whole = {
        "format": FORMAT,
        "version": VERSION,
        "page": PAGE,
        "section": section,
        "model": model,
        "settings": kept,
        "seed": SEED,
        "versions": versions(),
    }
    data = (json.dumps(whole, ensure_ascii=False, indent=2) + "\n").encode()
    if len(data) > MOST_BYTES:
        raise RecipeRefused(f"This text is too long for a recipe, which has {MOST_BYTES:,} bytes at most.")
    return data


def read(data: bytes, choices: Mapping[str, Collection[str]]) -> Recipe:
    """What a file asks for, or the first reason why it opens nothing. ``choices`` as for `core.links.read`.

    Raises:
        RecipeRefused: it is too large, no recipe, of another kind or version, or asks for what is not here.
    """
    whole = _whole(data)
    model = whole.model
    query = {"tab": whole.section} | ({} if model is None else {"model": model.slug})
    for name, value in whole.settings.items():
        if name in _OUTSIDE:
            raise RecipeRefused(f"The recipe has “{name}” among its settings, where it does not belong.")
        query[name] = _raw(name, value)
    values, refused = links.read(PAGE, query, choices)
    if refused:
        raise RecipeRefused(_whole_characters(refused[0].sentence.replace("The link", "The recipe", 1)))
    weights = () if model is None else tuple(Weights(one.file, one.bytes, one.sha256) for one in model.weights)
    kept = {
        name: was
        for name, was in whole.versions.items()
        if name in _COMPARED and isinstance(was, str) and _VERSION.fullmatch(was)
    }
    return Recipe(values, None if model is None else model.slug, weights, kept)


def differences(recipe: Recipe, weights: tuple[Weights, ...], here: Mapping[str, str]) -> tuple[str, ...]:
    """Sentences on what was otherwise when the recipe was made: other weights, other versions."""
    said = []
    if recipe.weights and weights and recipe.weights != weights:
        said.append("It was made with other weights of this model than those here, so its numbers were others.")
    other = [
        f"{name} {was} (here {here[name]})"
        for name, was in recipe.versions.items()
        if here.get(name) not in (None, was)
    ]
    if other:
        said.append(f"It was made with {', '.join(other)}; the last digits may differ.")
    return tuple(said)


def _whole(data: bytes) -> _File:
    if len(data) > MOST_BYTES:
        raise RecipeRefused(f"A recipe has at most {MOST_BYTES:,} bytes; this file has {len(data):,}.")
    try:
        found = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise RecipeRefused("This file is no text in UTF-8. Open a recipe that was saved here.") from None
    except (ValueError, RecursionError):
        raise RecipeRefused("This file is no JSON. Open a recipe that was saved here.") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise RecipeRefused("This file is JSON, but no recipe of the Transformer Atlas.")
    if type(found.get("version")) is not int or found["version"] != VERSION:
        raise RecipeRefused(f"This recipe is of another version; version {VERSION} can be read here.")
    wrong = sorted(found.keys() ^ _File.model_fields.keys())
    if wrong:
        raise RecipeRefused(f"This recipe lacks something or has too much: {_short(', '.join(wrong))}.")
    try:
        return _File.model_validate(found)
    except ValidationError as error:
        part, *within = error.errors()[0]["loc"]
        what = f"the weights of its {part}" if "weights" in within else f"its {part}"
        what += f", which is {SEED} on this page" * (part == "seed")
        raise RecipeRefused(f"This recipe cannot be read: {what}.") from None


def _raw(name: str, value: object) -> str:
    """A setting as a link would carry it."""
    parts = value if isinstance(value, list) else [value]
    if any(type(part) not in (str, int, float) for part in parts):
        raise RecipeRefused(f"The recipe's “{_short(name)}” is neither a text nor a number nor a list of them.")
    if any(isinstance(part, str) and not part.isascii() and _SURROGATE.search(part) for part in parts):
        raise RecipeRefused(f"The recipe's “{_short(name)}” has half a character in it.")
    kind = links.PAGES[PAGE].get(name)
    if isinstance(value, list) != isinstance(kind, links.Words | links.Integers) and kind is not None:
        raise RecipeRefused(f"The recipe's “{_short(name)}” is of another kind than this page takes.")
    if any(isinstance(part, str) == isinstance(kind, links.Integer | links.Integers | links.Real) for part in parts):
        raise RecipeRefused(f"The recipe's “{_short(name)}” is of another kind than this page takes.")
    if isinstance(kind, links.Words) and any("," in str(part) for part in parts):
        raise RecipeRefused(f"The recipe's “{_short(name)}” has a comma in a word.")
    raw = ("," if isinstance(kind, links.Words) else ".").join(str(part) for part in parts)
    looks_packed = isinstance(kind, links.Text) and raw.startswith(MARK)
    return (carried(raw) or raw) if looks_packed else raw


def _short(text: str) -> str:
    text = _whole_characters(text)
    return text if len(text) <= 60 else text[:59] + "…"


def _whole_characters(text: str) -> str:
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)


def _atlas() -> str:
    """The version of this app, as its project file states it."""
    import tomllib

    from core.settings import ROOT

    try:
        return str(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"])
    except (OSError, KeyError, ValueError):
        return "unknown"
