r"""The cost of generating a token as the text grows, with and without the key-value cache.

A layer of hidden size d projects every token to query, key and value, attends, and applies its feed-forward network.
For the token after n others:

==================  ==================================  ===============================================
                    with the cache                      without
==================  ==================================  ===============================================
tokens computed     1                                   n + 1
products of d × d   a constant number                   the same number for each of the n + 1
scores a head       n + 1                               (n + 1)²
==================  ==================================  ===============================================

Over a text of N tokens the cache reduces the tokens computed from :math:`N (N + 1) / 2` to N, and takes
:math:`2 L d_{kv}` values of memory per token, with L layers and keys of dimension :math:`d_{kv}`.
A model with a segment memory (Transformer-XL) uses that memory instead of a cache.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from core.checkpoints.families.architectures import has
from core.checkpoints.spec import Checkpoint
from core.errors import InputUnusable
from core.language.decoding.reader import Reader
from core.language.segments import has_memory
from core.lazy import torch
from core.run.model import Model

_STATES = {"cache_params", "state"}
"""What a recurrent model's forward pass calls the state that it carries: Mamba and xLSTM, RWKV."""


def computed(tokens: int, *, cached: bool) -> int:
    """How many tokens pass through all layers while a text of so many is generated one by one."""
    return tokens if cached else tokens * (tokens + 1) // 2


def caches(model: Model) -> bool:
    """Whether the model reuses keys and values, or the states of its memory, at the next step."""
    own_state = has(model.config, "state in modules")
    return has_memory(model) or ("past_key_values" in inspect.signature(model.forward).parameters and not own_state)


def bytes_a_token(model: Model, ids: Sequence[int], source: Sequence[int] = ()) -> int | None:
    """Bytes of keys and values per token, measured in the decoder's cache.

    None without a cache, and for a model with a segment memory, whose size is bounded.
    """
    if has_memory(model) or not caches(model):
        return None
    reader = Reader(model, source)
    reader.next_logits(torch.tensor([list(ids[:4])], device=model.device))
    return round(reader.cached_bytes() / len(ids[:4]))


def check(checkpoint: Checkpoint) -> None:
    """
    Raises:
        InputUnusable: the model has neither a cache nor a memory.
    """
    model = checkpoint.model
    if not caches(model):
        recurrent = has(model.config, "state in modules") or _STATES & set(inspect.signature(model.forward).parameters)
        raise InputUnusable(
            f"{checkpoint.spec.name} carries a state of a fixed size from token to token, which does not grow with the "
            "text as a KV cache does. Choose a decoder with attention in every layer."
            if recurrent
            else f"{checkpoint.spec.name} has no KV cache in transformers: it processes the whole text again at every "
            "step, so nothing is stored. Choose another decoder."
        )
