"""Measures the encoders that were pretrained here: on the committed story, and on the corpus's held-out documents."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from torch import Tensor

from core.attention.architectures.disentangled import PARTS, read
from core.checkpoints.spec import Checkpoint
from core.objectives import masked
from core.training import corpus as corpora
from core.training import documents, measures
from core.training import recipe as recipes
from core.training.documents import Documents, Examples
from core.training.tokens import Ragged

Found = dict[str, dict[str, float]]
"""Numbers by what they were measured on."""
STORY = "a story written for this project"
HELD_OUT = "books, articles and sentences of the corpus held out from training"
_PAIRS = {"next": "next sentence", "order": "sentence order"}


def encoder(checkpoint: Checkpoint, corpus: Path | None) -> Found:
    """Masked words of the story; of held-out documents masked tokens and, where there is a head, the pairs."""
    model, tokenizer = checkpoint.model, checkpoint.tokenizer
    found = {STORY: measures.masked_sentences(model, tokenizer, story_chunks(tokenizer))}
    if corpus is not None:
        from transformers import AutoModelForPreTraining

        from core.training.objectives.encoder import EncoderModel, masked_tokens

        full = AutoModelForPreTraining.from_pretrained(
            checkpoint.spec.location, attn_implementation="eager", dtype=model.dtype, local_files_only=True
        )
        held = held_out(checkpoint, corpus)
        numbers = masked_tokens(EncoderModel(full).eval(), held)
        found[HELD_OUT] = {name: numbers[name] for name in ("top-1", "top-5")}
        if "pairs" in numbers:
            found[HELD_OUT][_PAIRS[held.pairs.question]] = numbers["pairs"]
    return found


def electra(checkpoint: Checkpoint, corpus: Path | None) -> Found:
    """Replaced tokens of the story, and of held-out documents."""
    from core import checkpoints
    from core.training.objectives.electra import ElectraModel, replaced_tokens

    generator = checkpoints.load(checkpoint.spec.slug, "generator")
    model = ElectraModel(checkpoint.model, generator.model).eval()
    sides = {STORY: story_examples(checkpoint)}
    if corpus is not None:
        sides[HELD_OUT] = held_out(checkpoint, corpus)
    threshold = float(checkpoint.spec.card.extra.get("threshold", 0.5)) if checkpoint.spec.card else 0.5
    return {on: replaced_tokens(model, side, threshold) for on, side in sides.items()}


def story_chunks(tokenizer: Any, room: int = 126) -> list[str]:
    """The story in runs of whole sentences that fit ``room`` tokens together."""
    out: list[str] = []
    for sentence in corpora.sentences(measures.STORY.read_text(encoding="utf-8").replace("\n", " ")):
        longer = f"{out[-1]} {sentence}" if out else sentence
        if out and len(tokenizer(longer, add_special_tokens=False, verbose=False)["input_ids"]) <= room:
            out[-1] = longer
        else:
            out.append(sentence)
    return out


def story_examples(checkpoint: Checkpoint) -> Examples:
    """The story as damaged rows, one a chunk."""
    ids = [
        checkpoint.tokenizer(text, add_special_tokens=False)["input_ids"] for text in story_chunks(checkpoint.tokenizer)
    ]
    count = np.arange(len(ids), dtype=np.int64)
    bounds = np.stack([count, count + 1, count + 1, np.array([len(row) for row in ids])], axis=1)
    text = Documents(Ragged.of(ids), bounds, np.zeros_like(count), np.full_like(count, -1))
    return Examples(text, checkpoint.tokenizer, fates=_fates(checkpoint))


def held_out(checkpoint: Checkpoint, corpus: Path) -> Examples:
    """The held-out side of the checkpoint's recipe, tokenised with its own tokeniser."""
    recipe = recipes.load(checkpoint.spec.slug)
    data = recipe.data
    backend = checkpoint.tokenizer.backend_tokenizer  # type: ignore[attr-defined]
    every, width = int(data["hold_out_every"]), int(data["width"])
    text = documents.tokenized(corpus, recipe.sources, backend, every=every, width=width, held_out=True)
    return Examples(text, backend, str(data.get("pairs", "")), _fates(checkpoint))


def _fates(checkpoint: Checkpoint) -> tuple[float, float]:
    hidden, drawn = recipes.load(checkpoint.spec.slug).data.get("fates", masked.FATES)
    return float(hidden), float(drawn)


def deberta(checkpoint: Checkpoint, corpus: Path | None) -> Found:
    """As `encoder`, and the story once more without each part of the attention scores."""
    found = encoder(checkpoint, corpus)
    texts = story_chunks(checkpoint.tokenizer)
    for part in PARTS:
        numbers = measures.masked_sentences(_Without(checkpoint.model, part), checkpoint.tokenizer, texts)
        found[STORY][f"without {part} top-1"] = numbers["top-1"]
    return found


class _Without:
    """A model whose attention scores lack a part, called as the model itself is."""

    def __init__(self, model: Any, part: str) -> None:
        self.model, self.device = model, model.device
        self._keep = [other for other in PARTS if other != part]

    def __call__(self, ids: Tensor) -> Any:
        return SimpleNamespace(logits=self.model.cls(read(self.model, ids, self._keep).states))
