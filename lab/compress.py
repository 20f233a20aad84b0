r"""Compression of a live model without training: pruning, fewer heads, fewer layers, fewer bits; and what each costs.

=============  =======================================================================================================
pruned         the share of weights with the smallest magnitude, over all matrices of the layers together, is set to
               zero (Han et al. 2015, arXiv 1506.02626, without the retraining)
heads          the share of heads with the smallest mean effect on the prediction is removed (Michel et al. 2019, arXiv
               1905.10650); the effects are those of `lab.effects`
layers         the highest layers are removed (Sajjad et al. 2020, arXiv 2004.03844), of each half of an encoder-decoder
bits           32, 16: floating point. 8: integers with a scale for each row of a matrix; inputs of linear layers are
               quantized as they arrive (PyTorch's dynamic quantization). 4: integers with a scale for each 32 weights
=============  =======================================================================================================

The four combine: heads are those of the layers that are left, and of a removed head's weights as many are pruned as of
all. Stored bytes are those of a file: a pruned matrix has a bit for each weight and the values that are left. Bytes in
memory are counted in the model that runs here: its zeros, its removed heads and its rounded weights take full space,
packed integers take theirs. Quality is that of `lab.heldout.top_predictions`.

Computed are 32 and 16 bits in float32 (16 after rounding), 8 bits by integer kernels, 4 bits in float32 after rounding:
PyTorch's int4 kernels for CPUs take bfloat16 inputs, which this processor may only emulate.
"""

from __future__ import annotations

import copy
import csv
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import product
from statistics import median
from typing import Any

from core import checkpoints
from core.attention.ablation.ablate import Head
from core.attention.roles.rolefiles import EFFECTS, OUTPUT
from core.attention.scores import attention_layers
from core.checkpoints.families.architectures import Trait
from core.checkpoints.spec import Checkpoint
from core.errors import InputUnusable, OutOfRange
from core.lazy import Tensor, nn, torch
from core.run.model import Model
from core.run.prepare import AttentionLayer
from lab import evaluate, heldout
from lab.lengths import machine
from lab.timing import alternated

PRUNED, HEADS, LAYERS, BITS = (0, 30, 50, 70, 90), (0, 25, 50, 75), (0, 1, 2, 3), (32, 16, 8, 4)
"""The measured values: percent of weights, percent of heads, layers, bits of a weight."""
SHARED: tuple[Trait, ...] = ("shared layers", "disentangled attention", "window", "hashing")
"""Traits of models whose heads are not removed: other layers use their weights, too, or they have more than the four
matrices that `stored_bytes` counts."""
COMBINED = (0, 30), (0, 25, 50), (0, 1), (8, 4)
"""The values of the recipes that combine heads or layers with the rest."""


@dataclass(frozen=True, slots=True, order=True)
class Compression:
    """What is done to a model. Hashable."""

    pruned: int = 0
    """Percent of the layers' weights."""
    heads: int = 0
    """Percent of the heads."""
    layers: int = 0
    bits: int = 32


@dataclass(frozen=True, slots=True)
class Compressed:
    """A compressed model, measured."""

    model: str
    pruned: int
    heads: int
    layers: int
    bits: int
    stored_bytes: int
    memory_bytes: int
    """Of the parameters and buffers as they are loaded here, packed weights included."""
    accuracy: float
    """Share of the held-out tokens, or classes, that are the model's top prediction."""
    bits_per_token: float
    """Mean :math:`-\\log_2 p` of these."""
    seconds: float
    """Median of a forward pass over `lab.heldout.window`."""
    fastest: float
    slowest: float
    machine: str
    """The processor's name, and how many."""

    @property
    def recipe(self) -> Compression:
        return Compression(self.pruned, self.heads, self.layers, self.bits)


def recipes(layers: int, heads: bool = True) -> Iterator[Compression]:
    """The precomputed recipes: pruning with each number of bits, heads and layers alone, and some of all together.

    Args:
        layers: separate layers of the model.
        heads: whether its heads have weights of their own (`SHARED`).
    """
    yield from (Compression(pruned=pruned, bits=bits) for pruned in PRUNED for bits in BITS)
    yield from (Compression(heads=percent) for percent in HEADS[1:] if heads)
    yield from (Compression(layers=removed) for removed in LAYERS[1:] if removed < layers)
    for pruned, percent, removed, bits in product(*COMBINED):
        if (percent or removed) and removed < layers and (heads or not percent):
            yield Compression(pruned, percent, removed, bits)


GROUP = 32
RUNS, TURNS = 5, 3
"""Times of a turn; the turn whose range is the narrowest counts."""


def runs(done: Sequence[Compressed], corpus: object, seeds: int) -> Iterator[list[Compressed]]:
    """The row of each recipe of each bundled model that is not done."""
    measured = {(row.model, row.recipe) for row in done}
    for spec in checkpoints.available():
        if spec.source in ("bundled", "package"):
            checkpoint = checkpoints.load(spec.slug)
            for recipe in recipes(fewest_layers(checkpoint.model), not any(map(spec.offers, SHARED))):
                if (spec.slug, recipe) not in measured:
                    yield [measure(checkpoint, recipe)]


def measure(checkpoint: Checkpoint, recipe: Compression) -> Compressed:
    """Compress a copy of a loaded model and measure it.

    Raises:
        OutOfRange: a part of the recipe is not one of the measured values, or no layer would be left.
        InputUnusable: the heads or the layers of this architecture cannot be removed one by one.
    """
    model = compress(checkpoint, recipe)
    numbers = evaluate.measure("compression", replace(checkpoint, model=model))[heldout.ON]
    timed = heldout.window(checkpoint)
    turns = (alternated([lambda: heldout.run(model, timed)], RUNS)[0] for _ in range(TURNS))
    seconds = min(turns, key=lambda turn: max(turn) / min(turn))
    return Compressed(
        checkpoint.spec.slug,
        **asdict(recipe),
        stored_bytes=stored_bytes(checkpoint, recipe),
        memory_bytes=memory_bytes(model),
        accuracy=numbers["accuracy"] / 100,
        bits_per_token=numbers["bits per token"],
        seconds=median(seconds),
        fastest=min(seconds),
        slowest=max(seconds),
        machine=machine(),
    )


def compress(checkpoint: Checkpoint, recipe: Compression) -> Any:
    """A compressed copy of a loaded model; errors as :func:`measure`."""
    allowed = {"pruned": PRUNED, "heads": HEADS, "layers": LAYERS, "bits": BITS}
    for name, value in asdict(recipe).items():
        if value not in allowed[name]:
            raise OutOfRange(f"“{name}” is one of {', '.join(map(str, allowed[name]))}.")
    model = copy.deepcopy(checkpoint.model).eval()
    assert isinstance(model, nn.Module)
    if recipe.heads:
        removed = least_effect(checkpoint, recipe.heads, recipe.layers)
        _remove_heads(model, checkpoint, removed)
    if recipe.layers:
        if recipe.layers >= (count := fewest_layers(model)):
            raise OutOfRange(f"This model has {count} separate layers; at least one must be left.")
        for owner, parts in _stacks(model):
            for blocks in parts:
                del blocks[len(blocks) - recipe.layers :]
            if hasattr(owner, "n_layers"):  # an XLM counts them
                owner.n_layers = len(parts[0])  # type: ignore[assignment]
    if recipe.pruned:
        _prune(_layers(model), recipe.pruned / 100)
    if recipe.bits < 32:
        round_weights(model, recipe.bits)
    if recipe.bits == 8:
        _quantize(model)
    return model


def _remove_heads(model: nn.Module, checkpoint: Checkpoint, removed: Sequence[Head]) -> None:
    """The output projection of a layer reads zeros from these heads."""
    for layer in (layer for layers in attention_layers(checkpoint).values() for layer in layers):
        heads = [head for kind, number, head in removed if (kind, number) == (layer.kind, layer.layer)]
        if not layer.names.out:  # XLNet's projection is no module
            model.get_submodule(layer.module).o.data[:, heads] = 0  # type: ignore[operator, index]
        elif heads:
            gate = torch.ones(layer.heads)
            gate[heads] = 0
            model.get_submodule(layer.path(layer.names.out)).register_forward_pre_hook(partial(_gated, gate))


def _gated(gate: Tensor, _: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    joined, *others = inputs
    return ((joined.unflatten(-1, (len(gate), -1)) * gate[:, None]).flatten(-2), *others)  # type: ignore[no-untyped-call]


def _quantize(model: nn.Module) -> None:
    """Integers in linear layers, which PyTorch knows by their class: they are no longer sites."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            module.__class__ = nn.Linear
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a later PyTorch removes these kernels for those of torchao
        scaled_by_row = {nn.Linear: torch.ao.quantization.per_channel_dynamic_qconfig}
        torch.ao.quantization.quantize_dynamic(model, scaled_by_row, inplace=True)  # a copy would lose the hooks


def least_effect(checkpoint: Checkpoint, percent: int, removed: int = 0) -> tuple[Head, ...]:
    """The heads with the smallest mean effect, of the layers below the ``removed`` highest.

    Raises:
        InputUnusable: no effects are stored for this model.
    """
    file = OUTPUT / EFFECTS / f"{checkpoint.spec.slug}.csv"
    if not file.is_file():
        raise InputUnusable(f"The effects of the heads of {checkpoint.spec.name} are not measured.")
    with file.open(encoding="utf-8", newline="") as stream:
        effects: dict[tuple[str, int, int], float] = {
            (row["attention"], int(row["layer"]) - 1, int(row["head"]) - 1): float(row["mean bits"])
            for row in csv.DictReader(stream)
        }
    left = [
        Head(layer.kind, layer.layer, head)
        for layers in attention_layers(checkpoint).values()
        for layer in layers[: len(layers) - removed]
        for head in range(layer.heads)
    ]
    ranked = sorted(left, key=effects.__getitem__)
    return tuple(ranked[: len(left) * percent // 100])


def memory_bytes(model: nn.Module) -> int:
    """Bytes of a model's parameters and buffers as loaded, each once, and of its packed integer weights."""
    tensors = {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())}
    total = sum(tensor.nbytes for tensor in tensors.values())
    for module in model.modules():
        if isinstance(module, torch.ao.nn.quantized.dynamic.Linear):
            weight, bias = module._weight_bias()
            total += weight.numel() * weight.element_size() + (bias.nbytes if bias is not None else 0)
            total += weight.q_per_channel_scales().nbytes + weight.q_per_channel_zero_points().nbytes
    return total


def _stacks(module: nn.Module) -> list[tuple[nn.Module, list[nn.ModuleList]]]:
    """The stacks of layers with the modules that own them: an encoder-decoder has two, an XLM's one has four parts."""
    parts = [child for child in module.children() if isinstance(child, nn.ModuleList)]
    if parts:
        return [(module, parts)]
    inner = (child for child in module.children() if not isinstance(child, nn.ModuleDict))  # the tasks of adapters
    return [stack for child in inner for stack in _stacks(child)]


def fewest_layers(model: Model) -> int:
    """The separate layers of the smallest stack."""
    assert isinstance(model, nn.Module)
    return min(len(parts[0]) for _, parts in _stacks(model))


def _layers(model: nn.Module, removed: int = 0) -> nn.ModuleList:
    """The layers of all stacks, without the highest."""
    every = (blocks for _, parts in _stacks(model) for blocks in parts)
    return nn.ModuleList(layer for blocks in every for layer in list(blocks)[: len(blocks) - removed])


def _is_matrix(value: Tensor) -> bool:
    """Whether a parameter is a matrix, or one with an axis for its heads (XLNet)."""
    return value.dim() == 2 or (value.dim() > 2 and min(value.shape) > 1)


def _matrices(module: nn.Module) -> list[Tensor]:
    """The matrices of a module, each once, rows first."""
    return [value.flatten(1) for value in module.parameters() if _is_matrix(value)]


def _prune(blocks: nn.ModuleList, share: float) -> None:
    with torch.no_grad():
        matrices = _matrices(blocks)
        sizes = torch.cat([matrix.abs().flatten() for matrix in matrices])
        threshold = sizes.kthvalue(max(1, round(share * sizes.numel()))).values
        for matrix in matrices:
            matrix.mul_(matrix.abs() > threshold)


def round_weights(model: nn.Module, bits: int) -> None:
    """Round each matrix to the numbers that the bits can express."""
    with torch.no_grad():
        for matrix in _matrices(model):
            if bits == 16:
                matrix.copy_(matrix.half())
                continue
            highest = 2 ** (bits - 1) - 1
            rows = matrix if bits == 8 or matrix.shape[1] % GROUP else matrix.reshape(-1, GROUP)
            scale = rows.abs().amax(1, keepdim=True).clamp(min=1e-12) / highest
            matrix.copy_(((rows / scale).round() * scale).reshape(matrix.shape))


def stored_bytes(checkpoint: Checkpoint, recipe: Compression) -> int:
    """Bytes of a file with the weights that are left; norms and biases have at most 16 bits less than 32."""
    model: Any = checkpoint.model
    blocks = {id(value) for value in _layers(model).parameters()}
    left = {id(value) for value in _layers(model, recipe.layers).parameters()}
    each = recipe.bits / 8 * (1 - recipe.pruned / 100) + (1 / 8 if recipe.pruned else 0)
    total = 0.0
    for value in model.parameters():
        count, inside = value.numel(), id(value) in blocks
        if inside and id(value) not in left:
            continue
        if not _is_matrix(value):
            total += (4 if recipe.bits == 32 else 2) * count
            continue
        scales = 2 * (value.shape[0] if recipe.bits == 8 else count / GROUP) if recipe.bits < 16 else 0
        total += count * (each if inside else recipe.bits / 8) + scales
    if recipe.heads:
        layers = {
            (layer.kind, layer.layer): layer for stack in attention_layers(checkpoint).values() for layer in stack
        }
        for kind, number, _ in least_effect(checkpoint, recipe.heads, recipe.layers):
            rows, weights = _of_head(model, layers[kind, number])
            total -= weights * each + {8: 2 * rows, 4: 2 * weights / GROUP}.get(recipe.bits, 0)
    return round(total)


def _of_head(model: Any, layer: AttentionLayer) -> tuple[float, float]:
    """The rows and the weights of a head's own matrices; keys and values that heads share are not its own."""
    config = layer.stack.config
    width = getattr(config, "d_kv", config.hidden_size // layer.heads)
    weights = config.hidden_size * width * layer.heads
    paths = (layer.module, layer.path(layer.names.out)) if layer.names.out else (layer.module,)
    parameters = {id(value): value for path in paths for value in model.get_submodule(path).parameters()}
    count = sum(value.numel() for value in parameters.values() if value.numel() % weights == 0)
    return (count / weights - 1) * width, count / layer.heads
