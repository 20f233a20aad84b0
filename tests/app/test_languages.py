"""Models of several languages on their pages; tiny random ones, so that the page is tested and not the words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core import checkpoints
from core.language.bilingual import prepare
from tests import tinyrecipes
from tests.app.test_branches import survive_nonsense
from tests.pages import opened, shown

pytestmark = pytest.mark.usefixtures("open_tables")


@pytest.fixture(scope="module")
def root(tiny_world: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("checkpoints")
    for name in ("atlas-m2m-100", "atlas-xlm"):
        tinyrecipes.objective(name, *tiny_world).export(out / name)
    return out


def texts(at: AppTest) -> str:
    return " ".join(str(element.body) for element in at.get("html"))


def test_a_translation_without_english_stands_beside_the_way_through_it(
    root: Path, use_checkpoints: Callable[[Path], None]
) -> None:
    use_checkpoints(root)
    query = {"system": "m2m-100", "model": "dir-atlas-m2m-100", "length": "8"}
    at = opened("encoder-decoder", **query, task="fr-de")
    assert "Direct, and with English as pivot" in shown(at)
    assert "French to English" in texts(at)
    assert "that English to German" in texts(at)
    assert "Special tokens name the languages" in shown(at)
    at = opened("encoder-decoder", **query, task="fr-en")
    assert "English as pivot" not in shown(at)


def test_a_word_is_predicted_with_its_translation_and_without(
    root: Path, use_checkpoints: Callable[[Path], None]
) -> None:
    use_checkpoints(root)
    query = {"system": "xlm", "model": "dir-atlas-xlm"}  # it opens with both sentences
    at = opened("encoder", **query)
    assert not at.warning
    assert "**Notice**" in shown(at)
    assert len(at.get("plotly_chart")) % 2 == 0
    table = at.dataframe[0].value
    assert set(table["read"]) == {"both sentences", "one sentence"}
    assert table.groupby(["token", "read"])["probability"].sum().le(1).all()
    second = prepare(checkpoints.load("dir-atlas-xlm"), "The dog sat.", "Dogé saté.").second
    at = opened("encoder", **query, first="The dog sat.", second="Dogé saté.", mask=str(second + 1))
    assert at.text_input[0].value == "The dog sat."
    assert (at.dataframe[0].value["token"] > second).all()
    assert "mask" in at.query_params
    survive_nonsense(at, "text_input", 1)
    assert at.text_input[0].value == "The dog sat."


def test_a_sentence_alone_is_said_to_be_read_as_english(root: Path, use_checkpoints: Callable[[Path], None]) -> None:
    use_checkpoints(root)
    at = opened("encoder", system="xlm", model="dir-atlas-xlm", demo="masks", text="The dog sat.", mask="2")
    assert "marks every token as English" in shown(at)
    assert at.query_params["demo"] == "masks"
    assert at.get("plotly_chart")
