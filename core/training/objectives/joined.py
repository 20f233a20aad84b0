"""Two copies of one encoder joined into a model that writes (Rothe et al., 2020): sentence fusion.

The encoder stays as it was pretrained. The decoder starts as the same weights, sees only what it has written, and gains
a cross-attention in every layer, drawn at random; its layers learn, word vectors and head stay shared and fixed:

.. math:: L = -\\frac{1}{n} \\sum_{t=1}^{n} \\log p(y_t \\mid y_{<t}, x)

What was learnt is a difference to the pretrained encoder: the layers of the decoder.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from core.training import batches, corpus, documents
from core.training.batches import Epochs, Ints, Ragged, RaggedWriter
from core.training.encoder_decoder import shifted, tokens
from core.training.finished import finished
from core.training.fusion import Fusion, fusions
from core.training.losses import IGNORE
from core.training.recipe import Recipe

PAD, _, BEGIN, END, _ = range(5)
"""The ids of `core.training.documents.SPECIAL`."""
LEARNT = "decoder.bert.encoder.layer."
"""Where the names of the shipped tensors begin."""


def join(base: Any) -> Any:
    """A transformers EncoderDecoderModel whose two halves are a BertForPreTraining's; cross-attention is random."""
    from transformers import BertLMHeadModel, BertModel, EncoderDecoderConfig, EncoderDecoderModel

    plain = base.config.to_dict() | {"architectures": None}
    config = EncoderDecoderConfig.from_encoder_decoder_configs(
        type(base.config)(**plain), type(base.config)(**plain | {"is_decoder": True, "add_cross_attention": True})
    )
    encoder, decoder = BertModel(config.encoder, add_pooling_layer=False), BertLMHeadModel(config.decoder)
    state = base.state_dict()
    encoder.load_state_dict(
        {n.removeprefix("bert."): v for n, v in state.items() if n.startswith("bert.")}, strict=False
    )
    decoder.load_state_dict(state, strict=False)
    model = EncoderDecoderModel(encoder=encoder, decoder=decoder)
    model.config.decoder_start_token_id, model.config.eos_token_id, model.config.pad_token_id = BEGIN, END, PAD
    model.config.tie_encoder_decoder = False
    return model


class JoinedModel(nn.Module):
    """The joined model; only the layers of its decoder learn."""

    def __init__(self, full: Any) -> None:
        super().__init__()
        self.full = full
        for name, parameter in full.named_parameters():
            parameter.requires_grad_(name.startswith(LEARNT))

    def forward(self, ids: Tensor, real: Tensor, given: Tensor, known: Tensor) -> Tensor:
        """(known, vocabulary) scores at the ``known`` places of the target, shifted right in ``given``."""
        with torch.no_grad():
            read = self.full.encoder(input_ids=ids, attention_mask=real).last_hidden_state
        decoder = self.full.decoder
        hidden = decoder.bert(
            input_ids=given, encoder_hidden_states=read, encoder_attention_mask=real, use_cache=False
        ).last_hidden_state
        scores: Tensor = decoder.cls(hidden[known])
        return scores


class JoinedObjective:
    """Pairs of sentences and what they were, grouped by their padded lengths."""

    def __init__(self, recipe: Recipe, corpus_folder: Path, cache: Path) -> None:
        from transformers import BertForPreTraining, PreTrainedTokenizerFast

        self.recipe = recipe
        folder = finished(str(recipe.model["base"]), cache.parents[1])
        base = BertForPreTraining.from_pretrained(
            folder, attn_implementation="eager", dtype=torch.float32, local_files_only=True
        )
        base.config.hidden_dropout_prob = base.config.attention_probs_dropout_prob = 0.0
        self.tokenizer: Any = PreTrainedTokenizerFast.from_pretrained(folder, local_files_only=True)
        self.inputs, self.outputs = self._data(corpus_folder, cache, held_out=False)
        self.test = self._data(corpus_folder, cache, held_out=True)
        self.sizes = tuple(batches.round_up(side.lengths) for side in (self.inputs, self.outputs))
        torch.manual_seed(recipe.seed)
        self.model = JoinedModel(join(base))
        self._epochs = Epochs(recipe.seed, self._epoch)

    def _data(self, folder: Path, cache: Path, *, held_out: bool) -> tuple[Ragged, Ragged]:
        key = hashlib.blake2b(repr((self.recipe.sources, self.recipe.data)).encode(), digest_size=6).hexdigest()
        stem = cache / key / ("test" if held_out else "train")
        names = stem.with_name(f"{stem.name}-in"), stem.with_name(f"{stem.name}-out")
        try:
            return Ragged.load(names[0]), Ragged.load(names[1])
        except FileNotFoundError:
            pass
        longest = int(self.recipe.data["longest"])
        backend = self.tokenizer.backend_tokenizer
        with RaggedWriter(names[0]) as left, RaggedWriter(names[1]) as right:
            for some in documents.batched(made(folder, self.recipe, held_out=held_out), 1000):
                parts = backend.encode_batch_fast([fusion.parts for fusion in some])
                wholes = backend.encode_batch_fast([fusion.whole for fusion in some])
                for part, whole in zip(parts, wholes, strict=True):
                    if max(len(part.ids), len(whole.ids)) <= longest:
                        left.add(part.ids, [len(part.ids)])
                        right.add(whole.ids[1:], [len(whole.ids) - 1])  # [CLS] is what the decoder starts from
        return self._data(folder, cache, held_out=held_out)

    def _epoch(self, rng: np.random.Generator) -> list[Ints]:
        items = np.arange(len(self.inputs), dtype=np.int64)
        left, right = self.sizes
        return batches.plan(items, left * 4096 + right, left + right, self.recipe.step_tokens, rng)

    def batch(self, step: int) -> dict[str, Tensor]:
        return rows(self.inputs, self.outputs, self._epochs[step])

    def loss(self, batch: dict[str, Tensor]) -> Tensor:
        known = batch["labels"] != IGNORE
        scores = self.model(batch["ids"], batch["real"], batch["given"], known)
        return functional.cross_entropy(scores.float(), batch["labels"][known])

    def size(self, batch: dict[str, Tensor]) -> int:
        return tokens(batch)

    def measure(self) -> dict[str, float]:
        """Loss (nats a token) of up to 500 held-out fusions."""
        left, right = self.test
        some = np.arange(min(500, len(left)), dtype=np.int64)
        size = batches.round_up(left.lengths) * 4096 + batches.round_up(right.lengths)
        cost = batches.round_up(left.lengths) + batches.round_up(right.lengths)
        nats = count = 0.0
        device = next(self.model.parameters()).device
        for index in batches.plan(some, size[some], cost[some], 4096, np.random.default_rng(0), least=0.0):
            batch = {name: value.to(device) for name, value in rows(left, right, index).items()}
            known = int((batch["labels"] != IGNORE).sum())
            nats += float(self.loss(batch)) * known
            count += known
        return {"loss": nats / count}

    def export(self, folder: Path) -> None:
        from safetensors.torch import save_file

        folder.mkdir(parents=True, exist_ok=True)
        full = self.model.full
        learnt = {
            name: value.detach().to(torch.float16).contiguous().cpu()
            for name, value in full.state_dict().items()
            if name.startswith(LEARNT)
        }
        save_file(learnt, folder / "difference.safetensors", metadata={"format": "pt"})
        full.config.architectures = ["EncoderDecoderModel"]
        full.config.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)


def made(folder: Path, recipe: Recipe, *, held_out: bool) -> Iterator[Fusion]:
    """The fusions of one side of the split, source after source."""
    every = int(recipe.data["hold_out_every"])
    for source in recipe.sources:
        items = corpus.read(folder, source, every=every)
        yield from fusions(item.text for item in items if item.held_out == held_out)


def rows(inputs: Ragged, outputs: Ragged, index: Ints) -> dict[str, Tensor]:
    """A batch of `shifted`, its decoder started from ``[CLS]``."""
    ids = inputs.rows(index, int(inputs.lengths[index].max()), PAD)
    labels = outputs.rows(index, int(outputs.lengths[index].max()), IGNORE)
    return shifted(ids, labels, pad=PAD, start=BEGIN)
