r"""Translation between many languages with one model, told apart by tokens (M2M-100: Fan et al., arXiv 2010.11125).

The source x begins with the token of its own language a, the target y with the token of the language b that is wanted:

.. math:: L = -\frac{1}{n + 2} \sum_{t=0}^{n+1} \log p(y_t \mid y_{<t}, a, x), \qquad y_0 = b, \; y_{n+1} = \text{</s>}

    encoder reads    __en__  x_1 ... x_m  </s>
    decoder reads    </s>  __fr__  y_1 ... y_n
    decoder writes   __fr__  y_1  ... y_n  </s>

Every pair has English on one side. Two other languages never meet in training, so that what the model does between
them is measured without examples (`core.training.zeroshot`).
"""

from __future__ import annotations

import json
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from core.training import batches, corpus, parallel
from core.training.arrays import ArrayWriter
from core.training.batches import Epochs, Ints, Ragged, RaggedWriter
from core.training.documents import AT_ONCE, batched
from core.training.encoder_decoder import EncoderDecoder, shifted, tokens
from core.training.files import write_file
from core.training.kept_pairs import Kept, kept_pairs
from core.training.losses import IGNORE
from core.training.objectives.seq2seq import MEASURED, train_tokenizer
from core.training.objectives.tasks import examples
from core.training.parallel import Pair
from core.training.recipe import Recipe, RecipeError
from core.training.shipping import ship_model, ship_tokenizer
from core.training.zeroshot import Bridged

SPECIAL = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
"""M2M-100's special tokens by the names that transformers gives them; the ids follow this order."""
BEGIN, PAD, END, _ = range(4)
LANGUAGES = ("en", "fr", "de")
UNSEEN = "fr-de"
"""The pair of languages that is measured and never trained."""


def token(language: str) -> str:
    """The token of a language."""
    return f"__{language}__"


class ManyObjective:
    """Pairs grouped by their padded lengths."""

    def __init__(self, recipe: Recipe, corpus_folder: Path, cache: Path) -> None:
        self.recipe = recipe
        self.tokenizer, self.inputs, self.outputs, self.task_of, self.test = self._data(corpus_folder, cache)
        self.sizes = (batches.round_up(self.inputs.lengths), batches.round_up(self.outputs.lengths))
        torch.manual_seed(recipe.seed)
        self.model = new_model(recipe.model, self.tokenizer.get_vocab_size())
        self._epochs = Epochs(recipe.seed, self._epoch)

    def _data(self, folder: Path, cache: Path) -> Kept:
        return kept_pairs(self.recipe, cache, partial(self._write, folder))

    def _write(self, folder: Path, stem: Path) -> None:
        """Reads the pairs, trains the tokeniser and keeps both sides as tokens."""
        corpus.open_file(folder, f"parallel.{UNSEEN}.tsv")
        stem.mkdir(parents=True, exist_ok=True)
        data, sources = self.recipe.data, self.recipe.sources
        longest = int(data["longest"])
        names = [pair_of(source.task) for source in sources]
        split = splits(folder, int(data["hold_out_every"]))
        some = (pair for side in split.values() for pair in islice(side.train(), 0, None, int(data["tokenizer_every"])))
        tokenizer = train_tokenizer(
            (text for pair in some for text in pair),
            int(data["vocabulary"]),
            [token(language) for language in LANGUAGES],
            list(SPECIAL.values()),
            spoken=False,
        )
        tokenizer.save(str(stem / "tokenizer.json"))
        test: dict[str, list[list[str]]] = {}
        with (
            RaggedWriter(stem / "inputs") as inputs,
            RaggedWriter(stem / "outputs") as outputs,
            ArrayWriter(stem / "task.npy", np.int64) as tasks,
        ):
            for number, (source, name) in enumerate(zip(sources, names, strict=True)):
                side = split[name]
                made = examples(source.task, islice(side.train(), source.first - 1, source.last))
                for part in batched(made, AT_ONCE):
                    rows = zip(*encode(tokenizer, source.task, part), strict=True)
                    fit = [row for row in rows if max(map(len, row)) <= longest]
                    inputs.extend([left for left, _ in fit])
                    outputs.extend([right for _, right in fit])
                    tasks.add(np.full(len(fit), number))
                test[source.task] = [list(pair) for pair in islice(examples(source.task, side.test()), MEASURED)]
                corpus.require(len(test[source.task]), "measuring", sources)
            corpus.require(inputs.count, "training", sources)
        met = list(islice(unseen(folder, split).test(), MEASURED))
        test[UNSEEN] = [[french, german] for french, german in met]
        test["de-fr"] = [[german, french] for french, german in met]
        write_file(stem / "test.json", json.dumps(test, ensure_ascii=False))

    def _epoch(self, rng: np.random.Generator) -> list[Ints]:
        items = batches.mix(self.task_of, [source.passes for source in self.recipe.sources], rng)
        left, right = self.sizes[0][items], self.sizes[1][items]
        return batches.plan(items, left * 4096 + right, left + right, self.recipe.step_tokens, rng)

    def batch(self, step: int) -> dict[str, Tensor]:
        index = self._epochs[step]
        widths = (int(self.sizes[0][index[0]]), int(self.sizes[1][index[0]]))
        ids, labels = self.inputs.rows(index, widths[0], PAD), self.outputs.rows(index, widths[1], IGNORE)
        return shifted(ids, labels, PAD, END)

    def loss(self, batch: dict[str, Tensor]) -> Tensor:
        return self.model.loss(batch)

    def size(self, batch: dict[str, Tensor]) -> int:
        return tokens(batch)

    def measure(self) -> dict[str, float]:
        """Cross-entropy (nats per output token) on at most `MEASURED` held-out pairs of each direction.

        The token of the language counts, too: between two languages that never met it is among what must be learnt.
        """
        found: dict[str, float] = {}
        for task, pairs in self.test.items():
            if not pairs:
                continue
            given, wanted = encode(self.tokenizer, task, [(left, right) for left, right in pairs])
            index = np.arange(len(given))
            ids = Ragged.of(given).rows(index, max(map(len, given)), PAD)
            labels = Ragged.of(wanted).rows(index, max(map(len, wanted)), IGNORE)
            batch = {name: value.to(self.model.full.device) for name, value in shifted(ids, labels, PAD, END).items()}
            found[f"loss {task}"] = float(self.loss(batch))
        return found

    def export(self, folder: Path) -> None:
        ship_model(self.model.full, folder, ("dropout", "attention_dropout"))
        spoken = [token(language) for language in LANGUAGES]
        positions = int(self.recipe.model["positions"])
        ship_tokenizer(self.tokenizer, folder, positions, **SPECIAL, extra_special_tokens=spoken)


def new_model(settings: dict[str, Any], vocabulary: int) -> EncoderDecoder:
    """M2M-100 with random weights."""
    return EncoderDecoder(
        "m2m_100",
        settings,
        vocabulary,
        settings["positions"],
        bos_token_id=BEGIN,
        pad_token_id=PAD,
        eos_token_id=END,
        decoder_start_token_id=END,
    )


def pair_of(task: str) -> str:
    """The file of pairs that a direction is trained on, English first.

    Raises:
        RecipeError: the direction has no English side, or a language that is not among `LANGUAGES`.
    """
    languages = task.split("-")
    others = [language for language in languages if language != "en"]
    if len(languages) != 2 or len(others) != 1 or others[0] not in LANGUAGES:
        raise RecipeError(
            f"No pairs are trained on for {task!r}: French and German meet in measuring alone. "
            "Use en-fr, fr-en, en-de or de-en."
        )
    return f"en-{others[0]}"


def splits(folder: Path, every: int) -> dict[str, parallel.Split]:
    """The two files of pairs with English, each with its held-out side."""
    return {name: parallel.Split(partial(parallel.rows, folder, name), every) for name in ("en-fr", "en-de")}


def unseen(folder: Path, split: dict[str, parallel.Split]) -> Bridged:
    """The pairs of French and German that are measured on."""
    return Bridged(split["en-fr"], split["en-de"], partial(parallel.rows, folder, UNSEEN))


def encode(tokenizer: Any, task: str, pairs: list[Pair]) -> tuple[list[list[int]], list[list[int]]]:
    """Both sides of pairs (source, target) as tokens, each with its language first and ``</s>`` last."""
    sides: list[list[list[int]]] = []
    for language, texts in zip(task.split("-"), zip(*pairs, strict=True), strict=True):
        first = tokenizer.token_to_id(token(language))
        sides.append([[first, *made.ids] for made in tokenizer.encode_batch_fast(list(texts))])
    return sides[0], sides[1]
