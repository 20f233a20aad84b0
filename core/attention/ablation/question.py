"""The prediction of a model: a masked token, the next token, a token of the output, a replaced token, or a class.

Interventions on a model start here: `core.language.makers.inputs` prepares a text as the demo of its kind does,
:func:`ask` computes the probabilities in one pass, for one row or for many, each with its own edits. A model with
adapters predicts the classes of a task from the mean state of all tokens.

Legend: R rows, n tokens, V possible answers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from core.attention.layers import stacks
from core.language.decoding.reader import ban_tokens, banned_ids
from core.language.inputs import Inputs
from core.language.tokens import label
from core.language.types import MaskPrediction
from core.lazy import Tensor, torch
from core.run.run import Edit, Run, Site, recording, run


class Asked(NamedTuple):
    logs: Tensor
    """(R, V) natural log-probabilities of the answers, float32."""
    recorded: Run


def ask(
    question: Inputs, rows: int = 1, *, keep: Collection[str | Site] = (), edits: Mapping[Site, Edit] | None = None
) -> Asked:
    """The answers of one pass over ``rows`` copies of the question; the head reads its position alone.

    Args:
        keep, edits: as of `core.run.run.recording`; an edit of :func:`head_site` decides what the head reads.
    """
    tensors = {name: value.expand(rows, *value.shape[1:]) for name, value in question.tensors.items()}
    edits = dict(edits or {})
    if question.task is None and "target_mapping" not in tensors:  # whose one row is that of the target
        edits.setdefault(head_site(question), lambda states: states[:, [question.position]])
    return _asked(question, tensors, keep, edits)


def head_site(question: Inputs) -> Site:
    """The site of what the head reads."""
    return Site(stacks(question.checkpoint)[-1].kind, 0, "final")


def _asked(
    question: Inputs, tensors: dict[str, Tensor], keep: Collection[str | Site], edits: Mapping[Site, Edit]
) -> Asked:
    checkpoint = question.checkpoint
    model = checkpoint.model
    if question.task is not None:
        with recording(keep, edits) as recorded:
            scores = model.answer(tensors, question.task).logits.float()
            return Asked(scores.log_softmax(-1), recorded)
    recorded = run(model, tensors, keep=keep, edits=edits)
    with torch.inference_mode():
        scores = recorded.output.logits.float()
        if question.answers:  # of a discriminator, which has one score
            verdict = scores.reshape(len(scores), 1)
            scores = torch.cat((verdict, torch.zeros_like(verdict)), dim=-1)
        else:
            scores = scores[:, 0]
            scores = ban_tokens(scores, banned_ids(model))
        return Asked(scores.log_softmax(-1), recorded)


def best(question: Inputs, logs: Tensor, k: int) -> MaskPrediction:
    """The ``k`` most probable answers of one row (V,)."""
    top = logs.topk(min(k, len(logs)))
    ids = tuple(int(i) for i in top.indices.tolist())
    return MaskPrediction(question.position, names(question, ids), tuple(top.values.exp().tolist()), ids)


def names(question: Inputs, ids: Sequence[int]) -> tuple[str, ...]:
    if question.answers:
        return tuple(question.answers[i] for i in ids)
    return tuple(label(question.checkpoint.tokenizer, i) for i in ids)
