"""A view as a link: it comes back, whatever its text, and what does not fit is a sentence."""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import catalogue, links
from core.links import parameters
from core.settings import MAX_LINK_CHARS
from core.ui.section import pages

pages()  # what their links carry is known from here on

DESK = {
    "text": parameters.Text(),
    "system": parameters.Choice(),
    "strategy": parameters.Choice("greedy", ("greedy", "sample")),
    "temperature": parameters.Real(0.5, 0.1, 3.0),
    "top_k": parameters.Integer(0, 0, 1000),
    "beams": parameters.Integer(4, 1, 8),
    "seed": parameters.Integer(0, 0, 2**31 - 1),
    "layer": parameters.Integer(None, 1, 200),
    "mask": parameters.Integers(high=511, most=64),
    "forced": parameters.Integers(high=10**6, most=200),
}


@pytest.fixture(scope="module", autouse=True)
def desk() -> Iterator[None]:
    """A page with a parameter of each kind."""
    links.register("desk", DESK)
    yield
    del links.PAGES["desk"]


def test_an_empty_query_is_the_start() -> None:
    state, refused = links.read_query("desk", {})
    assert state == links.defaults("desk")
    assert refused == ()


def test_values_arrive_with_their_types() -> None:
    state, refused = links.read_query(
        "desk", {"text": "Once", "temperature": "0.7", "top_k": "40", "forced": "5.0.17", "strategy": "sample"}
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
        ("text", "x" * 20_001),
        ("nonsense", "1"),
    ],
)
def test_what_is_out_of_range_is_refused_with_a_sentence_and_the_rest_stays(name: str, raw: str) -> None:
    state, refused = links.read_query("desk", {name: raw, "beams": "2"})
    assert [refusal.name for refusal in refused] == [name]
    assert refused[0].sentence.endswith(".")
    assert len(refused[0].sentence) < 400
    assert state == {**links.defaults("desk"), "beams": 2}


def test_words_that_only_the_page_knows_are_checked_against_its_list() -> None:
    state, refused = links.read_query("desk", {"system": "bort"}, {"system": ["bert", "albert"]})
    assert state["system"] is None
    assert "albert, bert" in refused[0].sentence


def test_a_comma_too_many_is_no_word() -> None:
    words = parameters.Words(3)
    assert parameters.parse(words, "e1-1,", None) == ("e1-1",)
    assert parameters.parse(words, ",a,,b,c,", ("a", "b", "c")) == ("a", "b", "c")
    assert parameters.parse(words, "", None) == ()


def test_defaults_stay_out_of_the_link() -> None:
    assert links.write_query("desk", links.defaults("desk")) == ({}, False)
    query, too_long = links.write_query("desk", {**links.defaults("desk"), "beams": 2, "temperature": 0.8})
    assert (query, too_long) == ({"beams": "2", "temperature": "0.8"}, False)


def test_a_long_text_is_packed_and_read_back() -> None:
    short, long = "x" * MAX_LINK_CHARS, "x" * (MAX_LINK_CHARS + 1)
    assert links.write_query("desk", {"text": short}) == ({"text": short}, False)
    query, too_long = links.write_query("desk", {"text": long})
    assert not too_long
    assert len(query["text"]) < 60
    assert links.read_query("desk", query)[0]["text"] == long
    story = (Path(__file__).parents[2] / "assets/heldout/story.txt").read_text(encoding="utf-8")
    query, too_long = links.write_query("desk", {"text": story})
    assert not too_long
    assert len(query["text"]) < 0.75 * len(story)
    assert links.read_query("desk", query) == ({**links.defaults("desk"), "text": story}, ())


def test_a_text_that_is_too_long_even_when_packed_stays_behind() -> None:
    noise = "".join(chr(0x4E00 + (i * 7919) % 20_000) for i in range(8_000))
    assert links.write_query("desk", {"text": noise}) == ({}, True)
    assert links.write_query("desk", {"text": "x" * 3_000 + "\ud800"}) == ({}, True)


@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=40))
def test_a_text_that_looks_packed_is_carried_as_it_is(text: str) -> None:
    for said in (text, parameters.MARK + text):
        query, too_long = links.write_query("desk", {"text": said})
        assert not too_long
        assert links.read_query("desk", query)[0]["text"] == said


@pytest.mark.parametrize(
    "raw",
    [
        "x",
        "%%%",
        "AAAA",
        "eNo",
        "\ud800",
        "é",
        "",
        base64.urlsafe_b64encode(zlib.compress(b"x" * 10_000_000, 9)).decode(),  # 10 MB in 13 kB
        base64.urlsafe_b64encode(zlib.compress(b"\xff\xfe")).decode(),
        base64.urlsafe_b64encode(zlib.compress(b"a story")[:-3]).decode(),
        base64.urlsafe_b64encode(zlib.compress(b"y" * 30_000)).decode(),
    ],
)
def test_a_packed_text_that_is_none_gets_a_sentence(raw: str) -> None:
    state, refused = links.read_query("desk", {"text": parameters.MARK + raw})
    assert state["text"] is None
    assert re.search("copy the link anew|characters at most", refused[0].sentence)


def test_url_quotes_everything() -> None:
    assert links.url("encoder", {"text": "a&b=<c>#"}) == "/encoder?text=a%26b%3D%3Cc%3E%23"
    assert links.url("home", {}) == "/"


@given(
    text=st.text(max_size=300),
    mask=st.lists(st.integers(0, 511), max_size=64).map(tuple),
    layer=st.integers(1, 200) | st.none(),
)
def test_what_is_written_is_read_back(text: str, mask: tuple[int, ...], layer: int | None) -> None:
    state = {**links.defaults("desk"), "text": text, "mask": mask, "layer": layer}
    query, _ = links.write_query("desk", state)
    assert links.read_query("desk", query) == (state, ())


def test_words_are_a_set_that_the_page_knows() -> None:
    slugs = {"systems": ["bert", "atlas-t5", "t5-v1.1"]}
    state, refused = links.read_query("catalogue", {"systems": "t5-v1.1,bert,bert"}, slugs)
    assert (state["systems"], refused) == (("t5-v1.1", "bert"), ())
    assert links.write_query("catalogue", state) == ({"systems": "t5-v1.1,bert"}, False)
    assert links.read_query("catalogue", {"systems": ""}, slugs)[0]["systems"] == ()
    state, refused = links.read_query("catalogue", {"systems": "bert,gpt-17"}, slugs)
    assert state["systems"] is None
    assert "gpt-17" in refused[0].sentence
    assert links.read_query("catalogue", {"systems": ",".join(f"m{i}" for i in range(101))})[1][0].name == "systems"


def test_words_that_are_allowed_twice_are_named_once() -> None:
    _, (refused,) = links.read_query(
        "catalogue", {"case": "roulette"}, {"case": ["albert", "bert", "albert", "albert"]}
    )
    assert refused.sentence.endswith("it must be one of: albert, bert.")


def test_a_moved_view_is_one_of_today() -> None:
    for row in catalogue.moved_views():
        names = (*row.get("query", {}), *row.get("keeps", ()))
        assert {row.get("renames", {}).get(name, name) for name in names} <= set(
            links.PAGES[row["page"]] if "page" in row else names
        )
        for page in row["pages"]:
            opens, query = links.current(page, row["when"])
            assert links.read_query(opens, query)[1] == (), row
            assert links.current(opens, query) == (opens, query)


def test_a_moved_view_takes_model_text_and_head_along() -> None:
    old = {
        "system": "roberta",
        "tab": "heads",
        "text": "A cat.",
        "layer": "2",
        "head": "1",
        "view": "bertviz",
        "seed": "4",
    }
    new = {"tab": "bertviz", "model": "atlas-roberta", "text": "A cat.", "layer": "2", "on": "1"}
    assert links.current("encoder", old | {"seed": "4"}) == ("attention", new)
    assert links.current("decoder", {"model": "atlas-gpt", "tab": "heads", "length": "12"})[1]["count"] == "12"
    assert links.current("attention", {"tab": "all", "view": "bertviz"}) == ("attention", {"tab": "all"})
    assert links.current("encoder", {"tab": "tree"}) == ("encoder", {"tab": "tree"})


def test_a_size_that_became_a_system_opens_there() -> None:
    for (system, size), (slug, name) in catalogue.moved_sizes().items():
        assert size not in {element.name for element in catalogue.get(system).sizes}, "an old size that is here again"
        assert name in {element.name for element in catalogue.get(slug).sizes}
        state, refused = links.read_query("encoder", {"system": system, "size": size, "tab": "tree"})
        assert (state["system"], state["size"], refused) == (slug, name, ())
        state, refused = links.read_query("catalogue", {"left": "bert", "right": system, "right-size": size})
        assert (state["left"], state["right"], state["right-size"], refused) == ("bert", slug, name, ())
    assert catalogue.moved_sizes()["ernie", "2.0-base-en"] == ("ernie-2.0", "base-en")
