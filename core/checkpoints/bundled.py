"""The tensors of a bundled checkpoint: a whole model, or a difference applied to a base checkpoint.

    W = W₀ + B A        (a low-rank difference: B is out x r, A is r x in; LoRA, Hu et al., arXiv 2106.09685)

For each tensor ``NAME`` of the target that differs from the base, the file has one of

- ``NAME``: the whole tensor, which replaces the base's or is new (a head that the base lacks);
- ``NAME.tiles.COUNT``: the same, its rows COUNT times one after the other;
- ``NAME.lora_A`` and ``NAME.lora_B``: the product is added to the base's tensor; with ``NAME.lora_rows`` (k,),
  increasing row numbers, its k rows are added to these rows;
- ``NAME.rows.START``: rows from START on are replaced, and the tensor grows where they extend beyond its end.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from safetensors import safe_open

from core.checkpoints import package
from core.checkpoints.families.architectures import traits_of
from core.checkpoints.folder import count_elements, read_json
from core.checkpoints.registry import bundled_root
from core.checkpoints.spec import Card, read_card
from core.errors import CheckpointRefused
from core.lazy import Tensor, torch


def apply(base_state: Mapping[str, Tensor], difference: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The target's state dict in float32. Neither argument is changed; unchanged tensors are shared with the base.

    Raises :class:`CheckpointRefused` where the difference does not fit the base.
    """
    state = dict(base_state)
    # Whole tensors first, so that rows or a product can change a replaced tensor in any order of the file.
    edits: list[tuple[str, str, str]] = []
    for name, value in difference.items():
        if name.endswith((".lora_A", ".lora_B", ".lora_rows")):
            target, _, half = name.rpartition(".")
            edits.append((target, half, name))
        elif ".rows." in name:
            target, _, start = name.rpartition(".rows.")
            edits.append((target, start, name))
        elif ".tiles." in name:
            target, _, count = name.rpartition(".tiles.")
            state[target] = value.to(torch.float32).repeat(_number(count, name), 1)
        else:
            state[name] = value.to(torch.float32)
    for target, what, name in sorted(edits):
        if target not in state:
            raise CheckpointRefused(f"The difference changes {target}, which its base does not have.")
        if what == "lora_A":
            if f"{target}.lora_B" not in difference:
                raise CheckpointRefused(f"The difference holds {name} without its other half.")
            left, rows = difference[f"{target}.lora_B"], difference.get(f"{target}.lora_rows")
            state[target] = _add_product(state[target], difference[name], left, rows, target)
        elif what in ("lora_B", "lora_rows"):
            if f"{target}.lora_A" not in difference:
                raise CheckpointRefused(f"The difference holds {name} without its other half.")
        else:
            state[target] = _write_rows(state[target], difference[name], what, name)
    return state


def as_longformer(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The state dict of a RobertaForMaskedLM under the names of a LongformerForMaskedLM."""
    return {name.replace("roberta.", "longformer.", 1): value for name, value in state.items()}


def _add_product(base: Tensor, a: Tensor, b: Tensor, rows: Tensor | None, name: str) -> Tensor:
    fits = a.ndim == b.ndim == base.ndim == 2 and b.shape[1] == a.shape[0] and a.shape[1] == base.shape[1]
    if rows is None:
        fits = fits and b.shape[0] == base.shape[0]
    elif fits:
        fits = rows.shape == b.shape[:1] and not rows.is_floating_point()
        fits = fits and len(rows) > 0 and int(rows[0]) >= 0 and int(rows[-1]) < base.shape[0]
        fits = fits and bool((rows[1:] > rows[:-1]).all())
    if not fits:
        raise CheckpointRefused(f"The low-rank difference of {name} does not have the shape of its base.")
    product = b.to(torch.float32) @ a.to(torch.float32)
    if rows is None:
        return base.to(torch.float32) + product
    return base.to(torch.float32).index_add(0, rows.to(torch.long), product)


def _write_rows(base: Tensor, rows: Tensor, start_text: str, name: str) -> Tensor:
    start = _number(start_text, name)
    if rows.ndim != base.ndim or rows.shape[1:] != base.shape[1:] or start > base.shape[0]:
        raise CheckpointRefused(f"The rows {name} do not start where those of their base end.")
    result = base.new_empty((max(base.shape[0], start + rows.shape[0]), *base.shape[1:]), dtype=torch.float32)
    result[: base.shape[0]] = base
    result[start : start + rows.shape[0]] = rows.to(torch.float32)
    return result


def _number(text: str, name: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise CheckpointRefused(f"The difference has malformed row names: {name}.")
    return int(text)


def state_of(folder: Path, card: Card | None) -> dict[str, Tensor]:
    """The state dict of a bundled checkpoint under the names of its language model."""
    from safetensors.torch import load_file

    weights = folder / "model.safetensors"
    if weights.is_file():
        return load_file(weights)
    file = folder / "difference.safetensors"
    count_elements(file)
    base = base_state((card.base if card else None) or package.NAME)
    config = folder / "config.json"
    architecture = read_json(config).get("model_type") if config.is_file() else None
    if architecture == "encoder-decoder":
        base = as_encoder_decoder(base)
    elif "window" in traits_of(architecture):
        base = as_longformer(base)
    return apply(base, load_file(file))


def as_encoder_decoder(base: dict[str, Tensor]) -> dict[str, Tensor]:
    """A BERT's state dict as encoder and decoder of transformers' EncoderDecoderModel, which share its tensors."""
    encoder = {f"encoder.{name.removeprefix('bert.')}": v for name, v in base.items() if name.startswith("bert.")}
    return encoder | {f"decoder.{name}": value for name, value in base.items()}


def base_state(base: str) -> dict[str, Tensor]:
    """The state dict that a difference is applied to: the package's encoder, or another bundled checkpoint."""
    from safetensors.torch import load_file

    if base == package.NAME:
        state = load_file(package.verified_weights())
        return {f"bert.{name}": value for name, value in state.items() if "position_ids" not in name}
    folder = bundled_root() / base
    if Path(base).name != base or not folder.is_dir():
        raise CheckpointRefused(f"The card names a base, “{base}”, that is not bundled.")
    return state_of(folder, read_card(folder / "card.toml"))


def targets(file: Path) -> set[str]:
    """The tensors that a difference changes."""
    with safe_open(file, framework="pt") as stream:
        return {re.split(r"\.lora_|\.rows\.|\.tiles\.", name)[0] for name in stream.keys()}  # noqa: SIM118


def files_of(folder: Path, card: Card | None) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """The weight files of a bundled checkpoint, and those of its bases; no file is opened."""
    files = tuple(sorted(folder.glob("*.safetensors"))) or (
        folder / "model.safetensors",
    )  # the missing file of an error
    if (folder / "model.safetensors").is_file():
        return files, ()
    base = (card.base if card else None) or package.NAME
    if base == package.NAME:
        installed = package.find_package()
        return files, (installed.folder / "model.safetensors",) if installed else ()
    below = bundled_root() / Path(base).name
    return files, sum(files_of(below, read_card(below / "card.toml")), ())
