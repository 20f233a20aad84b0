"""The tree panel under Streamlit's AppTest: every view draws without an exception and without torch."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from core.ui.tree.panel import VIEWS


def panel(slug: str, size: str | None = None, node: str | None = None, drawing: str | None = None) -> None:
    import streamlit as st

    from core.ui.tree.panel import tree_panel

    chosen = tree_panel(slug, key="tree", size=size, node=node, drawing=drawing)
    st.text(f"size={chosen[0]} node={chosen[1]} drawing={chosen[2]}")


def run(**kwargs: str | None) -> AppTest:
    app = AppTest.from_function(panel, kwargs=kwargs, default_timeout=30).run()
    assert not app.exception
    return app


def words(app: AppTest) -> str:
    """Everything that the panel says, with Markdown's escapes taken out."""
    said = [*app.markdown, *app.caption, *app.subheader, *app.warning, *app.text, *app.code, *app.latex]
    return "\n".join(str(element.value) for element in said).replace("\\", "")


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("slug", ["gpt-3", "bert2bert"])
def test_a_link_opens_every_view(slug: str, view: str) -> None:
    app = run(slug=slug, drawing=view)
    assert app.segmented_control(key="tree.view").value == view
    assert f"drawing={view}" in words(app)
    assert "parameters, shared tensors once" in words(app)


def test_a_link_opens_its_size_and_node() -> None:
    app = run(slug="bert", size="large", node="encoder.layer.0-23.attention.self.query")
    said = words(app)
    assert "size=large node=encoder.layer.0-23.attention.self.query" in said
    one = 1024 * 1024 + 1024
    assert f"**{24 * one:,}** parameters in 24 copies, {one:,} in one: **7.5 %** of the network." in said
    assert app.latex[0].value.strip("$ \n").startswith("y = x W")


def test_another_size_keeps_the_place() -> None:
    app = run(slug="bert", node="encoder.layer.0-11.intermediate")
    app.selectbox(key="tree.size").set_value("large").run()
    assert "node=encoder.layer.0-23.intermediate" in words(app)


def test_a_size_that_is_not_there_is_named_and_the_default_shown() -> None:
    app = run(slug="bert", size="<b>huge</b>")
    assert "has no size" in app.warning[0].value
    assert "size=None" in words(app)


def test_a_node_that_is_not_there_falls_back_to_the_whole_network() -> None:
    app = run(slug="gpt-2", node="encoder.layer.0-11")
    assert "node=None" in words(app)
    assert app.subheader[0].value == "GPT2LMHeadModel"


def test_the_tied_head_says_where_it_is_counted() -> None:
    said = words(run(slug="gpt-2", node="lm_head"))
    assert "the same tensor as `transformer.wte.weight`" in said


def test_text_of_source_000_comes_with_its_notes() -> None:
    app = run(slug="t5")
    app.segmented_control(key="tree.view").set_value("text").run()
    assert app.code[0].value.startswith("T5ForConditionalGeneration(")
    app.radio(key="tree.which").set_value("As printed in source 000").run()
    assert app.code[0].value.startswith("T5Model(")
    assert "prints the last two modules" in words(app)


def test_sizes_can_be_put_beside_other_systems() -> None:
    app = run(slug="albert")
    app.segmented_control(key="tree.view").set_value("sizes").run()
    app.multiselect(key="tree.beside").set_value(["gpt-3", "minilm"]).run()
    app.toggle(key="tree.relative").set_value(True).run()
    assert not app.exception
    app.session_state["tree.table"] = True  # its menu is open
    assert {"GPT-3 175B", "ALBERT base"} <= set(app.run().dataframe[0].value["Network"])
