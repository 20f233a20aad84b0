"""Encoders as they are pretrained: transformers' own classes, with only the chosen places meeting the vocabulary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from core.errors import AtlasError
from core.training.disentangled import hasten


def new_model(settings: dict[str, Any], vocabulary: int, pad: int = 0) -> Any:
    """transformers' pretraining class of ``settings["type"]`` with random weights; no dropout."""
    from transformers import AutoConfig, AutoModelForPreTraining

    settings = dict(settings)
    config = AutoConfig.for_model(
        settings.pop("type"),
        vocab_size=vocabulary,
        pad_token_id=pad,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        **settings,
    )
    return hasten(AutoModelForPreTraining.from_config(config, attn_implementation="eager"))  # on short rows faster


class EncoderModel(nn.Module):
    """An encoder with its heads; only chosen positions meet the vocabulary."""

    def __init__(self, full: Any) -> None:
        super().__init__()
        self.full = full
        self._words, self._pair = heads(full)
        self.typed = getattr(full.config, "type_vocab_size", 0) > 1

    def read(self, ids: Tensor, types: Tensor, real: Tensor) -> Any:
        """What the encoder returns: ``last_hidden_state`` (rows, length, width), ``pooler_output`` where it has one."""
        given = {"token_type_ids": types} if self.typed else {}
        return self.full.base_model(input_ids=ids, attention_mask=real, **given)

    def words(self, hidden: Tensor) -> Tensor:
        """(n, width) states to (n, vocabulary) scores."""
        scores: Tensor = self._words(hidden)
        return scores

    def forward(self, ids: Tensor, types: Tensor, real: Tensor, chosen: Tensor) -> tuple[Tensor, Tensor | None]:
        """(chosen, vocabulary) scores of words, and (rows, 2) scores of the pair where the model has such a head."""
        out = self.read(ids, types, real)
        return self.words(out.last_hidden_state[chosen]), None if self._pair is None else self._pair(out.pooler_output)


def heads(full: Any) -> tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor] | None]:
    """The head for words of a pretraining class, and its head for pairs or None."""
    kind = full.config.model_type
    if kind == "bert":
        return full.cls.predictions, full.cls.seq_relationship
    if kind == "albert":
        return full.predictions, full.sop_classifier
    if kind == "roberta":
        return full.lm_head, None
    if kind == "deberta-v2":
        return full.cls, None
    if kind == "distilbert":
        return lambda h: full.vocab_projector(full.vocab_layer_norm(full.activation(full.vocab_transform(h)))), None
    raise AtlasError(f"No head is known for models of the type {kind!r}.")
