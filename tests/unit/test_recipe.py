"""Recipes: what is written is read back; whatever is wrong with a file becomes a sentence and opens nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core import checkpoints
from core.attention.views import recipe
from core.attention.views.recipe import RecipeRefused, differences, read, write
from core.checkpoints.sizes import Weights, revision_of, weights_of
from core.links.parameters import Value
from core.ui.section import pages

pages()  # their parameters are known from here on
SLUGS = ("minilm", "atlas-gpt-2", "atlas-t5")
CHOICES = {"model": SLUGS, "models": SLUGS, "beside": SLUGS}
SPEC = checkpoints.get("minilm")
WEIGHTS = (Weights("minilm/model.safetensors", 5, "0" * 64),)
TEXTS = ("The cat sat.", "</script><b>", "=1+1", "\u202eabc", "😀 שלום", "a\x00b", "“” \\ \n\t {}", "x" * 4_000)


@pytest.mark.parametrize("text", TEXTS)
def test_a_view_comes_back_whatever_its_text(text: str) -> None:
    settings: dict[str, Value] = {"text": text, "layer": 2, "head": 3, "view": "table", "off": None}
    found = read(write("heads", settings, SPEC, WEIGHTS), CHOICES)
    assert found.model == "minilm"
    assert found.weights == WEIGHTS
    kept = {name: value for name, value in found.values.items() if value not in (None, ())}
    assert kept == {"tab": "heads", "model": "minilm", "text": text, "layer": 2, "head": 3, "view": "table"}


def test_lists_and_numbers_come_back() -> None:
    every: dict[str, Value] = {"score": "same token", "least": 0.25, "models": ("minilm", "atlas-t5"), "kind": "cross"}
    found = read(write("every", every, None), CHOICES)
    assert found.model is None
    assert {name: found.values[name] for name in every} == every
    beside: dict[str, Value] = {"beside": SLUGS, "at": (0, 0, 2, 1, 0, 0), "word": 3, "role": "first"}
    assert {name: read(write("beside", beside, None), CHOICES).values[name] for name in beside} == beside


def test_a_recipe_names_its_versions() -> None:
    whole = json.loads(write("heads", {"text": "a"}, SPEC, WEIGHTS, "abc123"))
    assert whole["model"] == {
        "slug": "minilm",
        "name": SPEC.name,
        "source": SPEC.source,
        "revision": "abc123",
        "weights": [{"file": "minilm/model.safetensors", "bytes": 5, "sha256": "0" * 64}],
    }
    assert whole["versions"].keys() == {"transformer-atlas", "python", "torch", "transformers"}
    assert (whole["section"], whole["seed"], whole["settings"]) == ("heads", 0, {"text": "a"})


def test_a_text_that_does_not_fit_is_refused() -> None:
    with pytest.raises(RecipeRefused, match="too long"):
        write("heads", {"text": "x" * 20_000}, SPEC)


def changed(**more: Any) -> bytes:
    whole = json.loads(write("heads", {"text": "a", "layer": 1}, SPEC, WEIGHTS))
    return json.dumps(whole | more).encode()


def setting(name: str, value: Any) -> bytes:
    return changed(settings={name: value})


NESTED = b'{"format":' + b"[" * 9_000 + b"]" * 9_000 + b"}"
BAD: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "not JSON"),
    "huge": (b" " * 20_001, "at most 20,000 bytes"),
    "a picture": (b"\x89PNG\r\n\x1a\n\xff", "not JSON"),
    "a list": (b"[]", "not a recipe"),
    "another file": (b'{"name": "package"}', "not a recipe"),
    "very deep": (NESTED, "not JSON"),
    "half a character": (setting("text", "a\ud800"), "not JSON"),
    "another version": (changed(version=2), "another version"),
    "too much": (changed(extra=1), "“extra”"),
    "another page": (changed(page="home"), "its “page”"),
    "no section": (changed(section="kitchen"), "tab “kitchen”"),
    "a section that is a number": (changed(section=3), "its “section”"),
    "settings that are a list": (changed(settings=[]), "its “settings”"),
    "another seed": (changed(seed=7), "its “seed”"),
    "a seed that is false": (changed(seed=False), "its “seed”"),
    "a model that is not here": (changed(model={"slug": "gpt-9"}), "model “gpt-9”, but it must be one of"),
    "a model without a name": (changed(model={}), "“slug” of “model”"),
    "weights that are none": (changed(model={"slug": "minilm", "weights": [1]}), "“weights” of “model”"),
    "an unknown setting": (setting("colour", "red"), "“colour”, which this page does not have"),
    "a tab among the settings": (setting("tab", "all"), "is not a setting of a recipe"),
    "a layer that is a text": (setting("layer", "1"), "another kind"),
    "a layer that is a list": (setting("layer", [1]), "another kind"),
    "a layer that is true": (setting("layer", True), "“layer” of “settings”"),
    "a layer out of range": (setting("layer", 10**9), "must lie from 1 to 200"),
    "a layer with a point": (setting("layer", 1.5), "whole number"),
    "a number that is none": (setting("least", float("nan")), "must lie from"),
    "a text that is a number": (setting("text", 5), "another kind"),
    "a text that is an object": (setting("text", {"a": 1}), "“text” of “settings”"),
    "words with a comma": (setting("models", ["minilm,atlas-t5"]), "comma"),
    "a strange word": (setting("models", ["nobody"]), "must be one of"),
}


@pytest.mark.parametrize(("data", "says"), BAD.values(), ids=BAD)
def test_what_is_wrong_is_a_plain_sentence(data: bytes, says: str) -> None:
    with pytest.raises(RecipeRefused) as refused:
        read(data, CHOICES)
    sentence = str(refused.value)
    assert says in sentence
    assert len(sentence) < 400
    assert "The link" not in sentence


def test_differences_are_reported_and_change_nothing() -> None:
    found = read(write("heads", {"text": "a"}, SPEC, WEIGHTS), CHOICES)
    assert differences(found, WEIGHTS, recipe.versions()) == ()
    (weights,) = differences(found, (Weights("minilm/model.safetensors", 5, "1" * 64),), recipe.versions())
    assert "other weights" in weights
    older = replace(found, versions={"torch": "1.0", "transformers": recipe.versions()["transformers"]})
    (versions,) = differences(older, WEIGHTS, recipe.versions())
    assert versions.startswith("It was made with torch 1.0 (here ")
    assert differences(older, (), {}) == ()
    hostile = read(changed(versions={"torch": "<b>" * 20, "else": "x"}), CHOICES)
    assert hostile.versions == {}


def test_weights_are_named_by_their_digest(checkpoint_dir: Path, use_checkpoints: Callable[[Path], None]) -> None:
    spec = checkpoints.get("dir-tiny-bert")
    (one,) = weights_of(spec)
    file = checkpoint_dir / "tiny-bert" / "model.safetensors"
    assert one.file == "tiny-bert/model.safetensors"
    assert (one.bytes, one.sha256) == (file.stat().st_size, hashlib.sha256(file.read_bytes()).hexdigest())
    assert revision_of(spec) is None
    assert weights_of(replace(spec, location="nowhere")) == ()


def test_a_difference_has_the_digest_of_its_base_too() -> None:
    longformer = checkpoints.get("atlas-longformer")
    files = [one.file for one in weights_of(longformer)]
    assert files == ["atlas-longformer/difference.safetensors", "atlas-roberta/model.safetensors"]
