r"""What live models make of examples with a decoder, with an order of their own, and of a sentence and its translation.

As in :mod:`core.language.losses`: :math:`-\log p` of the target at each place that is asked, in nats.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.checkpoints.spec import Checkpoint
from core.errors import InputUnusable
from core.language import bilingual, permuted
from core.language.limits import check_length
from core.language.losses import Losses, ids_of, paid_at
from core.language.tokens import label
from core.objectives.example import Example

if TYPE_CHECKING:
    from torch import Tensor


def of_written(checkpoint: Checkpoint, example: Example) -> Losses:
    """An encoder-decoder, at every place of ``decoder``.

    :raises InputTooLong: more tokens on either side than the model has positions.
    """
    import torch

    check_length(checkpoint, max(len(example.source), len(example.decoder)))
    device = checkpoint.model.device
    read, written = (
        torch.tensor([ids_of(checkpoint, [cell.token for cell in cells])], device=device)
        for cells in (example.source, example.decoder)
    )
    with torch.inference_mode():
        logits = checkpoint.model(input_ids=read, decoder_input_ids=written).logits[0]
    places = [at for at, cell in enumerate(example.decoder) if cell.target is not None]
    return Losses(decoder=paid_at(checkpoint, example.decoder, places, logits[places]), options=logits.shape[-1])


def of_order(checkpoint: Checkpoint, example: Example) -> Losses:
    """A permutation language model, at every place of the example's order, each given those before it.

    :raises InputTooLong: more tokens than the model has positions.
    """
    check_length(checkpoint, len(example.source))
    row = ids_of(checkpoint, [cell.token for cell in example.source])
    logs = permuted.in_order(checkpoint.model, row, example.order)
    return Losses(source=paid_at(checkpoint, example.source, example.order, logs), options=logs.shape[-1])


def of_translation(checkpoint: Checkpoint, example: Example) -> Losses:
    """An XLM, at every place that is asked; each cell says its language and its position.

    :raises InputTooLong: more tokens in a sentence than the model has positions.
    :raises InputUnusable: the model has no vectors for both languages.
    """
    languages = bilingual.numbers(checkpoint)
    positions = [int(cell.position or 0) for cell in example.source]
    check_length(checkpoint, max(positions) + 1)
    row = bilingual.Row(
        tuple(ids_of(checkpoint, [cell.token for cell in example.source])),
        tuple(languages[cell.segment] for cell in example.source),
        tuple(positions),
    )
    if not example.asked:
        return Losses()
    logits = bilingual.scores(checkpoint.model, row, example.asked)
    return Losses(source=paid_at(checkpoint, example.source, example.asked, logits), options=logits.shape[-1])


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """A teacher and its student on one damaged text of n tokens, at m hidden ones."""

    teacher: NDArray[np.float32]  # (m, V) scores
    student: NDArray[np.float32]  # (m, V)
    truth: NDArray[np.int64]  # (m,) what stood there
    states: tuple[NDArray[np.float32], NDArray[np.float32]]  # (n, d) last states of both
    names: tuple[str, ...]
    """All V pieces as labels."""


def scored(teacher: Checkpoint, student: Checkpoint, example: Example) -> Scored:
    """Scores and states of two models with one vocabulary.

    :raises InputTooLong: more tokens than a model has positions.
    :raises InputUnusable: the vocabularies differ, or nothing is asked.
    """
    if len(teacher.tokenizer) != len(student.tokenizer):
        raise InputUnusable(f"{student.spec.name} and {teacher.spec.name} have different vocabularies.")
    if not example.asked:
        raise InputUnusable("No token is hidden. Type a sentence of a few words.")
    for one in (teacher, student):
        check_length(one, len(example.source))
    truth = ids_of(teacher, [example.source[place].target or "" for place in example.asked])
    row = ids_of(teacher, [cell.token for cell in example.source])
    (t_scores, t_states), (s_scores, s_states) = (_read(one, row, example) for one in (teacher, student))
    names = tuple(label(teacher.tokenizer, i) for i in range(t_scores.shape[-1]))
    return Scored(t_scores, s_scores, np.asarray(truth, dtype=np.int64), (t_states, s_states), names)


def _read(checkpoint: Checkpoint, row: list[int], example: Example) -> tuple[Any, Any]:
    """(m, V) scores at the asked places and (n, d) last states."""
    import torch

    model: Any = checkpoint.model
    with torch.inference_mode():
        out = model(input_ids=torch.tensor([row], device=model.device), output_hidden_states=True)
    logits: Tensor = out.logits if "logits" in out else out.prediction_logits
    scores = logits[0, list(example.asked)].float().cpu().numpy()
    return scores, out.hidden_states[-1][0].float().cpu().numpy()
