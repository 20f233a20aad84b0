r"""Beam search, round by round: keep the B most probable hypotheses instead of one.

The score of a hypothesis is the sum of its tokens' log-probabilities, :math:`s = \sum_t \log p(w_t \mid w_{<t})`. At
every step all continuations of the B running hypotheses compete. One that ends leaves the beam and is ranked by

.. math:: s / n^{\alpha}

with n its length and α the length penalty (1 by default), because the sum only decreases as a text grows. The search
ends when B finished hypotheses rank higher than any running one at its present length. Of the max(2, 1 + E) B best
continuations, with E end tokens, those that are neither kept nor finished are pruned; like transformers, the search
evaluates no others.

The repetition penalty and the ban on repeated n-grams act on log-probabilities here, as in transformers.

The search is available as the steps of one text, its best hypothesis, and as a tree, in which every evaluated
continuation is a node, pruned ones too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from core.checkpoints.spec import Checkpoint
from core.language.decoding.reader import Reader, ban_tokens, banned_ids, budget, end_ids
from core.language.decoding.rules import ALTERNATIVES, chain, check, end_reason
from core.language.inputs import Inputs
from core.language.starts import start as start_of
from core.language.tokens import Wording
from core.language.types import Alternative, Alternatives, Decoding, GenerationStep
from core.lazy import Tensor, torch

Fate = Literal["kept", "finished", "pruned"]


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A partial text and its score."""

    ids: tuple[int, ...]
    score: float = 0.0
    """Sum of the log-probabilities of its tokens."""
    rank: float = 0.0
    """The score by which finished hypotheses are ordered."""
    parent: int = 0
    """Index of the running hypothesis of the previous round that it continues."""
    fate: Fate = "kept"


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """One step of the search; everything best first."""

    index: int
    scores: Tensor
    """(B, V) log-probabilities of the tokens after each hypothesis that ran before, rules included."""
    candidates: tuple[Hypothesis, ...]
    finished: tuple[Hypothesis, ...]
    reason: str
    """Why the search ended; empty while it runs."""

    @property
    def running(self) -> tuple[Hypothesis, ...]:
        """The hypotheses that continue."""
        return tuple(h for h in self.candidates if h.fate == "kept")


def length_penalty(checkpoint: Checkpoint, decoding: Decoding) -> float:
    """The power α of the length that divides a sum: that of ``decoding``, else the model's own, else 1."""
    model = checkpoint.model
    of_model = getattr(model.generation_config, "length_penalty", None)
    return float(
        decoding.length_penalty if decoding.length_penalty is not None else 1.0 if of_model is None else of_model
    )


def rounds(start: Inputs, decoding: Decoding, forced: Sequence[int] = ()) -> Iterator[Round]:
    """The rounds of a search.

    A round whose token is ``forced`` has one candidate, whose score counts as 0.
    """
    checkpoint, model, prompt = start.checkpoint, start.checkpoint.model, start.ids
    most, full = budget(start, decoding)
    reader, wording = Reader(model, start.source_ids), Wording(checkpoint.tokenizer)
    ends, banned = end_ids(model), banned_ids(model)
    config = model.generation_config
    alpha = length_penalty(checkpoint, decoding)
    stop_at_once = getattr(config, "early_stopping", False) is True
    running: tuple[Hypothesis, ...] = (Hypothesis(()),)
    finished: tuple[Hypothesis, ...] = ()
    feed = torch.tensor([prompt], device=model.device)
    for index in range(most):
        last = full if index == most - 1 else ""
        with torch.inference_mode():
            logs = reader.next_logits(feed).log_softmax(-1)
            logs = torch.stack([chain(row, decoding, (*prompt, *h.ids)) for row, h in zip(logs, running, strict=True)])
            logs = ban_tokens(logs, banned)
        if index < len(forced):
            ids = (*running[0].ids, forced[index])
            reason = end_reason(forced[index], wording.text(ids), decoding, ends, last)
            running = (Hypothesis(ids, fate="finished" if reason else "kept"),)
            yield Round(index, logs, running, running if reason else (), reason)
            if reason:
                return
            feed = torch.tensor([[forced[index]]], device=model.device)
            continue
        candidates: list[Hypothesis] = []
        for rank, (parent, token, score) in enumerate(_best(logs, running, decoding.beams * max(2, 1 + len(ends)))):
            ids = (*running[parent].ids, token)
            fate: Fate = "pruned"
            if end_reason(token, wording.text(ids) if decoding.stop else "", decoding, ends, last):
                fate = "finished" if rank < decoding.beams else "pruned"
            elif sum(h.fate == "kept" for h in candidates) < decoding.beams:
                fate = "kept"
            candidates.append(Hypothesis(ids, score, score / (index + 1 - len(forced)) ** alpha, parent, fate))
        ended = (*finished, *(h for h in candidates if h.fate == "finished"))
        finished = tuple(sorted(ended, key=lambda h: -h.rank)[: decoding.beams])
        running = tuple(h for h in candidates if h.fate == "kept")
        enough = len(finished) == decoding.beams
        reason = ""
        if last or not running or (enough and (stop_at_once or running[0].rank <= finished[-1].rank)):
            ids = (finished or running)[0].ids
            reason = end_reason(ids[-1], wording.text(ids), decoding, ends, full)
        yield Round(index, logs, tuple(candidates), finished, reason)
        if reason:
            return
        reader.select([h.parent for h in running])
        feed = torch.tensor([[h.ids[-1]] for h in running], device=model.device)


def _best(logs: Tensor, running: Sequence[Hypothesis], count: int) -> list[tuple[int, int, float]]:
    """The ``count`` best continuations as (running hypothesis, token, score), best first."""
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


def beam_steps(start: Inputs, decoding: Decoding, forced: Sequence[int] = ()) -> Iterator[GenerationStep]:
    """Steps whose ``text`` and ``ids`` are the best running hypothesis, in the last step the best finished one.

    The alternatives of a step are those of the hypothesis that the best one grew from; ``processed`` is their
    probability where the continuation stays in the beam, else 0. ``beams`` lists the running hypotheses, at the end the
    finished.
    """
    wording = Wording(start.checkpoint.tokenizer)
    for now in rounds(start, decoding, forced):
        shown = now.finished if now.reason and now.finished else now.running
        # the previous round's hypothesis that the best running one continues
        parent, chosen = (now.running or now.candidates)[0].parent, shown[0].ids[-1]
        probability = float(now.scores[parent, chosen].exp())
        survivors = {h.ids[-1] for h in now.running if h.parent == parent}
        if now.index < len(forced):
            survivors = {chosen}
        yield GenerationStep(
            now.index,
            Alternative(chosen, wording.token(chosen), probability, probability),
            _options(now.scores[parent], survivors, wording),
            wording.text(shown[0].ids),
            shown[0].ids,
            beams=tuple((wording.text(h.ids), h.score) for h in shown),
            finished=bool(now.reason),
            reason=now.reason,
        )


def _options(log_probs: Tensor, survivors: set[int], wording: Wording) -> Alternatives:
    """The most probable next tokens of one hypothesis; ``processed`` is 0 for those that leave the beam."""
    best = log_probs.topk(min(ALTERNATIVES, log_probs.shape[-1]))
    ids, probabilities = best.indices.tolist(), best.values.exp().tolist()
    processed = [p if i in survivors else 0.0 for i, p in zip(ids, probabilities, strict=True)]
    return Alternatives.of(ids, [wording.token(i) for i in ids], probabilities, processed)


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the search tree: a token after a partial text."""

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
    """Whether it is on the path of the returned text."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A finished search."""

    rows: tuple[tuple[Node, ...], ...]
    """The nodes of each step, the highest score first."""
    results: tuple[tuple[str, int, float, float], ...]
    """The finished texts with length in tokens, score and rank, best first; the running ones if none is finished."""
    ids: tuple[int, ...]
    """The returned text."""
    reason: str
    alpha: float
    """The length penalty."""


def tree(checkpoint: Checkpoint, text: str, decoding: Decoding, task: str | None = None) -> Tree:
    """Search after ``text``, a prompt or a source, and return all evaluated hypotheses.

    Raises:
        OutOfRange: a setting is out of range; else as `core.language.starts.start`.
    """
    return grow(start_of(checkpoint, text, task), decoding)


def grow(start: Inputs, decoding: Decoding) -> Tree:
    """:func:`tree` after inputs."""
    check(decoding)
    wording = Wording(start.checkpoint.tokenizer)
    before: dict[tuple[int, ...], float] = {(): 0.0}
    expanded: list[list[tuple[Hypothesis, float]]] = []
    for now in rounds(start, decoding):
        expanded.append([(h, h.score - before[h.ids[:-1]]) for h in now.candidates])
        before = {h.ids: h.score for h in now.running}
    best = now.finished or now.running
    ids = best[0].ids
    rows = tuple(
        tuple(
            Node(h.ids, wording.token(h.ids[-1]), log_probability, h.score, h.rank, h.fate, ids[: len(h.ids)] == h.ids)
            for h, log_probability in row
        )
        for row in expanded
    )
    results = tuple((wording.text(h.ids), len(h.ids), h.score, h.rank) for h in best)
    return Tree(rows, results, ids, now.reason, length_penalty(start.checkpoint, decoding))
