"""The saved state of a run: what it holds, whether it fits, and how it is written.

A state carries its format, what shapes the run (`identity`) and, with the tensors, the names and shapes of all trained
parameters. A run takes up a state that fits in all three, or refuses it with the reason. Batches and everything random
follow from the seed and the step (`core.training.trainer`), so no generator's state is kept.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any, BinaryIO

import torch
from torch import nn

from core.errors import AtlasError
from core.training.files import replacing
from core.training.recipe import Recipe, SourceFile

FORMAT = 2
"""1 had neither a format nor a recipe's identity; it is taken up where names and shapes of the parameters fit."""

_ANEW = "Give --fresh to start over without it."


class StateError(AtlasError):
    """A saved state cannot be taken up: damaged, of another recipe, or of other code."""


def identity(recipe: Recipe) -> str:
    """What shapes a run, as JSON. Budget, optimiser and card may change: the next step follows the new ones."""
    normal = {field.name: field.default for field in dataclasses.fields(SourceFile)}
    sources = [{k: v for k, v in dataclasses.asdict(s).items() if v != normal[k]} for s in recipe.sources]
    kept = {
        "slug": recipe.slug,
        "kind": recipe.kind,
        "seed": recipe.seed,
        "step_tokens": recipe.step_tokens,
        "model": recipe.model,
        "data": recipe.data,
        "sources": sources,
    }
    return json.dumps(kept, sort_keys=True)


def trained(model: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters that learn, by name."""
    return {name: value for name, value in model.named_parameters() if value.requires_grad}


def write(
    path: Path,
    recipe: Recipe,
    model: nn.Module,
    optimizers: list[torch.optim.Optimizer],
    progress: dict[str, Any],
) -> None:
    """Writes a state in one step; raises `core.training.files.StorageError` and leaves the old one where it cannot."""
    state = {
        "format": FORMAT,
        "recipe": identity(recipe),
        "model": {name: value.detach() for name, value in trained(model).items()},
        "optimizers": [optimizer.state_dict() for optimizer in optimizers],
        "progress": progress,
    }
    with replacing(path) as out:
        torch.save(state, out)


def read(source: Path | BinaryIO, path: Path, recipe: Recipe, model: nn.Module) -> dict[str, Any]:
    """The state in ``source``, checked against recipe and model; ``path`` is its name in sentences.

    Raises:
        StateError: it is damaged, or does not fit.
    """
    try:
        state: dict[str, Any] = torch.load(source, map_location="cpu", weights_only=True)
        shapes = {name: tuple(value.shape) for name, value in state["model"].items()}
        known, optimizers, progress = state.get("format", 1), state["optimizers"], state["progress"]
        sound = isinstance(known, int) and isinstance(optimizers, list) and isinstance(progress, dict)
    except PermissionError as error:
        raise StateError(f"The saved state {path} may not be read by this user.") from error
    except Exception as error:  # nothing in it, half an archive, another pickle, no dictionary: each has its own error
        raise StateError(f"The saved state {path} is damaged. {_ANEW}") from error
    if not sound:
        raise StateError(f"The saved state {path} is damaged. {_ANEW}")
    if known > FORMAT:
        raise StateError(f"The saved state {path} has format {known}, but this version reads up to {FORMAT}. {_ANEW}")
    if "recipe" in state:  # not in format 1
        _same_recipe(path, str(state["recipe"]), identity(recipe))
    _same_shapes(path, shapes, {name: tuple(value.shape) for name, value in trained(model).items()})
    return state


def _same_recipe(path: Path, saved: str, wanted: str) -> None:
    if saved == wanted:
        return
    before, now = json.loads(saved), json.loads(wanted)
    changed = [name for name in now if before.get(name) != now[name]]
    raise StateError(
        f"The saved state {path} belongs to another recipe, or to an earlier text of this one: "
        f"{', '.join(changed) or 'fields'} changed. Take that back to go on with the state. {_ANEW}"
    )


def _same_shapes(path: Path, saved: dict[str, tuple[int, ...]], wanted: dict[str, tuple[int, ...]]) -> None:
    if saved == wanted:
        return
    name = sorted(saved.items() ^ wanted.items())[0][0]
    there, here = (f"of shape {shapes[name]}" if name in shapes else "missing" for shapes in (saved, wanted))
    raise StateError(
        f"The saved state {path} is of another model: the parameter {name} is {there} there and {here} here. {_ANEW}"
    )


def take_up(optimizers: list[torch.optim.Optimizer], saved: list[dict[str, Any]], path: Path) -> None:
    """Gives the optimisers what they knew; rates, decay and the like stay those of the recipe at hand.

    Raises:
        StateError: the state is of optimisers of other kinds.
    """
    try:
        for optimizer, state in zip(optimizers, saved, strict=True):
            own = [{k: v for k, v in group.items() if k != "params"} for group in optimizer.param_groups]
            optimizer.load_state_dict(state)
            for group, settings in zip(optimizer.param_groups, own, strict=True):
                group.update(settings)
    except (ValueError, KeyError, TypeError) as error:
        raise StateError(f"The saved state {path} is of other optimisers than the recipe's. {_ANEW}") from error
