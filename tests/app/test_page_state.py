"""A page's state and its URL: links are taken over, written back, and set anew."""

from unittest.mock import patch

from streamlit.testing.v1 import AppTest

from tests.app.history import back
from tests.pages import link


def page() -> None:
    import streamlit as st

    from core.ui.links import close_page, keep_address, open_page, reset_button

    state = open_page("decoder")
    beams = st.slider("beams", 1, 8, state.number("beams", 4), key=state.key("beams"))
    text = st.text_input("text", state.text("text", "Once"), key=state.key("text"))
    if st.button("six", key=state.key("six")):
        beams = 6
    state.set(beams=None if beams == 4 else beams, text=None if text == "Once" else text)
    keep_address(state)
    reset_button(state)
    close_page(state)


def fresh(**query: str) -> AppTest:
    at = AppTest.from_function(page, default_timeout=120)
    for name, value in query.items():
        at.query_params[name] = value
    return at.run()


def test_a_link_sets_the_widgets() -> None:
    at = fresh(beams="3", text="Long ago")
    assert (at.slider[0].value, at.text_input[0].value) == (3, "Long ago")
    assert not at.warning


def test_widgets_write_the_link() -> None:
    at = fresh()
    at.slider[0].set_value(6).run()
    assert link(at) == {"beams": "6"}


def late(at: AppTest, **query: str) -> AppTest:
    """A browser that has another address than the session, when it sends its next message."""
    at.query_params.clear()
    for name, value in query.items():
        at.query_params[name] = value
    return at


def test_back_sets_the_widgets_anew() -> None:
    at = fresh(beams="3")
    at.slider[0].set_value(6).run()
    assert back(at, beams="2").slider[0].value == 2
    assert back(at, beams="6").slider[0].value == 6
    assert back(at).slider[0].value == 4


def test_a_click_that_carries_the_url_of_the_view_before_is_not_taken_for_back() -> None:
    """A slow browser: the second click leaves before the URL that the first one wrote has arrived."""
    at = fresh(beams="3")
    at.slider[0].set_value(6).run()
    late(at, beams="3").text_input[0].set_value("Later").run()
    assert (at.slider[0].value, at.text_input[0].value) == (6, "Later")
    assert link(at) == {"beams": "6", "text": "Later"}
    late(at, beams="6").slider[0].set_value(7).run()
    assert (at.slider[0].value, at.text_input[0].value) == (7, "Later")
    assert link(at) == {"beams": "7", "text": "Later"}


def test_a_click_that_undoes_the_one_before_is_written_where_the_browser_has_the_old_url() -> None:
    """Else the URL that is on its way would stay."""
    at = fresh(beams="3")
    at.slider[0].set_value(6).run()
    with patch("streamlit.runtime.state.QueryParamsProxy.from_dict") as set_query:
        late(at, beams="3").slider[0].set_value(3).run()
        assert set_query.call_args.args == ({"beams": "3"},)
        set_query.reset_mock()
        late(at, beams="3").run()
        assert not set_query.called


def test_a_rerun_of_the_apps_own_is_not_taken_for_back() -> None:
    at = fresh(beams="3")
    at.slider[0].set_value(6).run()
    late(at, beams="3").run()
    assert at.slider[0].value == 6
    assert link(at) == {"beams": "6"}


def test_back_to_the_view_before_is_taken_for_back_at_once() -> None:
    """The same URL as above; nothing but Streamlit's mark tells that it is Back."""
    at = fresh(beams="3")
    at.slider[0].set_value(6).run()
    assert back(at, beams="3").slider[0].value == 3
    assert link(at) == {"beams": "3"}
    at.slider[0].set_value(5).run()
    next(button for button in at.button if button.label == "six").click().run()
    assert link(at) == {"beams": "6"}
    assert back(at, beams="5").slider[0].value == 5


def test_a_browser_that_outlived_its_session_goes_on_where_it_was() -> None:
    """The server was started anew: the first click finds a session that knows nothing."""
    at = fresh(beams="3")
    back(at, beams="2")
    at.slider[0].set_value(6)
    for name in ("links.decoder", "links.page", "links.epoch"):
        del at.session_state[name]
    at.run()
    assert at.slider[0].value == 6
    assert link(at) == {"beams": "6"}
    assert back(at, beams="3").slider[0].value == 3


def linking() -> None:
    import streamlit as st

    from core.ui.links import close_page, open_page

    state = open_page("decoder")
    state.set(beams=st.slider("beams", 1, 8, state.number("beams", 4), key=state.key("beams")))
    close_page(state)
    state = open_page("glossary")
    close_page(state)


def test_a_link_from_another_page_is_read_and_the_sidebar_finds_the_view_that_was_left() -> None:
    at = AppTest.from_function(linking, default_timeout=120)
    at.query_params["beams"] = "3"
    at.run()
    late(at, beams="5").run()
    assert at.slider[0].value == 5
    at.slider[0].set_value(6)
    late(at).run()
    assert at.slider[0].value == 6
    late(at).run()
    assert at.slider[0].value == 6


def test_a_link_to_the_page_where_it_stands_is_read_and_leaves_no_mark() -> None:
    at = fresh(beams="3")
    at.slider[0].set_value(6).run()
    late(at, beams="2", go="").run()
    assert at.slider[0].value == 2
    assert link(at) == {"beams": "2"}
    assert not at.warning


def test_a_refused_value_gets_a_sentence_shown_as_typed() -> None:
    at = fresh(seed="<img src=x>")
    assert "seed" in at.warning[0].value
    assert "\\<img" in at.warning[0].value


def test_reset_returns_to_the_start() -> None:
    at = fresh(beams="3")
    next(button for button in at.button if button.label == "Reset").click().run()
    assert at.slider[0].value == 4
    assert not at.query_params


def test_a_long_text_is_packed_into_the_link() -> None:
    at = fresh()
    at.text_input[0].set_value("x" * 2001).run()
    assert at.text_input[0].value == "x" * 2001
    assert not at.caption
    carried = link(at)["text"]
    assert carried.startswith("deflate:")
    assert fresh(text=carried).text_input[0].value == "x" * 2001


def test_a_text_too_long_for_a_link_is_kept_and_named() -> None:
    text = "".join(chr(0x4E00 + (i * 7919) % 20_000) for i in range(6_000))  # hardly anything comes twice
    at = fresh()
    at.text_input[0].set_value(text).run()
    assert at.text_input[0].value == text
    assert "too long for a link even when packed" in at.caption[0].value
    assert "text" not in at.query_params


def test_a_link_that_spells_out_a_default_stays_as_it_is_until_something_changes() -> None:
    """Rewriting it would add a step to the history from which Back leads to the same rewriting."""
    at = fresh(text="Once", beams="3")  # the page's own text
    assert link(at) == {"text": "Once", "beams": "3"}
    at.slider[0].set_value(6).run()
    assert link(at) == {"beams": "6"}
    at.slider[0].set_value(4).run()
    assert not at.query_params


def test_a_widget_that_has_a_key_and_no_value_keeps_no_sentence_from_its_pages() -> None:
    """Streamlit lists the key of a widget that is no longer drawn, and raises KeyError for its value."""
    from core.ui import links

    class Session(dict[str, object]):
        def __getitem__(self, key: str) -> object:
            if key == "gone":
                raise KeyError(key)
            return super().__getitem__(key)

        def get(self, key: str, default: object = None) -> object:
            try:
                return self[key]
            except KeyError:
                return default

        def items(self) -> object:
            return ((key, self[key]) for key in self)

    other = fresh(text="Long ago").session_state["links.decoder"]
    assert other.values["text"] == "Long ago"
    with patch.object(links.st, "session_state", Session(gone=None, **{"links.decoder": other})):
        links.sentence_typed("Long ago", "encoder", "text")
        links.sentence_typed("Then", "encoder", "text")
    assert other.values["text"] is None
