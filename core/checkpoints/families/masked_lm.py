"""Encoders that fill masked positions from both sides (BERT and its relatives)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from core.checkpoints.families.family import ModelFamily

if TYPE_CHECKING:
    from torch import Tensor

SENTENCES = (
    "The cat that the dog chased sat on the mat because it was tired.",
    "She poured water from the jug into the cup until it was full.",
    "Paris is the capital of France, and Rome is the capital of Italy.",
)

FAMILY = ModelFamily(
    kind="masked-lm",
    branch="encoder",
    auto="AutoModelForMaskedLM",
    table="MODEL_FOR_MASKED_LM_MAPPING_NAMES",
    classes=("BertForPreTraining", "AlbertForPreTraining"),  # which keep both heads of their pretraining
    offers=frozenset({"predicts masked tokens", "two texts"}),
    streams=("encoder",),
    does="predicts masked tokens",
    answers="masked tokens",
    asks="What stands in place of the first mask",
    asked="The cat that the dog chased sat on the [MASK] because it was tired.",
    samples=SENTENCES,
)

_HEADS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("bert", "mobilebert", "squeezebert"), lambda m: m.cls.predictions),
    **dict.fromkeys(
        ("roberta", "xlm-roberta", "camembert", "xlm-roberta-xl", "roberta-prelayernorm", "mpnet"), lambda m: m.lm_head
    ),
    **dict.fromkeys(("electra", "convbert"), lambda m: lambda h: m.generator_lm_head(m.generator_predictions(h))),
    "albert": lambda m: m.predictions,
    "distilbert": lambda m: lambda h: m.vocab_projector(m.vocab_layer_norm(m.activation(m.vocab_transform(h)))),
    "deberta-v2": lambda m: m.cls if m.legacy else lambda h: m.lm_predictions(h, m.get_input_embeddings()),
    "xlm": lambda m: lambda h: m.pred_layer(h)[0],
    "modernbert": lambda m: lambda h: m.decoder(m.head(h)),
}


def word_head(model: Any) -> Callable[[Tensor], Tensor] | None:
    """How a model's last states (..., width) become scores (..., V), where its head reads each position alone.

    None for other architectures: those go through the model's own forward pass, which projects every position.
    """
    find = _HEADS.get(model.config.model_type)
    return find(model) if find else None
