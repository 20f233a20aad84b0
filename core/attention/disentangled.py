"""The terms of DeBERTa's scores over a text, and its predictions without each (`core.run.odd.disentangled`).

Legend: H heads, n tokens, L layers, T terms.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from core.arrays import Floats
from core.attention.trace import frozen
from core.checkpoints.families.architectures import word_head
from core.checkpoints.spec import Checkpoint
from core.errors import InputTooLong, InputUnusable, NoAttentionMatrix
from core.language.fill_mask import prepare
from core.language.inputs import Inputs
from core.language.tokens import label, special_positions
from core.language.types import labels
from core.lazy import Tensor, torch
from core.run.model import Model
from core.run.odd import COMPONENTS
from core.run.run import Site, run


@dataclass(frozen=True, slots=True)
class ScoredPass:
    """The scores and states of one forward pass."""

    states: Tensor
    """(1, n, width) of the last layer."""
    scores: Tensor
    """(L, 3, H, n, n) terms of every score, in the order of `COMPONENTS`; ablated ones are zero."""
    weights: Tensor
    """(L, H, n, n) the softmax of their sum."""


def supported(model: Model) -> bool:
    """Whether `run_with_terms` can decompose the model's scores."""
    config = model.config
    return bool(
        config.model_type == "deberta-v2"
        and getattr(config, "relative_attention", False)
        and sorted(config.pos_att_type or ()) == sorted(COMPONENTS[1:])
    )


def run_with_terms(model: Model, ids: Tensor, parts: Collection[str] = COMPONENTS) -> ScoredPass:
    """Run a DeBERTa base model over one text with the score terms in ``parts`` alone; the model is not changed.

    Args:
        model: of a loaded checkpoint of a DeBERTa.
        ids: (1, n).

    Raises:
        NoAttentionMatrix: the model's scores have no such terms.
    """
    if not supported(model):
        raise NoAttentionMatrix("This model's attention scores cannot be taken apart into content and position here.")
    layers = range(int(model.config.num_hidden_layers))
    dropped = [part for part in COMPONENTS if part not in parts]
    edits = {Site("encoder", layer, f"terms.{part}"): torch.zeros_like for layer in layers for part in dropped}
    recorded = run(model.base_model, {"input_ids": ids}, keep={"terms", "pattern"}, edits=edits)
    scores = [torch.cat([recorded.terms("encoder", layer)[part] for part in COMPONENTS]) for layer in layers]
    return ScoredPass(
        recorded.output.last_hidden_state, torch.stack(scores), torch.cat(recorded.layers("encoder", "pattern"))
    )


MOST = 40
"""The most tokens of a text."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoreComponents:
    """The score terms of one text."""

    tokens: tuple[str, ...]
    """Labels of the input tokens, masks included."""
    scores: Floats
    """(L, T, H, n, n), scaled, before the softmax: content to content, content to position, position to content."""
    weights: Floats
    """(L, H, n, n) the softmax of their sum."""
    masks: tuple[int, ...] = ()
    """Positions of the mask tokens."""
    special: tuple[int, ...] = ()
    """Positions of the special ones."""


@dataclass(frozen=True, slots=True)
class ComponentAblation:
    """The predictions for the first mask without one term."""

    component: str
    """The term of `COMPONENTS` that was ablated in every score of every layer; empty for none."""
    tokens: tuple[str, ...]
    probabilities: tuple[float, ...]


def score_components(checkpoint: Checkpoint, text: str) -> ScoreComponents:
    """The terms of the scores of ``text``.

    Raises:
        InputEmpty, InputTooLong: nothing readable, or more tokens than the model's positions or `MOST`.
        NoAttentionMatrix: the model's scores have no such terms.
    """
    inputs = _inputs(checkpoint, text)
    reading = run_with_terms(checkpoint.model, inputs.tensors["input_ids"])
    return ScoreComponents(
        labels(inputs.tokens),
        frozen(reading.scores.float().numpy()),
        frozen(reading.weights.float().numpy()),
        inputs.positions,
        special_positions(checkpoint.tokenizer, inputs.tokens),
    )


def predict_without_components(checkpoint: Checkpoint, text: str, k: int = 5) -> tuple[ComponentAblation, ...]:
    """The ``k`` top predictions for the first mask of ``text``: of the whole model, and without each term.

    Raises:
        InputUnusable: no mask in the text.
        InputEmpty, InputTooLong, NoAttentionMatrix: as :func:`score_components`.
    """
    inputs = _inputs(checkpoint, text)
    if not inputs.positions:
        raise InputUnusable("There is no mask in this text. Type [MASK] in place of a word to see it predicted.")
    model = checkpoint.model
    head = word_head(model)
    assert head is not None  # both model classes have one
    out = []
    for ablated in ("", *COMPONENTS):
        states = run_with_terms(
            model, inputs.tensors["input_ids"], [part for part in COMPONENTS if part != ablated]
        ).states
        best = head(states[:, [inputs.position]])[0, 0].detach().float().softmax(-1).topk(k)
        words = tuple(label(checkpoint.tokenizer, i) for i in best.indices.tolist())
        out.append(ComponentAblation(ablated, words, tuple(best.values.tolist())))
    return tuple(out)


def _inputs(checkpoint: Checkpoint, text: str) -> Inputs:
    inputs = prepare(checkpoint, text)
    if len(inputs.tokens) > MOST:
        raise InputTooLong(
            f"This text has {len(inputs.tokens):,} tokens; the parts of its scores are drawn for up to {MOST}. "
            f"A sentence of about {MOST // 2} words or fewer works."
        )
    return inputs
