"""Every head of every measured model as one table: its scores, its grammar, and the effect of its ablation.

A row is one head. Its numbers are read from ``assets/headroles`` (`core.attention.roles.rolefiles`) and are None where
not measured: grammar is measured on the self-attention over the input text (the encoder's in an encoder-decoder),
positional scores and effects on every kind of attention.

A head's grammar is the named relation whose interval exceeds the fixed-distance baseline most: with r of n links right
for the head and b for the baseline, the largest wilson(r, n, z).low - b / n. The table has r / n and r / n - b / n, or
nothing where no interval exceeds the baseline. Each head is tested on some 25 relations and directions, so z is
:data:`Z`, with which 25 intervals hold at once in 95% of cases (Bonferroni), without a correction for the number of
heads.

numpy alone. Layers and heads count from 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from core.attention.ablation.ablate import Head
from core.attention.heads import LABELS, SCORES
from core.attention.roles import rolefiles
from core.attention.roles.relations import RelationCounts
from core.attention.roles.rolefiles import KINDS
from core.attention.trace import MapKind
from core.checkpoints.spec import CheckpointSpec, wilson
from core.table import Table

Z = 3.09
"""The two-sided quantile of 0.05 / 25."""
GRAMMAR, EFFECT = "grammar", "effect"
"""The scores of a head beside those of `core.attention.heads`."""
COLUMNS = (
    "model",
    "branch",
    "attention",
    "layer",
    "layers",
    "head",
    *(LABELS[role] for role in SCORES),
    "relation",
    "right",
    "beyond fixed distance",
    "texts",
    "mean change, bits",
    "largest change, bits",
)


@dataclass(frozen=True, slots=True)
class HeadRow:
    slug: str
    name: str
    """The model's."""
    branch: str
    attention: MapKind
    layer: int
    layers: int
    """The number of layers of this kind of attention in this model."""
    head: int
    heads: int
    """The number of heads in its layer."""
    several: bool
    """Whether its model has other kinds of attention, so that a link must name this one."""
    roles: dict[str, float] = field(default_factory=dict)
    relation: str | None = None
    right: float | None = None
    """Share of the relation's links."""
    beyond: float | None = None
    """Accuracy minus that of the fixed distance."""
    effect: rolefiles.Effect | None = None

    def score(self, name: str) -> float | None:
        """A score by its name, :data:`GRAMMAR` or :data:`EFFECT`; None where it was not measured."""
        if name == GRAMMAR:
            return self.beyond
        if name == EFFECT:
            return self.effect.mean if self.effect else None
        return self.roles.get(name)


Grammar = tuple[str | None, float | None, float | None]
"""A relation, a head's accuracy on it, and its difference from the fixed distance."""
_NONE: Grammar = (None, None, None)


def rows(specs: Iterable[CheckpointSpec]) -> tuple[HeadRow, ...]:
    """The heads of every measured model, from the first layer on.

    Raises:
        AtlasError: a file is damaged.
    """
    return tuple(row for spec in specs for row in _of(spec))


def _of(spec: CheckpointSpec) -> Iterable[HeadRow]:
    effects = rolefiles.effects(spec.slug)
    grammar = best_relation(rolefiles.relation_counts(spec.slug))
    main_kind: MapKind = spec.family.streams[0]
    roles = {kind: rolefiles.roles(spec.slug, None if kind == main_kind else kind) for kind in KINDS}
    read = {
        Head(kind, layer, head)
        for kind, grids in roles.items()
        for grid in grids.values()
        for layer in range(grid.shape[0])
        for head in range(grid.shape[1])
    }
    every = sorted(read | effects.keys(), key=lambda head: (KINDS.index(head.kind), head))
    several = len(spec.family.streams) > 1
    for head_effect in every:
        like = [other for other in every if other.kind == head_effect.kind]
        relation = grammar.get((head_effect.layer, head_effect.head), _NONE) if head_effect.kind == main_kind else _NONE
        yield HeadRow(
            spec.slug,
            spec.name,
            spec.branch,
            head_effect.kind,
            head_effect.layer + 1,
            1 + max(other.layer for other in like),
            head_effect.head + 1,
            1 + max(other.head for other in like),
            several,
            {name: float(grid[head_effect.layer, head_effect.head]) for name, grid in roles[head_effect.kind].items()},
            *relation,
            effects.get(head_effect),
        )


def best_relation(counted: Sequence[RelationCounts]) -> dict[tuple[int, int], Grammar]:
    """The best relation by layer and head (from 0), where one exceeds the fixed distance."""
    best: dict[tuple[int, int], tuple[float, str, float, float]] = {}
    for counts in counted:
        if counts.relation == "any":
            continue
        for layer, numbers in enumerate(counts.right.tolist()):
            for head, right in enumerate(numbers):
                sure = wilson(right, counts.n, Z)[0] - counts.baseline
                if sure > best.get((layer, head), (0.0,))[0]:
                    share = right / counts.n
                    best[layer, head] = (sure, counts.relation, share, share - counts.baseline)
    return {position: (relation, share, beyond) for position, (_, relation, share, beyond) in best.items()}


def heads_table(rows: Iterable[HeadRow]) -> Table:
    """Rows with the columns :data:`COLUMNS`; empty where nothing was measured."""
    return Table(
        COLUMNS,
        tuple(
            (
                *(row.slug, row.branch, row.attention, row.layer, row.layers, row.head),
                *(row.roles.get(role) for role in SCORES),
                *(row.relation, row.right, row.beyond),
                *((None,) * 3 if (effect := row.effect) is None else (effect.texts, effect.mean, effect.largest)),
            )
            for row in rows
        ),
    )
