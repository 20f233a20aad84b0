r"""The vocabulary's share of a network's parameters.

Each of V entries has an embedding of E numbers, and E more where the output matrix is not tied to the embeddings:

.. math:: \frac{V E\,(1 + u) + u' V}{N}

with u = 1 for an untied output matrix, u' = 1 for an output bias, and N all parameters. Counted in the stored module
trees, not computed by the formula: a tensor belongs to the vocabulary if it is part of the embeddings or of the output
layer and has a row for each entry. Needs no torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import prod

from core import anatomy, catalogue
from core.anatomy.meaning import EMBEDDINGS, HEAD, pieces
from core.anatomy.node import ModuleNode


@dataclass(frozen=True, slots=True)
class Share:
    """One size of one system."""

    slug: str
    system: str
    size: str
    default: bool
    vocabulary: int
    """Entries; 0 for a network with character convolutions."""
    embeddings: int
    """Parameters of the embeddings."""
    output: int
    """Parameters of the output layer that are not tied to the embeddings."""
    total: int

    @property
    def share(self) -> float:
        """Between 0 and 1."""
        return (self.embeddings + self.output) / self.total


@lru_cache(maxsize=1)
def shares() -> tuple[Share, ...]:
    """Every size of every system whose architecture is known, the largest share first."""
    rows = [
        _share(system.slug, system.name, size.name, size.default)
        for system in catalogue.systems()
        for size in system.sizes
        if size.name in anatomy.trees(system.slug)
    ]
    return tuple(sorted(rows, key=lambda share_: (-share_.share, share_.system.lower(), share_.size)))


def _share(slug: str, name: str, size: str, default: bool) -> Share:
    root = anatomy.tree(slug, size)
    vocabulary, embeddings, output = counted(root)
    return Share(slug, name, size, default, vocabulary, embeddings, output, root.total)


def counted(root: ModuleNode) -> tuple[int, int, int]:
    """(entries, parameters of the embeddings, untied parameters of the output layer) of one network."""
    stored = [piece for piece in pieces(root) if piece.tensors]
    words = [piece for piece in stored if piece.part.group == EMBEDDINGS and piece.part.slugs == ("words",)]
    rows = max((piece.tensors[0][1][0] for piece in words), default=0)
    scores = [piece for piece in stored if piece.part.group == HEAD and piece.part.slugs == ("scores",)]
    untied = 0
    for piece in scores:
        fitting = [prod(shape) for _, shape in piece.tensors if shape and shape[0] == rows]
        if fitting and piece.parameters:
            # a tied tensor is not among a piece's parameters, and what is left has a row for each word
            untied += min(piece.parameters, piece.copies * sum(fitting))
    return rows, sum(piece.parameters for piece in words), untied
