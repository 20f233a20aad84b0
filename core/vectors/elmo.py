r"""The small ELMo that was trained here: a word's three layers, and its prediction from either side or from both.

``python -m lab train atlas-elmo --output assets/elmo`` trains it (`lab.objectives.recurrent`). From both
sides a token follows from the two language models by

.. math:: p(w \mid \text{left}, \text{right}) \propto \frac{\overrightarrow{p}(w)\, \overleftarrow{p}(w)}{p(w)}

as if the sides were independent of each other, given the word; :math:`p(w)` is the frequency, the softmax of the output
layer's biases.

Legend: n tokens, d size of one direction.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from core import checkpoints
from core.checkpoints import registry
from core.checkpoints.spec import Checkpoint, CheckpointSpec
from core.errors import InputUnusable
from core.language.tokens import likeliest
from core.language.types import MaskPrediction, Token
from core.lazy import Tensor, torch
from core.run.model import Module
from core.settings import ASSETS
from core.vectors.reading import Reading, inputs_of

FOLDER = ASSETS / "elmo"
SLUG = "elmo"


def spec() -> CheckpointSpec:
    """Its description."""
    return next(spec for spec in registry.apart() if spec.slug == SLUG)


@lru_cache(maxsize=1)
def _config() -> dict[str, Any]:
    config: dict[str, Any] = json.loads((FOLDER / "config.json").read_text(encoding="utf-8"))
    return config


def tokenizing() -> Checkpoint:
    """The checkpoint whose tokenizer it has."""
    return checkpoints.load(_config()["tokenizer"])


@lru_cache(maxsize=1)
def model() -> Any:
    """The network, shared by all visitors: read-only."""
    from safetensors.torch import load_file

    from core.checkpoints.recurrent import BidirectionalLM

    state = {name: value.float() for name, value in load_file(FOLDER / "model.safetensors").items()}
    network = BidirectionalLM(len(state["bias"]), _config()["width"], _config()["units"])
    network.load_state_dict(state)
    return network.eval().requires_grad_(False)


def read_elmo(text: str) -> Reading:
    """The embeddings and both layers of a text, (3, n, 2d). Raises as `core.vectors.reading.read_states`."""
    inputs = inputs_of(tokenizing(), text)
    ids = inputs.tensors["input_ids"]
    with torch.inference_mode():
        layers = model().states(ids, torch.ones_like(ids))[:, :, 0].permute(0, 2, 1, 3).flatten(2)
    states = layers.numpy().copy()
    states.setflags(write=False)
    return Reading(inputs.text, inputs.tokens, states)


@dataclass(frozen=True, slots=True)
class Sides:
    """One token's predictions."""

    left: MaskPrediction
    right: MaskPrediction
    both: MaskPrediction


def sides(tokens: tuple[Token, ...], position: int, k: int) -> Sides:
    """The ``k`` most probable tokens at a position, from the tokens before it, from those after it, and from both.

    Raises:
        InputUnusable: a special token.
    """
    if tokens[position].special:
        raise InputUnusable("This is no token of your text. Choose one of its words.")
    ids = torch.tensor([[token.id for token in tokens]])
    with torch.inference_mode():
        logs = combined(model(), ids, torch.ones_like(ids), torch.tensor([position]))
        top = partial(likeliest, tokenizing().tokenizer, (position,), k=k)
        return Sides(*(top(log.exp())[0] for log in logs))


def combined(network: Module, ids: Tensor, real: Tensor, at: Tensor) -> Tensor:
    """(3, rows, V) log-probabilities of the token at one position of each row: left, right, both.

    Args:
        ids, real: (rows, n), real 0 at padding.
        at: (rows,) positions, neither the first nor the last of a row.
    """
    states, rows = network.states(ids, real)[-1], torch.arange(len(ids), device=ids.device)
    logits = torch.stack([states[0, rows, at - 1], states[1, rows, at + 1]]) @ network.embed.weight.T + network.bias
    logs = logits.log_softmax(-1)
    both = (logs.sum(0) - network.bias.log_softmax(-1)).log_softmax(-1)
    return torch.cat([logs, both[None]])
