"""A parameter: what a link may carry, what is refused in a sentence, what a control leaves behind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core import checkpoints, links
from core.ui import param
from tests.app.history import back


@pytest.fixture(autouse=True)
def _trial_page_is_forgotten() -> Iterator[None]:
    yield
    links.PAGES.pop("trial", None)


def page(declared: str) -> AppTest:
    """A page with one parameter, as a script of its own."""
    return AppTest.from_string(
        f"""
from core.links import register
from core.ui.links import close_page, open_page
from core.ui.param import *
from streamlit.runtime.pages_manager import PagesManager
import streamlit as st

PagesManager.uses_pages_directory = False
declared = {declared}
register("trial", {{"p": declared.carried, "other": Integer(name="other", label="", low=0, high=9).carried}})
state = open_page("trial")
value = declared.draw(state)
st.write(repr(value))
close_page(state)
""",
        default_timeout=120,
    )


def opened(declared: str, **query: str) -> AppTest:
    at = page(declared)
    for name, value in query.items():
        at.query_params[name] = value
    at.run()
    assert not at.exception
    return at


def value_of(at: AppTest) -> str:
    return str(at.markdown[-1].value).strip("`")


def carried(at: AppTest) -> Any:
    value = at.query_params.get("p")
    return value[0] if isinstance(value, list) else value


CHOICE = 'Choice(name="p", label="Kind", options={"a": "A", "b": "B"})'
INTEGER = 'Integer(name="p", label="Layer", low=1, high=9, default=3)'
TEXT = 'Text(name="p", label="Text", default="sample")'


@pytest.mark.parametrize(
    ("declared", "raw", "value"),
    [
        (CHOICE, "b", "'b'"),
        (INTEGER, "9", "9"),
        ('Real(name="p", label="T", low=0, high=2, default=1)', "0.5", "0.5"),
        ('Toggle(name="p", label="On")', "yes", "True"),
        ('Words(name="p", label="Some", options={"a": "A", "b": "B"}, default=("a",))', "b,a", "('a', 'b')"),
        (TEXT, "typed", "'typed'"),
    ],
)
def test_a_link_sets_it_and_stays_as_it_is(declared: str, raw: str, value: str) -> None:
    at = opened(declared, p=raw)
    assert value_of(at) == value
    assert not at.warning
    assert set(str(carried(at)).split(",")) == set(raw.split(","))


@pytest.mark.parametrize(
    ("declared", "raw"),
    [(CHOICE, "c"), (INTEGER, "10"), (INTEGER, "x"), ('Toggle(name="p", label="On")', "perhaps")],
)
def test_what_is_not_offered_gets_one_sentence_and_the_default(declared: str, raw: str) -> None:
    at = opened(declared, p=raw)
    assert len(at.warning) == 1
    assert value_of(at) == value_of(opened(declared))


def test_of_several_words_only_what_is_not_offered_is_left_out() -> None:
    at = opened('Words(name="p", label="Some", options={"a": "A", "b": "B"}, default=("a",))', p="b,c")
    assert "ignores “c”" in at.warning[0].value
    assert value_of(at) == "('b',)"


def test_what_only_a_run_knows_narrows_it() -> None:
    at = opened(f"{INTEGER}.with_(high=4)", p="7")
    assert "from 1 to 9" not in at.warning[0].value
    assert value_of(at) == "3"


def test_the_default_stays_out_of_the_link() -> None:
    at = opened(CHOICE, p="b")
    at.selectbox[0].set_value("a").run()
    assert carried(at) is None


def test_a_change_drops_what_it_resets() -> None:
    at = opened('Choice(name="p", label="Kind", options={"a": "A", "b": "B"}, resets=("other",))', other="5")
    at.selectbox[0].set_value("b").run()
    assert "other" not in at.query_params


def test_menus_call_a_model_by_its_short_name_unless_two_share_it() -> None:
    specs = [spec for spec in checkpoints.available() if spec.slug in ("minilm", "atlas-bert")]
    assert param.menu_names(specs) == {"minilm": "MiniLM", "atlas-bert": "Atlas BERT"}
    (minilm,) = (spec for spec in specs if spec.slug == "minilm")
    twins = [minilm, replace(minilm, slug="other", name="MiniLM with another head")]
    assert list(param.menu_names(twins).values()) == [minilm.name, "MiniLM with another head"]
    label = param.Model(name="model").here().options["minilm"]
    assert label == "MiniLM · Encoder"


def test_a_page_registers_what_its_sections_declare() -> None:
    from core.ui.section import pages

    for slug, page in pages().items():
        assert links.PAGES[slug] == page.carried()
        names = [param.name for section in page.sections for param in section.params]
        assert set(names) <= set(links.PAGES[slug])


def test_a_number_outside_its_own_range_is_no_default() -> None:
    assert param.Integer(name="p", label="", low=2, high=5).default == 2


@pytest.mark.parametrize(
    ("declared", "kind", "typed"),
    [
        (INTEGER, "number_input", 7),
        (INTEGER.replace("Integer(", 'Integer(style="slider", '), "slider", 7),
        ('Real(name="p", label="T", low=0, high=9, default=1)', "slider", 7.0),
        (TEXT, "text_input", "typed"),
    ],
)
def test_what_is_typed_first_after_the_server_was_started_anew_counts(declared: str, kind: str, typed: Any) -> None:
    shown = opened(declared)
    getattr(shown, kind)[0].set_value(typed)
    sent = shown._tree.get_widget_states()  # the browser outlives the session, and sends what its widgets say
    assert value_of(page(declared)._run(sent)) == repr(typed)


SETTINGS = """
from core.links import register
from core.ui.links import close_page, open_page
from core.ui.param import *
from streamlit.runtime.pages_manager import PagesManager
import streamlit as st

PagesManager.uses_pages_directory = False
kind = Choice(name="kind", label="Kind", options={"a": "A", "b": "B"})
rate = Unset(name="rate", label="Rate", low=0.0, high=9.0)
steps = Integer(name="steps", label="Steps", low=1, high=10_000, default=800, limit="max_new_tokens")
few = Words(name="few", label="Few", options={"x": "X", "y": "Y"}, default=("x",))
register("trial", {param.name: param.carried for param in (kind, rate, steps, few)})
state = open_page("trial")
chosen = kind.draw(state)
settings_menu(state, rate.with_(default=5.0 if chosen == "b" else None), steps, few, tag=chosen)
close_page(state)
"""


def test_the_menu_of_settings_counts_what_stands_in_it_now() -> None:
    """The label follows a change in the same run; a value that the app derives, or that a limit bounds, is none."""

    def label() -> str:
        (menu,) = at.get("popover")
        return str(menu.proto.popover.label)

    at = AppTest.from_string(SETTINGS, default_timeout=120).run()
    assert label() == "Settings"
    bounded = int(at.number_input[1].value or 0)
    assert bounded < 800
    at.number_input[1].set_value(9).run()
    assert label() == "Settings (1 changed)"
    at.button_group[0].set_value(["y"]).run()
    assert label() == "Settings (2 changed)"
    at.button_group[0].set_value([]).run()  # empty means the default
    at.number_input[1].set_value(bounded).run()
    assert label() == "Settings"
    at.selectbox[0].set_value("b").run()
    assert (label(), at.number_input[0].value) == ("Settings", 5)  # derived from the kind
    at.number_input[0].set_value(6.0).run()
    assert label() == "Settings (1 changed)"
    assert {name: at.query_params[name] for name in ("kind", "rate")} == {"kind": "b", "rate": "6"}
    at = AppTest.from_string(SETTINGS, default_timeout=120)
    at.query_params["steps"] = "7"
    assert at.run().get("popover")[0].proto.popover.label == "Settings (1 changed)"
    at = AppTest.from_string(SETTINGS, default_timeout=120)
    at.query_params["steps"] = "99999"
    at.run()
    assert (label(), len(at.warning)) == ("Settings", 1)


def test_of_many_options_those_spelled_alike_are_named() -> None:
    many = param.Choice(name="term", label="Term", options={f"term-{n}": "" for n in range(40)} | {"softmax": ""})
    with pytest.raises(ValueError, match=r"available here: softmax, .* and 37 more"):
        many.checked("sofmax")


LEFT = """
from core.links import register
from core.ui.links import close_page, open_page, sections
from core.ui.param import *
from streamlit.runtime.pages_manager import PagesManager
import streamlit as st

PagesManager.uses_pages_directory = False
declared = {declared}
other = Integer(name="other", label="", low=0, high=9)
tab = link.Choice(None, ("first", "second"))
register("trial", {{"tab": tab, "p": declared.carried, "other": other.carried}})
state = open_page("trial")
chosen = sections(state, {{"first": "First", "second": "Second"}}, "first", {{}})
state.set(tab=None if chosen == "first" else chosen)
if chosen == "first":
    declared.draw(state)
close_page(state)
"""
KINDS = [
    (CHOICE, "selectbox", "b", "b"),
    (CHOICE.replace("Choice(", 'Choice(style="row", '), "button_group", "b", "b"),
    ('Words(name="p", label="Some", options={"a": "A", "b": "B"}, default=("a",))', "button_group", ["a", "b"], "a,b"),
    (INTEGER, "number_input", 7, "7"),
    (INTEGER.replace("Integer(", 'Integer(style="slider", '), "slider", 7, "7"),
    (INTEGER.replace("Integer(", 'Integer(style="menu", '), "selectbox", 7, "7"),
    ('Real(name="p", label="T", low=0, high=9, default=1)', "slider", 7.5, "7.5"),
    ('Unset(name="p", label="T", low=0, high=9)', "number_input", 7.5, "7.5"),
    ('Seed(name="p")', "number_input", 7, "7"),
    ('Toggle(name="p", label="On")', "toggle", True, "yes"),
    (TEXT, "text_input", "typed", "typed"),
    (TEXT, "text_input", "", ""),
    (TEXT.replace("Text(", "Text(height=90, "), "text_area", "typed", "typed"),
]


def left(declared: str, kind: str, sent: Any, **query: str) -> AppTest:
    """A page whose visitor sets the control and opens the other section before a run has drawn it."""
    at = AppTest.from_string(LEFT.format(declared=declared), default_timeout=120)
    for name, value in query.items():
        at.query_params[name] = value
    at.run()
    getattr(at, kind)[-1].set_value(sent)
    at.button_group[0].set_value("second")
    return at.run()


@pytest.mark.parametrize(("declared", "kind", "sent", "written"), KINDS)
def test_what_is_set_is_stored_even_if_the_next_run_shows_another_section(
    declared: str, kind: str, sent: Any, written: str
) -> None:
    at = left(declared, kind, sent)
    assert carried(at) == written
    at.button_group[0].set_value("first").run()
    assert getattr(at, kind)[-1].value == sent
    assert carried(at) == written


def test_what_it_resets_is_dropped_on_the_way_to_another_section() -> None:
    at = left(
        'Choice(name="p", label="", options={"a": "A", "b": "B"}, resets=("other",))', "selectbox", "b", other="5"
    )
    assert "other" not in at.query_params


def test_a_button_beside_a_box_is_stored_as_well() -> None:
    at = AppTest.from_string(LEFT.format(declared='Seed(name="p")'), default_timeout=120).run()
    at.button[0].click()
    at.button_group[0].set_value("second").run()
    assert carried(at) == "1"


def test_back_to_a_view_that_was_left_while_typing_shows_what_was_typed() -> None:
    """No address was ever written for it; an address that was stays as it was."""
    at = left(TEXT, "text_input", "typed")
    assert back(at).text_input[0].value == "typed"
    at.text_input[0].set_value("later").run()
    assert back(at).text_input[0].value == "sample"


def test_a_widget_of_an_earlier_epoch_stores_nothing() -> None:
    at = AppTest.from_string(LEFT.format(declared=TEXT), default_timeout=120).run()
    old = at.text_input[0].set_value("typed")
    sent = at._tree.get_widget_states()
    assert old.id in {widget.id for widget in sent.widgets}
    back(at, p="linked")
    assert at._run(sent).text_input[0].value == "linked"


@pytest.mark.parametrize("query", ["x" * 601, "x" * 5_000])
def test_a_text_longer_than_its_box_is_refused_and_box_value_and_link_agree(query: str) -> None:
    at = opened(TEXT.replace("Text(", "Text(most=600, "), p=query)
    (warning,) = at.warning
    assert f"it has {len(query):,} characters, and 600 fit here" in warning.value
    assert (at.text_input[0].value, value_of(at)) == ("sample", "'sample'")
    assert not opened(TEXT.replace("Text(", "Text(most=600, "), p="x" * 600).warning


TWO_BOXES = LEFT.replace(
    'if chosen == "first":\n    declared.draw(state)',
    'value = (declared if chosen == "first" else declared.with_({narrow})).draw(state)\nst.write(repr(value))',
)


def test_a_text_too_long_for_the_box_of_another_section_comes_back_with_its_own() -> None:
    at = AppTest.from_string(TWO_BOXES.format(declared=TEXT, narrow="most=10"), default_timeout=120).run()
    at.text_input[0].set_value("eleven char").run()
    at.button_group[0].set_value("second").run()
    assert ["it has 11 characters, and 10 fit here" in warning.value for warning in at.warning] == [True]
    assert (at.text_input[0].value, value_of(at), carried(at)) == ("sample", "'sample'", None)
    assert not at.run().warning
    at.button_group[0].set_value("first").run()
    assert (at.text_input[0].value, value_of(at), carried(at)) == ("eleven char", "'eleven char'", "eleven char")
    at.button_group[0].set_value("second").run()
    assert len(at.warning) == 1
    at.text_input[0].set_value("short").run()
    at.button_group[0].set_value("first").run()
    assert (at.text_input[0].value, carried(at)) == ("short", "short")


@pytest.mark.parametrize(
    ("declared", "narrow", "kind", "sent"),
    [(INTEGER, "high=4", "number_input", 7), (CHOICE, 'options={"a": "A"}', "selectbox", "b")],
)
def test_what_one_section_refuses_another_shows_again(declared: str, narrow: str, kind: str, sent: Any) -> None:
    at = AppTest.from_string(TWO_BOXES.format(declared=declared, narrow=narrow), default_timeout=120).run()
    getattr(at, kind)[-1].set_value(sent).run()
    at.button_group[0].set_value("second").run()
    assert (len(at.warning), carried(at)) == (1, None)
    at.button_group[0].set_value("first").run()
    assert (getattr(at, kind)[-1].value, carried(at)) == (sent, str(sent))
