r"""YOSO's attention (Zeng et al. 2021, arXiv 2111.09714): how likely two vectors are to fall into one bucket.

:math:`\tau` planes through the origin, drawn at random, tell buckets apart; queries and keys of length one at an angle
:math:`\theta_{ij}` fall into the same one with probability

.. math:: e_{ij} = \Bigl(1 - \frac{\theta_{ij}}{\pi}\Bigr)^\tau, \qquad \theta_{ij} = \arccos(\hat q_i \cdot \hat k_j)

The library sums the values times :math:`e_{ij}` and brings the sum to length one, so that it is the same to divide a
row by its sum first. Weights are therefore the softmax of

.. math:: s_{ij} = \tau \ln \Bigl(1 - \frac{\theta_{ij}}{\pi}\Bigr)

The library returns none of it. A model that draws its planes (``use_expectation`` off) needs a graphics card there.

Legend: H heads, n tokens, d width of a head, w width of all heads, L layers.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from core.attention.architectures.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

_SELF = "yoso.encoder.layer.{}.attention.self.{}"


def directions(vectors: Tensor) -> Tensor:
    """(H, n, d) at length one."""
    import torch

    return torch.nn.functional.normalize(vectors, dim=-1)


def scores(queries: Tensor, keys: Tensor, planes: int) -> Tensor:
    """(H, n, n) of queries and keys (H, n, d) of length one."""
    angles = (queries @ keys.transpose(-1, -2)).clamp(-1, 1).acos()
    found: Tensor = planes * (1 - angles / math.pi).log()
    return found


def weights(own: Any, run: Callable[[Any], Any]) -> list[Tensor]:
    """Layer by layer (1, H, n, n) of a YOSO of one's own that ``run`` runs over one text."""
    config = own.config
    watch = Watch(own)
    layers = [[_SELF.format(i, name) for name in ("query", "key")] for i in range(config.num_hidden_layers)]
    watch.on(*(path for pair in layers for path in pair))
    run(own)
    found = []
    for pair in layers:
        made = (watch.calls(path)[0].back[0].unflatten(-1, (config.num_attention_heads, -1)) for path in pair)
        query, key = (directions(vectors.transpose(0, 1)) for vectors in made)
        found.append(scores(query, key, int(config.hash_code_len)).softmax(-1)[None])
    return found
