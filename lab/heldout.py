r"""What a live model predicts, as it was trained to, on texts written for this project, with the truth.

======================  ==============================================================================================
masked tokens           encoders: of windows of the story, or of its sentences if trained on single ones; an XLNet: all
                        masks at once; an XLM: of a sentence and its translation
next tokens             decoders: of the same windows; a Transformer-XL with its memory of the windows before
replaced tokens         discriminators: whether each token of a window was replaced; the generator samples at the masks
tokens of the output    encoder-decoders, given those before: translations, corrupted or misspelled texts, fusions
classes                 a model with adapters, for each of its tasks
======================  ==============================================================================================

Shapes: n tokens of a pass, M positions with a truth, V vocabulary entries or classes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from core import checkpoints
from core.checkpoints.spec import Checkpoint, Feature
from core.interventions.heldout import bundled_pairs, records, story
from core.language import adapters, bilingual, permuted, replaced
from core.language.decoding.reader import end_ids
from core.language.inputs import pair
from core.language.starts import prepare
from core.language.tasks import Task, tasks
from core.language.tokens import max_tokens
from core.lazy import Tensor, torch
from core.objectives.corruptions import CORRUPTIONS, corrupt_text
from lab.measures import Numbers, token_ids
from lab.objective import Share

ON = "texts written for this project, as in training"
WINDOW, MASKED = 64, 0.15
DRAWS = 3
"""Sets of masked tokens of each window."""
_SENTENCE = re.compile(r'[^.!?]+[.!?]+"?')
_ROOM = 6
"""Positions left free in a corrupted text, which masks for empty spans make longer."""


@dataclass(frozen=True, slots=True, eq=False)
class Pass:
    """A forward pass over one text."""

    inputs: dict[str, Tensor]
    """One row, by the argument names of the forward pass."""
    positions: Tensor
    """(M,) rows of the logits."""
    truth: Tensor
    """(M,) tokens or classes."""
    task: str | None = None
    """The task whose adapters are used, if any."""


def trained_tasks(checkpoint: Checkpoint, corpus: object) -> Iterator[tuple[str, list[Pass]]]:
    """`passes`, by the name of their texts."""
    yield ON, list(passes(checkpoint))


def passes(checkpoint: Checkpoint) -> Iterator[Pass]:
    """The passes of a model, by what it does."""
    return checkpoint.spec.entries(_PASSES)[0](checkpoint)


def top_predictions(checkpoint: Checkpoint, held_out: Sequence[Pass]) -> Numbers:
    """Top-1 accuracy in percent, and mean bits of a token or class."""
    right = count = 0
    nats = 0.0
    memory: dict[str, Any] = {}
    for held in held_out:
        out = run(checkpoint.model, held, **memory)
        if checkpoint.spec.offers("memory"):
            memory = {"mems": out.mems}
        logits = out.logits
        if checkpoint.spec.offers("detects replaced tokens"):
            logits = torch.stack((torch.zeros_like(logits), logits), -1)
        logs = (logits if held.task else logits[0])[held.positions].float().log_softmax(-1)
        right += int((logs.argmax(-1) == held.truth).sum())
        nats -= float(logs.gather(1, held.truth[:, None]).sum())
        count += len(held.truth)
    return {"accuracy": Share(right, count), "bits per token": nats / count / math.log(2)}


def run(model: Any, held: Pass, **more: Any) -> Any:
    """The output of ``model`` for a pass."""
    with torch.inference_mode():
        return model.answer(held.inputs, held.task) if held.task else model(**held.inputs, **more)


def window(checkpoint: Checkpoint) -> Pass:
    """A pass over `WINDOW` tokens, of several texts where one is shorter: of an encoder-decoder, on either side."""
    first, *others = passes(checkpoint)
    inputs = first.inputs
    for other in others:
        if min(value.shape[-1] for value in inputs.values()) >= WINDOW:
            break
        inputs = {name: torch.cat((value, other.inputs[name]), 1)[:, :WINDOW] for name, value in inputs.items()}
    return Pass(inputs, first.positions, first.truth, first.task)


def _windows(checkpoint: Checkpoint) -> Iterator[Tensor]:
    """The story in rows of `WINDOW` tokens."""
    ids = torch.tensor(token_ids(checkpoint, story()))
    return iter(ids[: len(ids) // WINDOW * WINDOW].view(-1, WINDOW))


def _sentences(checkpoint: Checkpoint) -> Iterator[Tensor]:
    """The story in rows of a sentence."""
    return (torch.tensor(token_ids(checkpoint, sentence)) for sentence in _SENTENCE.findall(story()))


def _next(checkpoint: Checkpoint) -> Iterator[Pass]:
    for ids in _windows(checkpoint):
        yield Pass({"input_ids": ids[None]}, torch.arange(WINDOW - 1), ids[1:])


def _masked_windows(checkpoint: Checkpoint) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """The ids (n,) of a text between special tokens, the masked positions, and their tokens."""
    tokenizer: Any = checkpoint.tokenizer
    first, last = torch.tensor([tokenizer.cls_token_id]), torch.tensor([tokenizer.sep_token_id])
    random = torch.Generator().manual_seed(7)
    card = checkpoint.spec.card
    by_sentence = card is not None and card.extra.get("reads") == "sentences"
    for ids in (_sentences if by_sentence else _windows)(checkpoint):
        for _ in range(DRAWS):
            hidden = (torch.rand(len(ids), generator=random) < MASKED).nonzero()[:, 0]
            masked = ids.index_fill(0, hidden, tokenizer.mask_token_id)
            yield torch.cat([first, masked, last]), hidden + 1, ids[hidden]


def _masked(checkpoint: Checkpoint) -> Iterator[Pass]:
    for ids, positions, truth in _masked_windows(checkpoint):
        yield Pass({"input_ids": ids[None]}, positions, truth)


def _at_once(checkpoint: Checkpoint) -> Iterator[Pass]:
    for ids, positions, truth in _masked_windows(checkpoint):
        rank = np.zeros(len(ids), dtype=np.int64)
        rank[positions] = 1
        streams = permuted.streams(ids[None], rank, positions.tolist())
        yield Pass({"input_ids": ids[None], **streams}, torch.arange(len(truth)), truth)


def _with_translation(checkpoint: Checkpoint) -> Iterator[Pass]:
    tokenizer: Any = checkpoint.tokenizer
    random = torch.Generator().manual_seed(7)
    languages = bilingual.numbers(checkpoint)
    for row in records("translations"):
        sides = [token_ids(checkpoint, row[code]) for code in bilingual.LANGUAGES]
        tensors = bilingual.layout([*zip(languages, sides, strict=True)], tokenizer.eos_token_id)
        ids = tensors["input_ids"][0]
        for _ in range(DRAWS):
            chosen = (torch.rand(len(ids), generator=random) < MASKED) & (ids != tokenizer.eos_token_id)
            hidden = chosen.nonzero()[:, 0]
            masked = ids.index_fill(0, hidden, tokenizer.mask_token_id)
            yield Pass(tensors | {"input_ids": masked[None]}, hidden, ids[hidden])


def _replaced(checkpoint: Checkpoint) -> Iterator[Pass]:
    generator = checkpoints.load(checkpoint.spec.slug, "generator")
    for seed, (ids, positions, truth) in enumerate(_masked_windows(checkpoint)):
        sampled, _ = replaced.sample(generator, ids.tolist(), positions.tolist(), seed)
        before, after = (ids.index_copy(0, positions, tokens) for tokens in (truth, torch.tensor(sampled)))
        yield Pass({"input_ids": after[None]}, torch.arange(1, WINDOW + 1), (after != before).long()[1:-1])


def _outputs(checkpoint: Checkpoint) -> Iterator[Pass]:
    (end, *_) = end_ids(checkpoint.model)
    for task in tasks(checkpoint):
        for source, target in pairs(checkpoint, task):
            made = prepare(checkpoint, source, task.slug)
            answer = [*token_ids(checkpoint, target), end]
            inputs = pair(checkpoint, made.source, made.ids, answer)
            yield Pass(inputs.tensors, torch.tensor(inputs.positions), torch.tensor(answer))


def pairs(checkpoint: Checkpoint, task: Task) -> Iterator[tuple[str, str]]:
    """The bundled sources of a task with their targets; none for a task without."""
    yield from bundled_pairs(task)
    if task.denoises:
        sentences = re.split(r"(?<=[.!?])\s+", story())
        room = (max_tokens(checkpoint) or WINDOW) - _ROOM
        for number, sentence_pair in enumerate(zip(sentences[::2], sentences[1::2], strict=False)):
            text = " ".join(sentence_pair)
            if len(token_ids(checkpoint, text)) <= room:
                yield from ((corrupt_text(checkpoint, text, kind, number), text) for kind in CORRUPTIONS)


def _classes(checkpoint: Checkpoint) -> Iterator[Pass]:
    settings: Any = checkpoint.model.config
    for task in adapters.tasks(checkpoint):
        for row in records("adapters"):
            if row["task"] == task.slug:
                tensors = adapters.prepare(checkpoint, row["text"], task.slug).tensors
                answer = settings.adapter_tasks[task.slug]["answers"].index(row["answer"])
                yield Pass(tensors, torch.tensor([0]), torch.tensor([answer]), task.slug)


_PASSES: dict[Feature, Callable[[Checkpoint], Iterator[Pass]]] = {
    "languages": _with_translation,
    "two streams": _at_once,
    "predicts masked tokens": _masked,
    "continues": _next,
    "detects replaced tokens": _replaced,
    "rewrites": _outputs,
    "classifies texts": _classes,
}
