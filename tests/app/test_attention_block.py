"""Inside a block, on the page Attention: it opens filled, every step opens, and what cannot be is said."""

from __future__ import annotations

from typing import Any

from streamlit.testing.v1 import AppTest

from core import checkpoints
from core.attention.inside.block import block, wires
from tests.app.test_attention_page import page as attention
from tests.pages import opened, shown, widget


def page(**query: str) -> AppTest:
    return attention(tab="block", **query)


def title(at: AppTest) -> str:
    """The name of the step that is shown large."""
    return str(at.subheader[0].value)


def formula(at: AppTest) -> str:
    return str(at.latex[0].value).strip("$\n")


def press(at: AppTest, label: str) -> AppTest:
    widget(at.button, label).click().run()
    return at


def test_next_and_back_walk_the_steps_and_end_with_them() -> None:
    found = block(checkpoints.load("atlas-t5"), "The cat sleeps on the chair.", 0, "decoder")
    slugs = [wire.slug for wire in wires(found.steps)]
    for number in (0, len(slugs) - 2):
        at = page(model="atlas-t5", side="decoder", step=slugs[number])
        press(at, "Next")
        assert at.query_params["step"] == slugs[number + 1]
        assert title(at).lower() == found.steps[number + 1].name
        assert formula(at) == found.steps[number + 1].formula
        assert f"Step {number + 2} of {len(slugs)}, " in shown(at)
    assert widget(at.button, "Next").disabled
    press(at, "Back")
    assert at.query_params["step"] == slugs[-2]


def test_what_a_link_asks_for_in_vain_is_said() -> None:
    at = page(model="atlas-bert", layer="77")
    assert "it must lie from 1 to 4 here" in at.warning[0].value
    assert widget(at.selectbox, "Layer").value == 1
    at = page(model="atlas-bert", step="no-such-step")
    assert "There is no step “no\\-such\\-step” in this block" in at.warning[0].value
    assert title(at) == "Token"
    at = page(model="atlas-bert", layer="2", step="embedding-position")
    assert "It shows “embedding\\-input”" in at.warning[0].value
    assert title(at) == "Input"
    at = page(model="atlas-bert", side="decoder")
    assert "“Side” cannot be “decoder”" in at.warning[0].value


def test_a_final_norm_without_a_layer_is_that_of_the_last() -> None:
    at = page(model="atlas-gpt-2", step="end-final-norm")
    assert not at.warning
    assert title(at) == "Final norm"
    assert widget(at.selectbox, "Layer").value == 4


def test_another_layer_and_another_side_keep_what_they_can() -> None:
    at = page(model="atlas-t5", side="decoder", step="cross-attention-scores")
    widget(at.selectbox, "Layer").set_value(2).run()
    assert title(at) == "Scores"
    assert at.query_params["step"] == "cross-attention-scores"
    widget(at.get("button_group"), "Side").set_value("encoder").run()
    assert not at.warning
    assert title(at) == "Scores"
    assert at.query_params["step"] == "attention-scores"
    assert "side" not in at.query_params


def at_work(tree: AppTest) -> list[Any]:
    """The links from a tree's node to its step; other links lead to other pages."""
    return [one.proto for one in tree.get("page_link") if one.proto.label.startswith("Run it")]


def test_a_step_leads_to_its_module_and_the_module_to_the_step() -> None:
    at = page(model="atlas-bert", step="attention-queries", layer="3")
    (link,) = [one.proto for one in at.get("page_link") if one.proto.page == "encoder"]
    assert "encoder.layer.0-11.attention.self.query" in link.label.replace("\\", "")
    tree = opened("encoder", system="bert", tab="tree", node="encoder.layer.0-11.attention.self.query", layer="3")
    (back,) = at_work(tree)
    assert "layer 3 of Atlas BERT" in back.label
    assert "step=attention-queries" in back.query_string
    assert "layer=3" in back.query_string
    mask = page(model="atlas-bert", step="attention-mask")
    assert not [one for one in mask.get("page_link") if one.proto.page == "encoder"]


def test_the_lens_has_a_text_of_its_own() -> None:
    at = page(model="minilm")
    widget(at.text_input, "Text with a [MASK]").set_value("Paris is the capital of [MASK].").run()
    assert "**“france”**" in shown(at)
    widget(at.text_input, "Text with a [MASK]").set_value("There is nothing hidden.").run()
    assert "There is no mask in this text\\." in at.warning[0].value
    assert title(at) == "Token"  # the block is still there
