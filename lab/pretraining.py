"""The study of pretraining objectives: encoders of one size, pretrained with three objectives, by a task.

One recipe, ``assets/recipes/sweeps/pretraining.toml``, whose objective, tokens and seed a point replaces; its learning
rate reaches zero at the end of each run. A linear head on a finished encoder is trained to tag words with their part of
speech, the encoder frozen, and again trained with it: a seed chooses the labeled sentences of the English Web
Treebank's development file, and the held-out ones are of its test file. The baseline has random weights.

Operations are those of `core.costs.operations` with padding, three forward passes a step: the trunk and ELECTRA's
discriminator head at every position, the heads that predict tokens at the masked ones.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch import nn

from core.anatomy.build import describe
from core.attention.roles import treebank
from core.checkpoints.spec import Checkpoint, CheckpointSpec
from core.costs import shape
from core.costs.operations import TRAINING, forward
from core.finetuning.examples import Example, LabeledSet
from core.finetuning.setup import Setup
from core.finetuning.train import Learner, first_tokens
from core.lazy import transformers
from lab import corpus as texts
from lab import recipe as recipes
from lab.objective import Batch, Objective
from lab.objectives import build
from lab.tokenizers import BERT
from lab.train import STATE, Trainer

OBJECTIVES = ("masked", "replaced", "replaced, masked positions")
PRETRAINED = (200_000, 700_000, 2_000_000)
"""Objectives and tokens of the sweep over encoders."""


@dataclass(frozen=True, slots=True)
class Pretrained:
    """An encoder pretrained here, with a head that tags words with their part of speech."""

    objective: str
    """One of :data:`OBJECTIVES`; "" for random weights."""
    tokens: int
    seed: int
    operations: float = 0.0
    """Of pretraining, the generator's included."""
    learned: float = 0.0
    """Of held-out text: the share of the masked tokens that are predicted, or the area under the discriminator's ROC
    curve: how often a replaced token has a higher probability than an original one."""
    trial: int = 0
    """Seed of the head's sentences."""
    accuracy: float = 0.0
    """Share of the held-out words, the encoder frozen."""
    tuned: float = 0.0
    """Likewise, the encoder trained with the head."""

    @property
    def point(self) -> tuple[str, int, int]:
        """What is trained once."""
        return self.objective, self.tokens, self.seed


KINDS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "": ("encoder", "bert", {}),
    "masked": ("encoder", "bert", {}),
    "replaced": ("electra", "electra", {"fates": (1.0, 0.0)}),
    "replaced, masked positions": ("electra", "electra", {"fates": (1.0, 0.0), "classified": "masked"}),
}
"""The recipe's kind, the architecture and the data of an objective; "" for random weights."""
RATES = {"electra": {"rate": 3e-3, "muon": 6e-3}}
"""Learning rates by kind, where they are not the recipe's: for each kind the better of 3e-3 and 6e-3 on
400,000 tokens with another seed."""
TREEBANK = {"train": "treebank/en_ewt-ud-dev.conllu", "held out": "treebank/en_ewt-ud-test.conllu"}
WORDS = (4, 16)
LABELED, HELD_OUT, TRIALS = 200, 400, 3
"""Sentences, and heads of an encoder."""
PROBED, TUNED = Setup("head", epochs=20, seconds=1e6), Setup("all", epochs=10, rate=1e-3, seconds=1e6)
"""How the head is trained: alone, or with the encoder."""
COUNTED = 40
"""Batches whose operations are counted."""


def points(seed: int) -> list[Pretrained]:
    """What the sweep trains with a seed; nothing is measured yet."""
    return [Pretrained("", 0, seed), *(Pretrained(name, n, seed) for name in OBJECTIVES for n in PRETRAINED)]


def sweep(wanted: Sequence[Pretrained], done: Sequence[Pretrained], corpus: Path) -> Iterator[list[Pretrained]]:
    """The rows of each encoder that is not done, one for each head."""
    measured = {row.point for row in done}
    for point in wanted:
        if point.point in measured:
            continue
        recipe = recipe_of(point)
        folder = STATE / recipe.slug / "-".join(map(str, point.point)).replace(" ", "_")
        objective: Any = build(recipe, corpus, folder / "data")
        per_token = operations(objective)
        trainer = Trainer(recipe, objective, folder)
        trainer.resume()
        learned = 0.0
        if point.tokens:
            trainer.run(measure_share=2.0, quiet=True)
            held_out = trainer.measure()
            learned = held_out.get("area under the curve", held_out.get("top-1", 0.0)) / 100
        trained = replace(point, operations=per_token * trainer.progress.tokens, learned=learned)
        yield [
            replace(
                trained,
                trial=trial,
                accuracy=tagged(objective, corpus, trial, PROBED),
                tuned=tagged(objective, corpus, trial, TUNED),
            )
            for trial in range(TRIALS)
        ]
        shutil.rmtree(folder)


def recipe_of(point: Pretrained) -> recipes.Recipe:
    base = recipes.load("pretraining", recipes.RECIPES / "sweeps")
    kind, architecture, data = KINDS[point.objective]
    model = base.model | {"type": architecture}
    if kind == "encoder":
        del model["generator"]
    optimizer = base.optimizer | RATES.get(kind, {})
    return replace(
        base, kind=kind, seed=point.seed, tokens=point.tokens, model=model, data=base.data | data, optimizer=optimizer
    )


def operations(objective: Objective) -> float:
    """Operations of training per token, the mean of the first batches."""
    full: Any = objective.model.full
    generator: Any = getattr(objective.model, "generator", None)
    trunks = [net.base_model for net in (full, generator) if net is not None]
    shapes = []
    for trunk in trunks:
        root = describe(trunk)
        shapes.append((shape.shape_of_config(trunk.config, type(trunk).__name__, "encoder", root), root))
    predicting = _weights(full.cls.predictions) if generator is None else _weights(generator) - _weights(trunks[1])
    classifying = 0 if generator is None else _weights(full.discriminator_predictions)

    def of(batch: Batch) -> float:
        rows, length = batch["ids"].shape
        trunk = rows * sum(forward(form, root, length).total for form, root in shapes)
        heads = 2 * (classifying * rows * length + predicting * len(batch["labels"]))
        return TRAINING * (trunk + heads)

    batches = [objective.batch(step) for step in range(COUNTED)]
    return sum(map(of, batches)) / sum(map(objective.size, batches))


def _weights(module: nn.Module) -> int:
    """Weights of the matrices of a module, tied ones included."""
    return sum(parameter.numel() for parameter in module.parameters() if parameter.ndim == 2)


def tagged(objective: Objective, corpus: Path, trial: int, setup: Setup) -> float:
    """The share of held-out words that a head on the encoder tags right."""
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=objective.tokenizer, **BERT)
    spec = CheckpointSpec("pretrained", "encoder", None, "encoder", "masked-lm", "directory", "", "", ready=True)
    checkpoint = Checkpoint(objective.model.full.eval(), tokenizer, spec)
    data = sentences(checkpoint, corpus, trial)
    *_, last = Learner(checkpoint, len(data.labels), replace(setup, seed=trial)).train(data, last_only=True)
    return last.accuracy


def sentences(checkpoint: Checkpoint, corpus: Path, seed: int) -> LabeledSet:
    """A seed's labeled sentences, and the held-out ones of all seeds: those that fit the encoder, and whose words
    begin with a token each."""
    sides = []
    for name, order, count in (("train", seed, LABELED), ("held out", 0, HELD_OUT)):
        parsed = list(treebank.read_treebank(texts.open_file(corpus, TREEBANK[name])))
        random.Random(order).shuffle(parsed)
        chosen: list[Example] = []
        for sentence in parsed:
            if len(chosen) < count and WORDS[0] <= len(sentence.words) <= WORDS[1]:
                example = Example("", sentence.text, sentence=sentence)
                tokens, first = first_tokens(checkpoint, example)
                if len(tokens) <= checkpoint.model.config.max_position_embeddings and len({*first}) == len(first):
                    chosen.append(example)
        sides.append(tuple(chosen))
    return LabeledSet(*sides)


def runs(done: Sequence[Pretrained], corpus: Path, seeds: int) -> Iterator[list[Pretrained]]:
    """The rows of each encoder that is not done, seed by seed."""
    for seed in range(seeds):
        yield from sweep(points(seed), done, corpus)
