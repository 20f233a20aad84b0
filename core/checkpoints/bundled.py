"""The tensors of a bundled checkpoint: a whole model's own, or a base's with a difference put upon it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from core.checkpoints import package
from core.checkpoints.difference import apply, long_names
from core.checkpoints.folder import count_elements, read_json
from core.checkpoints.registry import bundled_root
from core.checkpoints.spec import Card
from core.errors import CheckpointRefused

if TYPE_CHECKING:
    from torch import Tensor


def state_of(folder: Path, card: Card | None) -> dict[str, Tensor]:
    """The state of a bundled checkpoint in its language model's own names."""
    from safetensors.torch import load_file

    whole = folder / "model.safetensors"
    if whole.is_file():
        return load_file(whole)
    file = folder / "difference.safetensors"
    count_elements(file)
    base = base_state((card.base if card else None) or package.NAME)
    config = folder / "config.json"
    kind = read_json(config).get("model_type") if config.is_file() else None
    if kind == "encoder-decoder":
        base = both_halves(base)
    elif kind == "longformer":
        base = long_names(base)
    return apply(base, load_file(file))


def both_halves(base: dict[str, Tensor]) -> dict[str, Tensor]:
    """A BERT's state as the two halves of transformers' EncoderDecoderModel, which share its tensors."""
    encoder = {f"encoder.{name.removeprefix('bert.')}": v for name, v in base.items() if name.startswith("bert.")}
    return encoder | {f"decoder.{name}": value for name, value in base.items()}


def base_state(base: str) -> dict[str, Tensor]:
    """The state that a difference is a difference to: the package's trunk, or another bundled checkpoint."""
    from safetensors.torch import load_file

    from core.checkpoints.card import read_card

    if base == package.NAME:
        state = load_file(package.verified_weights())
        return {f"bert.{name}": value for name, value in state.items() if "position_ids" not in name}
    folder = bundled_root() / base
    if Path(base).name != base or not folder.is_dir():
        raise CheckpointRefused(f"The card names a base, “{base}”, that is not bundled.")
    return state_of(folder, read_card(folder / "card.toml"))


def targets(file: Path) -> set[str]:
    """The tensors that a difference writes."""
    from safetensors import safe_open

    with safe_open(file, framework="pt") as stream:
        return {name.split(".lora_")[0].split(".rows.")[0] for name in stream.keys()}  # noqa: SIM118


def elements_of(folder: Path, card: Card | None) -> int:
    """Numbers in the files of a bundled checkpoint and of what it is a difference to, from their headers."""
    from core.checkpoints.card import read_card

    elements = sum(count_elements(file) for file in folder.glob("*.safetensors"))
    if (folder / "model.safetensors").is_file():
        return elements
    base = (card.base if card else None) or package.NAME
    if base == package.NAME:
        return elements + count_elements(package.verified_weights())
    return elements + elements_of(bundled_root() / base, read_card(bundled_root() / base / "card.toml"))


def hears_sentences(folder: Path) -> bool:
    """Whether a bundled model's head keeps the published encoder beside its updated copy."""
    file = folder / "config.json"
    return file.is_file() and bool(json.loads(file.read_text(encoding="utf-8")).get("sentence_head"))
