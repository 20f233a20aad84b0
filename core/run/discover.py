"""The attention modules of an architecture without a row in ``sites.toml``, found in two passes over a few tokens.

transformers calls `core.run.attend` where a configuration names it. Every call tells its module and the weights that it
returns; where the model returns that very tensor for a layer, the module is that layer's. A model keeps the eager
attention of transformers where not every layer has such a module, where weights or predictions then differ by more than
:data:`NEAR`, and where its head does not read what its base model outputs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from core.errors import AtlasError
from core.lazy import Tensor, torch
from core.run import attend
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


def discover(model: Any, sides: Sequence[Side]) -> dict[Kind, list[Caller]]:
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
    except (RuntimeError, ValueError, TypeError, LookupError, AttributeError, AssertionError, AtlasError):
        model.set_attn_implementation(EAGER)  # what the library's code cannot run here
    return {}


def returned(output: Any, sides: Sequence[Side]) -> dict[Kind, list[Tensor]]:
    """The tensors that a pass returns as the weights of its layers, by kind."""
    names: dict[Kind, str] = dict.fromkeys(sides, "attentions")
    if len(names) > 1:
        names = {"encoder": "encoder_attentions", "decoder": "decoder_attentions", "cross": "cross_attentions"}
    of_kinds = {kind: getattr(output, name, None) or () for kind, name in names.items()}
    return {
        kind: [layer for layer in layers if isinstance(layer, torch.Tensor) and layer.ndim > 1]
        for kind, layers in of_kinds.items()
    }


def count_layers(config: Any) -> int:
    """The layers of a model of one stack."""
    own = config if hasattr(config, "num_hidden_layers") else config.get_text_config()
    return int(getattr(own, "decoder_layers", own.num_hidden_layers))


def _callers(model: Any, recorded: Run, sides: Sequence[Side]) -> dict[Kind, list[Caller]]:
    """Empty where a layer has no module of its own that attends once."""
    weights = returned(recorded.output, sides)
    if len(sides) == 1 and len(weights[sides[0]]) < count_layers(model.config):
        return {}
    paths = {module: path for path, module in model.named_modules()}
    calls = Counter(module for module, _ in recorded.unplaced)
    source, target = len(_IDS), len(_IDS) - (len(sides) > 1)
    shapes = {"encoder": (source, source), "decoder": (target, target), "cross": (target, source)}
    callers: dict[Kind, list[Caller]] = {}
    for kind, layers in weights.items():
        callers[kind] = [
            Caller(paths[module], layer.shape[1])
            for layer in layers
            for module, pattern in recorded.unplaced
            if pattern is layer and calls[module] == 1 and pattern.shape[:1] + pattern.shape[2:] == (1, *shapes[kind])
        ]
        if not layers or len({caller.path for caller in callers[kind]}) < len(layers):
            return {}
    return callers


def _near(expected: Any, output: Any, sides: Sequence[Side]) -> bool:
    """Whether two passes have equal weights, and ``output`` the last scores of ``expected``."""
    pairs = zip(returned(expected, sides).values(), returned(output, sides).values(), strict=True)
    return torch.allclose(output.logits, expected.logits[:, -1:], rtol=NEAR, atol=NEAR) and all(
        torch.allclose(ours, layer, rtol=0, atol=NEAR)
        for layers, own in pairs
        for layer, ours in zip(layers, own, strict=True)
    )
