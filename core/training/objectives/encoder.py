"""Pretraining an encoder from nothing: masked tokens, and with pairs the question that binds two segments.

.. math:: L = -\\frac{1}{|M|} \\sum_{i \\in M} \\log p(x_i \\mid \\tilde x) - \\log p(y \\mid \\tilde x)

with :math:`M` the chosen 15 % of the tokens (`core.training.masking.bert`), :math:`\\tilde x` the damaged text and
:math:`y` the answer about the pair. Masks are drawn anew whenever a text comes (dynamic; Liu et al., 2019), or belong
to the text for good (static; Devlin et al., 2019).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from core.training import batches, documents, masking
from core.training.batches import Epochs, Ints
from core.training.pairs import NO_LABEL, Pairs
from core.training.recipe import Recipe

ROUND = 8
"""Rows are padded to a multiple of this many tokens."""


class Vocabulary:
    """The special tokens of a WordPiece tokeniser by name, and which ids they are."""

    def __init__(self, tokenizer: Any) -> None:
        vocab: dict[str, int] = tokenizer.get_vocab()
        ids = [vocab[name] for name in documents.SPECIAL.values()]
        self.pad, _, self.begin, self.end, self.mask = ids
        self.special = np.zeros(len(vocab), dtype=bool)
        self.special[ids] = True


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
    return AutoModelForPreTraining.from_config(config, attn_implementation="eager")  # on short rows faster


class EncoderModel(nn.Module):
    """An encoder with its heads; only chosen positions meet the vocabulary."""

    def __init__(self, full: Any) -> None:
        super().__init__()
        self.full = full
        kind = full.config.model_type
        self._words: Any = {
            "bert": lambda: full.cls.predictions,
            "roberta": lambda: full.lm_head,
            "albert": lambda: full.predictions,
        }[kind]
        self._pair: Any = {
            "bert": lambda: full.cls.seq_relationship,
            "albert": lambda: full.sop_classifier,
        }.get(kind)
        self.typed = getattr(full.config, "type_vocab_size", 0) > 1

    def forward(self, ids: Tensor, types: Tensor, real: Tensor, chosen: Tensor) -> tuple[Tensor, Tensor | None]:
        """(chosen, vocabulary) scores of words, and (rows, 2) scores of the pair where the model has such a head."""
        given = {"token_type_ids": types} if self.typed else {}
        out = self.full.base_model(input_ids=ids, attention_mask=real, **given)
        words: Tensor = self._words()(out.last_hidden_state[chosen])
        return words, None if self._pair is None else self._pair()(out.pooler_output)


class EncoderObjective:
    """Chunks of documents of about equal length a batch."""

    def __init__(self, recipe: Recipe, corpus_folder: Path, cache: Path) -> None:
        self.recipe = recipe
        data = recipe.data
        self.tokenizer, self.train, self.test = documents.prepare(
            corpus_folder,
            recipe.sources,
            cache.parents[1] / "text",
            every=int(data["hold_out_every"]),
            vocabulary=int(data["vocabulary"]),
            width=int(data["width"]),
        )
        self.words = Vocabulary(self.tokenizer)
        self.static = bool(data.get("static", False))
        self.pairs, self.held_pairs = (Pairs(side, str(data.get("pairs", ""))) for side in (self.train, self.test))
        self.sizes = row_sizes(self.pairs)
        torch.manual_seed(recipe.seed)
        self.model: EncoderModel = EncoderModel(new_model(recipe.model, len(self.words.special)))
        self._epochs = Epochs(recipe.seed, self._epoch)

    def _epoch(self, rng: np.random.Generator) -> list[Ints]:
        items = batches.mix(self.train.source, [source.passes for source in self.recipe.sources], rng)
        return batches.plan(items, self.sizes[items], self.sizes[items], self.recipe.step_tokens, rng)

    def batch(self, step: int) -> dict[str, Tensor]:
        index = self._epochs[step]
        own = [self.recipe.seed, 2] if self.static else [self.recipe.seed, 1, step]
        draws = [np.random.default_rng([*own, int(chunk)]) for chunk in index]
        return self.rows(self.pairs, index, draws, int(self.sizes[index[0]]))

    def rows(self, pairs: Pairs, index: Ints, draws: Sequence[np.random.Generator], width: int) -> dict[str, Tensor]:
        """Damaged rows (rows, width) of chunks, what they are made of, and the labels."""
        ids = np.full((len(index), width), self.words.pad, dtype=np.int64)
        types = np.zeros_like(ids)
        chosen = np.zeros(ids.shape, dtype=bool)
        answers = np.full(len(index), NO_LABEL, dtype=np.int64)
        labels: list[Ints] = []
        for row, (chunk, rng) in enumerate(zip(index.tolist(), draws, strict=True)):
            a, b, answers[row] = pairs.draw(chunk, rng)
            begin, end = np.array([self.words.begin]), np.array([self.words.end])
            whole = np.concatenate([begin, a, end] if b is None else [begin, a, end, b, end])
            types[row, len(a) + 2 : len(whole)] = 1
            ids[row, : len(whole)], chosen[row, : len(whole)] = masking.bert(
                whole, self.words.special, self.words.mask, rng
            )
            labels.append(whole[chosen[row, : len(whole)]])
        return {
            "ids": torch.from_numpy(ids),
            "types": torch.from_numpy(types),
            "real": torch.from_numpy((ids != self.words.pad).astype(np.int64)),
            "chosen": torch.from_numpy(chosen),
            "labels": torch.from_numpy(np.concatenate(labels)),
            "answers": torch.from_numpy(answers),
        }

    def _scores(self, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor | None]:
        words, pair = self.model(batch["ids"], batch["types"], batch["real"], batch["chosen"])
        return words.float(), None if pair is None else pair.float()

    def loss(self, batch: dict[str, Tensor]) -> Tensor:
        words, pair = self._scores(batch)
        loss = functional.cross_entropy(words, batch["labels"])
        asked = batch["answers"] != NO_LABEL
        if pair is not None and asked.any():
            loss = loss + functional.cross_entropy(pair[asked], batch["answers"][asked])
        return loss

    def size(self, batch: dict[str, Tensor]) -> int:
        return int(batch["real"].sum())

    def measure(self) -> dict[str, float]:
        """On some two thousand held-out chunks, the same damage each time: loss (nats), top-1 and top-5 of the chosen
        tokens and the right answers about pairs in percent.
        """
        sizes = row_sizes(self.held_pairs)
        every = max(1, len(sizes) // 2000)
        some = np.arange(0, len(sizes), every, dtype=np.int64)
        device = next(self.model.parameters()).device
        nats = total = hits = near = right = asked = 0.0
        for index in batches.plan(some, sizes[some], sizes[some], 4096, np.random.default_rng(0)):
            draws = [np.random.default_rng([0, 3, int(chunk)]) for chunk in index]
            made = self.rows(self.held_pairs, index, draws, int(sizes[index[0]]))
            batch = {k: v.to(device) for k, v in made.items()}
            words, pair = self._scores(batch)
            best = words.topk(5).indices == batch["labels"][:, None]
            nats += float(functional.cross_entropy(words, batch["labels"], reduction="sum"))
            hits += int(best[:, 0].sum())
            near += int(best.any(dim=1).sum())
            total += len(best)
            if pair is not None:
                known = batch["answers"] != NO_LABEL
                right += int((pair.argmax(1) == batch["answers"])[known].sum())
                asked += int(known.sum())
        found = {"loss": nats / total, "top-1": 100 * hits / total, "top-5": 100 * near / total}
        return found | ({"pairs": 100 * right / asked} if asked else {})

    def export(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        full = self.model.full
        full.config.hidden_dropout_prob = full.config.attention_probs_dropout_prob = 0.1
        full.to(torch.float16).save_pretrained(folder)
        full.to(torch.float32)
        ship_tokenizer(self.tokenizer, folder, int(self.recipe.data["width"]), typed=self.model.typed)


def row_sizes(pairs: Pairs) -> Ints:
    """(chunks,) length of each chunk's row, special tokens and padding included."""
    text = pairs.documents
    content = np.where(pairs.asked, text.bounds[:, 3] + 3, text.lengths + 2)
    return np.asarray(-(-content // ROUND) * ROUND, dtype=np.int64)


def ship_tokenizer(tokenizer: Any, folder: Path, width: int, *, typed: bool) -> None:
    """Writes a WordPiece tokeniser for transformers; ``typed`` where the model tells segments apart."""
    from transformers import PreTrainedTokenizerFast

    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        **documents.SPECIAL,
        model_max_length=width,
        model_input_names=["input_ids", *["token_type_ids"] * typed, "attention_mask"],
        clean_up_tokenization_spaces=False,
    ).save_pretrained(folder)
