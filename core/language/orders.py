r"""Factorisation orders: which words are found when, and who sees whom (XLNet: Yang et al., 2019, arXiv 1906.08237).

Some places of a text are known from the start, the others are found one after the other in an order :math:`z`:

.. math:: \log p(x_{z_1}, \dots, x_{z_m} \mid x_{\mathrm{known}}) =
          \sum_{t=1}^{m} \log p(x_{z_t} \mid x_{\mathrm{known}}, x_{z_1}, \dots, x_{z_{t-1}})

A place's *rank* is 0 where it is known and t where it is found t-th. The query stream at i, which is to find what
stands there, sees j where rank j < rank i; the content stream at i, which knows what stands there, sees itself, too.
Known places see all known places and nothing else, as in the code that the paper's authors released (where ``[CLS]``
and ``[SEP]`` take part in the order; here they are known). Places of one rank do not see each other: with rank 1 for
all of them they are found at once.

Shapes: L places; leading axes (rows of a batch) are allowed everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def ranks(order: Sequence[int], length: int) -> Ints:
    """(length,) ranks of a text whose places ``order`` are found one after the other, all others being known."""
    out = np.zeros(length, dtype=np.int64)
    out[list(order)] = np.arange(1, len(order) + 1)
    return out


def blind(rank: Ints) -> Bools:
    """(..., L, L) transformers' ``perm_mask``: True at [i, j] where i cannot see j. Its rows are those of the query
    stream; transformers lets the content stream see itself all the same.
    """
    query, key = rank[..., :, None], rank[..., None, :]
    return np.asarray((key > 0) & (key >= query), dtype=np.bool_)


def mapping(places: Ints, length: int) -> npt.NDArray[np.float32]:
    """(..., targets, length) transformers' ``target_mapping``: 1 where a target stands; a place below 0 is nowhere."""
    return np.asarray(places[..., None] == np.arange(length), dtype=np.float32)
