"""Beam search: keep the B most probable beginnings instead of one.

The score of a hypothesis is the sum of its tokens' log-probabilities, Σ_t log p(w_t | w_<t). At every step all
continuations of the B running hypotheses compete; one that ends leaves the beam and is ranked by its score divided by
(its length)^α, with α = 1 unless the checkpoint says otherwise, because a sum only falls as a text grows. The search
ends when B finished hypotheses are better than anything running can still be, judged at its present length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.checkpoints.spec import Checkpoint
from core.language.decode import ALTERNATIVES, Reader, Wording, banned_ids, end_ids, pick, without
from core.language.types import Alternative, Decoding, GenerationStep

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A beginning of a text: its ids, the sum of their log-probabilities, and the rank it is ordered by."""

    ids: tuple[int, ...]
    score: float
    rank: float


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
    import torch

    model = checkpoint.model
    reader, wording = Reader(model, source), Wording(checkpoint.tokenizer)
    ends, banned = end_ids(model), banned_ids(model)
    penalty = float(getattr(model.generation_config, "length_penalty", None) or 1.0)
    stop_at_once = getattr(model.generation_config, "early_stopping", False) is True
    running = [Hypothesis((), 0.0, 0.0)]
    finished: list[Hypothesis] = []
    feed = torch.tensor([list(prompt)], device=model.device)
    for index in range(budget):
        scores = reader.read(feed)  # (B, V)
        last = index == budget - 1
        if index < len(forced):
            token, options = pick(scores[0], decoding, index, forced[index], wording)
            running = [Hypothesis((forced[index],) if not index else (*running[0].ids, forced[index]), 0.0, 0.0)]
            over = token.id in ends or last
            yield _step(index, token, options, running, wording, ("end" if token.id in ends else full) if over else "")
            if over:
                return
            feed = torch.tensor([[token.id]], device=model.device)
            continue
        log_probs = without(scores.log_softmax(-1), banned)
        candidates = _best(log_probs, running, decoding.beams * max(2, 1 + len(ends)))
        grown: list[tuple[int, Hypothesis]] = []
        for place, (parent, token_id, score) in enumerate(candidates):
            ids = (*running[parent].ids, token_id)
            hypothesis = Hypothesis(ids, score, score / (index + 1 - len(forced)) ** penalty)
            if token_id in ends or last:
                if place < decoding.beams:
                    finished.append(hypothesis)
            elif len(grown) < decoding.beams:
                grown.append((parent, hypothesis))
        finished = sorted(finished, key=lambda h: -h.rank)[: decoding.beams]
        enough = len(finished) == decoding.beams
        over = last or not grown or (enough and (stop_at_once or grown[0][1].rank <= finished[-1].rank))
        parent = grown[0][0] if grown else candidates[0][0]
        survivors = {h.ids[-1] for p, h in grown if p == parent}
        options = _options(log_probs[parent], survivors, wording)
        running = [h for _, h in grown]
        shown = finished if over and finished else running
        chosen = shown[0].ids[-1]
        own = float(log_probs[parent, chosen].exp())
        reason = "" if not over else "end" if shown[0].ids[-1] in ends else full
        yield _step(index, Alternative(chosen, wording.token(chosen), own, own), options, shown, wording, reason)
        if over:
            return
        reader.keep([p for p, _ in grown])
        feed = torch.tensor([[h.ids[-1]] for h in running], device=model.device)


def _best(log_probs: Tensor, running: Sequence[Hypothesis], count: int) -> list[tuple[int, int, float]]:
    """The ``count`` best continuations as (running hypothesis, token, score), best first."""
    import torch

    with torch.inference_mode():
        before = torch.tensor([h.score for h in running], device=log_probs.device)
        totals = (log_probs + before[:, None]).flatten()
        best = totals.topk(min(count, totals.numel()))
        size = log_probs.shape[-1]
        return [(i // size, i % size, s) for i, s in zip(best.indices.tolist(), best.values.tolist(), strict=True)]


def _options(log_probs: Tensor, survivors: set[int], wording: Wording) -> tuple[Alternative, ...]:
    """The most probable next tokens of one hypothesis, with what of them stays in the beam."""
    best = log_probs.topk(min(ALTERNATIVES, log_probs.shape[-1]))
    return tuple(
        Alternative(i, wording.token(i), p, p if i in survivors else 0.0)
        for i, p in zip(best.indices.tolist(), best.values.exp().tolist(), strict=True)
    )


def _step(
    index: int,
    token: Alternative,
    options: tuple[Alternative, ...],
    hypotheses: Sequence[Hypothesis],
    wording: Wording,
    reason: str,
) -> GenerationStep:
    """A step that shows the first of ``hypotheses``."""
    best = hypotheses[0].ids
    return GenerationStep(
        index, token, options, wording.text(best), best,
        beams=tuple((wording.text(h.ids), h.score) for h in hypotheses), finished=bool(reason), reason=reason,
    )  # fmt: skip
