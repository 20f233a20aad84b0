r"""Sequence-to-sequence objectives and their encoder-decoders.

.. math:: L = -\frac{1}{n} \sum_{t=1}^{n} \log p(y_t \mid y_{<t}, x)

The decoder's input is the target shifted right by one, after its start token; its labels are the target:

    decoder_ids   start  y_1 ... y_n          labels   y_1  ... y_n  end

- T5 (Raffel et al., 2020): translation, repair and the tasks of `lab.mixture`, all as text. Each prefix is
  one token.
- M2M-100 (Fan et al., 2020, arXiv 2010.11125): source and target start with their language tokens: ``__en__ x </s>``,
  ``__fr__ y </s>``. Where all training pairs have English on one side, French-German is evaluated zero-shot.
- BERT2BERT (Rothe et al., 2020): sentence fusion. Encoder and decoder are initialized from one pretrained encoder; the
  decoder has causal attention and randomly initialized cross-attention. The layers of both are trained, the embeddings
  and the head are shared and frozen, so the weights are a difference to the encoder. With ``trained = "everything"``
  all weights are trained, with ``start = "random"``, the paper's baseline, from random ones; the learning curves of
  these two are compared at equal steps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from core.lazy import transformers
from lab import batches, corpus, mixture, models, parallel
from lab.objective import IGNORE, Batch, Objective, linear_cross_entropy
from lab.parallel import (
    LANGUAGES,
    PREFIXES,
    Fusion,
    Pair,
    connective,
    cut,
    examples,
    fusions,
    prefix,
    split_anywhere,
)
from lab.recipe import Recipe, RecipeError, SourceFile
from lab.tokenizers import M2M, T5, unigram
from lab.tokens import Ints, Ragged, encoded, stored

MEASURED = 200
"""Held-out pairs per task for the learning curve."""
RARER = 20
"""One of so many texts of the other tasks is learned from by the tokenizer."""
FUSED = 500
BRIDGED = "fr-de"
"""The pairs without English, evaluated also where they are not trained on."""
LEARNED = ("encoder.encoder.layer.", "decoder.bert.encoder.layer.")
"""The prefixes of BERT2BERT's shipped tensors."""


def shifted(sources: Ragged, targets: Ragged, pad: int, start: int, index: Ints | None = None) -> Batch:
    """A batch of the rows ``index``, padded by `batches.round_up`; by default all rows, padded to the longest.

    Returns:
        ``ids`` and ``real`` (1 at tokens, 0 at padding) of the source, ``decoder_ids`` and ``labels`` (`IGNORE` at
        padding) of the target.
    """
    rows = np.arange(len(sources)) if index is None else index
    widths = (int(side.lengths[rows].max()) for side in (sources, targets))
    if index is not None:
        widths = (int(batches.round_up(np.array(width))) for width in widths)
    ids, labels = (
        side.rows(rows, w, fill) for side, w, fill in zip((sources, targets), widths, (pad, IGNORE), strict=True)
    )
    begin = np.full((len(labels), 1), start, dtype=np.int64)
    decoder_ids = np.concatenate([begin, np.where(labels == IGNORE, pad, labels)[:, :-1]], axis=1)
    return batches.tensors(ids=ids, real=(ids != pad).astype(np.int64), decoder_ids=decoder_ids, labels=labels)


def mean_nats(objective: Objective, batches_of: Iterable[Batch]) -> float:
    """Mean loss in nats over the target tokens of all batches."""
    nats = count = 0.0
    for batch in batches_of:
        targets = int((batch["labels"] != IGNORE).sum())
        nats += float(objective.loss(objective.to_device(batch))) * targets
        count += targets
    return nats / count


class EncoderDecoder(nn.Module):
    """An encoder-decoder of transformers with random weights: T5, BART, M2M-100.

    Args:
        settings: a recipe's ``[model]``.
        fields: fields of the configuration that depend on the data.
    """

    def __init__(self, settings: dict[str, Any], **fields: Any) -> None:
        super().__init__()
        self.full: Any = models.new_model(settings, "Seq2SeqLM", **fields)
        # With tied embeddings, T5 scales the states before the output projection (Raffel et al., 2020).
        self.scale = (
            self.full.config.d_model**-0.5 if getattr(self.full.config, "scale_decoder_outputs", False) else 1.0
        )

    def forward(self, ids: Tensor, real: Tensor, decoder_ids: Tensor) -> Tensor:
        """The decoder's last hidden states (rows, target length, hidden size), scaled; arguments as from `shifted`."""
        states = self.full.get_encoder()(input_ids=ids, attention_mask=real).last_hidden_state
        hidden: Tensor = self.full.get_decoder()(
            input_ids=decoder_ids, encoder_hidden_states=states, encoder_attention_mask=real, use_cache=False
        ).last_hidden_state
        return hidden * self.scale if self.scale != 1.0 else hidden

    def loss(self, batch: Batch) -> Tensor:
        """Mean cross-entropy in nats over the tokens of the target."""
        hidden = self(batch["ids"], batch["real"], batch["decoder_ids"])
        targets = batch["labels"] != IGNORE
        return linear_cross_entropy(hidden[targets], self.full.lm_head.weight, batch["labels"][targets])


class PairsObjective(Objective):
    """Tokenized pairs of texts, grouped by their padded lengths."""

    inputs: Ragged
    outputs: Ragged
    test: dict[str, list[list[str]]]
    """Held-out pairs of texts by task."""
    pad: int
    start: int

    def take(self, data: dict[str, Any]) -> None:
        """Set the stored ``inputs``, ``outputs`` and the ``task`` of each row, and their keys and costs."""
        self.inputs, self.outputs, self.origin = data["inputs"], data["outputs"], data["task"]
        multiple = int(self.recipe.data.get("multiple", 4))  # a larger one makes fuller batches of few pairs
        left, right = (batches.round_up(side.lengths, multiple) for side in (self.inputs, self.outputs))
        self.keys, self.cost = left * 4096 + right, left + right

    def batch(self, step: int) -> Batch:
        return shifted(self.inputs, self.outputs, self.pad, self.start, self.epochs[step])


class Seq2SeqObjective(PairsObjective):
    """A mixture of tasks, each with a prefix, for T5."""

    pad, start = 0, 0
    special: Mapping[str, Any] = T5
    positions = 512
    files: tuple[str, ...] = ("en-fr", "en-de")
    untrained: tuple[str, ...] = ()
    """Tasks of the learning curve besides those of the sources."""

    def splits(self) -> dict[str, Any]:
        """The split of each file of pairs."""
        return {**parallel.splits(self.corpus, int(self.recipe.data["hold_out_every"]))}

    def prepare_data(self) -> None:
        data, sources = self.recipe.data, self.recipe.sources
        longest = int(data["longest"])

        def make() -> dict[str, Any]:
            split = self.splits()
            tokenizer = self.learned(self.tokenized(split))
            rows: list[tuple[list[int], list[int]]] = []
            task: list[int] = []
            test: dict[str, list[Pair]] = {}
            for number, source in enumerate(sources):
                pairs = list(self.pairs(split, source))
                source_rows = [row for row in self.both(tokenizer, source.task, pairs) if max(map(len, row)) <= longest]
                rows += source_rows
                task += [number] * len(source_rows)
                test[source.task] = list(islice(self.pairs(split, source, held_out=True), MEASURED))
                corpus.require(len(test[source.task]), "measuring", sources)
            corpus.require(len(rows), "training", sources)
            inputs, outputs = (Ragged.of(row[side] for row in rows) for side in (0, 1))
            for name in self.untrained:
                test.setdefault(name, list(islice(examples(name, split[BRIDGED].test()), MEASURED)))
            return {"tokenizer": tokenizer, "inputs": inputs, "outputs": outputs, "task": np.array(task), "test": test}

        stored_data = stored(self.cache, (sources, data), make)
        self.tokenizer, self.test = stored_data["tokenizer"], stored_data["test"]
        self.take(stored_data)

    def file_of(self, task: str, file: str) -> str:
        """The file of pairs of a task, English first."""
        return next(name for name in self.files if name[3:] in file.split(".")[1])

    def pairs(self, split: dict[str, Any], source: SourceFile, *, held_out: bool = False) -> Iterator[Pair]:
        """(input without prefix, output) of a source, of one side of the split."""
        if source.task in PREFIXES:
            return mixture.pairs(self.corpus, source, every=int(self.recipe.data["hold_out_every"]), held_out=held_out)
        side = split[self.file_of(source.task, source.file)]
        return examples(source.task, side.test() if held_out else islice(side.train(), source.first - 1, source.last))

    def tokenized(self, split: dict[str, Any]) -> Iterator[str]:
        """The texts that the tokenizer is learned from: one in ``tokenizer_every`` of the pairs, less other text."""
        data, sources = self.recipe.data, self.recipe.sources
        names = [self.file_of(source.task, source.file) for source in sources if source.task not in PREFIXES]
        for name in (name for name in self.files if name in names):
            for pair in islice(split[name].train(), 0, None, int(data["tokenizer_every"])):
                yield from pair
        for source in (source for source in sources if source.task in PREFIXES):
            items = corpus.items_of(self.corpus, source, every=int(data["hold_out_every"]))
            yield from (item.other or item.text for item in islice(items, 0, None, RARER) if not item.held_out)

    def learned(self, texts: Iterable[str]) -> Any:
        """The tokenizer of the texts."""
        tasks = [source.task for source in self.recipe.sources]
        marks = mixture.MARKS if "spans" in tasks else []
        prefixes = dict.fromkeys(prefix(task) for task in tasks if prefix(task))
        return unigram(texts, int(self.recipe.data["vocabulary"]), list(prefixes), marks=marks)

    def both(self, tokenizer: Any, task: str, pairs: Sequence[Sequence[str]]) -> Iterator[tuple[list[int], list[int]]]:
        """The tokenized sides of pairs."""
        inputs = encoded(tokenizer, (prefix(task) + left for left, _ in pairs))
        return zip(inputs, encoded(tokenizer, (right for _, right in pairs)), strict=True)

    def new_model(self) -> EncoderDecoder:
        ids = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
        return EncoderDecoder(self.recipe.model, vocab_size=self.tokenizer.get_vocab_size(), **ids)

    def measure(self) -> dict[str, float]:
        """Cross-entropy (nats per output token) on at most `MEASURED` held-out pairs of each task."""
        losses: dict[str, float] = {}
        for task, pairs in self.test.items():
            if pairs:
                left, right = zip(*self.both(self.tokenizer, task, pairs), strict=True)
                batch = shifted(Ragged.of(left), Ragged.of(right), self.pad, self.start)
                losses[f"loss {task}"] = float(self.loss(self.to_device(batch)))
        return losses


def token(language: str) -> str:
    """The language token of M2M-100."""
    return f"__{language}__"


class ManyObjective(Seq2SeqObjective):
    """Translation between several languages, for M2M-100; with ``start`` from the weights and tokenizer of a stage."""

    pad, start = 1, 2
    special = M2M | {"extra_special_tokens": [token(language) for language in LANGUAGES]}
    files = ("en-fr", "en-de", BRIDGED)
    untrained = (BRIDGED, "de-fr")

    def splits(self) -> dict[str, Any]:
        split = super().splits()
        return split | {BRIDGED: parallel.bridged(self.corpus, split)}

    def file_of(self, task: str, file: str) -> str:
        """The file of training pairs of a direction. Raises `RecipeError` where it is not between two `LANGUAGES`."""
        for name in self.files:
            if task in (name, "-".join(reversed(name.split("-")))):
                return name
        raise RecipeError(f"No pairs are trained on for {task!r}. Use two of these languages: en, fr, de.")

    def learned(self, texts: Iterable[str]) -> Any:
        if "start" in self.recipe.model:
            from tokenizers import Tokenizer

            folder = self._started()  # a part of a checkpoint has the tokenizer of the model beside it
            files = (home / "tokenizer.json" for home in (folder, folder.parent))
            return Tokenizer.from_file(str(next(filter(Path.is_file, files))))
        added = self.special["extra_special_tokens"]
        return unigram(texts, int(self.recipe.data["vocabulary"]), added, M2M, decoded=False)

    def _started(self) -> Path:
        """The folder of the stage that training starts from."""
        return models.finished(str(self.recipe.model["start"]), self.stages)

    def both(self, tokenizer: Any, task: str, pairs: Sequence[Sequence[str]]) -> Iterator[tuple[list[int], list[int]]]:
        """Each side, from its language token to ``</s>``."""
        sides = []
        for number, language in enumerate(task.split("-")):
            first = tokenizer.token_to_id(token(language))
            sides.append([[first, *ids] for ids in encoded(tokenizer, (pair[number] for pair in pairs))])
        return zip(*sides, strict=True)

    def prepare_data(self) -> None:
        corpus.open_file(self.corpus, f"parallel.{BRIDGED}.tsv")
        self.positions = int(self.recipe.model["max_position_embeddings"])
        super().prepare_data()

    def new_model(self) -> EncoderDecoder:
        settings = {name: value for name, value in self.recipe.model.items() if name != "start"}
        ids = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2}
        model = EncoderDecoder(settings, vocab_size=self.tokenizer.get_vocab_size(), **ids)
        if "start" in self.recipe.model:
            from safetensors.torch import load_file

            state = load_file(self._started() / models.WHOLE)
            model.full.load_state_dict(state, strict=False)  # it has tied weights once
        return model


# BERT2BERT: an encoder-decoder initialized from two copies of one encoder


def join(base: Any) -> Any:
    """An EncoderDecoderModel with encoder and decoder from a BertForPreTraining; cross-attention is random."""
    plain = base.config.to_dict() | {"architectures": None}
    config = transformers.EncoderDecoderConfig.from_encoder_decoder_configs(
        type(base.config)(**plain), type(base.config)(**plain | {"is_decoder": True, "add_cross_attention": True})
    )
    encoder = transformers.BertModel(config.encoder, add_pooling_layer=False)
    decoder = transformers.BertLMHeadModel(config.decoder)
    state = base.state_dict()
    encoder_state = {name.removeprefix("bert."): value for name, value in state.items() if name.startswith("bert.")}
    encoder.load_state_dict(encoder_state, strict=False)
    decoder.load_state_dict(state, strict=False)
    model = transformers.EncoderDecoderModel(encoder=encoder, decoder=decoder)
    config = model.config
    config.decoder_start_token_id, config.eos_token_id, config.pad_token_id = 2, 3, 0  # [CLS], [SEP], [PAD]
    config.tie_encoder_decoder = False
    return model


class JoinedModel(nn.Module):
    """The joined model; only the layers of both are trained, or ``everything``."""

    def __init__(self, full: Any, *, everything: bool = False) -> None:
        super().__init__()
        self.full, self.everything = full, everything
        for name, parameter in full.named_parameters():
            parameter.requires_grad_(everything or name.startswith(LEARNED))

    def forward(self, ids: Tensor, real: Tensor, decoder_ids: Tensor, targets: Tensor) -> Tensor:
        """Logits (known, vocabulary) at the ``targets`` positions of the target; arguments as from `shifted`."""
        states = self.full.encoder(input_ids=ids, attention_mask=real).last_hidden_state
        decoder = self.full.decoder
        hidden = decoder.bert(
            input_ids=decoder_ids, encoder_hidden_states=states, encoder_attention_mask=real, use_cache=False
        ).last_hidden_state
        scores: Tensor = decoder.cls(hidden[targets])
        return scores

    def loss(self, batch: Batch) -> Tensor:
        """Mean cross-entropy in nats over the tokens of the target."""
        targets = batch["labels"] != IGNORE
        scores = self(batch["ids"], batch["real"], batch["decoder_ids"], targets)
        return functional.cross_entropy(scores.float(), batch["labels"][targets])


class JoinedObjective(PairsObjective):
    """Sentence fusion; a source of the task ``anywhere`` has the sentences of `parallel.split_anywhere`."""

    pad, start = 0, 2

    def prepare_data(self) -> None:
        self.base = str(self.recipe.model["base"])
        folder = models.finished(self.base, self.stages)
        self.full_tokenizer: Any = transformers.PreTrainedTokenizerFast.from_pretrained(folder, local_files_only=True)
        self.tokenizer = self.full_tokenizer.backend_tokenizer
        longest = int(self.recipe.data["longest"])

        def make() -> dict[str, Any]:
            data: dict[str, Any] = {}
            for side in ("", "test-"):
                some = list(made_fusions(self.corpus, self.recipe, held_out=bool(side)))
                parts = encoded(self.tokenizer, (fusion.parts for _, fusion in some))
                wholes = encoded(self.tokenizer, (fusion.whole for _, fusion in some))
                sources = (number for number, _ in some)
                rows = [row for row in zip(sources, parts, wholes, strict=True) if max(map(len, row[1:])) <= longest]
                data[f"{side}inputs"] = Ragged.of(part for _, part, _ in rows)
                data[f"{side}outputs"] = Ragged.of(output[1:] for *_, output in rows)  # the decoder starts from [CLS]
                data[f"{side}task"] = np.array([number for number, *_ in rows], dtype=np.int64)
            return data

        data = stored(self.cache, (self.recipe.sources, self.recipe.data), make)
        self.take(data)
        self.held = data["test-inputs"], data["test-outputs"]

    def new_model(self) -> JoinedModel:
        base, settings = models.finished_bert(self.base, self.stages), self.recipe.model
        torch.manual_seed(self.recipe.seed)
        if settings.get("start") == "random":
            base = type(base)(base.config)
        return JoinedModel(join(base), everything=settings.get("trained") == "everything")

    def measure(self) -> dict[str, float]:
        """On up to `FUSED` held-out fusions: loss (nats per token), and correct connectives of greedy outputs."""
        some = batches.some(len(self.held[0]), FUSED)
        some = some[np.argsort(self.held[1].lengths[some], kind="stable")]
        made = [shifted(*self.held, self.pad, self.start, index) for index in np.array_split(some, 3)]
        words, correct = Counter[str](), 0
        for batch in map(self.to_device, made):
            outputs = self.model.full.generate(
                input_ids=batch["ids"],
                attention_mask=batch["real"],
                max_new_tokens=int(self.recipe.data["longest"]),
                do_sample=False,
                decoder_start_token_id=self.start,
                eos_token_id=self.full_tokenizer.sep_token_id,
                pad_token_id=self.pad,
            )
            labels = batch["labels"].masked_fill(batch["labels"] == IGNORE, self.pad)
            texts = (self.tokenizer.decode_batch(side.tolist()) for side in (batch["ids"], labels, outputs))
            for parts, label_text, output in zip(*texts, strict=True):
                word = connective(label_text, parts)
                words[word] += 1
                correct += connective(output, parts) == word
        often = max(words.values())
        return {
            "loss": mean_nats(self, made),
            "connective": 100 * correct / words.total(),
            "connective, the most frequent one always": 100 * often / words.total(),
        }

    def export(self, folder: Path) -> None:
        full = self.model.full
        learned = {n: value for n, value in full.state_dict().items() if self.model.everything or n.startswith(LEARNED)}
        models.ship_tensors(learned, folder / models.DIFFERENCE)
        full.config.architectures = ["EncoderDecoderModel"]
        full.config.save_pretrained(folder)
        self.full_tokenizer.save_pretrained(folder)


def made_fusions(folder: Path, recipe: Recipe, *, held_out: bool) -> Iterator[tuple[int, Fusion]]:
    """The fusions of one side of the split with the numbers of their sources; the rule's alone where held out."""
    every = int(recipe.data["hold_out_every"])
    for number, source in enumerate(recipe.sources):
        anywhere = source.task == "anywhere"
        if anywhere and held_out:
            continue
        texts = (item.text for item in corpus.items_of(folder, source, every=every) if item.held_out == held_out)
        yield from ((number, fusion) for fusion in fusions(texts, split_anywhere if anywhere else cut))
