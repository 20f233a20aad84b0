"""A section in another page's frame and in a lecture hall: the same view with less around it."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from core.content import content
from core.ui.links import Presented
from tests.pages import ROOT, link, opened, protos, shown


def framed(page: str, **query: str) -> AppTest:
    """A page as another one embeds it."""
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    at.context = {"is_embedded": True}
    at.switch_page(f"pages/{page}.py")
    for name, value in query.items():
        at.query_params[name] = value
    return at.run()


def buttons(at: AppTest) -> set[str]:
    return {button.label for button in at.button}


def test_a_section_in_a_frame_stands_alone_whatever_is_changed_in_it() -> None:
    at = framed("tokenizers", tab="noise")
    for text in ("Anything else", "And again"):
        assert not at.sidebar.children
        assert content("tokenizers").label("line") not in shown(at)
        assert "Reset" not in buttons(at)
        assert protos(at, "plotly_chart")
        assert (link(at)["tab"], "embed" in link(at)) == ("noise", False)
        at.text_area[0].set_value(text).run()


def test_a_link_in_a_frame_opens_in_a_tab_of_its_own() -> None:
    at = framed("encoder", system="bert", tab="tree")
    assert not protos(at, "page_link")
    assert "(/compare?tab=trees" in " ".join(one.value for one in at.markdown)


def test_a_presented_block_has_the_line_of_its_step() -> None:
    at = opened("attention", tab="block", model="dir-tiny-bert", present="1")
    assert "**Try**" not in shown(at)


def test_a_presented_demo_names_its_system_and_each_of_its_pictures() -> None:
    at = opened("encoder", model="atlas-deberta", demo="parts", present="1")
    texts = [one.value for one in at.markdown]
    assert at.header[0].value.startswith("DeBERTa: ")
    assert sum(text.startswith("**Try**") for text in texts) == 2
    assert "All three components" in texts


def test_a_presentation_lasts_until_it_is_ended() -> None:
    at = opened("tokenizers", tab="noise", present="1")
    for text in ("Anything else", "And again"):
        assert not at.warning
        assert protos(at, "plotly_chart")
        assert not at.get("download_button")
        assert link(at)["present"] == "1"
        at.text_area[0].set_value(text).run()
    at.session_state["present.keys--sent"] = Presented(to="page")
    at.run()
    assert "present" not in link(at)
    assert "Reset" in buttons(at)
