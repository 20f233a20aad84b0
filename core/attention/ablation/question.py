"""The prediction of a model: a masked token, the next token, a token of the output, a replaced token, or a class.

Interventions on a model start here: :func:`prepare_question` prepares a text as the demo of its kind does, :func:`ask`
computes the probabilities in one pass, for one row or for many, each with its own edits. A model with adapters predicts
the classes of a task from the mean state of all tokens.

Legend: R rows, n tokens, V possible answers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from core.attention.layers import stacks
from core.attention.tokens import labels
from core.checkpoints.spec import Checkpoint
from core.errors import InputTooLong, InputUnusable, OutOfRange
from core.language import adapters, permuted, translate
from core.language.decoding.reader import ban_tokens, banned_ids
from core.language.fill_mask import MaskedText, prepare
from core.language.generate import prompt_ids
from core.language.replaced import detect
from core.language.segments import SEGMENT, has_memory
from core.language.tasks import tasks
from core.language.tokens import label, own_language
from core.language.types import Decoding, MaskPrediction
from core.lazy import Tensor, torch
from core.run.run import Edit, Run, Site, recording, run
from core.settings import settings
from core.words import counted

DISCRIMINATOR_CLASSES = ("replaced", "original")
"""The two classes of a discriminator."""


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A text prepared for a model's prediction."""

    checkpoint: Checkpoint
    inputs: dict[str, Tensor]
    """One row, by the argument names of the forward pass."""
    position: int
    """The position in ``tokens`` that the head reads; 0 where it reads all of them."""
    tokens: tuple[str, ...]
    """Labels of the input tokens; of an encoder-decoder, those of the decoder."""
    source: tuple[str, ...] = ()
    """Labels of an encoder-decoder's source tokens."""
    answers: tuple[str, ...] = ()
    """Names of the classes; empty for the vocabulary."""
    task: str | None = None
    """The task whose adapters are used, if any."""


def prepare_question(checkpoint: Checkpoint, text: str, task: str | None = None, step: int = 0) -> Question:
    """Prepare ``text``: its first mask, its most probably replaced token, its next token, or its class is predicted.

    Args:
        task: of an encoder-decoder, or whose adapters are used; by default the model's first task.
        step: the predicted token of an encoder-decoder's output, from 0, after its own greedy output.

    Raises:
        InputEmpty, InputTooLong: nothing readable, or more tokens than the model or the settings allow.
        InputUnusable: there is no mask.
        OutOfRange: an unknown step or unknown adapters.
        UnknownTask: the checkpoint has no such task.
    """
    offers = checkpoint.spec.offers
    if offers("predicts masked tokens"):
        question = masked_question(checkpoint, prepare(checkpoint, text))
    elif offers("detects replaced tokens"):
        question = _discriminator_question(checkpoint, text)
    elif offers("continues"):
        ids = prompt_ids(checkpoint, text)
        question = Question(checkpoint, {"input_ids": row_of(ids)}, len(ids) - 1, labels(checkpoint.tokenizer, ids))
    elif offers("rewrites"):
        question = _output_question(checkpoint, text, task or tasks(checkpoint)[0].slug, step)
    else:
        question = _class_question(checkpoint, text, task or adapters.tasks(checkpoint)[0].slug)
    check_size(checkpoint, max(len(question.tokens), len(question.source)))
    return question


def row_of(ids: Sequence[int]) -> Tensor:
    """``ids`` as a tensor (1, n)."""
    return torch.tensor([list(ids)])


def check_size(checkpoint: Checkpoint, count: int) -> None:
    """Raise :class:`InputTooLong` above the limit of tokens, which for a Transformer-XL is one segment."""
    most = SEGMENT if has_memory(checkpoint.model) else settings().max_attention_tokens
    if count > most:
        why = f", which {checkpoint.spec.name} reads as one segment" if most == SEGMENT else ""
        raise InputTooLong(
            f"This text has {count:,} tokens; up to {most} are analyzed{why}. A text of about {most * 2 // 3} words "
            "or fewer works."
        )


def masked_question(checkpoint: Checkpoint, masked: MaskedText) -> Question:
    """The first masked token of ``masked``.

    Raises:
        InputUnusable: no token is masked.
    """
    if not masked.positions:
        raise InputUnusable("There is no mask in this text. Type [MASK] in place of a word.")
    ids, position = row_of(masked.ids), masked.positions[0]
    if checkpoint.spec.offers("two streams"):
        rank = np.zeros(len(masked.ids), dtype=np.int64)
        rank[list(masked.positions)] = 1
        more = permuted.streams(ids, rank, (position,))
    else:
        more = {"attention_mask": torch.ones_like(ids), **own_language(checkpoint.model, ids)}
    return Question(checkpoint, {"input_ids": ids, **more}, position, labels(checkpoint.tokenizer, masked.ids))


def _discriminator_question(checkpoint: Checkpoint, text: str) -> Question:
    detection = detect(checkpoint, text)
    ids = [token.id for token in detection.after]
    ordinary = [i for i, token in enumerate(detection.after) if not token.special] or list(range(len(ids)))
    position = max(ordinary, key=detection.probabilities.__getitem__)
    tokens = labels(checkpoint.tokenizer, ids)
    return Question(checkpoint, {"input_ids": row_of(ids)}, position, tokens, answers=DISCRIMINATOR_CLASSES)


def _class_question(checkpoint: Checkpoint, text: str, task: str) -> Question:
    own, _, inputs = adapters.prepare(checkpoint, text, task)
    tokens = labels(checkpoint.tokenizer, inputs["input_ids"][0].tolist())
    return Question(checkpoint, inputs, 0, tokens, answers=own.answers, task=own.slug)


def _output_question(checkpoint: Checkpoint, text: str, task: str, step: int) -> Question:
    request = translate.prepare(checkpoint, text, task)
    before: Sequence[int] = ()
    if step:
        if not 0 < step < (most := settings().max_attention_tokens):
            raise OutOfRange(f"There is no token {step} here: tokens are counted from 0 to {most - 1}.")
        steps = list(translate.rewrite(checkpoint, text, task, Decoding(max_new_tokens=step)))
        before = steps[-1].ids if steps else ()
        if len(before) < step or steps[-1].reason == "end":
            raise OutOfRange(f"The output ends after {counted(len(before), 'token')}; there is no token {step + 1}.")
    read, source = [*request.prompt, *before], row_of(request.source)
    inputs = {"input_ids": source, "attention_mask": torch.ones_like(source), "decoder_input_ids": row_of(read)}
    tokens, of_source = (labels(checkpoint.tokenizer, ids) for ids in (read, request.source))
    return Question(checkpoint, inputs, len(read) - 1, tokens, of_source)


class Asked(NamedTuple):
    logs: Tensor
    """(R, V) natural log-probabilities of the answers, float32."""
    recorded: Run


def ask(
    question: Question, rows: int = 1, *, keep: Collection[str | Site] = (), edits: Mapping[Site, Edit] | None = None
) -> Asked:
    """The answers of one pass over ``rows`` copies of the question; the head reads its position alone.

    Args:
        keep, edits: as of `core.run.run.recording`.
    """
    inputs = {name: value.expand(rows, *value.shape[1:]) for name, value in question.inputs.items()}
    edits = dict(edits or {})
    if question.task is None and "target_mapping" not in inputs:  # whose one row is that of the target
        edits[head_site(question)] = lambda states: states[:, [question.position]]
    return _asked(question, inputs, keep, edits)


def ask_states(question: Question, states: Tensor) -> Tensor:
    """(R, V) the answers to states (R, w) of any layer, put in place of those that the head reads.

    The pass is over the first token alone: what it computes before the head is replaced.
    """
    if question.task is not None:
        with torch.inference_mode():
            scores: Tensor = question.checkpoint.model.tasks[question.task].head(states)
            return scores.float().log_softmax(-1)
    first = {name: value[:, :1].expand(len(states), 1) for name, value in question.inputs.items() if value.dim() == 2}
    for name in question.inputs.keys() - first.keys():  # XLNet's permutation and targets
        first[name] = question.inputs[name][:, :1, :1].expand(len(states), 1, 1)
    return _asked(question, first, (), {head_site(question): lambda _: states[:, None]}).logs


def head_site(question: Question) -> Site:
    """The site of what the head reads."""
    return Site(stacks(question.checkpoint)[-1].kind, 0, "final")


def _asked(
    question: Question, inputs: dict[str, Tensor], keep: Collection[str | Site], edits: Mapping[Site, Edit]
) -> Asked:
    checkpoint = question.checkpoint
    model: Any = checkpoint.model
    if question.task is not None:
        with recording(keep, edits) as recorded:
            scores = model.answer(inputs, question.task).logits.float()
            return Asked(scores.log_softmax(-1), recorded)
    recorded = run(model, inputs, keep=keep, edits=edits)
    with torch.inference_mode():
        scores = recorded.output.logits.float()
        if checkpoint.spec.offers("detects replaced tokens"):
            verdict = scores.reshape(len(scores), 1)
            scores = torch.cat((verdict, torch.zeros_like(verdict)), dim=-1)
        else:
            scores = scores[:, 0]
            if checkpoint.spec.offers("generates") and (banned := banned_ids(model)):
                scores = ban_tokens(scores, banned)
        return Asked(scores.log_softmax(-1), recorded)


def best(question: Question, logs: Tensor, k: int) -> MaskPrediction:
    """The ``k`` most probable answers of one row (V,)."""
    top = logs.topk(min(k, len(logs)))
    ids = tuple(int(i) for i in top.indices.tolist())
    return MaskPrediction(question.position, names(question, ids), tuple(top.values.exp().tolist()), ids)


def names(question: Question, ids: Sequence[int]) -> tuple[str, ...]:
    if question.answers:
        return tuple(question.answers[i] for i in ids)
    return tuple(label(question.checkpoint.tokenizer, i) for i in ids)
