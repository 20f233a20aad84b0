"""The published encoder that masked language models grow on, and what earlier stages added to it."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

from torch import Tensor

from core.errors import AtlasError

WHOLE = "model.safetensors"
"""File of the weights of a free stage."""
DIFFERENCE = "difference.safetensors"
"""File of what training added, where the encoder learns through updates."""


def trunk_folder(package: str) -> Path:
    """Folder of the base weights inside an installed package."""
    return Path(str(files(package))) / "model"


def trunk_state(folder: Path) -> dict[str, Tensor]:
    """The base weights under the names of BertForMaskedLM, without the pooler."""
    from safetensors.torch import load_file

    state = load_file(folder / "model.safetensors")
    return {f"bert.{k}": v for k, v in state.items() if not k.startswith("pooler.") and "position_ids" not in k}


def start_state(name: str, trunk: dict[str, Tensor], stages: Path) -> dict[str, Tensor]:
    """Weights of the stage ``name`` among the training states, else of the bundled checkpoint of that name."""
    from safetensors.torch import load_file

    from core.checkpoints.difference import apply

    whole = stages / name / "out" / WHOLE
    return load_file(whole) if whole.is_file() else apply(trunk, load_file(difference_file(name, stages)))


def difference_file(name: str, stages: Path) -> Path:
    """What the stage ``name`` added to the trunk, or what the bundled checkpoint of that name did."""
    from core.checkpoints.registry import bundled_root

    for folder in (stages / name / "out", bundled_root() / name):
        if (folder / DIFFERENCE).is_file():
            return folder / DIFFERENCE
    raise AtlasError(f"Training starts from {name}, which has not been trained here: train that recipe first.")


def ship_with_tokenizer(config: Any, trunk: Path, folder: Path) -> None:
    """Writes the configuration of a BertForMaskedLM, and the trunk's tokeniser."""
    from transformers import AutoTokenizer

    config.architectures = ["BertForMaskedLM"]
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.1
    config.save_pretrained(folder)
    AutoTokenizer.from_pretrained(trunk).save_pretrained(folder)


def trunk_tokenizer(folder: Path) -> Any:
    """The trunk's WordPiece tokeniser, without cutting or padding."""
    from tokenizers import Tokenizer

    tokenizer: Any = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
