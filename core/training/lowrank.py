r"""Low-rank updates of frozen matrices: :math:`W = W_0 + BA` (Hu et al., 2021, LoRA).

:math:`A` starts random and :math:`B` at zero, so training starts at the base model. The sum is formed once a step and
the tokens see one matrix: with many more tokens than ranks this costs less than running them through the factors.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import parametrize


def factors(update: Tensor, rank: int) -> tuple[Tensor, Tensor]:
    """(B, A) of the given rank whose product is nearest to an (out, in) update: its truncated SVD, evenly shared."""
    left, values, right = torch.linalg.svd(update.float(), full_matrices=False)
    root = values[:rank].sqrt()
    return left[:, :rank] * root, root[:, None] * right[:rank]


class LowRank(nn.Module):
    """Parametrisation that adds ``lora_B @ lora_A`` to a frozen (out, in) weight."""

    def __init__(self, out_features: int, in_features: int, rank: int) -> None:
        super().__init__()
        self.lora_A = nn.Parameter(torch.randn(rank, in_features) / in_features**0.5)
        self.lora_B = nn.Parameter(torch.zeros(out_features, rank))

    def forward(self, weight: Tensor) -> Tensor:
        return weight + self.lora_B @ self.lora_A


class LowRankEmbedding(nn.Module):
    """An embedding (n, d) with a low-rank update; also the tied output matrix, without ever forming the sum.

    Args:
        base: the embedding, which stays as it is.
        rank: of the update.
        rows: (k,) rows that the update reaches; all where none are given.
    """

    rows: Tensor | None

    def __init__(self, base: nn.Embedding, rank: int, rows: Tensor | None = None) -> None:
        super().__init__()
        count, width = base.weight.shape
        self.register_buffer("rows", rows, persistent=False)
        self.weight = nn.Parameter(base.weight.detach().clone(), requires_grad=False)
        self.lora_A = nn.Parameter(torch.randn(rank, width) / width**0.5)
        self.lora_B = nn.Parameter(torch.zeros(count if rows is None else len(rows), rank))

    def _left(self) -> Tensor:
        """(n, rank): ``lora_B``, with zeros in the rows that it does not reach."""
        if self.rows is None:
            return self.lora_B
        return self.lora_B.new_zeros(len(self.weight), self.lora_B.shape[1]).index_copy(0, self.rows, self.lora_B)

    def forward(self, ids: Tensor) -> Tensor:
        """(...,) ids to (..., d) vectors."""
        return functional.embedding(ids, self.weight) + functional.embedding(ids, self._left()) @ self.lora_A

    def whole(self) -> Tensor:
        """(n, d): the base with its update added."""
        return self.weight + self._left() @ self.lora_A

    def logits(self, hidden: Tensor) -> Tensor:
        """(..., d) hidden states to (..., n) scores: ``hidden @ (W0 + B A)^T``."""
        return hidden @ self.weight.T + (hidden @ self.lora_A.T) @ self._left().T


def linears(module: nn.Module) -> dict[str, nn.Linear]:
    """Every linear layer below ``module``, by its name there."""
    return {name: child for name, child in module.named_modules() if isinstance(child, nn.Linear)}


def add_updates(module: nn.Module, rank: int | Mapping[str, int]) -> None:
    """Freezes the weight of every linear layer below ``module`` and gives it an update of its ``rank``."""
    for name, child in linears(module).items():
        child.weight.requires_grad_(False)
        own = rank if isinstance(rank, int) else rank[name]
        update = LowRank(child.out_features, child.in_features, own)
        parametrize.register_parametrization(child, "weight", update, unsafe=True)
