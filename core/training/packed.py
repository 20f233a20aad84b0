"""A trained model as one text: its setup, its tokenizer and its weights in float16, as safetensors.

A room holds it so, for all processes of an installation. No number of it is closer to the trained one than float16
has it, and whoever unpacks it has the same numbers.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from core.checkpoints.own import Held
from core.errors import CheckpointRefused, InputTooLong
from core.lazy import torch
from core.training.setup import ENTRIES, Setup, parameters

if TYPE_CHECKING:
    from core.training.train import Training

MOST = 3_200_000
"""Parameters of a model that is packed: 6.4 MB, and a third more as text."""
LASTS = 600.0
"""Seconds for which one that nobody asks for stays unpacked."""


@dataclass(frozen=True, slots=True)
class _Packed:
    setup: Setup
    steps: int
    tokenizer: str
    weights: str
    """Base64."""


_TYPE = TypeAdapter(_Packed)


def check(setup: Setup) -> None:
    """Raises :class:`InputTooLong` where the model of ``setup`` would be too large."""
    if (count := parameters(setup, ENTRIES)) > MOST:
        raise InputTooLong(
            f"This model would have {count:,} parameters, and {MOST:,} are the most that a room can share. Choose "
            "fewer layers or a smaller width."
        )


def packed(training: Training) -> str:
    """The model as it is now."""
    from safetensors.torch import save

    weights = {name: tensor.half() for name, tensor in training.model.named_parameters()}
    tokenizer = training.tokenizer.backend_tokenizer.to_str()
    text = base64.b64encode(save(weights)).decode()
    return _TYPE.dump_json(_Packed(training.setup, training.step, tokenizer, text)).decode()


def unpacked(text: str, location: str, slug: str, name: str) -> Held:
    """The model of such a text, as views find it.

    Raises:
        CheckpointRefused: it is none.
    """
    from safetensors.torch import load
    from tokenizers import Tokenizer

    from core.training.models import checkpoint, new_model
    from core.training.vocabulary import wrapped

    try:
        read = _TYPE.validate_json(text)
        tokenizer = wrapped(Tokenizer.from_str(read.tokenizer), read.setup)
        model, weights = new_model(read.setup, tokenizer), load(base64.b64decode(read.weights))
        with torch.no_grad():
            for part, tensor in model.named_parameters():
                tensor.copy_(weights[part])
    except Exception as error:  # the libraries of weights and tokenizers raise anything for what they cannot read
        raise CheckpointRefused("The room’s model cannot be read. Its instructor can train it again.") from error
    size = 4 * sum(weights.numel() for weights in model.parameters())
    return Held(checkpoint(model, tokenizer, read.setup, read.steps, location, slug, name), None, size, LASTS)
