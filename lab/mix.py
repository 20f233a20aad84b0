r"""The layer weights that a small task learns (`core.vectors.mix` has the equation of the mix).

A task's own model is a softmax over the classes of a word,

.. math:: p(y \mid x) = \mathrm{softmax}(W E + b), \qquad E = \gamma \sum_j s_j\, \mathrm{norm}(h_j)

and w, :math:`\gamma`, W and b are learned together by Adam on the cross-entropy, with :math:`\lambda \|W\|^2` added. It
is the same equation, but not ELMo's experiment: the tasks are small, over the treebank. A third of the sentences is
held out; results are means over `SPLITS` random splits.

A linear probe of every layer alone is learned for comparison.

Legend: L layers, n words, w hidden size, C classes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from core.arrays import Floats
from core.attention.roles.treebank import Sentence
from core.lazy import torch
from core.vectors.mix import SPLITS, LearnedMix, normed

TASKS = ("speech", "relation", "next", "position")
"""Probing tasks: a word's part of speech, its relation, the next word's part of speech, its position."""
_STEPS = 150
_RATE = 0.02
_DECAY = 1e-4


def classes(sentence: Sentence, task: str) -> tuple[str, ...]:
    """The class of each word for a task."""
    if task == "speech":
        return sentence.upos
    if task == "relation":
        return tuple(relation.split(":")[0] for relation in sentence.relations)
    if task == "next":
        return (*sentence.upos[1:], "END")
    return tuple(str(min(number, 10)) for number in range(1, len(sentence.words) + 1))


def learn_task(states: Floats, answers: Sequence[str], groups: Sequence[int], task: str) -> LearnedMix:
    """Learn the mix and a linear classifier for one task.

    Args:
        states: (L + 1, n, w) of words.
        answers: (n,) the class of each.
        groups: (n,) the sentence of each; whole sentences are held out.
    """
    names = sorted(set(answers))
    target = torch.tensor([names.index(answer) for answer in answers])
    layers = torch.from_numpy(normed(states).copy())
    result: list[tuple[NDArray[np.float64], float, float, list[float], float]] = []
    for seed in range(SPLITS):
        test = torch.from_numpy(_held_out(groups, seed))
        mix = _fit(layers, target, test, len(names), seed)
        alone = [_fit(layer[None], target, test, len(names), seed)[2] for layer in layers]
        usual = target[~test].mode().values
        result.append((*mix, alone, float((target[test] == usual).float().mean())))
    weights, gammas, accuracies, alone_all, usual_all = zip(*result, strict=True)
    return LearnedMix(
        task,
        tuple(np.mean(weights, axis=0).tolist()),
        float(np.mean(gammas)),
        float(np.mean(accuracies)),
        tuple(np.mean(alone_all, axis=0).tolist()),
        float(np.mean(usual_all)),
        len(answers),
        len(names),
    )


def _held_out(groups: Sequence[int], seed: int) -> NDArray[np.bool_]:
    """(n,) True for words of the third of the sentences that is held out."""
    every = sorted(set(groups))
    order = np.random.default_rng(seed).permutation(len(every))
    test_groups = {every[i] for i in order[: max(1, len(every) // 3)]}
    return np.array([group in test_groups for group in groups])


def _fit(
    layers: Tensor, target: Tensor, test: Tensor, count: int, seed: int
) -> tuple[NDArray[np.float64], float, float]:
    """(s, gamma, test accuracy) of one split."""
    torch.manual_seed(seed)
    width = layers.shape[-1]
    raw = torch.zeros(len(layers), requires_grad=True)
    gamma = torch.ones((), requires_grad=True)
    matrix = torch.zeros(count, width, requires_grad=True)
    bias = torch.zeros(count, requires_grad=True)
    train_layers = layers[:, ~test]
    adam = torch.optim.Adam([raw, gamma, matrix, bias], lr=_RATE)

    def scores(states: Tensor) -> Tensor:
        vectors = gamma * torch.tensordot(raw.softmax(0), states, dims=1)
        result: Tensor = vectors @ matrix.T + bias
        return result

    for _ in range(_STEPS):
        adam.zero_grad()
        loss = torch.nn.functional.cross_entropy(scores(train_layers), target[~test]) + _DECAY * (matrix**2).sum()
        loss.backward()  # type: ignore[no-untyped-call]
        adam.step()
    with torch.no_grad():
        right = scores(layers[:, test]).argmax(-1) == target[test]
        return raw.softmax(0).double().numpy(), float(gamma), float(right.float().mean())
