"""The attention modules of an architecture without a row in ``sites.toml``, found in two passes over a few tokens.

transformers calls `core.run.attend` where a configuration names it. Every call tells its module and the weights that it
returns; where the model returns that very tensor for a layer, the module is that layer's. A model keeps the eager
attention of transformers where not every layer has such a module, where weights or predictions then differ by more than
:data:`NEAR`, and where its head does not read what its base model outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from core.errors import AtlasError
from core.lazy import Tensor, torch
from core.run import attend
from core.run.model import FAILURES, Config, Model, Output
from core.run.run import Kind, Run, Site, run

Side = Literal["encoder", "decoder"]
NEAR = 1e-4
"""The largest difference of weights and, absolute and relative, of the scores that a head gives."""
EAGER = "eager"
"""transformers' name of its own attention that returns weights."""
_IDS = tuple(range(2, 9))


class Caller(NamedTuple):
    """The attention module of a layer."""

    path: str
    heads: int


def discover(model: Model, sides: Sequence[Side]) -> dict[Kind, list[Caller]]:
    """The attention modules of a model layer by layer, by kind; empty where the model keeps its own attention.

    Args:
        model: with the site ``final``.
        sides: of its stacks.
    """
    if not model._can_set_attn_implementation():
        return {}
    ids = torch.tensor([_IDS])
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "output_attentions": True}
    if len(sides) > 1:
        inputs["decoder_input_ids"] = ids[:, :-1]
    attend.register()
    try:
        model.set_attn_implementation(attend.NAME)
        recorded = run(model, inputs, edits={Site(sides[-1], 0, "final"): lambda states: states[:, -1:]})
        callers = _callers(model, recorded, sides)
        model.set_attn_implementation(EAGER)
        if callers and _near(run(model, inputs).output, recorded.output, sides):
            model.set_attn_implementation(attend.NAME)
            return callers
    except (*FAILURES, AtlasError):
        model.set_attn_implementation(EAGER)  # what the library's code cannot run here
    return {}


def returned(output: Output, sides: Sequence[Side]) -> dict[Kind, list[Tensor]]:
    """The tensors that a pass returns as the weights of its layers, by kind."""
    names: dict[Kind, str] = dict.fromkeys(sides, "attentions")
    if len(names) > 1:
        names = {"encoder": "encoder_attentions", "decoder": "decoder_attentions", "cross": "cross_attentions"}
    of_kinds = {kind: getattr(output, name, None) or () for kind, name in names.items()}
    return {
        kind: [layer for layer in layers if isinstance(layer, torch.Tensor) and layer.ndim > 1]
        for kind, layers in of_kinds.items()
    }


def count_layers(config: Config) -> int:
    """The layers of a model of one stack."""
    stack_config = config if hasattr(config, "num_hidden_layers") else config.get_text_config()
    return int(getattr(stack_config, "decoder_layers", stack_config.num_hidden_layers))


def _callers(model: Model, recorded: Run, sides: Sequence[Side]) -> dict[Kind, list[Caller]]:
    """Empty where a layer has no module, or a module's calls are not its layers' in turn."""
    weights = returned(recorded.output, sides)
    if len(sides) == 1 and len(weights[sides[0]]) < count_layers(model.config):
        return {}
    source, target = len(_IDS), len(_IDS) - (len(sides) > 1)
    shapes = {"encoder": (source, source), "decoder": (target, target), "cross": (target, source)}
    paths = {module: path for path, module in model.named_modules()}
    calls: dict[str, list[Tensor]] = {}
    for module, pattern in recorded.unplaced:
        calls.setdefault(paths[module], []).append(pattern)
    callers: dict[Kind, list[Caller]] = {}
    for kind, layers in weights.items():
        of_module: dict[str, list[Tensor]] = {}
        for layer in layers:
            path = next(
                (path for path, patterns in calls.items() if any(pattern is layer for pattern in patterns)), None
            )
            if path is None or layer.shape[:1] + layer.shape[2:] != (1, *shapes[kind]):
                return {}
            callers.setdefault(kind, []).append(Caller(path, layer.shape[1]))
            of_module.setdefault(path, []).append(layer)
        for path, layers_of_module in of_module.items():
            count = len(layers_of_module)
            turns = [(layer, calls[path][i::count]) for i, layer in enumerate(layers_of_module)]
            if not all(turn and all(torch.equal(pattern, layer) for pattern in turn) for layer, turn in turns):
                return {}
    return callers if len(callers) == len(weights) else {}


def _near(expected: Output, output: Output, sides: Sequence[Side]) -> bool:
    """Whether two passes have equal weights, but for what a sink takes, and ``output`` the last scores of ``expected``.

    Of some models a sink scales what the heads put out, and the weights are those without it (Granite).
    """
    pairs = zip(returned(expected, sides).values(), returned(output, sides).values(), strict=True)
    return torch.allclose(output.logits, expected.logits[:, -1:], rtol=NEAR, atol=NEAR) and all(
        torch.allclose(ours / ours.sum(-1, keepdim=True), theirs / theirs.sum(-1, keepdim=True), rtol=0, atol=NEAR)
        for of_kind in pairs
        for theirs, ours in zip(*of_kind, strict=True)
    )
