"""Beam search as steps of one text: what `core.language.decoding.search` finds, shown by its best hypothesis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from core.checkpoints.spec import Checkpoint
from core.language.decoding.picking import ALTERNATIVES
from core.language.decoding.search import Hypothesis, Round, rounds
from core.language.decoding.wording import Wording
from core.language.types import Alternative, Alternatives, Decoding, GenerationStep

if TYPE_CHECKING:
    from torch import Tensor


def beam_steps(
    checkpoint: Checkpoint,
    prompt: Sequence[int],
    decoding: Decoding,
    budget: int,
    full: str,
    forced: tuple[int, ...],
    source: Sequence[int] | None,
) -> Iterator[GenerationStep]:
    """Steps whose ``text`` and ``ids`` are the best running hypothesis, in the last step the best finished one.

    The alternatives of a step are those of the hypothesis that the best one grew from; ``kept`` is their probability
    where the continuation stays in the beam, else 0. ``beams`` lists the running hypotheses, at the end the finished.
    """
    wording = Wording(checkpoint.tokenizer)
    for now in rounds(checkpoint, prompt, decoding, budget, full, forced, source):
        shown = now.finished if now.reason and now.finished else now.running
        parent, chosen = _parent(now), shown[0].ids[-1]
        own = float(now.scores[parent, chosen].exp())
        survivors = {c.hypothesis.ids[-1] for c in now.candidates if c.fate == "kept" and c.parent == parent}
        if now.index < len(forced):
            survivors = {chosen}
        yield GenerationStep(
            now.index,
            Alternative(chosen, wording.token(chosen), own, own),
            _options(now.scores[parent], survivors, wording),
            wording.text(shown[0].ids),
            shown[0].ids,
            beams=_told(shown, wording),
            finished=bool(now.reason),
            reason=now.reason,
        )


def _parent(now: Round) -> int:
    """The hypothesis of the round before that the best one which goes on grew from."""
    return next((c.parent for c in now.candidates if c.fate == "kept"), now.candidates[0].parent)


def _told(hypotheses: Sequence[Hypothesis], wording: Wording) -> tuple[tuple[str, float], ...]:
    return tuple((wording.text(h.ids), h.score) for h in hypotheses)


def _options(log_probs: Tensor, survivors: set[int], wording: Wording) -> Alternatives:
    """The most probable next tokens of one hypothesis, with what of them stays in the beam."""
    best = log_probs.topk(min(ALTERNATIVES, log_probs.shape[-1]))
    ids, chances = best.indices.tolist(), best.values.exp().tolist()
    kept = (p if i in survivors else 0.0 for i, p in zip(ids, chances, strict=True))
    return Alternatives(tuple(ids), tuple(map(wording.token, ids)), tuple(chances), tuple(kept))
