r"""Zero-, one- and few-shot prompts: a task given as text, without a change of weights (GPT-3, arXiv 2005.14165).

A prompt is a description of the task, no, one or more solved examples, and the query; the answer is what the model
continues with. Over K labels, with :math:`v_y` the first token of label y, the prediction is

.. math:: \arg\max_y\; p(v_y \mid \text{prompt}), \qquad \text{shown as } p(v_y) \Big/ \sum_{y'} p(v_{y'}).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.checkpoints.spec import Checkpoint
from core.errors import InputEmpty, InputTooLong, InputUnusable
from core.language.decoding.reader import scores_at
from core.language.generate import prompted
from core.language.text import clean
from core.turns import turns

MOST, LONGEST = 8, 200
"""Examples, and characters of one."""
Example = tuple[str, str]
"""A text and its label."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """Of one prompt."""

    shares: tuple[float, ...]
    """The labels' probabilities among themselves."""
    mass: float
    """Their sum under the model: the rest is on other tokens."""


def examples(lines: str) -> tuple[Example, ...]:
    """The examples of a box, ``text => label`` on each line.

    Raises:
        InputEmpty, InputTooLong: fewer than two, or too many.
        InputUnusable: a line is no example, or all have one label.
    """
    found: list[Example] = []
    for number, line in enumerate(filter(str.strip, clean(lines, newlines=True).split("\n")), 1):
        text, arrow, label = (part.strip() for part in line.rpartition("=>"))
        if not (text and arrow and label):
            raise InputUnusable(f"Line {number} is no example. Write text, arrow and label: “It rains. => weather”.")
        if len(line) > LONGEST or len(found) == MOST:
            raise InputTooLong(f"At most {MOST} examples of {LONGEST} characters each fit here.")
        found.append((text, label))
    if len(found) < 2:
        raise InputEmpty("Type at least two examples, one on each line.")
    if len({label for _, label in found}) < 2:
        raise InputUnusable(f"All examples have the label “{found[0][1][:30]}”. Give two labels or more.")
    return tuple(found)


def labels(shots: Sequence[Example]) -> tuple[str, ...]:
    """The different labels, in their order."""
    return tuple(dict.fromkeys(label for _, label in shots))


def prompt(task: str, shots: Sequence[Example], query: str) -> str:
    """The whole prompt."""
    return "\n".join((task, *(f"{text} => {label}" for text, label in shots), f"{query} =>"))


def predict(checkpoint: Checkpoint, prompts: Sequence[str], choices: Sequence[str]) -> tuple[Prediction, ...]:
    """The labels' probabilities after each prompt, by their first tokens.

    Raises:
        InputTooLong: a prompt does not fit the model.
        InputUnusable: two labels begin with the same token.
    """
    tokenizer = checkpoint.tokenizer
    first = [tokenizer(f" {label}", add_special_tokens=False, verbose=False)["input_ids"][0] for label in choices]
    if len(set(first)) < len(first):
        raise InputUnusable("Two labels begin with the same token. Choose labels that begin with different words.")
    found = []
    for text in prompts:
        turns.step()
        chances = scores_at(checkpoint, prompted(checkpoint, text), ()).softmax(-1)[first].tolist()
        found.append(Prediction(tuple(chance / sum(chances) for chance in chances), sum(chances)))
    return tuple(found)


def accuracy(
    checkpoint: Checkpoint, task: str, shots: Sequence[Example], held_out: Sequence[Example], choices: Sequence[str]
) -> float:
    """The share of held-out texts whose label is the most probable one."""
    found = predict(checkpoint, [prompt(task, shots, text) for text, _ in held_out], choices)
    right = [
        choices[one.shares.index(max(one.shares))] == label for one, (_, label) in zip(found, held_out, strict=True)
    ]
    return sum(right) / len(right)
