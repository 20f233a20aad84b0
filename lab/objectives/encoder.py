r"""Pretraining of encoders: masked language modeling, with a sentence-pair task; distillation.

.. math:: L = -\frac{1}{|M|} \sum_{i \in M} \log p(x_i \mid \tilde x) - \log p(y \mid \tilde x)

with :math:`M` the chosen 15% of the tokens (`core.objectives.masked`), :math:`\tilde x` the corrupted text and
:math:`y` the label of the pair. Masks are sampled at each use of a text (dynamic; Liu et al., 2019), or once (static;
Devlin et al., 2019).

A student with half the layers is trained on its teacher's logits and states (Sanh et al., 2019):

.. math:: L = 5 T^2 \, KL\big(p_T \,\|\, q_T\big) + 2 L_{MLM} + \big(1 - \cos(h, h')\big)

with :math:`p_T, q_T` the distributions of teacher and student at temperature :math:`T = 2` at the chosen positions, and
:math:`h, h'` their last hidden states at every token. The student is initialized from every second layer of the
teacher, without segments and pooler.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from core.checkpoints.families.architectures import word_head
from core.errors import AtlasError
from core.objectives import masked
from core.objectives.distillation import HARD, SOFT, STATES, TEMPERATURE
from lab import documents, models
from lab.documents import NO_LABEL, Examples
from lab.objective import Batch, Hits, Objective
from lab.tokenizers import BERT


def new_encoder(settings: dict[str, Any], vocabulary: int) -> Any:
    """The ``AutoModelForPreTraining`` of ``settings["type"]`` with random weights, without dropout."""
    return models.new_model(settings, "PreTraining", vocab_size=vocabulary, pad_token_id=0)


class EncoderModel(nn.Module):
    """An encoder with its heads; logits are computed at chosen positions alone."""

    def __init__(self, full: Any) -> None:
        super().__init__()
        self.full = full
        self._words, self._pair = heads(full)
        self.typed = getattr(full.config, "type_vocab_size", 0) > 1

    def encode(self, ids: Tensor, types: Tensor, real: Tensor) -> Any:
        """The encoder's output: ``last_hidden_state`` (rows, length, hidden size), perhaps ``pooler_output``."""
        segments = {"token_type_ids": types} if self.typed else {}
        return self.full.base_model(input_ids=ids, attention_mask=real, **segments)

    def words(self, hidden: Tensor) -> Tensor:
        """Logits (n, vocabulary) of states (n, hidden size)."""
        scores: Tensor = self._words(hidden)
        return scores

    def forward(self, ids: Tensor, types: Tensor, real: Tensor, chosen: Tensor) -> tuple[Tensor, Tensor | None]:
        """Logits (chosen, vocabulary) of tokens, and (rows, 2) of the pair if the model has such a head."""
        out = self.encode(ids, types, real)
        return self.words(out.last_hidden_state[chosen]), None if self._pair is None else self._pair(out.pooler_output)


def heads(full: Any) -> tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor] | None]:
    """The language-modeling head of a pretraining class, and its head for pairs, if any."""
    words = word_head(full)
    if words is None:
        raise AtlasError(f"No head is known for models of the type {full.config.model_type!r}.")
    return words, getattr(full, "sop_classifier", None) or getattr(getattr(full, "cls", None), "seq_relationship", None)


class EncoderObjective(Objective):
    """Chunks of documents, of similar length per batch."""

    def prepare_data(self) -> None:
        data = self.recipe.data
        self.tokenizer, train, test = documents.prepare(self.recipe, self.corpus, self.stages)
        question, fates = str(data.get("pairs", "")), tuple(data.get("fates", masked.FATES))
        self.train, self.test = (Examples(side, self.tokenizer, question, fates) for side in (train, test))
        self.origin, self.positions = train.source, int(data["width"])
        self.keys = self.cost = self.train.sizes

    def new_model(self) -> Any:
        """Random weights; an ALBERT with ``start`` is initialized from that BERT."""
        settings = dict(self.recipe.model)
        start, layer = settings.pop("start", None), int(settings.pop("start_layer", 0))
        model = new_encoder(settings, self.tokenizer.get_vocab_size())
        if start is not None:
            share(model, models.finished_bert(str(start), self.stages), layer)
        return EncoderModel(model)

    def batch(self, step: int) -> Batch:
        index = self.epochs[step]
        static = self.recipe.data.get("static", False)
        fixed_rngs = [np.random.default_rng([self.recipe.seed, 2, int(chunk)]) for chunk in index]
        return self.train.rows(index, fixed_rngs if static else self.rngs(step, index))

    def loss(self, batch: Batch) -> Tensor:
        words, pair = self.model(batch["ids"], batch["types"], batch["real"], batch["chosen"])
        loss = functional.cross_entropy(words.float(), batch["labels"])
        paired = batch["answers"] != NO_LABEL
        if pair is not None and paired.any():
            loss = loss + functional.cross_entropy(pair.float()[paired], batch["answers"][paired])
        return loss

    def measure(self) -> dict[str, float]:
        return masked_tokens(self.model, self.test)

    @property
    def special(self) -> dict[str, Any]:  # type: ignore[override]
        inputs = ["input_ids", *["token_type_ids"] * self.model.typed, "attention_mask"]
        return BERT | {"model_input_names": inputs}


@torch.no_grad()
def masked_tokens(model: EncoderModel, held: Examples) -> dict[str, float]:
    """Loss (nats), top-1 and top-5 accuracy on the chosen tokens, and accuracy on pairs, in percent."""
    hits = Hits()
    right = paired = 0
    for batch in held.measured(next(model.parameters()).device):
        words, pair = model(batch["ids"], batch["types"], batch["real"], batch["chosen"])
        hits.add(words, batch["labels"])
        if pair is not None:
            labeled = batch["answers"] != NO_LABEL
            right += int((pair.argmax(1) == batch["answers"])[labeled].sum())
            paired += int(labeled.sum())
    return hits.shares() | ({"pairs": 100 * right / paired} if paired else {})


# An ALBERT (Lan et al., 2020) is initialized from one layer of a BERT and its factorized token embeddings.


def factorize(table: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """The best approximation of rank ``width`` of (n, H): (n, width) and (width, H) with orthonormal rows."""
    left, values, right = torch.linalg.svd(table, full_matrices=False)
    return left[:, :width] * values[:width], right[:width]


def _copy(parts: Any) -> None:
    for mine, theirs in parts:
        mine.load_state_dict(theirs.state_dict())


@torch.no_grad()
def share(albert: Any, bert: Any, layer: int) -> None:
    r"""Copy the embeddings of a BertForPreTraining, and its layer ``layer`` (from 0), into an AlbertForPreTraining.

    With BERT's token embeddings :math:`W = U S V^T` (n, H), the E largest singular values make ALBERT's embeddings
    :math:`U_E S_E` and their projection :math:`\sqrt{H / E}\; diag(\gamma) V_E`, with :math:`\gamma` the gain of BERT's
    norm of the embeddings. ALBERT normalizes its embeddings before the projection, to a norm of :math:`\sqrt E` where
    BERT's have :math:`\sqrt H`: hence the root. With the norm elsewhere and one layer for all, the model starts near
    BERT's embeddings, not from BERT's predictions.
    """
    embeddings, theirs = albert.albert.embeddings, bert.bert.embeddings
    width, full = embeddings.word_embeddings.embedding_dim, theirs.word_embeddings.embedding_dim
    words, basis = factorize(theirs.word_embeddings.weight, width)
    embeddings.word_embeddings.weight.copy_(words)
    for name in ("position_embeddings", "token_type_embeddings"):
        getattr(embeddings, name).weight.copy_(getattr(theirs, name).weight @ basis.T)
    widen = albert.albert.encoder.embedding_hidden_mapping_in
    widen.weight.copy_(math.sqrt(full / width) * theirs.LayerNorm.weight[:, None] * basis.T)
    widen.bias.copy_(theirs.LayerNorm.bias)
    shared, source = albert.albert.encoder.albert_layer_groups[0].albert_layers[0], bert.bert.encoder.layer[layer]
    own_attention, attention = shared.attention, source.attention
    _copy((getattr(own_attention, name), getattr(attention.self, name)) for name in ("query", "key", "value"))
    _copy((getattr(own_attention, name), getattr(attention.output, name)) for name in ("dense", "LayerNorm"))
    _copy(
        (
            (shared.ffn, source.intermediate.dense),
            (shared.ffn_output, source.output.dense),
            (shared.full_layer_layer_norm, source.output.LayerNorm),
        )
    )
    albert.predictions.bias.copy_(bert.cls.predictions.bias)


@torch.no_grad()
def every_second_layer(student: Any, teacher: Any) -> None:
    """Copy every second layer and the embeddings of a BertForPreTraining into a DistilBertForMaskedLM."""
    distilbert, bert = student.distilbert, teacher.bert
    names = ("word_embeddings", "position_embeddings", "LayerNorm")
    _copy((getattr(distilbert.embeddings, name), getattr(bert.embeddings, name)) for name in names)
    distilbert.embeddings.position_embeddings.weight += bert.embeddings.token_type_embeddings.weight[
        0
    ]  # its only segment
    for layer, source in zip(distilbert.transformer.layer, bert.encoder.layer[::2], strict=True):
        pairs = (("q_lin", "query"), ("k_lin", "key"), ("v_lin", "value"))
        _copy((getattr(layer.attention, mine), getattr(source.attention.self, theirs)) for mine, theirs in pairs)
        _copy(
            (
                (layer.attention.out_lin, source.attention.output.dense),
                (layer.sa_layer_norm, source.attention.output.LayerNorm),
                (layer.ffn.lin1, source.intermediate.dense),
                (layer.ffn.lin2, source.output.dense),
                (layer.output_layer_norm, source.output.LayerNorm),
            )
        )
    head = teacher.cls.predictions
    _copy(((student.vocab_transform, head.transform.dense), (student.vocab_layer_norm, head.transform.LayerNorm)))
    student.vocab_projector.bias.copy_(head.decoder.bias)


class DistilObjective(EncoderObjective):
    """Masked language modeling with a teacher."""

    def new_model(self) -> Any:
        settings = dict(self.recipe.model)
        full = models.finished_bert(str(settings.pop("teacher")), self.stages)
        self.teacher = EncoderModel(full).eval().requires_grad_(False)
        student = new_encoder(settings, self.tokenizer.get_vocab_size())
        every_second_layer(student, full)
        return EncoderModel(student)

    def loss(self, batch: Batch) -> Tensor:
        inputs = batch["ids"], batch["types"], batch["real"]
        chosen, real = batch["chosen"], batch["real"].bool()
        with torch.no_grad():
            taught = self.teacher.to(batch["ids"].device).encode(*inputs).last_hidden_state
            soft = (self.teacher.words(taught[chosen]).float() / TEMPERATURE).log_softmax(-1)
        states = self.model.encode(*inputs).last_hidden_state
        scores = self.model.words(states[chosen]).float()
        likeness = functional.cosine_similarity(states[real].float(), taught[real].float(), dim=-1)
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
