"""Models of several languages on their pages; tiny random ones, so that the page is tested and not the words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.training.objectives import build
from tests import tinypairs
from tests.app.test_branches import opened, shown


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    corpus = tinypairs.write(tmp_path_factory.mktemp("corpus"))
    out = tmp_path_factory.mktemp("checkpoints")
    for name in ("atlas-m2m-100",):
        build(tinypairs.recipe(name), corpus, corpus / "states" / name / "data").export(out / name)
    return out


def texts(at: AppTest) -> str:
    return " ".join(str(element.body) for element in at.get("html"))


def test_a_translation_without_english_stands_beside_the_way_through_it(
    root: Path, use_checkpoints: Callable[[Path], None]
) -> None:
    use_checkpoints(root)
    query = {"system": "m2m-100", "model": "dir-atlas-m2m-100", "length": "8"}
    at = opened("encoder-decoder", **query, task="fr-de")
    assert not at.exception
    assert "At once, and by way of English" in shown(at)
    assert "French to English" in texts(at)
    assert "that English to German" in texts(at)
    at = opened("encoder-decoder", **query, task="fr-en")
    assert not at.exception
    assert "by way of English" not in shown(at)
