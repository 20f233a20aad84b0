"""Where a run begins that does not begin anew: from its saved state, or from a finished checkpoint.

A state carries its format, what shapes the run (`identity`) and, with the tensors, the names and shapes of all trained
parameters. A run takes up a state that fits in all three, or refuses it with the reason. Batches and everything random
follow from the seed and the step (`core.training.train`), so no generator's state is kept.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn.utils import parametrize

from core.errors import AtlasError
from core.training.files import write_file
from core.training.recipe import Recipe, SourceFile

STATE = "state.pt"
FORMAT = 3
_ANEW = "Give --fresh to start over without it."


class StateError(AtlasError):
    """A saved state cannot be taken up: damaged, of another recipe, or of other code."""


class FurtherError(AtlasError):
    """A checkpoint from which its recipe cannot go on."""


def identity(recipe: Recipe) -> str:
    """What shapes a run, as JSON. Budget, optimizer and card may change: the next step follows the new ones."""
    normal = {field.name: field.default for field in dataclasses.fields(SourceFile)}
    kept = {name: getattr(recipe, name) for name in ("slug", "kind", "seed", "step_tokens", "model", "data")}
    kept["sources"] = [
        {k: v for k, v in dataclasses.asdict(source).items() if v != normal[k]} for source in recipe.sources
    ]
    return json.dumps(kept, sort_keys=True)


def trained(model: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters that learn, by name."""
    return {name: value for name, value in model.named_parameters() if value.requires_grad}


def write(
    folder: Path,
    recipe: Recipe,
    model: nn.Module,
    optimizers: list[torch.optim.Optimizer],
    progress: dict[str, Any],
) -> None:
    """Writes a state in one step; raises `core.training.files.StorageError` and leaves the old one where it cannot."""
    out = io.BytesIO()  # torch reports a full disk in words of its own
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


def damaged(folder: Path) -> StateError:
    """What is said of a state that cannot be read."""
    return StateError(f"The saved state {folder / STATE} is damaged. {_ANEW}")


def take_up(
    folder: Path, recipe: Recipe, model: nn.Module, optimizers: list[torch.optim.Optimizer]
) -> dict[str, Any] | None:
    """Gives model and optimizers what a saved state holds; rates, decay and the like stay those of the recipe at hand.

    Returns:
        The saved progress; None where nothing is saved.

    Raises:
        StateError: it is damaged, or does not fit.
    """
    path = folder / STATE
    if not path.is_file():
        return None
    try:
        saved = torch.load(path, map_location="cpu", weights_only=True)
        known, before = saved["format"], saved["recipe"]
        weights, moments, progress = saved["model"], saved["optimizers"], dict(saved["progress"])
        there = {name: tuple(value.shape) for name, value in weights.items()}
    except PermissionError as error:
        raise StateError(f"The saved state {path} may not be read by this user.") from error
    except Exception as error:  # nothing in it, half an archive, another pickle, no dictionary: each has its own error
        raise damaged(folder) from error
    if known != FORMAT:
        raise StateError(f"The saved state {path} has format {known}, but this version reads {FORMAT}. {_ANEW}")
    wanted = identity(recipe)
    if before != wanted:
        old, new = json.loads(before), json.loads(wanted)
        changed = ", ".join(name for name in new if old.get(name) != new[name])
        raise StateError(
            f"The saved state {path} belongs to another recipe, or to an earlier text of this one: {changed} changed. "
            f"Take that back to go on with the state. {_ANEW}"
        )
    here = {name: tuple(value.shape) for name, value in trained(model).items()}
    if there != here:
        name = sorted(there.items() ^ here.items())[0][0]
        one, other = (f"of shape {shapes[name]}" if name in shapes else "missing" for shapes in (there, here))
        raise StateError(
            f"The saved state {path} is of another model: the parameter {name} is {one} there and {other} here. {_ANEW}"
        )
    try:
        for optimizer, moment in zip(optimizers, moments, strict=True):
            own = [{k: v for k, v in group.items() if k != "params"} for group in optimizer.param_groups]
            optimizer.load_state_dict(moment)
            for group, settings in zip(optimizer.param_groups, own, strict=True):
                group.update(settings)
    except (ValueError, KeyError, TypeError) as error:
        raise StateError(f"The saved state {path} is of other optimizers than the recipe's. {_ANEW}") from error
    model.load_state_dict(weights, strict=False)
    return progress


def go_on(recipe: Recipe, objective: Any, folder: Path) -> list[tuple[int, int, float, str, str, float]]:
    """Gives a new run the weights of the checkpoint in ``folder``, whose recipe's budget of tokens has grown.

    A finished run leaves its weights in float16 and its learning curve, no optimizer. So training goes on with those
    weights and new optimizers, where the curve ends. The rate is what the schedule gives at that share of the new
    budget: what had come to rest is warmed up once more. One run of the same length would have ended elsewhere, so
    whoever commits such a checkpoint writes it into its card.

    Returns:
        The rows of the curve so far.

    Raises:
        FurtherError: there is no such checkpoint, its tokenizer is another, or the budget is used up.
    """
    from tokenizers import Tokenizer

    try:
        with (folder / "curve.csv").open(encoding="utf-8", newline="") as lines:
            rows = [
                (int(tokens), int(step), float(minutes), split, name, float(value))
                for tokens, step, minutes, split, name, value in list(csv.reader(lines))[1:]
            ]
        seen = rows[-1][0]
    except (OSError, ValueError, IndexError) as error:
        raise FurtherError(f"{folder} holds no checkpoint with a learning curve to go on from.") from error
    if recipe.tokens <= seen:
        raise FurtherError(
            f"{recipe.slug} has read {seen:,} tokens and its recipe asks for {recipe.tokens:,}: "
            "there is nothing to go on with. Raise “tokens” in the recipe."
        )
    own = getattr(objective, "tokenizer", None)
    # weights mean nothing to another vocabulary: the corpus may have changed, or ties in it been broken otherwise
    if own is not None and own.get_vocab() != Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab():
        raise FurtherError(f"The tokenizer learned from this corpus is not the one in {folder}: nothing was taken up.")
    adopt(objective.model, folder)
    return rows


@torch.no_grad()
def adopt(model: nn.Module, folder: Path) -> None:
    """Copies the shipped weights into the transformers model that an objective's model holds, or is parametrized from.

    Raises:
        FurtherError: it holds none, or more than one.
    """
    from transformers import PreTrainedModel

    inner = [child for child in model.children() if isinstance(child, PreTrainedModel)]
    if len(inner) != 1:
        raise FurtherError(f"A {type(model).__name__} cannot go on from a finished checkpoint: it holds {len(inner)}.")
    own = inner[0]
    shipped: Any = type(own).from_pretrained(folder, dtype=torch.float32)  # type: ignore[attr-defined]
    for name, value in shipped.named_parameters():
        place, _, leaf = name.rpartition(".")
        module = own.get_submodule(place)
        if parametrize.is_parametrized(module, leaf):
            setattr(module, leaf, value.detach())
        else:
            getattr(module, leaf).copy_(value)
