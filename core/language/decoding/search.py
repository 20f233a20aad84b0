r"""Beam search, round by round: keep the B most probable beginnings instead of one.

The score of a hypothesis is the sum of its tokens' log-probabilities, :math:`s = \sum_t \log p(w_t \mid w_{<t})`. At
every step all continuations of the B running hypotheses compete. One that ends leaves the beam and is ranked by

.. math:: s / n^{\alpha}

with n its length and α the length penalty, 1 unless it is set, because a sum only falls as a text grows. The search
ends when B finished hypotheses are better than anything running can still be, judged at its present length. Of the
max(2, 1 + E) B best continuations, with E tokens that end a text, those that are neither kept nor finished are pruned:
as many are looked at as transformers looks at, and everything below them is pruned unseen.

The penalty on repeated tokens and the ban on repeated runs work on log-probabilities here, as in transformers.

The search is shown as the steps of one text, its best hypothesis, and as a tree: every continuation that was looked at
is a node, pruned ones too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from core.checkpoints.spec import Checkpoint
from core.language.decoding import picking
from core.language.decoding.picking import ALTERNATIVES, why
from core.language.decoding.reader import Reader, Start, banned_ids, end_ids, without
from core.language.decoding.rules import chain
from core.language.tokens import Wording
from core.language.types import Alternative, Alternatives, Decoding, GenerationStep

if TYPE_CHECKING:
    from torch import Tensor

Fate = Literal["kept", "finished", "pruned"]


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A beginning of a text: its ids, the sum of their log-probabilities, and the rank it is ordered by."""

    ids: tuple[int, ...]
    score: float
    rank: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """A continuation that was looked at."""

    parent: int
    """Which running hypothesis of the round before it continues."""
    hypothesis: Hypothesis
    fate: Fate


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """One step of the search; everything best first."""

    index: int
    scores: Tensor
    """(B, V) log-probabilities of the tokens after each hypothesis that ran before, rules included."""
    candidates: tuple[Candidate, ...]
    running: tuple[Hypothesis, ...]
    finished: tuple[Hypothesis, ...]
    reason: str
    """Why the search is over; empty while it is not."""


def rounds(checkpoint: Checkpoint, begun: Start, decoding: Decoding, forced: Sequence[int] = ()) -> Iterator[Round]:
    """The rounds of a search.

    A round whose token is ``forced`` has one candidate, whose score counts as 0.
    """
    import torch

    model: Any = checkpoint.model
    budget, full = begun.budget(decoding)
    reader, wording = Reader(model, begun.source), Wording(checkpoint.tokenizer)
    ends, banned = end_ids(model), banned_ids(model)
    config = model.generation_config
    own = getattr(config, "length_penalty", None)
    alpha = float(decoding.length_penalty if decoding.length_penalty is not None else 1.0 if own is None else own)
    stop_at_once = getattr(config, "early_stopping", False) is True
    running, finished = [Hypothesis((), 0.0, 0.0)], []
    feed = torch.tensor([begun.prompt], device=model.device)
    for index in range(budget):
        last = index == budget - 1
        with torch.inference_mode():
            logs = reader.read(feed).log_softmax(-1)
            logs = torch.stack(
                [chain(row, decoding, (*begun.prompt, *h.ids)) for row, h in zip(logs, running, strict=True)]
            )
            logs = without(logs, banned)
        if index < len(forced):
            only = Hypothesis((*running[0].ids, forced[index]), 0.0, 0.0)
            reason = why(forced[index], wording.text(only.ids), decoding, ends, full if last else "")
            fate: Fate = "finished" if reason else "kept"
            yield Round(index, logs, (Candidate(0, only, fate),), (only,), (only,) if reason else (), reason)
            if reason:
                return
            running, feed = [only], torch.tensor([[forced[index]]], device=model.device)
            continue
        best = _best(logs, running, decoding.beams * max(2, 1 + len(ends)))
        looked: list[Candidate] = []
        for place, (parent, token, score) in enumerate(best):
            ids = (*running[parent].ids, token)
            found = Hypothesis(ids, score, score / (index + 1 - len(forced)) ** alpha)
            kept = sum(one.fate == "kept" for one in looked)
            if why(token, wording.text(ids) if decoding.stop else "", decoding, ends, full if last else ""):
                fate = "finished" if place < decoding.beams else "pruned"
            else:
                fate = "kept" if kept < decoding.beams else "pruned"
            looked.append(Candidate(parent, found, fate))
        finished += [one.hypothesis for one in looked if one.fate == "finished"]
        finished = sorted(finished, key=lambda h: -h.rank)[: decoding.beams]
        grown = [one for one in looked if one.fate == "kept"]
        enough = len(finished) == decoding.beams
        over = last or not grown or (enough and (stop_at_once or grown[0].hypothesis.rank <= finished[-1].rank))
        reason = ""
        if over:
            ids = finished[0].ids if finished else grown[0].hypothesis.ids
            reason = why(ids[-1], wording.text(ids), decoding, ends, full)
        running = [one.hypothesis for one in grown]
        yield Round(index, logs, tuple(looked), tuple(running), tuple(finished), reason)
        if over:
            return
        reader.keep([one.parent for one in grown])
        feed = torch.tensor([[h.ids[-1]] for h in running], device=model.device)


def _best(logs: Tensor, running: Sequence[Hypothesis], count: int) -> list[tuple[int, int, float]]:
    """The ``count`` best continuations as (running hypothesis, token, score), best first."""
    import torch

    with torch.inference_mode():
        before = torch.tensor([h.score for h in running], device=logs.device)
        totals = (logs + before[:, None]).flatten()
        best = totals.topk(min(count, totals.numel()))
        size = logs.shape[-1]
        return [
            (i // size, i % size, s)
            for i, s in zip(best.indices.tolist(), best.values.tolist(), strict=True)
            if s > float("-inf")
        ]


def beam_steps(
    checkpoint: Checkpoint, begun: Start, decoding: Decoding, forced: Sequence[int] = ()
) -> Iterator[GenerationStep]:
    """Steps whose ``text`` and ``ids`` are the best running hypothesis, in the last step the best finished one.

    The alternatives of a step are those of the hypothesis that the best one grew from; ``kept`` is their probability
    where the continuation stays in the beam, else 0. ``beams`` lists the running hypotheses, at the end the finished.
    """
    wording = Wording(checkpoint.tokenizer)
    for now in rounds(checkpoint, begun, decoding, forced):
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


@dataclass(frozen=True, slots=True)
class Node:
    """A token at the end of a beginning of a text."""

    ids: tuple[int, ...]
    """The whole path, which is the node's name; its parent is the path without the last."""
    token: str
    own: float
    """Log-probability of this token after its parent, rules included, in nats."""
    score: float
    """Sum of the log-probabilities along the path."""
    rank: float
    """Score divided by the path's length to the power of the length penalty."""
    fate: Fate
    best: bool
    """Whether the text that is returned goes through it."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A finished search."""

    rows: tuple[tuple[Node, ...], ...]
    """The nodes of each step, the highest score first."""
    results: tuple[tuple[str, float, float], ...]
    """The finished texts with score and rank, best first; the running ones where none was finished."""
    ids: tuple[int, ...]
    """The text that is returned."""
    reason: str


def tree(checkpoint: Checkpoint, begun: Start, decoding: Decoding) -> Tree:
    """Search, and keep what was looked at.

    Raises:
        OutOfRange: a setting makes no sense.
    """
    picking.check(decoding)
    wording = Wording(checkpoint.tokenizer)
    before: dict[tuple[int, ...], float] = {(): 0.0}
    found: list[list[tuple[tuple[int, ...], float, float, float, Fate]]] = []
    for now in rounds(checkpoint, begun, decoding):
        found.append([])
        for candidate in now.candidates:
            h = candidate.hypothesis
            found[-1].append((h.ids, h.score - before[h.ids[:-1]], h.score, h.rank, candidate.fate))
        before = {h.ids: h.score for h in now.running}
    best = now.finished or now.running
    ids = best[0].ids
    rows = tuple(
        tuple(
            Node(path, wording.token(path[-1]), own, score, rank, fate, ids[: len(path)] == path)
            for path, own, score, rank, fate in row
        )
        for row in found
    )
    return Tree(rows, tuple((wording.text(h.ids), h.score, h.rank) for h in best), ids, now.reason)
