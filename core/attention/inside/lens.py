r"""The logit lens: the prediction from each layer's state through the model's own head (nostalgebraist 2020).

With :math:`h^{(l)}` the hidden state after layer l at the predicted position, N the final norm, if any, and g the
model's head,

.. math:: p^{(l)}(y) = \mathrm{softmax}_y \bigl( g(N(h^{(l)})) \bigr)

which for the last layer is the model's prediction. The head was trained on the last layer's states alone, so the
probabilities of earlier layers are not predictions of the model; layers with another basis look like noise (Belrose et
al. 2023, arXiv 2303.08112).

The states are put in place of the head's input in the pass that computes them, a row for each layer, so everything
between states and scores (a scale in T5, a bias in BART, BERT's transform) is included.

A model with adapters predicts the classes of a task; its head g reads the mean over the n attended tokens,

.. math:: p^{(l)}(y) = \mathrm{softmax}_y \Bigl( g\bigl(\tfrac{1}{n} \textstyle\sum_i h^{(l)}_i\bigr) \Bigr)

Legend: L layers, w hidden size, V answers.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.attention.ablation.question import ask, best, head_site
from core.attention.inside.states import STATES, states_of
from core.attention.inside.states import by_layer as by_layer_of
from core.attention.inside.steps import exists
from core.attention.layers import stacks
from core.checkpoints.spec import Checkpoint
from core.errors import InputUnusable
from core.language.adapters import through
from core.language.inputs import Inputs
from core.language.makers import inputs
from core.language.types import labels
from core.lazy import Tensor, torch
from core.run.run import CURRENT


@dataclass(frozen=True, slots=True)
class LayerPrediction:
    """The most probable answers after one layer."""

    layer: int
    """Counted from 1; 0 stands for the embeddings, before any layer."""
    tokens: tuple[str, ...]
    probabilities: tuple[float, ...]
    ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class LensTrajectory:
    """The predictions layer by layer; entry 0 is the embeddings."""

    predictions: tuple[LayerPrediction, ...]
    answer: str
    """The top prediction of the last layer."""
    probabilities: tuple[float, ...]
    """(L + 1,) of that answer after each layer."""
    ranks: tuple[int, ...]
    """(L + 1,) its rank among all answers, from 1."""
    answers: int
    """V."""
    tokens: tuple[str, ...]
    """Labels of the input tokens of the predicting side."""
    position: int
    """The position in ``tokens`` that the head reads."""


def trajectory(checkpoint: Checkpoint, text: str, task: str | None = None, k: int = 5) -> LensTrajectory:
    """:func:`lens`, with the probability and rank of the final prediction after each layer.

    Raises:
        As :func:`lens`.
    """
    question = inputs(checkpoint, text, task, step=0)
    logs = ask_each_layer(question)
    predictions = _best(question, logs, k)
    final_logs = logs[:, predictions[-1].ids[0]]
    before = (logs > final_logs[:, None]).sum(-1)
    return LensTrajectory(
        predictions,
        predictions[-1].tokens[0],
        tuple(final_logs.exp().tolist()),
        tuple(int(count) + 1 for count in before),
        logs.shape[-1],
        labels(question.tokens),
        question.position,
    )


def lens(checkpoint: Checkpoint, text: str, task: str | None = None, k: int = 5) -> tuple[LayerPrediction, ...]:
    """The ``k`` best answers to ``text`` after each layer, embeddings first.

    Raises:
        InputUnusable: no mask, or a head that cannot be applied to each layer.
        InputEmpty, InputTooLong, OutOfRange, UnknownTask: as `core.language.makers.inputs`.
    """
    return by_layer(inputs(checkpoint, text, task, step=0), k)


def by_layer(question: Inputs, k: int) -> tuple[LayerPrediction, ...]:
    """:func:`lens` for a question that is already prepared."""
    return _best(question, ask_each_layer(question), k)


def _best(question: Inputs, logs: Tensor, k: int) -> tuple[LayerPrediction, ...]:
    predictions = (best(question, row, k) for row in logs)
    return tuple(
        LayerPrediction(i, prediction.tokens, prediction.probabilities, prediction.ids)
        for i, prediction in enumerate(predictions)
    )


def ask_each_layer(question: Inputs) -> Tensor:
    """(L + 1, V) natural log-probabilities of the answers after each layer, embeddings first.

    Raises:
        InputUnusable: an unknown architecture.
    """
    checkpoint = question.checkpoint
    if question.task is not None:
        with torch.inference_mode():
            scores: Tensor = checkpoint.model.tasks[question.task].head(_means(question))
            return scores.float().log_softmax(-1)
    stack = stacks(checkpoint)[-1]
    plan = stack.blueprint
    if plan is None:
        raise InputUnusable(f"{checkpoint.spec.name} has no head to apply to each layer. GPT-2 has one.")
    path = stack.prefix + plan.final
    norm = checkpoint.model.get_submodule(path) if plan.final and exists(checkpoint.model, path) else None
    # XLNet's query stream, which predicts, has rows for the targets alone
    position = 0 if "target_mapping" in question.tensors else question.position

    def of_each_layer(_: Tensor) -> Tensor:
        recorded = CURRENT.get()
        assert recorded is not None
        states = states_of(recorded, stack)[:, position]
        if norm is not None:  # but for a Reformer's, the last state of transformers is already normalized
            states = norm(states) if plan.streams == 2 else torch.cat((norm(states[:-1]), states[-1:]))
        return states[:, None]

    return ask(question, keep=STATES, edits={head_site(question): of_each_layer}).logs


def _means(question: Inputs) -> Tensor:
    """(L + 1, w) mean states of the attended tokens, through the adapters of the question's task."""
    with through(question.checkpoint, question.task):
        hidden_states = by_layer_of(question)
    seen = question.tensors["attention_mask"][0].bool()
    return hidden_states[:, seen].mean(1)
