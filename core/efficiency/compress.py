r"""Compression of a live model without training: pruning, fewer heads, fewer layers, fewer bits; and what each costs.

=============  =======================================================================================================
pruned         the share of weights with the smallest magnitude, over all matrices of the layers together, is set to
               zero (Han et al. 2015, arXiv 1506.02626, without the retraining)
heads          the share of heads with the smallest mean effect on the prediction is removed (Michel et al. 2019, arXiv
               1905.10650); the effects are those of `core.attention.ablation.effects`
layers         the highest layers are removed (Sajjad et al. 2020, arXiv 2004.03844)
bits           32, 16: floating point. 8: integers with a scale for each row of a matrix; inputs of linear layers are
               quantized as they arrive (PyTorch's dynamic quantization). 4: integers with a scale for each 32 weights
=============  =======================================================================================================

The four combine: heads are those of the layers that are left, and of a removed head's weights as many are pruned as of
all. Stored bytes are those of a file: a pruned matrix has a bit for each weight and the values that are left. Bytes in
memory are counted in the model that runs here: its zeros, its removed heads and its rounded weights take full space,
packed integers take theirs. Quality is measured on a story that was written for this project: masked tokens for an
encoder, next tokens for a decoder.

Computed are 32 and 16 bits in float32 (16 after rounding), 8 bits by integer kernels, 4 bits in float32 after rounding:
PyTorch's int4 kernels for CPUs take bfloat16 inputs, which this processor may only emulate.

Shapes: W windows of n tokens.

The measurements are stored in ``assets/compression.csv``, which is read without torch.
"""

from __future__ import annotations

import copy
import csv
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache, partial
from itertools import product
from statistics import median
from typing import Any

from core import checkpoints
from core.attention.ablation.ablate import Head, HeadMask, heads_of
from core.attention.ablation.effects import FOLDER
from core.attention.roles.headroles import OUTPUT
from core.checkpoints.families.architectures import Trait
from core.checkpoints.spec import Checkpoint
from core.efficiency.lengths import machine
from core.efficiency.timing import alternated
from core.errors import InputUnusable, OutOfRange
from core.language.fill_mask import prepare
from core.language.generate import prompt_ids
from core.language.tokens import likeliest
from core.language.types import MaskPrediction
from core.lazy import Tensor, nn, torch
from core.settings import ASSETS
from core.turns import turns

FILE = ASSETS / "compression.csv"
PRUNED, HEADS, LAYERS, BITS = (0, 30, 50, 70, 90), (0, 25, 50, 75), (0, 1, 2, 3), (32, 16, 8, 4)
"""The measured values: percent of weights, percent of heads, layers, bits of a weight."""
SHARED: tuple[Trait, ...] = ("shared layers", "disentangled attention", "window", "hashing")
"""Traits of models whose heads are not removed: other layers use their weights, too, or they have more than the four
matrices that `stored_bytes` counts."""
COMBINED = (0, 30), (0, 25, 50), (0, 1), (8, 4)
"""The values of the recipes that combine heads or layers with the rest."""


@dataclass(frozen=True, slots=True, order=True)
class Recipe:
    """What is done to a model. Hashable."""

    pruned: int = 0
    """Percent of the layers' weights."""
    heads: int = 0
    """Percent of the heads."""
    layers: int = 0
    bits: int = 32


@dataclass(frozen=True, slots=True)
class Measured:
    """A compressed model, measured."""

    recipe: Recipe
    stored_bytes: int
    memory_bytes: int
    """Of the parameters and buffers as they are loaded here, packed weights included."""
    accuracy: float
    """Share of the masked, or next, tokens that are the model's top prediction."""
    bits_per_token: float
    """Mean :math:`-\\log_2 p` of these tokens."""
    seconds: float
    """Median of a forward pass over ``WINDOW`` tokens."""
    fastest: float
    slowest: float
    machine: str
    """The processor's name, and how many."""


def recipes(layers: int, heads: bool = True) -> Iterator[Recipe]:
    """The precomputed recipes: pruning with each number of bits, heads and layers alone, and some of all together.

    Args:
        layers: separate layers of the model.
        heads: whether its heads have weights of their own (`SHARED`).
    """
    yield from (Recipe(pruned=pruned, bits=bits) for pruned in PRUNED for bits in BITS)
    yield from (Recipe(heads=percent) for percent in HEADS[1:] if heads)
    yield from (Recipe(layers=removed) for removed in LAYERS[1:] if removed < layers)
    for pruned, percent, removed, bits in product(*COMBINED):
        if (percent or removed) and removed < layers and (heads or not percent):
            yield Recipe(pruned, percent, removed, bits)


@lru_cache(maxsize=1)
def precomputed() -> dict[str, dict[Recipe, Measured]]:
    """The stored measurements by model and recipe."""
    found: dict[str, dict[Recipe, Measured]] = {}
    with FILE.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            recipe = Recipe(*(int(row[field.name]) for field in fields(Recipe)))
            kinds = (int, int, float, float, float, float, float, str)
            values: list[Any] = [kind(row[field.name]) for kind, field in zip(kinds, fields(Measured)[1:], strict=True)]
            found.setdefault(row["model"], {})[recipe] = Measured(recipe, *values)
    return found


def pareto(points: Iterable[Measured]) -> tuple[Measured, ...]:
    """The points that no other is both smaller and better than, from the smallest on."""
    front: list[Measured] = []
    for point in sorted(points, key=lambda point: (point.stored_bytes, point.bits_per_token)):
        if not front or point.bits_per_token < front[-1].bits_per_token:
            front.append(point)
    return tuple(front)


def write(measured: Mapping[str, Sequence[Measured]]) -> None:
    """Store the measurements of each model in place of all others."""
    with FILE.open("w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream, lineterminator="\n")
        rows.writerow(("model", "pruned", "heads", "layers", "bits", *(field.name for field in fields(Measured)[1:])))
        for slug, points in measured.items():
            for point in points:
                values = [getattr(point, field.name) for field in fields(Measured)[1:]]
                written = (f"{value:.6g}" if isinstance(value, float) else value for value in values)
                rows.writerow((slug, *asdict(point.recipe).values(), *written))


STORY = ASSETS / "heldout" / "story.txt"
WINDOW, MASKED, GROUP = 64, 0.15, 32
DRAWS = 3
"""Sets of masked tokens of each window of the story."""
RUNS = 5
Watch = Callable[[float], object]


def measure(checkpoint: Checkpoint, recipe: Recipe, watch: Watch = lambda share: None) -> Measured:
    """Compress a copy of a loaded model and measure it.

    Args:
        watch: called with the share that is done; an exception of it ends the measurement.

    Raises:
        OutOfRange: a part of the recipe is not one of the measured values, or no layer would be left.
        InputUnusable: the heads or the layers of this architecture cannot be removed one by one.
    """
    model = compress(checkpoint, recipe)
    accuracy, bits = quality(checkpoint, model, watch)
    seconds = _seconds(checkpoint, model)
    sizes = stored_bytes(checkpoint, model, recipe), memory_bytes(model)
    return Measured(recipe, *sizes, accuracy, bits, median(seconds), min(seconds), max(seconds), machine())


def compress(checkpoint: Checkpoint, recipe: Recipe) -> Any:
    """A compressed copy of a loaded model; errors as :func:`measure`."""
    allowed = {"pruned": PRUNED, "heads": HEADS, "layers": LAYERS, "bits": BITS}
    for name, value in asdict(recipe).items():
        if value not in allowed[name]:
            raise OutOfRange(f"“{name}” is one of {', '.join(map(str, allowed[name]))}.")
    model = copy.deepcopy(checkpoint.model).eval()
    if recipe.heads:
        removed = least_effect(checkpoint, recipe.heads, recipe.layers)
        HeadMask(model, checkpoint).ablate([removed])
    if recipe.layers:
        blocks = _blocks(model)
        if recipe.layers >= len(blocks):
            raise OutOfRange(f"This model has {len(blocks)} separate layers; at least one must be left.")
        del blocks[len(blocks) - recipe.layers :]
    if recipe.pruned:
        _prune(_blocks(model), recipe.pruned / 100)
    if recipe.bits < 32:
        round_weights(model, recipe.bits)
    if recipe.bits == 8:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a later PyTorch removes these kernels for those of torchao
            scaled_by_row = {nn.Linear: torch.ao.quantization.per_channel_dynamic_qconfig}
            torch.ao.quantization.quantize_dynamic(model, scaled_by_row, inplace=True)  # a copy would lose the hooks
    return model


def least_effect(checkpoint: Checkpoint, percent: int, removed: int = 0) -> tuple[Head, ...]:
    """The heads with the smallest mean effect, of the layers below the ``removed`` highest.

    Raises:
        InputUnusable: no effects are stored for this model.
    """
    file = OUTPUT / FOLDER / f"{checkpoint.spec.slug}.csv"
    if not file.is_file():
        raise InputUnusable(f"The effects of the heads of {checkpoint.spec.name} are not measured.")
    with file.open(encoding="utf-8", newline="") as stream:
        effects = {
            (int(row["layer"]) - 1, int(row["head"]) - 1): float(row["mean bits"]) for row in csv.DictReader(stream)
        }
    left = [head for head in heads_of(checkpoint) if head.layer < checkpoint.model.config.num_hidden_layers - removed]
    ranked = sorted(left, key=lambda head: effects[head.layer, head.head])
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


def _blocks(model: Any) -> nn.ModuleList:
    return max((m for m in model.base_model.modules() if isinstance(m, nn.ModuleList)), key=len)


def _matrices(module: nn.Module) -> list[nn.Parameter]:
    """The matrices of a module, each once."""
    return [value for value in module.parameters() if value.dim() == 2]


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


def stored_bytes(checkpoint: Checkpoint, model: Any, recipe: Recipe) -> int:
    """Bytes of a file with the weights that are left; norms and biases have at most 16 bits less than 32."""
    whole: Any = checkpoint.model
    blocks = {id(value) for value in _blocks(whole).parameters()}
    kept = len(_blocks(model)) / len(_blocks(whole))
    other = 4 if recipe.bits == 32 else 2
    kept_weights, total = 1 - recipe.pruned / 100, 0.0
    bitmap = 1 / 8 if recipe.pruned else 0
    for value in whole.parameters():
        count, inside = value.numel(), id(value) in blocks
        if value.dim() != 2:
            total += other * count * (kept if inside else 1)
            continue
        scales = 2 * (value.shape[0] if recipe.bits == 8 else count / GROUP) if recipe.bits < 16 else 0
        if inside:
            total += (count * (recipe.bits / 8 * kept_weights + bitmap) + scales) * kept
        else:
            total += recipe.bits / 8 * count + scales
    if recipe.heads:
        config = whole.config
        width, heads = config.hidden_size, config.num_attention_heads
        own = 3 if getattr(config, "num_key_value_heads", heads) == heads else 1  # else keys and values are shared
        weights = (own + 1) * width * width / heads
        scales = {8: 2 * own * width / heads, 4: 2 * weights / GROUP}.get(recipe.bits, 0)
        each = weights * (recipe.bits / 8 * kept_weights + bitmap) + scales
        total -= each * len(least_effect(checkpoint, recipe.heads, recipe.layers))
    return round(total)


@lru_cache(maxsize=1)
def _story() -> str:
    return STORY.read_text(encoding="utf-8")


def _windows(checkpoint: Checkpoint) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Input ids (1, n), the positions whose logits are used, and the tokens that they predict."""
    tokenizer: Any = checkpoint.tokenizer
    ids = tokenizer(_story(), add_special_tokens=False, verbose=False)["input_ids"]
    random = torch.Generator().manual_seed(7)
    masks = checkpoint.spec.offers("predicts masked tokens")
    for start in range(0, len(ids) - WINDOW + 1, WINDOW):
        window = torch.tensor(ids[start : start + WINDOW])
        if not masks:
            yield window[None], torch.arange(WINDOW - 1), window[1:]
            continue
        first, last = torch.tensor([tokenizer.cls_token_id]), torch.tensor([tokenizer.sep_token_id])
        for _ in range(DRAWS):
            hidden = (torch.rand(WINDOW, generator=random) < MASKED).nonzero()[:, 0]
            masked = window.index_fill(0, hidden, tokenizer.mask_token_id)
            yield torch.cat([first, masked, last])[None], hidden + 1, window[hidden]


def quality(checkpoint: Checkpoint, model: Any, watch: Watch = lambda share: None) -> tuple[float, float]:
    """Top-1 accuracy, and mean bits of a token, over the story."""
    right = count = 0
    nats = 0.0
    windows = list(_windows(checkpoint))
    for number, (ids, positions, truth) in enumerate(windows):
        turns.step()
        watch(number / len(windows))
        with torch.inference_mode():
            logs = model(input_ids=ids).logits[0, positions].float().log_softmax(-1)
        right += int((logs.argmax(-1) == truth).sum())
        nats -= float(logs.gather(1, truth[:, None]).sum())
        count += len(truth)
    return right / count, nats / count / 0.6931471805599453


def _seconds(checkpoint: Checkpoint, model: Any) -> list[float]:
    ids, *_ = next(_windows(checkpoint))
    with torch.inference_mode():
        return alternated([lambda: model(input_ids=ids)], RUNS)[0]


def cli_compression(slugs: Sequence[str], *, times: bool = False) -> None:
    """Measure models and store the results, in place of those stored before; or only their times.

    Raises:
        AtlasError: a model is unknown, or cannot be compressed.
    """
    from tqdm import tqdm  # type: ignore[import-untyped]

    measured = {slug: [*points.values()] for slug, points in precomputed().items()}
    for slug in slugs or precomputed():
        checkpoint = checkpoints.load(slug)
        own_heads = not any(map(checkpoint.spec.offers, SHARED))
        planned = tuple(recipes(len(_blocks(checkpoint.model)), own_heads))
        one = partial(_timed, checkpoint, precomputed()[slug]) if times else partial(measure, checkpoint)
        measured[slug] = [one(recipe) for recipe in tqdm(planned, desc=slug, disable=None)]
    write(measured)


def _timed(checkpoint: Checkpoint, known: Mapping[Recipe, Measured], recipe: Recipe) -> Measured:
    """A stored measurement with new times: those of the one in three turns whose range is the narrowest."""
    model = compress(checkpoint, recipe)
    seconds = min((_seconds(checkpoint, model) for _ in range(3)), key=lambda turn: max(turn) / min(turn))
    return replace(
        known[recipe], seconds=median(seconds), fastest=min(seconds), slowest=max(seconds), machine=machine()
    )


def predictions(checkpoint: Checkpoint, recipe: Recipe, text: str, k: int = 5) -> tuple[MaskPrediction, MaskPrediction]:
    """The top predictions of the whole and of the compressed model: at the first mask, or of the next token.

    Raises:
        InputEmpty, InputTooLong, InputUnusable: the text is empty, too long, or without a mask for an encoder.
    """
    if checkpoint.spec.offers("predicts masked tokens"):
        masked = prepare(checkpoint, text)
        if not masked.positions:
            raise InputUnusable("There is no mask in this text. Write [MASK] in place of a word.")
        ids, position = masked.ids, masked.positions[0]
    else:
        ids = prompt_ids(checkpoint, text)
        position = len(ids) - 1
    both: list[MaskPrediction] = []
    for model in (checkpoint.model, compress(checkpoint, recipe)):
        with torch.inference_mode():
            chances = model(input_ids=torch.tensor([ids])).logits[0, position].float().softmax(-1)
        both += likeliest(checkpoint.tokenizer, (position,), chances[None], k)
    return both[0], both[1]
