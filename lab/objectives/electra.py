"""Replaced-token detection (Clark et al., 2020): two encoders with shared token embeddings.

The generator samples the chosen 15% of the tokens from its distribution; the discriminator classifies every token of
the result. With :math:`r_t = 1` where the token differs from the original (a correct sample counts as original):

.. math:: L = L_{MLM} + 50 \\cdot \\frac{1}{n} \\sum_t -\\big[r_t \\log D_t + (1 - r_t) \\log (1 - D_t)\\big]

There is no gradient from the discriminator to the generator: the sample is a constant, and the generator is trained by
maximum likelihood, not adversarially.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

from core.checkpoints.loading import SHARED
from core.checkpoints.registry import GENERATOR
from core.lazy import transformers
from core.objectives.replaced import WEIGHT
from lab import models
from lab.documents import Examples
from lab.objective import Batch, Sampled, Share
from lab.objectives.encoder import EncoderObjective, new_encoder
from lab.tokenizers import Vocabulary

TABLES = ("word_embeddings", "position_embeddings", "token_type_embeddings")


class ElectraModel(nn.Module):
    """Generator and discriminator with shared token, position and segment embeddings."""

    typed = True

    def __init__(self, full: Any, generator: Any) -> None:
        super().__init__()
        self.full, self.generator = full, generator
        for name in TABLES:
            setattr(generator.electra.embeddings, name, getattr(full.electra.embeddings, name))
        generator.generator_lm_head.weight = full.electra.embeddings.word_embeddings.weight

    def generate(self, ids: Tensor, types: Tensor, real: Tensor, chosen: Tensor) -> Tensor:
        """The generator's logits (chosen, vocabulary)."""
        hidden = self.generator.electra(input_ids=ids, attention_mask=real, token_type_ids=types).last_hidden_state
        scores: Tensor = self.generator.generator_lm_head(self.generator.generator_predictions(hidden[chosen]))
        return scores

    def forward(self, ids: Tensor, types: Tensor, real: Tensor) -> Tensor:
        """The discriminator's logits (rows, length); above 0 a token is classified as replaced."""
        scores: Tensor = self.full(input_ids=ids, attention_mask=real, token_type_ids=types).logits
        return scores


def start_from(electra: Any, folder: Path) -> None:
    """Copy the embeddings and layers of a BERT of equal size into an ElectraModel; the embeddings are frozen.

    From scratch, the discriminator learns its task only once its states encode which words fit together, and its
    gradients dominate the shared embeddings of the generator: both would need far more text.
    """
    state = load_file(folder / models.WHOLE)
    backbone = {
        name: value.float() for name, value in state.items() if name.startswith("bert.") and "pooler" not in name
    }
    electra.load_state_dict({name.removeprefix("bert."): value for name, value in backbone.items()})
    for name in TABLES:
        getattr(electra.embeddings, name).requires_grad_(False)


class ElectraObjective(EncoderObjective):
    """Single texts with the masks of masked language modeling; every chosen token becomes the mask token."""

    def new_model(self) -> Any:
        settings, vocabulary = dict(self.recipe.model), self.tokenizer.get_vocab_size()
        start = settings.pop("start", None)
        smaller = {name: value for name, value in settings.items() if name != "generator"} | settings.pop("generator")
        full = new_encoder(settings, vocabulary)
        model = ElectraModel(full, transformers.ElectraForMaskedLM(new_encoder(smaller, vocabulary).config))
        if start is not None:
            start_from(full.electra, models.finished(str(start), self.stages))
        return model

    def loss(self, batch: Batch) -> Tensor:
        logits = self.model.generate(batch["ids"], batch["types"], batch["real"], batch["chosen"]).float()
        text, replaced, classified = replace(self.train.words, batch, logits)
        if self.recipe.data.get("classified") == "masked":  # to compare with a loss at every position
            classified = classified & batch["chosen"]
        verdict = self.model(text, batch["types"], batch["real"]).float()
        detection = functional.binary_cross_entropy_with_logits(verdict[classified], replaced[classified].float())
        return functional.cross_entropy(logits, batch["labels"]) + WEIGHT * detection

    def measure(self) -> dict[str, float]:
        return replaced_tokens(self.model, self.test)

    def export(self, folder: Path) -> None:
        super().export(folder)
        small = self.model.generator
        small.config.hidden_dropout_prob = small.config.attention_probs_dropout_prob = 0.1
        small.config.architectures = ["ElectraForMaskedLM"]
        small.config.save_pretrained(folder / GENERATOR)
        shared = (*SHARED, "generator_lm_head.weight")
        weights = {name: value for name, value in small.state_dict().items() if name not in shared}
        models.ship_tensors(weights, folder / GENERATOR / models.WHOLE)


def replace(
    words: Vocabulary, batch: Batch, scores: Tensor, generator: torch.Generator | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The text with the generator's samples, where it differs from the original, and which tokens are classified.

    Args:
        words: the special tokens, which are not classified.
        batch: of `Examples.rows`.
        scores: (chosen, vocabulary) of the generator.
        generator: random numbers; torch's own by default.
    """
    sampled = torch.multinomial(scores.detach().softmax(-1), 1, generator=generator)[:, 0]
    text, original = batch["ids"].clone(), batch["ids"].clone()
    text[batch["chosen"]] = sampled
    original[batch["chosen"]] = batch["labels"]
    special = torch.from_numpy(words.special).to(original.device)
    return text, text != original, ~special[original]


@torch.no_grad()
def replaced_tokens(model: ElectraModel, held: Examples, threshold: float = 0.5) -> dict[str, float]:
    """In percent: the generator's top-1 accuracy; the discriminator's recall on replaced tokens and on original ones,
    the mean of the two, its precision (the share of replaced tokens among those it calls so), the share of replaced
    tokens in all, which is the precision of chance, and the area under its ROC curve.

    A token is classified as replaced where the probability is above ``threshold``.
    """
    least = math.log(threshold / (1 - threshold))
    device = next(model.parameters()).device
    generator = torch.Generator(device).manual_seed(0)
    hits = total = 0
    scored: list[Tensor] = []
    differs: list[Tensor] = []
    for batch in held.measured(device):
        scores = model.generate(batch["ids"], batch["types"], batch["real"], batch["chosen"]).float()
        hits += int((scores.argmax(1) == batch["labels"]).sum())
        total += len(scores)
        text, replaced, classified = replace(held.words, batch, scores, generator)
        scored.append(model(text, batch["types"], batch["real"]).float()[classified])
        differs.append(replaced[classified])
    verdicts, labels = torch.cat(scored), torch.cat(differs)
    called, replaced_count = verdicts > least, int(labels.sum())
    hits_on_replaced, flagged, kept = int((called & labels).sum()), int(called.sum()), int((~called & ~labels).sum())
    original_count = len(labels) - replaced_count
    recall, specificity = Share(hits_on_replaced, max(1, replaced_count)), Share(kept, max(1, original_count))
    each = ((recall, replaced_count), (specificity, original_count))
    spread = 50 * math.sqrt(sum(share / 100 * (1 - share / 100) / max(1, count) for share, count in each))
    under = area(verdicts, labels)
    return {
        "generator top-1": Share(hits, total),
        "replaced found": recall,
        "original left": specificity,
        "balanced accuracy": around((recall + specificity) / 2, spread, len(labels)),
        "precision": Share(hits_on_replaced, max(1, flagged)),
        "replaced, of all tokens": Share(replaced_count, len(labels)),
        "area under the curve": around(
            100 * under, 100 * error_of_area(under, replaced_count, original_count), len(labels)
        ),
    }


def around(value: float, error: float, n: int) -> Sampled:
    """A number with the interval of 1.96 standard errors on either side."""
    return Sampled(value, n, value - 1.96 * error, value + 1.96 * error)


def error_of_area(area: float, positive: int, negative: int) -> float:
    r"""The standard error of an area :math:`A` under a ROC curve (Hanley and McNeil 1982):

    .. math:: \sqrt{\frac{A(1 - A) + (p - 1)(\frac{A}{2 - A} - A^2) + (n - 1)(\frac{2A^2}{1 + A} - A^2)}{pn}}
    """
    square = area * area
    both = (positive - 1) * (area / (2 - area) - square) + (negative - 1) * (2 * square / (1 + area) - square)
    return math.sqrt((area * (1 - area) + both) / max(1, positive * negative))


def area(scores: Tensor, labels: Tensor) -> float:
    """The area under the ROC curve of scores (n,): the share of pairs of a True and a False label in right order."""
    ranks = torch.empty_like(scores, dtype=torch.float64)
    ranks[scores.argsort()] = torch.arange(1, len(scores) + 1, dtype=torch.float64, device=scores.device)
    true, false = int(labels.sum()), int((~labels).sum())
    return float((ranks[labels].sum() - true * (true + 1) / 2) / max(1, true * false))
