r"""Distillation of a classifier: a small student on a few labeled and many unlabeled sentences.

.. math:: L = \alpha\, L_{task} + (1 - \alpha)\, T^2\, KL(p_T \,\|\, q_T), \qquad p_T = \mathrm{softmax}(z / T)

with p the teacher's and q the student's probabilities of the classes (Hinton et al. 2015, arXiv 1503.02531). The task's
loss is the cross-entropy of a batch of labeled sentences; the divergence is taken over a batch of unlabeled ones, on
which the teacher alone has an opinion. α = 1 is training on the labels alone, α = 0 on the teacher alone.

Shapes: n labeled, m unlabeled sentences, K classes.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from core.checkpoints.spec import Checkpoint
from core.errors import OutOfRange
from core.finetuning.examples import LabeledSet
from core.finetuning.setup import Setup
from core.finetuning.train import Learner

HIDDEN, HEADS, LAYERS = 32, 2, 1
"""Of the student."""
RATE = 5e-3
"""Its learning rate at the first step; it falls linearly to zero."""
LABELED, UNLABELED = 16, 48
"""Sentences of a step."""
STEPS, EVERY = 100, 20


@dataclass(frozen=True, slots=True)
class DistillationRow:
    """A model after some steps of training; of teacher and majority, one for each seed, only the accuracy counts."""

    model: str
    """student, teacher or majority."""
    seed: int
    alpha: float
    temperature: int
    step: int
    loss: float
    """Mean of the loss since the last row, in nats."""
    accuracy: float
    """Share of the held-out sentences whose class is predicted."""


def student_of(teacher: Checkpoint) -> Checkpoint:
    """A model of the teacher's architecture, much smaller and with random weights, with the teacher's tokenizer."""
    base: Any = teacher.model.base_model
    config = copy.deepcopy(base.config)
    config.update(
        {
            "hidden_size": HIDDEN,
            "intermediate_size": 4 * HIDDEN,
            "num_attention_heads": HEADS,
            "num_hidden_layers": LAYERS,
        }
    )
    return Checkpoint(type(teacher.model)(config).eval(), teacher.tokenizer, teacher.spec)


def loss(
    scores: Tensor | None, goal: Tensor, soft: Tensor | None, teacher: Tensor, alpha: float, temperature: float
) -> Tensor:
    """The loss of a step, in nats.

    Args:
        scores, goal: (n, K) of the student and (n,) the classes of the labeled sentences; None where α is 0.
        soft, teacher: (m, K) of student and teacher for the unlabeled sentences; None where α is 1.
    """
    total = torch.zeros(())
    if scores is not None:
        total = total + alpha * functional.cross_entropy(scores, goal)
    if soft is not None:
        p, q = (teacher / temperature).log_softmax(-1), (soft / temperature).log_softmax(-1)
        divergence = functional.kl_div(q, p, reduction="batchmean", log_target=True)
        total = total + (1 - alpha) * temperature**2 * divergence
    return total


@torch.no_grad()
def scores_of(learner: Learner, texts: Sequence[str], batch: int = 100) -> Tensor:
    """(n, K): the scores of the classes before the softmax."""
    parts = [learner.encode(texts[start : start + batch]) for start in range(0, len(texts), batch)]
    return torch.cat([learner.head(learner.states(part)) for part in parts])


def accuracy(learner: Learner, data: LabeledSet) -> float:
    """Share of the held-out texts whose class is predicted."""
    truth = torch.tensor([data.labels.index(example.label) for example in data.held_out])
    predicted = scores_of(learner, [example.text for example in data.held_out]).argmax(-1)
    return float((predicted == truth).float().mean())


def distill(
    student: Checkpoint,
    data: LabeledSet,
    unlabeled: Sequence[str],
    teacher: Tensor,
    alpha: float,
    temperature: int,
    seed: int,
    steps: int = STEPS,
) -> Iterator[DistillationRow]:
    """Train a student; yield its state every :data:`EVERY` steps.

    Args:
        teacher: (m, K) scores of the unlabeled texts.

    Raises:
        OutOfRange: α or T is out of range.
    """
    if not (0 <= alpha <= 1 and temperature > 0):
        raise OutOfRange("Alpha lies from 0 to 1, the temperature above 0.")
    learner = Learner(student, len(data.labels), Setup("all", "mean", rate=RATE, seed=seed, pretrained=False))
    goal = torch.tensor([data.labels.index(example.label) for example in data.train])
    labeled, others = learner.encode([example.text for example in data.train]), learner.encode(unlabeled)
    optimizer = learner.optimizer()
    falling = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
    random, losses = torch.Generator().manual_seed(seed), []
    for step in range(1, steps + 1):
        mine = torch.randint(len(goal), (LABELED,), generator=random)
        theirs = torch.randint(len(teacher), (UNLABELED,), generator=random)
        scores = learner.head(learner.states({k: v[mine] for k, v in labeled.items()})) if alpha > 0 else None
        soft = learner.head(learner.states({k: v[theirs] for k, v in others.items()})) if alpha < 1 else None
        now = loss(scores, goal[mine], soft, teacher[theirs], alpha, temperature)
        optimizer.zero_grad()
        now.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_([*learner.head.parameters(), *learner.parameters.values()], 1.0)
        optimizer.step()
        falling.step()
        losses.append(float(now.detach()))
        if step % EVERY == 0 or step == steps:
            mean = sum(losses) / len(losses)
            yield DistillationRow("student", seed, alpha, temperature, step, mean, accuracy(learner, data))
            losses.clear()
