"""Distillation (Sanh et al., 2019): a student of half the layers learns from its teacher's scores and states.

.. math:: L = 5 T^2 \\, KL\\big(p_T \\,\\|\\, q_T\\big) + 2 L_{MLM} + \\big(1 - \\cos(h, h')\\big)

with :math:`p_T, q_T` the distributions of teacher and student at temperature :math:`T = 2` over the chosen places, and
:math:`h, h'` their last states at every token. The student starts as every second layer of the teacher, and has
neither segments nor pooler.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from core.objectives.distillation import HARD, SOFT, STATES, TEMPERATURE
from core.training.encoder_model import EncoderModel, new_model
from core.training.finished import finished_bert
from core.training.objectives.encoder import EncoderObjective


@torch.no_grad()
def every_second_layer(student: Any, teacher: Any) -> None:
    """Copies into a DistilBertForMaskedLM what it shares with a BertForPreTraining of twice its layers."""
    own, bert = student.distilbert, teacher.bert
    for name in ("word_embeddings", "position_embeddings", "LayerNorm"):
        getattr(own.embeddings, name).load_state_dict(getattr(bert.embeddings, name).state_dict())
    own.embeddings.position_embeddings.weight += bert.embeddings.token_type_embeddings.weight[0]  # its only segment
    for layer, source in zip(own.transformer.layer, bert.encoder.layer[::2], strict=True):
        for mine, theirs in (
            (layer.attention.q_lin, source.attention.self.query),
            (layer.attention.k_lin, source.attention.self.key),
            (layer.attention.v_lin, source.attention.self.value),
            (layer.attention.out_lin, source.attention.output.dense),
            (layer.sa_layer_norm, source.attention.output.LayerNorm),
            (layer.ffn.lin1, source.intermediate.dense),
            (layer.ffn.lin2, source.output.dense),
            (layer.output_layer_norm, source.output.LayerNorm),
        ):
            mine.load_state_dict(theirs.state_dict())
    head = teacher.cls.predictions
    student.vocab_transform.load_state_dict(head.transform.dense.state_dict())
    student.vocab_layer_norm.load_state_dict(head.transform.LayerNorm.state_dict())
    student.vocab_projector.bias.copy_(head.decoder.bias)


class DistilObjective(EncoderObjective):
    """The masked objective with a teacher beside the student."""

    def new_model(self) -> Any:
        settings = dict(self.recipe.model)
        full = finished_bert(str(settings.pop("teacher")), self.stages)
        self.teacher = EncoderModel(full).eval().requires_grad_(False)
        student = new_model(settings, self.tokenizer.get_vocab_size())
        every_second_layer(student, full)
        return EncoderModel(student)

    def loss(self, batch: dict[str, Tensor]) -> Tensor:
        given = batch["ids"], batch["types"], batch["real"]
        chosen, real = batch["chosen"], batch["real"].bool()
        with torch.no_grad():
            known = self.teacher.to(batch["ids"].device).read(*given).last_hidden_state
            soft = (self.teacher.words(known[chosen]).float() / TEMPERATURE).log_softmax(-1)
        states = self.model.read(*given).last_hidden_state
        scores = self.model.words(states[chosen]).float()
        likeness = functional.cosine_similarity(states[real].float(), known[real].float(), dim=-1)
        return (
            SOFT * TEMPERATURE**2 * divergence(soft, scores)
            + HARD * functional.cross_entropy(scores, batch["labels"])
            + STATES * (1 - likeness).mean()
        )


def divergence(teacher: Tensor, student: Tensor) -> Tensor:
    """Mean over rows of KL(teacher, student) at `TEMPERATURE`, in nats.

    Args:
        teacher: (n, classes) log-probabilities at the temperature.
        student: (n, classes) scores, not yet divided by it.
    """
    logs = (student / TEMPERATURE).log_softmax(-1)
    return functional.kl_div(logs, teacher, reduction="batchmean", log_target=True)
