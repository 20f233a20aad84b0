"""Systems that only a relative stands for: their pages say what runs instead, and their trees are their own."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from core import catalogue
from tests.pages import opened
from tests.words import words


def captions(at: AppTest) -> str:
    return "\n".join(words(str(element.value)) for element in at.caption)


@pytest.mark.parametrize("slug", ["ernie-2.0", "mistral"])
def test_the_demo_says_what_runs_instead(slug: str) -> None:
    at = opened(catalogue.get(slug).branch, system=slug)
    assert not at.error
    live = catalogue.get(slug).live
    assert at.selectbox[1].value == live.checkpoint
    assert live.note in captions(at)


def test_where_the_system_itself_runs_nothing_is_said_of_relatives() -> None:
    at = opened("encoder", system="roberta")
    assert catalogue.get("roberta").live.note not in captions(at)


def test_a_tree_without_attention_is_not_measured_by_it() -> None:
    said = captions(opened("encoder", system="elmo", tab="tree"))
    assert "93,600,868" in said
    assert "there is no attention here, and the embeddings are 19.3% of all parameters" in said
    assert "times what attention holds" not in said


def test_a_link_that_names_a_model_shows_its_system() -> None:
    at = opened("encoder", model="atlas-albert", tab="facts")
    assert [box.value for box in at.selectbox[:2]] == ["albert", "atlas-albert"]
    at.segmented_control[0].set_value("demo").run()
    assert [box.value for box in at.selectbox[:2]] == ["albert", "atlas-albert"]


def test_a_model_of_another_system_is_called_that_and_its_link_names_both() -> None:
    at = opened("encoder", system="bert")
    assert "in place of" not in captions(at)
    at.selectbox[1].set_value("atlas-roberta").run()
    assert at.selectbox[0].value == "bert"
    assert "Atlas RoBERTa, a model of the RoBERTa architecture, runs here in place of BERT." in captions(at)
    assert (at.query_params["system"], at.query_params["model"]) == ("bert", "atlas-roberta")
    at.selectbox[0].set_value("albert").run()
    assert at.selectbox[1].value == "atlas-albert"
    assert at.query_params["system"] == "albert"
    assert "model" not in at.query_params


@pytest.mark.parametrize(
    ("branch", "slug", "home"),
    [
        ("efficient", "transformer-xl", "Decoder"),
        ("decoder", "jamba", "Efficient"),
    ],
)
def test_a_system_that_runs_on_another_page_says_so_and_shows_no_demo_of_a_stranger(
    branch: str, slug: str, home: str
) -> None:
    at = opened(branch, system=slug, tab="demo")
    assert at.selectbox[1].value == ""
    assert f"runs on the page {home}" in words(str(at.info[0].value))
    at = opened(branch, system=slug, tab="facts")
    assert not at.info


def test_a_guest_can_still_be_shown_by_a_model_of_the_page() -> None:
    at = opened("efficient", system="albert", model="atlas-reformer")
    assert [box.value for box in at.selectbox[:2]] == ["albert", "atlas-reformer"]
    assert "Atlas Reformer, a model of the Reformer architecture, runs here in place of ALBERT." in captions(at)
