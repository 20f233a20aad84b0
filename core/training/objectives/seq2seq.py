"""Text to text (Raffel et al., 2020) with the T5 architecture: translation and repair, told apart by a prefix.

Each prefix is one piece of the tokeniser, so a task costs one position (`core.training.objectives.tasks`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from core.training import batches, corpus, parallel
from core.training.arrays import ArrayWriter
from core.training.batches import Epochs, Ints, Ragged, RaggedWriter
from core.training.documents import AT_ONCE, batched
from core.training.files import write_file
from core.training.kept_pairs import Kept, kept_pairs
from core.training.losses import IGNORE, linear_cross_entropy
from core.training.objectives.tasks import examples, prefix
from core.training.recipe import Recipe
from core.training.shipping import ship_model, ship_tokenizer

PAD, END, UNKNOWN = "<pad>", "</s>", "<unk>"
MEASURED = 200
"""Held-out pairs of each task that the learning curve is measured on."""


def train_tokenizer(
    texts: Iterable[str],
    size: int,
    prefixes: list[str],
    special: Sequence[str] = (PAD, END, UNKNOWN),
    *,
    spoken: bool = True,
) -> Any:
    """Unigram pieces (Kudo, 2018) over ``texts``; every prefix is one piece; ``</s>`` ends each encoded text.

    Args:
        special: tokens that get the first ids, in this order; ``</s>`` and ``<unk>`` are among them.
        spoken: whether decoding without special tokens keeps the prefixes.
    """
    from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

    tokenizer: Any = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    trainer = trainers.UnigramTrainer(
        vocab_size=size - len(prefixes),
        special_tokens=list(special),
        unk_token=UNKNOWN,
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_tokens([AddedToken(text, normalized=False, special=not spoken) for text in prefixes])
    end = tokenizer.token_to_id(END)
    tokenizer.post_processor = processors.TemplateProcessing(single=f"$A {END}", special_tokens=[(END, end)])
    return tokenizer


class Seq2SeqModel(nn.Module):
    """T5 from its configuration, with random weights.

    Args:
        settings: a recipe's ``width``, ``layers``, ``heads`` and ``inner``; ``decoder_layers`` where they differ from
            ``layers``, and the feed-forward layer's ``activation`` where it is not ``relu``.
        vocabulary: tokens.
    """

    def __init__(self, settings: dict[str, Any], vocabulary: int) -> None:
        super().__init__()
        from transformers import T5Config, T5ForConditionalGeneration

        config = T5Config(
            vocab_size=vocabulary,
            d_model=settings["width"],
            d_kv=settings["width"] // settings["heads"],
            d_ff=settings["inner"],
            num_layers=settings["layers"],
            num_decoder_layers=settings.get("decoder_layers", settings["layers"]),
            num_heads=settings["heads"],
            feed_forward_proj=settings.get("activation", "relu"),
            dropout_rate=0.0,
            pad_token_id=0,
            eos_token_id=1,
            decoder_start_token_id=0,
        )
        config._attn_implementation = "eager"  # on short rows faster than the fused kernel
        self.t5: Any = T5ForConditionalGeneration(config)

    def forward(self, ids: Tensor, mask: Tensor, labels: Tensor) -> Tensor:
        """States (rows, target length, width) that the output layer reads, for the target shifted right by one."""
        read = self.t5.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        hidden: Tensor = self.t5.decoder(
            input_ids=self.t5._shift_right(labels),
            encoder_hidden_states=read,
            encoder_attention_mask=mask,
            use_cache=False,
        ).last_hidden_state
        # tied output vectors are the size of embeddings: T5 scales what they read (Raffel et al., 2020)
        scaled: Tensor = hidden * self.t5.config.d_model**-0.5
        return scaled


class Seq2SeqObjective:
    """Pairs grouped by their padded lengths."""

    def __init__(self, recipe: Recipe, corpus_folder: Path, cache: Path) -> None:
        self.recipe = recipe
        self.tasks = [source.task for source in recipe.sources]
        self.tokenizer, self.inputs, self.outputs, self.task_of, self.test = self._data(corpus_folder, cache)
        self.sizes = (batches.round_up(self.inputs.lengths), batches.round_up(self.outputs.lengths))
        torch.manual_seed(recipe.seed)
        self.model: Seq2SeqModel = Seq2SeqModel(recipe.model, self.tokenizer.get_vocab_size())
        self._epochs = Epochs(recipe.seed, self._epoch)

    def _data(self, folder: Path, cache: Path) -> Kept:
        return kept_pairs(self.recipe, cache, partial(self._write, folder))

    def _write(self, folder: Path, stem: Path) -> None:
        """Reads the pairs, trains the tokeniser and keeps both sides as tokens."""
        stem.mkdir(parents=True, exist_ok=True)
        data, sources = self.recipe.data, self.recipe.sources
        every, longest = int(data["hold_out_every"]), int(data["longest"])
        split = {name: parallel.Split(partial(parallel.rows, folder, name), every) for name in ("en-fr", "en-de")}
        some = (pair for side in split.values() for pair in islice(side.train(), 0, None, int(data["tokenizer_every"])))
        prefixes = list(dict.fromkeys(map(prefix, self.tasks)))
        tokenizer = train_tokenizer((text for pair in some for text in pair), int(data["vocabulary"]), prefixes)
        tokenizer.save(str(stem / "tokenizer.json"))
        test: dict[str, list[list[str]]] = {}
        with (
            RaggedWriter(stem / "inputs") as inputs,
            RaggedWriter(stem / "outputs") as outputs,
            ArrayWriter(stem / "task.npy", np.int64) as tasks,
        ):
            for number, source in enumerate(sources):
                side = split[f"en-{next(code for code in ('fr', 'de') if code in source.file.split('.')[1])}"]
                made = examples(source.task, islice(side.train(), source.first - 1, source.last))
                for part in batched(made, AT_ONCE):
                    given = tokenizer.encode_batch_fast([prefix(source.task) + text for text, _ in part])
                    wanted = tokenizer.encode_batch_fast([text for _, text in part])
                    fit = [
                        (left.ids, right.ids)
                        for left, right in zip(given, wanted, strict=True)
                        if len(left.ids) <= longest and len(right.ids) <= longest
                    ]
                    inputs.extend([left for left, _ in fit])
                    outputs.extend([right for _, right in fit])
                    tasks.add(np.full(len(fit), number))
                test[source.task] = [list(pair) for pair in islice(examples(source.task, side.test()), MEASURED)]
                corpus.require(len(test[source.task]), "measuring", sources)
            corpus.require(inputs.count, "training", sources)
        write_file(stem / "test.json", json.dumps(test, ensure_ascii=False))

    def _epoch(self, rng: np.random.Generator) -> list[Ints]:
        items = batches.mix(self.task_of, [source.passes for source in self.recipe.sources], rng)
        left, right = self.sizes[0][items], self.sizes[1][items]
        return batches.plan(items, left * 4096 + right, left + right, self.recipe.step_tokens, rng)

    def batch(self, step: int) -> dict[str, Tensor]:
        index = self._epochs[step]
        ids = self.inputs.rows(index, int(self.sizes[0][index[0]]), 0)
        labels = self.outputs.rows(index, int(self.sizes[1][index[0]]), IGNORE)
        return {
            "ids": torch.from_numpy(ids),
            "mask": torch.from_numpy((ids != 0).astype(np.int64)),
            "labels": torch.from_numpy(labels),
        }

    def loss(self, batch: dict[str, Tensor]) -> Tensor:
        hidden = self.model(batch["ids"], batch["mask"], batch["labels"])
        real = batch["labels"] != IGNORE
        return linear_cross_entropy(hidden[real], self.model.t5.lm_head.weight, batch["labels"][real])

    def size(self, batch: dict[str, Tensor]) -> int:
        return int(batch["mask"].sum()) + int((batch["labels"] != IGNORE).sum())

    def measure(self) -> dict[str, float]:
        """Cross-entropy (nats per output token) on `MEASURED` held-out pairs of each task."""
        found: dict[str, float] = {}
        device = self.model.t5.device
        for task, pairs in self.test.items():
            given = [e.ids for e in self.tokenizer.encode_batch([prefix(task) + left for left, _ in pairs[:MEASURED]])]
            wanted = [e.ids for e in self.tokenizer.encode_batch([right for _, right in pairs[:MEASURED]])]
            rows = np.arange(len(given))
            ids = Ragged.of(given).rows(rows, max(map(len, given)), 0)
            labels = Ragged.of(wanted).rows(rows, max(map(len, wanted)), IGNORE)
            batch = {
                "ids": torch.from_numpy(ids).to(device),
                "mask": torch.from_numpy((ids != 0).astype(np.int64)).to(device),
                "labels": torch.from_numpy(labels).to(device),
            }
            found[f"loss {task}"] = float(self.loss(batch))
        return found

    def export(self, folder: Path) -> None:
        ship_model(self.model.t5, folder, ("dropout_rate",))
        ship_tokenizer(self.tokenizer, folder, 512, pad_token=PAD, eos_token=END, unk_token=UNKNOWN)
