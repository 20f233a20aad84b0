"""Systems that only a relative stands for: their pages say what runs instead, and their trees are their own."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from core import catalogue
from tests.app.test_branches import opened
from tests.words import words


def captions(at: AppTest) -> str:
    return "\n".join(words(str(element.value)) for element in at.caption)


LLAMAS = ["mistral", "qwen", "deepseek-v3", "gemma"]


@pytest.mark.parametrize(
    "slug", ["elmo", "spanbert", "structbert", "ernie", "megatron-bert", "clip", "modernbert", *LLAMAS]
)
def test_the_demo_says_what_runs_instead(slug: str) -> None:
    at = opened(catalogue.get(slug).branch, system=slug)
    assert not at.exception
    assert not at.error
    live = catalogue.get(slug).live
    assert at.selectbox[1].value == live.checkpoint
    assert live.note in captions(at)


@pytest.mark.parametrize("slug", LLAMAS)
def test_what_came_after_llama_is_shown_by_the_small_llama(slug: str) -> None:
    assert catalogue.get(slug).live.checkpoint == "atlas-llama"


def test_where_the_system_itself_runs_nothing_is_said_of_relatives() -> None:
    at = opened("encoder", system="roberta")
    assert catalogue.get("roberta").live.note not in captions(at)


@pytest.mark.parametrize(
    ("slug", "size", "count"),
    [
        ("elmo", None, "93,600,868"),
        ("elmo", "small", "13,593,316"),
        ("clip", "ViT-L/14@336", "427,944,193"),
        ("modernbert", "large", "395,881,664"),
        ("megatron-bert", "3.9B", "3,862,484,480"),
        ("ernie", "1.0-base-zh", "99,866,112"),
    ],
)
def test_a_tree_opens_at_its_size(slug: str, size: str | None, count: str) -> None:
    at = opened("encoder", system=slug, tab="tree", **({"size": size} if size else {}))
    assert not at.exception
    assert not at.warning
    assert count in captions(at)


def test_a_tree_without_attention_is_not_measured_by_it() -> None:
    said = captions(opened("encoder", system="elmo", tab="tree"))
    assert "there is no attention here, and the embeddings are 19.3 % of all parameters" in said
    assert "times what attention holds" not in said


def test_nonsense_in_the_link_of_a_new_system_gets_a_sentence() -> None:
    at = opened("encoder", system="elmo", tab="tree", size="<b>huge</b>", node="left_to_right.99")
    assert not at.exception
    assert at.selectbox[0].value == "elmo"
    assert at.warning
