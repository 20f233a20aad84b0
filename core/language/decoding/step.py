"""One step of generation: all probabilities before and after a rule, and the tokens that it removes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from core.checkpoints.spec import Checkpoint
from core.language.decoding import rules
from core.language.decoding.reader import Reader, Start, ban_tokens, banned_ids
from core.language.decoding.rules import Rule, spread_of
from core.language.tokens import Wording
from core.lazy import Tensor, torch


@dataclass(frozen=True, slots=True)
class Row:
    """One token of the vocabulary at this step."""

    id: int
    text: str
    before: float
    after: float
    surprisal: float
    """-log2 of ``before``."""
    reached: float
    """Sum of ``before`` over this token and all that are more probable."""
    seen: bool
    """Whether it occurs in the prompt or the generated text."""

    @property
    def removed(self) -> bool:
        """Whether the rule removes it."""
        return self.after == 0 < self.before


@dataclass(frozen=True, slots=True)
class RuleSummary:
    """The effect of one rule on the whole distribution."""

    rule: Rule
    value: float
    remaining: int
    """Candidates after it."""
    of: int
    """Candidates before it."""
    mass: float
    """Total probability, before the rule, of the tokens that remain."""
    entropy: float
    """Bits, before it."""
    entropy_after: float


@dataclass(frozen=True, slots=True)
class RuleEffect:
    summary: RuleSummary
    rows: tuple[Row, ...]
    """The most probable tokens before the rule, most probable first."""
    rest: tuple[int, float, float]
    """The other tokens: their number, their total probability before and after."""


def scores_at(checkpoint: Checkpoint, start: Start, ids: Sequence[int]) -> Tensor:
    """(V,) the model's scores for what follows ``ids``, float32; one pass over everything."""
    model: Any = checkpoint.model
    feed = torch.tensor([[*start.prompt, *ids]], device=model.device)
    return ban_tokens(Reader(model, start.source).read(feed), banned_ids(model))[0]


def apply_at(
    checkpoint: Checkpoint,
    start: Start,
    ids: Sequence[int],
    rule: Rule,
    value: float,
    first: Sequence[tuple[Rule, float]] = (),
    count: int = 16,
) -> RuleEffect:
    """The effect of ``rule`` on the token after ``ids``.

    Args:
        first: rules that come before it, with their values; applied in the order of `rules.ORDER`.
        count: how many tokens to show.
    """
    read = (*start.prompt, *ids)
    with torch.inference_mode():
        scores = scores_at(checkpoint, start, ids)
        for name, setting in sorted(first, key=lambda pair: rules.ORDER.index(pair[0])):
            scores = rules.apply(scores, name, setting, read)
        ruled = rules.apply(scores, rule, value, read)
        before, after = scores.softmax(-1), ruled.softmax(-1)
        best = before.topk(min(count, len(before)))
        reached = best.values.double().cumsum(-1).tolist()
        surprisals = (-best.values.log2()).tolist()
        wording, read_before = Wording(checkpoint.tokenizer), set(read)
        best_ids = best.indices.tolist()
        columns = (best.values.tolist(), after[best.indices].tolist(), surprisals, reached)
        rows = tuple(
            Row(i, wording.token(i), p, q, s, r, i in read_before)
            for i, p, q, s, r in zip(best_ids, *columns, strict=True)
            if p > 0
        )
        shown = sum(row.before for row in rows), sum(row.after for row in rows)
        summary = _summarize(rule, value, scores, ruled)
    rest = summary.of - len(rows)
    return RuleEffect(
        summary, rows, (rest, max(0.0, 1 - shown[0]) if rest else 0.0, max(0.0, 1 - shown[1]) if rest else 0.0)
    )


def summarize_rules(
    checkpoint: Checkpoint, start: Start, ids: Sequence[int], values: Sequence[tuple[Rule, float]]
) -> tuple[RuleSummary, ...]:
    """The effect of each rule alone on the token after ``ids``."""
    read = (*start.prompt, *ids)
    out: list[RuleSummary] = []
    with torch.inference_mode():
        scores = scores_at(checkpoint, start, ids)
        for rule, value in values:
            out.append(_summarize(rule, value, scores, rules.apply(scores, rule, value, read)))
    return tuple(out)


def _summarize(rule: Rule, value: float, scores: Tensor, ruled: Tensor) -> RuleSummary:
    before, after = scores.softmax(-1), ruled.softmax(-1)
    (entropy, of), (entropy_after, remaining) = spread_of(before, scores), spread_of(after, ruled)
    mass = float(before[~ruled.isneginf()].sum())
    return RuleSummary(rule, value, remaining, of, mass, entropy, entropy_after)
