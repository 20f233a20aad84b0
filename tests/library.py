"""The library's own model beside one of ours: the same class, configuration and weights, without our attention."""

from __future__ import annotations

import copy
from typing import Any

import torch


def library_model(model: Any) -> Any:
    """A new model as transformers makes it, with eager attention and the weights of a loaded ``model``.

    A BigBird has full attention, as the library gives it to a short text.
    """
    config = copy.deepcopy(model.config)
    config._attn_implementation = "eager"
    if config.model_type == "big_bird":
        config.attention_type = "original_full"
    if config.model_type == "encoder-decoder":
        made = type(model)(config)
    else:
        made = type(model)._from_config(config, attn_implementation="eager", dtype=torch.float32)
    made.load_state_dict(model.state_dict())
    return made.eval().requires_grad_(False)
