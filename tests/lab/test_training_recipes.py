"""Every recipe on a tiny corpus: batches, losses beside the library, what it ships, and what its card states."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors import safe_open

from core import studies
from core.checkpoints.registry import bundled_root
from lab import evaluate, measures, train
from lab import recipe as recipes
from lab.objective import IGNORE
from lab.state import trained
from tests import tinyrecipes

World = tuple[Path, Path]
INPUTS = {
    **{"ids": "input_ids", "real": "attention_mask", "types": "token_type_ids", "decoder_ids": "decoder_input_ids"},
    **{"langs": "langs", "positions": "position_ids"},
}
"""What a batch holds, by the names of transformers' arguments."""
DIFFERENCES = {"minilm", "minilm-full", "atlas-bigbird", "atlas-longformer"}
DIFFERENCES |= {
    "atlas-adapter-bert",
    "adapter-bert-tuned",
    "atlas-bert2bert",
    "atlas-bert2bert-random",
    "atlas-bert2bert-whole",
    "atlas-bert-pairs",
}
DIFFERENCES |= {"atlas-bert-spans", "atlas-bert-unified", "atlas-bert-orders", "atlas-elmo", "atlas-albert-pairs"}
"""Recipes that ship what they add to another model; each has a test of its own."""
OF_EACH_KIND = sorted({recipes.load(name).kind: name for name in recipes.available()}.values())
"""All recipes are in tests/nightly."""
WHOLE = sorted({*recipes.available()} - DIFFERENCES)


def inputs(objective: Any, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The batch as arguments of the library's model."""
    typed = getattr(objective.model, "typed", True)
    return {
        INPUTS[name]: value.long() for name, value in batch.items() if name in INPUTS and (name != "types" or typed)
    }


@pytest.mark.parametrize("name", OF_EACH_KIND)
def test_a_batch_and_its_loss_follow_from_the_number_of_the_step(name: str, tiny_world: World) -> None:
    first, again = (tinyrecipes.objective(name, *tiny_world) for _ in range(2))
    for step in (3, 0):
        batch, other = first.batch(step), again.batch(step)
        assert batch.keys() == other.keys()
        assert all(torch.equal(value, other[key]) for key, value in batch.items())
    assert any(not torch.equal(value, first.batch(1)[key]) for key, value in batch.items())
    assert 0 < first.size(batch) <= sum(value.numel() for value in batch.values())
    losses = []
    for made in (first, again):
        torch.manual_seed(1)
        losses.append(made.loss(batch))
    assert losses[0].isfinite()
    assert losses[0].item() == losses[1].item()
    losses[0].backward()
    assert any(value.grad is not None and value.grad.any() for value in trained(first.model).values())


@pytest.mark.parametrize("name", WHOLE)
def test_what_is_shipped_is_the_model_with_its_tokenizer(name: str, tiny_world: World, tmp_path: Path) -> None:
    objective = tinyrecipes.objective(name, *tiny_world)
    tinyrecipes.shaken(objective.model)
    objective.export(tmp_path)
    (kind,) = transformers.AutoConfig.from_pretrained(tmp_path).architectures
    loaded, report = getattr(transformers, kind).from_pretrained(
        tmp_path, output_loading_info=True, dtype=torch.float32, attn_implementation="eager"
    )
    assert not report["missing_keys"]
    assert not report["unexpected_keys"]
    tensors = inputs(objective, objective.batch(0))
    scores = []
    for model in (objective.model.full, loaded):
        torch.manual_seed(0)  # a Reformer's rotations
        with torch.no_grad():
            scores.append(model.eval()(**tensors)[0])
    assert scores[0].dtype is torch.float32  # the run's own model is not rounded
    torch.testing.assert_close(scores[1], scores[0], atol=0.05, rtol=0.03)
    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(tmp_path)
    text = "The cat saw two dogs."
    assert tokenizer.is_fast
    if objective.tokenizer is not None:
        assert tokenizer(text)["input_ids"] == objective.tokenizer.encode(text).ids
    assert ("token_type_ids" in tokenizer(text)) == ("token_type_ids" in tensors)


@pytest.mark.parametrize(
    "name", ["atlas-t5", "atlas-byt5", "atlas-bart", "atlas-m2m-100", "atlas-xlm", "atlas-roberta", "atlas-gpt-neo"]
)
def test_the_loss_is_the_librarys(name: str, tiny_world: World) -> None:
    objective = tinyrecipes.objective(name, *tiny_world)
    batch, model = objective.batch(0), objective.model.full.eval()
    tensors = inputs(objective, batch)
    tensors.pop("decoder_input_ids", None)  # the library shifts by itself
    if "chosen" in batch:
        labels = torch.full_like(batch["ids"], IGNORE)
        labels[batch["chosen"]] = batch["labels"]
    elif name == "atlas-gpt-neo":  # and drops the last label
        labels, batch = batch["ids"], {key: value[:, :-1] for key, value in batch.items()}
    else:
        labels = batch["labels"]
    with torch.no_grad():
        torch.testing.assert_close(objective.loss(batch), model(**tensors, labels=labels).loss)


def test_a_card_states_the_size_of_its_model() -> None:
    stated = 0
    for name in recipes.available():
        recipe = recipes.load(name)
        if "million parameters" in recipe.card.get("summary", ""):
            with safe_open(bundled_root().joinpath(*recipe.location) / "model.safetensors", "pt") as file:
                count = sum(math.prod(file.get_slice(key).get_shape()) for key in file.keys())  # noqa: SIM118
            assert f"{count / 1e6:.1f} million parameters" in recipe.card["summary"], name
            stated += 1
    assert stated > 12


def test_a_run_from_its_corpus_to_a_checkpoint(
    tiny_world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    optimizer = {"rate": 5e-3, "warmup": 0.1, "bfloat16": False}
    made = tinyrecipes.recipe("atlas-gpt-2", optimizer=optimizer, tokens=40 * 240)
    monkeypatch.setattr(recipes, "load", lambda _: made)
    out = train.train("atlas-gpt-2", tiny_world[0], state_folder=tmp_path / "state", output=tmp_path / "out")
    assert {"card.toml", "curve.csv", "config.json", "model.safetensors", "tokenizer.json"} <= {
        path.name for path in out.iterdir()
    }
    curve = [line.split(",") for line in (out / "curve.csv").read_text(encoding="utf-8").splitlines()[1:]]
    for split, lower in (("train", 0.97), ("held-out", 1.0)):
        values = [float(row[5]) for row in curve if row[3] == split]
        assert values[-1] < lower * values[0]
    assert (curve[-1][0], curve[-1][1]) == ("9600", "40")


BUNDLED = sorted(path.parent.name for path in bundled_root().glob("*/card.toml"))
TOLERANCE = {
    "found": 3.0,
    "left": 1.0,
    "balanced": 2.0,
    "precision": 2.0,
    "replaced, of": 0.5,
    "area": 1.0,
    "top-1": 1.01,
    "top-5": 1.01,
    "repeats": 1.01,
    "permute exact": 8.4,  # one of twelve texts
    "rotate exact": 8.4,
    "exact": 2.6,
    "connective": 3.4,
    "whole sentence": 3.4,
    "BLEU": 0.6,
    "chrF": 0.6,
    "bits": 0.01,
    "covered": 1.0,
    "right code": 2.6,
    "accuracy": 3.4,
    "CER": 1.0,
}
QUICK = {"atlas-bert", "atlas-electra", "atlas-llama"}
"""Cards that are measured every day, an encoder's and a decoder's among them."""


@pytest.mark.parametrize("slug", sorted(QUICK))
def test_card_states_what_is_measured(slug: str) -> None:
    states_what_is_measured(slug)


def states_what_is_measured(slug: str) -> None:
    from core import checkpoints

    card = checkpoints.get(slug).card
    stated = {(m.name, m.on): m.value for m in card.measures}
    measures = evaluate.evaluate(slug.replace(":", "-"))
    assert measures
    for measure in measures:
        near = next(value for part, value in TOLERANCE.items() if part in measure.name)
        assert stated[measure.name, measure.on] == pytest.approx(measure.value, abs=near), measure


@pytest.mark.parametrize("file", measures.CLOZE.values(), ids=lambda file: file.stem)
def test_cloze_is_well_formed(file: Path) -> None:
    rows = measures.read_table(file)
    assert len(rows) == 100
    assert len({sentence for _, sentence, _ in rows}) == 100
    for _, sentence, answers in rows:
        assert sentence.count("[MASK]") == 1
        # An answer may stand in its sentence only where the sentence is about a pair of equals.
        assert not set(answers.split()) & set(re.findall(r"[a-z]+", sentence.lower())), sentence


def test_every_measure_fits_a_bundled_model_or_a_study() -> None:
    bundled = [recipe for recipe in map(recipes.load, recipes.available()) if recipe.card]
    kinds = {word for recipe in bundled for word in (recipe.kind, recipe.location[-1])}
    assert evaluate.FITTED - kinds == {"compression"}
    assert "compression" in studies.names()
