r"""Rotary positions (Su et al. 2021): pairs of a vector's numbers are turned by an angle that grows with the position.

.. math:: \begin{pmatrix} x' \\ y' \end{pmatrix} = \begin{pmatrix} \cos & -\sin \\ \sin & \cos \end{pmatrix}
    \begin{pmatrix} x \\ y \end{pmatrix}

Which two numbers make a pair differs: the i-th and the (i + r/2)-th (LLaMA, ModernBERT), or neighbours (GPT-J). All
numbers of a head are turned, r = d, or the first r of them (GPT-J, GPT-NeoX, Phi).

Legend: H heads, n tokens, d width of a head, r how many of its numbers are turned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def halves(vectors: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """(H, n, d) turned in pairs of the i-th and the (i + r/2)-th number; ``cos`` and ``sin`` are (n, r)."""
    import torch

    width = sin.shape[-1]
    first = vectors[..., :width]
    one, other = first.chunk(2, dim=-1)
    return torch.cat((first * cos + torch.cat((-other, one), dim=-1) * sin, vectors[..., width:]), dim=-1)


def neighbours(vectors: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """(H, n, d) turned in pairs of neighbours, the first r numbers alone; ``cos`` and ``sin`` are (n, r)."""
    import torch

    width = sin.shape[-1]
    first = vectors[..., :width]
    other = torch.stack((-first[..., 1::2], first[..., ::2]), dim=-1).flatten(-2)
    return torch.cat((first * cos + other * sin, vectors[..., width:]), dim=-1)
