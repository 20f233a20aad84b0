"""Models of transformers from a recipe's ``[model]`` table, the models they start from, and saving them."""

from __future__ import annotations

import copy
from importlib.resources import files
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor, nn

from core.checkpoints.bundled import apply
from core.checkpoints.registry import bundled_root
from core.errors import AtlasError
from core.lazy import transformers
from lab.recipe import RecipeError

WHOLE = "model.safetensors"
"""File of all weights."""
DIFFERENCE = "difference.safetensors"
"""File of a difference to a backbone (`core.checkpoints.bundled`)."""


def new_config(settings: dict[str, Any], **overrides: Any) -> Any:
    """The configuration of ``settings["type"]`` without dropout; the other entries are its fields.

    Raises:
        RecipeError: there is no such type.
    """
    fields = {name: value for name, value in settings.items() if name not in ("type", "attn_implementation")}
    try:
        config = transformers.AutoConfig.for_model(settings["type"], **fields | overrides)
    except ValueError as error:
        raise RecipeError(f"There is no model of the type {settings['type']!r} in transformers.") from error
    for name in _dropouts(config):
        setattr(config, name, 0.0)
    return config


def _dropouts(config: Any) -> list[str]:
    return [
        name
        for name, value in vars(config).items()
        if ("dropout" in name or "pdrop" in name) and isinstance(value, float)
    ]


def new_model(settings: dict[str, Any], head: str, **overrides: Any) -> Any:
    """A model ``AutoModelFor<head>`` with random weights and the configuration of `new_config`.

    Attention is eager, which is faster than the fused kernel on short rows, unless the recipe has another
    ``attn_implementation``.
    """
    auto = getattr(transformers, f"AutoModelFor{head}")
    config = new_config(settings, **overrides)
    model = auto.from_config(config, attn_implementation=settings.get("attn_implementation", "eager"))
    for module in model.modules():
        if type(getattr(module, "act", None)).__name__ == "NewGELUActivation":
            module.act = nn.GELU(approximate="tanh")  # the same function, in one kernel
    return model


def ship_model(model: Any, folder: Path) -> None:
    """Saves a float16 copy with the default dropout; the run's own weights are not rounded."""
    shipped = copy.deepcopy(model)
    usual = type(shipped.config)()
    for name in _dropouts(shipped.config):
        setattr(shipped.config, name, getattr(usual, name, 0.0))
    shipped.to(torch.float16).save_pretrained(folder)


def ship_tensors(tensors: dict[str, Tensor], path: Path) -> None:
    """Saves tensors in float16; integers are unchanged."""
    shipped = {
        name: (value.detach().to(torch.float16) if value.is_floating_point() else value).contiguous().cpu()
        for name, value in tensors.items()
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file(shipped, path, metadata={"format": "pt"})


def finished(name: str, stages: Path, file: str = WHOLE) -> Path:
    """The folder of a finished model with ``file``: among the training states ``stages``, else the bundled one.

    Args:
        name: of its recipe; it may be ``checkpoint:part``, a part of a bundled folder.
    """
    for folder in (stages / name.replace(":", "-") / "out", bundled_root().joinpath(*name.split(":"))):
        if (folder / file).is_file():
            return folder
    raise AtlasError(f"Training starts from {name}, which has not been trained here: train that recipe first.")


def finished_bert(name: str, stages: Path) -> Any:
    """The BertForPreTraining of that name in float32, with eager attention, the fastest on short rows."""
    return transformers.BertForPreTraining.from_pretrained(
        finished(name, stages), attn_implementation="eager", dtype=torch.float32, local_files_only=True
    )


# The published encoder, the backbone of masked language models


def backbone_folder(package: str) -> Path:
    """The folder of the backbone in an installed package."""
    return Path(str(files(package))) / "model"


def backbone_state(folder: Path) -> dict[str, Tensor]:
    """The backbone's weights in float32 under the names of BertForMaskedLM, without the pooler."""
    state = load_file(folder / WHOLE)
    return {f"bert.{k}": v.float() for k, v in state.items() if not k.startswith("pooler.") and "position_ids" not in k}


def start_state(name: str, backbone: dict[str, Tensor], stages: Path) -> dict[str, Tensor]:
    """The weights of the stage ``name`` among the training states, else of the bundled checkpoint of that name."""
    full_weights = stages / name / "out" / WHOLE
    if full_weights.is_file():
        return load_file(full_weights)
    return apply(backbone, load_file(finished(name, stages, DIFFERENCE) / DIFFERENCE))


def backbone_tokenizer(folder: Path) -> Any:
    """The backbone's WordPiece tokenizer, without truncation or padding."""
    tokenizer: Any = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def ship_backbone(config: Any, backbone: Path, folder: Path, positions: int | None = None) -> None:
    """Writes a configuration and the backbone's tokenizer, for weights that are a difference to it."""
    config.save_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(backbone)
    tokenizer.model_max_length = positions or tokenizer.model_max_length
    tokenizer.save_pretrained(folder)
