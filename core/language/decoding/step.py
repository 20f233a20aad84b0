"""One step looked at: all probabilities before a rule and after it, and what the rule cut off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.checkpoints.spec import Checkpoint
from core.language.decoding import rules
from core.language.decoding.reader import Reader, Start, banned_ids, without
from core.language.decoding.rules import Rule, spread_of
from core.language.tokens import Wording

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class Row:
    """One token of the vocabulary at this step."""

    id: int
    text: str
    before: float
    after: float
    surprise: float
    """-log2 of ``before``."""
    reached: float
    """Sum of ``before`` over this token and all that are more probable."""
    seen: bool
    """Whether the decoder has read it before."""

    @property
    def cut(self) -> bool:
        """Whether the rule made it impossible."""
        return self.after == 0 < self.before


@dataclass(frozen=True, slots=True)
class Around:
    """What one rule does to all probabilities."""

    rule: Rule
    value: float
    kept: int
    """Tokens with a probability after it."""
    of: int
    """Tokens with a probability before it."""
    mass: float
    """Sum of the probabilities before it of what it keeps."""
    entropy: float
    """Bits, before it."""
    entropy_after: float


@dataclass(frozen=True, slots=True)
class Look:
    """One rule at one step."""

    around: Around
    rows: tuple[Row, ...]
    """The most probable tokens before the rule, most probable first."""
    others: tuple[int, float, float]
    """All the rest: how many, their probability before and after."""


def scores_at(checkpoint: Checkpoint, begun: Start, ids: Sequence[int]) -> Tensor:
    """(V,) the model's scores for what follows ``ids``, float32; one pass over everything."""
    import torch

    model: Any = checkpoint.model
    feed = torch.tensor([[*begun.prompt, *ids]], device=model.device)
    return without(Reader(model, begun.source).read(feed), banned_ids(model))[0]


def look(
    checkpoint: Checkpoint,
    begun: Start,
    ids: Sequence[int],
    rule: Rule,
    value: float,
    first: Sequence[tuple[Rule, float]] = (),
    count: int = 16,
) -> Look:
    """What ``rule`` does to the token after ``ids``.

    Args:
        first: rules that come before it, with their values; applied in the order of `rules.ORDER`.
        count: how many tokens to show.
    """
    import torch

    read = (*begun.prompt, *ids)
    with torch.inference_mode():
        scores = scores_at(checkpoint, begun, ids)
        for name, setting in sorted(first, key=lambda pair: rules.ORDER.index(pair[0])):
            scores = rules.apply(scores, name, setting, read)
        found = rules.apply(scores, rule, value, read)
        before, after = scores.softmax(-1), found.softmax(-1)
        best = before.topk(min(count, len(before)))
        reached = best.values.double().cumsum(-1).tolist()
        surprises = (-best.values.log2()).tolist()
        wording, seen = Wording(checkpoint.tokenizer), set(read)
        shown_ids = best.indices.tolist()
        columns = (best.values.tolist(), after[best.indices].tolist(), surprises, reached)
        rows = tuple(
            Row(i, wording.token(i), p, q, s, r, i in seen)
            for i, p, q, s, r in zip(shown_ids, *columns, strict=True)
            if p > 0
        )
        shown = sum(row.before for row in rows), sum(row.after for row in rows)
        around = _around(rule, value, scores, found)
    rest = around.of - len(rows)
    return Look(around, rows, (rest, max(0.0, 1 - shown[0]) if rest else 0.0, max(0.0, 1 - shown[1]) if rest else 0.0))


def each(
    checkpoint: Checkpoint, begun: Start, ids: Sequence[int], values: Sequence[tuple[Rule, float]]
) -> tuple[Around, ...]:
    """What each of some rules does by itself to the token after ``ids``."""
    import torch

    read = (*begun.prompt, *ids)
    out: list[Around] = []
    with torch.inference_mode():
        scores = scores_at(checkpoint, begun, ids)
        for rule, value in values:
            out.append(_around(rule, value, scores, rules.apply(scores, rule, value, read)))
    return tuple(out)


def _around(rule: Rule, value: float, scores: Tensor, ruled: Tensor) -> Around:
    before, after = scores.softmax(-1), ruled.softmax(-1)
    (entropy, of), (entropy_after, kept) = spread_of(before, scores), spread_of(after, ruled)
    mass = float(before[~ruled.isneginf()].sum())
    return Around(rule, value, kept, of, mass, entropy, entropy_after)
