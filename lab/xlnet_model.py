r"""XLNet and Transformer-XL from a recipe's ``[model]`` table.

Both are the ``XLNetLMHeadModel`` of transformers: XLNet (Yang et al., 2019) with ``attn_type="bi"``, Transformer-XL
(Dai et al., 2019) with ``"uni"``. The score of the query at position :math:`i` and the key at position :math:`j`
depends on the content and the distance, with two learned vectors u, v per head:

.. math::

    s_{ij} = \frac{q_i^\top k_j + q_i^\top W_r\, r_{i-j} + u^\top k_j + v^\top W_r\, r_{i-j}}{\sqrt{d_h}}, \qquad
    r_t = [\sin(t / 10000^{2k/d}) ; \cos(t / 10000^{2k/d})]_k
"""

from __future__ import annotations

import copy
from typing import Any

from torch import Tensor, nn
from torch.nn.utils import parametrize

from lab import models

MATRICES = ("q", "k", "v", "o", "r")


def new_xlnet(settings: dict[str, Any], vocabulary: int, **special: int) -> Any:
    """An ``XLNetLMHeadModel`` with random weights and without dropout; unused parameters are zero and frozen.

    Args:
        settings: a recipe's ``[model]``; with ``mem_len``, the tokens of its memory, the model is a Transformer-XL.
        vocabulary: vocabulary size.
        special: ids of special tokens by the configuration's names.
    """
    has_memory = "mem_len" in settings
    model = models.new_model(
        settings,
        "CausalLM",
        vocab_size=vocabulary,
        attn_type="uni" if has_memory else "bi",
        mem_len=settings.get("mem_len"),
        use_mems_train=has_memory,
        use_mems_eval=has_memory,
        **special,
    )
    unused = [
        value for layer in model.transformer.layer for value in (layer.rel_attn.seg_embed, layer.rel_attn.r_s_bias)
    ]
    if has_memory:
        unused.append(model.transformer.mask_emb)
    for value in unused:
        nn.init.zeros_(value.requires_grad_(False))
    return model


class Flat(nn.Module):
    """Stores a (width, heads, size) parameter as a matrix, as Muon requires."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.heads = heads

    def forward(self, matrix: Tensor) -> Tensor:
        return matrix.view(len(matrix), self.heads, -1)

    def right_inverse(self, parameter: Tensor) -> Tensor:
        return parameter.flatten(1)


def flatten(model: Any) -> Any:
    """Parametrize the model's attention parameters as matrices, in place; `whole` undoes it."""
    for layer in model.transformer.layer:
        for name in MATRICES:
            parametrize.register_parametrization(layer.rel_attn, name, Flat(model.config.n_head))
    return model


def whole(model: Any) -> Any:
    """A copy of a model, flattened or not, with the parameters of transformers."""
    copied = type(model)(copy.deepcopy(model.config))
    original = copied.state_dict()
    state = {
        name.replace("parametrizations.", "").removesuffix(".original"): v for name, v in model.state_dict().items()
    }
    copied.load_state_dict({name: value.view(original[name].shape) for name, value in state.items()})
    return copied
