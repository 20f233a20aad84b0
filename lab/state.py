"""The saved state of a run: its format, its `identity`, the trained parameters, the optimizers, the progress.

A state that does not fit the run is refused with the reason. Batches and all randomness follow from the seed and the
step (`lab.train`), so no generator's state is stored.
"""

from __future__ import annotations

import dataclasses
import io
import json
from pathlib import Path
from typing import Any

import torch
from torch import nn

from core.errors import AtlasError
from lab.files import write_file
from lab.recipe import Recipe

STATE = "state.pt"
FORMAT = 4
_FRESH = "Give --fresh to start over without it."


class StateError(AtlasError):
    """A saved state that the run cannot resume from: corrupt, of another recipe, or of other code."""


def identity(recipe: Recipe) -> str:
    """The fields of a recipe that a resumed run must share, as JSON. Budget, optimizer and card may change."""
    fields = dataclasses.asdict(recipe)
    shaping = ("slug", "kind", "seed", "step_tokens", "model", "data", "sources")
    return json.dumps({name: fields[name] for name in shaping}, sort_keys=True)


def trained(model: nn.Module) -> dict[str, nn.Parameter]:
    """The trained parameters by name."""
    return {name: value for name, value in model.named_parameters() if value.requires_grad}


def write(
    folder: Path,
    recipe: Recipe,
    model: nn.Module,
    optimizers: list[torch.optim.Optimizer],
    progress: dict[str, Any],
) -> None:
    """Write a state atomically. Raises `lab.files.StorageError`; then the old state is unchanged."""
    out = io.BytesIO()  # torch's own writer reports a full disk without errno
    torch.save(
        {
            "format": FORMAT,
            "recipe": identity(recipe),
            "model": {name: value.detach() for name, value in trained(model).items()},
            "optimizers": [optimizer.state_dict() for optimizer in optimizers],
            "progress": progress,
        },
        out,
    )
    write_file(folder / STATE, out.getvalue())


def restore(
    folder: Path, recipe: Recipe, model: nn.Module, optimizers: list[torch.optim.Optimizer]
) -> dict[str, Any] | None:
    """Load a saved state into model and optimizers; learning rates, decay and the like stay those of ``recipe``.

    Returns:
        The saved progress; None without a saved state.

    Raises:
        StateError: it is corrupt, or does not fit.
    """
    path = folder / STATE
    if not path.is_file():
        return None
    try:
        saved = torch.load(path, map_location="cpu", weights_only=True)
        version, identity_then, weights, moments, progress = (
            saved[name] for name in ("format", "recipe", "model", "optimizers", "progress")
        )
    except Exception as error:  # every kind of corrupt file raises its own error
        raise StateError(f"The saved state {path} is corrupt. {_FRESH}") from error
    if version != FORMAT:
        raise StateError(f"The saved state {path} has format {version}, but this version reads {FORMAT}. {_FRESH}")
    identity_now = identity(recipe)
    if identity_then != identity_now:
        then, now = json.loads(identity_then), json.loads(identity_now)
        changed = ", ".join(name for name in now if then.get(name) != now[name])
        raise StateError(
            f"The saved state {path} belongs to another recipe, or to an earlier text of this one: {changed} changed. "
            f"Undo that change to resume from the state. {_FRESH}"
        )
    shapes_then, shapes_now = (
        {name: tuple(value.shape) for name, value in tensors.items()} for tensors in (weights, trained(model))
    )
    if shapes_then != shapes_now:
        name = min(shapes_then.items() ^ shapes_now.items())[0]
        raise StateError(
            f"The saved state {path} is of another model: the shape of the parameter {name} is "
            f"{shapes_then.get(name)} there and {shapes_now.get(name)} here. {_FRESH}"
        )
    try:
        for optimizer, moment in zip(optimizers, moments, strict=True):
            settings = [{k: v for k, v in group.items() if k != "params"} for group in optimizer.param_groups]
            optimizer.load_state_dict(moment)
            for group, group_settings in zip(optimizer.param_groups, settings, strict=True):
                group.update(group_settings)
    except (ValueError, KeyError, TypeError) as error:
        raise StateError(f"The saved state {path} is of other optimizers than the recipe's. {_FRESH}") from error
    model.load_state_dict(weights, strict=False)
    return dict(progress)
