"""Links: what a URL may carry, and what it may not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import links
from core.settings import MAX_LINK_CHARS, MAX_TEXT_CHARS


def test_an_empty_query_is_the_start() -> None:
    state, refused = links.read("decoder", {})
    assert state == links.defaults("decoder")
    assert refused == ()


def test_values_arrive_with_their_types() -> None:
    state, refused = links.read(
        "decoder", {"text": "Once", "temperature": "0.7", "top_k": "40", "forced": "5.0.17", "strategy": "sample"}
    )
    assert refused == ()
    assert (state["text"], state["temperature"], state["top_k"]) == ("Once", 0.7, 40)
    assert (state["forced"], state["strategy"]) == ((5, 0, 17), "sample")


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("temperature", "nan"),
        ("temperature", "1e309"),
        ("temperature", "hot"),
        ("top_k", "-1"),
        ("top_k", "1_0"),
        ("top_k", "٣"),
        ("top_k", "9" * 5000),
        ("seed", ""),
        ("strategy", "</script>"),
        ("forced", "1..2"),
        ("forced", ".".join(["1"] * 201)),
        ("text", "x" * (MAX_TEXT_CHARS + 1)),
        ("nonsense", "1"),
    ],
)
def test_what_is_out_of_range_is_refused_with_a_sentence_and_the_rest_stays(name: str, raw: str) -> None:
    state, refused = links.read("decoder", {name: raw, "beams": "2"})
    assert [refusal.name for refusal in refused] == [name]
    assert refused[0].sentence.endswith(".")
    assert len(refused[0].sentence) < 400
    assert state == {**links.defaults("decoder"), "beams": 2}


def test_words_that_only_the_page_knows_are_checked_against_its_list() -> None:
    state, refused = links.read("encoder", {"system": "bort"}, {"system": ["bert", "albert"]})
    assert state["system"] is None
    assert "albert, bert" in refused[0].sentence


def test_defaults_stay_out_of_the_link() -> None:
    assert links.write("decoder", links.defaults("decoder")) == ({}, False)
    query, too_long = links.write("decoder", {**links.defaults("decoder"), "beams": 2, "temperature": 0.8})
    assert (query, too_long) == ({"beams": "2", "temperature": "0.8"}, False)


def test_a_long_text_stays_behind_and_says_so() -> None:
    assert links.write("encoder", {"text": "x" * MAX_LINK_CHARS})[1] is False
    assert links.write("encoder", {"text": "x" * (MAX_LINK_CHARS + 1)}) == ({}, True)


def test_url_quotes_everything() -> None:
    assert links.url("encoder", {"text": "a&b=<c>#"}) == "/encoder?text=a%26b%3D%3Cc%3E%23"
    assert links.url("home", {}) == "/"


@given(
    text=st.text(max_size=300),
    mask=st.lists(st.integers(0, 511), max_size=64).map(tuple),
    layer=st.integers(1, 200) | st.none(),
)
def test_what_is_written_is_read_back(text: str, mask: tuple[int, ...], layer: int | None) -> None:
    state = {**links.defaults("encoder"), "text": text, "mask": mask, "layer": layer}
    query, _ = links.write("encoder", state)
    assert links.read("encoder", query) == (state, ())


def test_words_are_a_set_that_the_page_knows() -> None:
    known = {"models": ["minilm", "atlas-t5", "t5-v1.1"]}
    state, refused = links.read("zoo", {"models": "t5-v1.1,minilm,minilm"}, known)
    assert (state["models"], refused) == (("t5-v1.1", "minilm"), ())
    assert links.write("zoo", state) == ({"models": "t5-v1.1,minilm"}, False)
    assert links.read("zoo", {"models": ""}, known)[0]["models"] == ()
    state, refused = links.read("zoo", {"models": "minilm,gpt-17"}, known)
    assert state["models"] is None
    assert "gpt-17" in refused[0].sentence
    assert links.read("zoo", {"models": ",".join(f"m{i}" for i in range(101))})[1][0].name == "models"
    assert links.write("zoo", links.defaults("zoo")) == ({}, False)


def test_words_that_are_allowed_twice_are_named_once() -> None:
    _, (refused,) = links.read("results", {"case": "roulette"}, {"case": ["albert", "bert", "albert", "albert"]})
    assert refused.sentence.endswith("it must be one of: albert, bert.")
