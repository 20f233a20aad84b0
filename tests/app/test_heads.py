"""One head and one block: what a link asks for, what the menus change, what the words say."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core import checkpoints
from core.attention.inside.block import block, wires
from core.attention.roles import rolefiles
from core.ui.chips import Clicked
from tests import tinyhosts
from tests.app.test_attention_page import page as attention
from tests.pages import opened, protos, shown, widget
from tests.words import words


def _panel(kinds: str, **values: str | int) -> None:
    """Runs inside the app: a made-up trace with 2 layers of 3 heads; layer 2, head 3 attends one token back."""
    import numpy as np
    import streamlit as st

    from core.attention.trace import AttentionMap, AttentionTrace
    from core.ui.heads.panel import heads_panel
    from core.ui.links import PageState

    def made(name: str) -> AttentionMap:
        weights = np.full((2, 3, 4, 4), 0.25, dtype=np.float32)
        weights[1, 2] = np.eye(4, dtype=np.float32)[[0, 0, 1, 2]]
        tokens = ("[CLS]", "$x^2$", "<b>", "[SEP]")
        return AttentionMap(name, tokens, tokens, weights, special_queries=(0, 3), special_keys=(0, 3))

    state = PageState("decoder", dict(st.session_state.get("kept", values)), 1)
    trace = AttentionTrace("made-up", **{name: made(name) for name in kinds.split()})
    heads_panel(trace, state, "encoder", st.container())
    st.session_state["kept"] = state.values


def _run(kinds: str = "encoder", **values: str | int) -> AppTest:
    app = AppTest.from_function(_panel, kwargs={"kinds": kinds, **values}, default_timeout=120).run()
    return app


def _choice(app: AppTest) -> tuple[object, ...]:
    kept = app.session_state["kept"]
    return kept["layer"], kept["head"], kept.get("map"), kept.get("view")


def test_a_telling_head_comes_first() -> None:
    app = _run()
    assert _choice(app) == (2, 3, None, None)
    assert any("100.0% of this head’s weight is on the token before" in words(text.value) for text in app.markdown)


def test_a_head_that_follows_a_relation_comes_before_a_diagonal() -> None:
    at = opened("attention", model="minilm", text="The cat that the dog chased sat on the mat because it was tired.")
    relation = rolefiles.best_relations("minilm")["obj"]
    assert tuple(widget(at.selectbox, menu).value - 1 for menu in ("Layer", "Head")) == relation.best
    assert f"links an object and its verb in {100 * relation.accuracy:.1f}% of {relation.n} cases" in shown(at)


def test_a_link_decides_layer_head_and_view_and_menus_change_them() -> None:
    app = _run(layer=1, head=2, view="table")
    assert _choice(app) == (1, 2, None, "table")
    assert any("almost evenly" in text.value for text in app.markdown)
    app.selectbox[1].set_value(3).run()
    assert _choice(app)[:2] == (1, 3)


def test_what_the_model_lacks_is_named_and_the_usual_head_shown() -> None:
    app = _run(layer=7, head=99)
    said = [words(warning.value) for warning in app.warning]
    assert [sentence.partition(":")[0] for sentence in said] == ["“Layer” cannot be “7”", "“Head” cannot be “99”"]
    assert _choice(app) == (2, 3, None, None)


def test_an_encoder_decoder_opens_with_cross_attention() -> None:
    assert _choice(_run("encoder decoder cross"))[2] == "cross"
    assert _choice(_run("encoder decoder cross", map="decoder"))[2] == "decoder"


def test_the_selected_token_is_one_in_chips_table_and_description() -> None:
    app = _run(token=2, view="table")
    (chips,) = (proto for proto in protos(app, "bidi_component") if '"row"' in proto.json)
    assert json.loads(chips.json)["selected"] == [1]
    assert app.session_state["decoder.1.heads.keys.encoder"]["selection"]["rows"] == [1]
    app.session_state["decoder.1.token.made-up.encoder.chips--sent"] = Clicked(selected=[3])
    app.run()
    assert app.session_state["kept"]["token"] == 4
    assert app.session_state["decoder.1.heads.keys.encoder"]["selection"]["rows"] == [3]


def test_a_token_that_the_text_lacks_is_named() -> None:
    app = _run(token=9)
    assert any("“9”" in words(warning.value) or "9" in words(warning.value) for warning in app.warning)
    assert app.session_state["kept"]["token"] is None


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
    computed = block(checkpoints.load("atlas-t5"), "The cat sleeps on the chair.", 0, "decoder")
    slugs = [wire.slug for wire in wires(computed.steps)]
    for number in (0, len(slugs) - 2):
        at = page(model="atlas-t5", side="decoder", step=slugs[number])
        press(at, "Next")
        assert at.query_params["step"] == slugs[number + 1]
        assert title(at).lower() == computed.steps[number + 1].name
        assert formula(at) == computed.steps[number + 1].formula
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
    return [element.proto for element in tree.get("page_link") if element.proto.label.startswith("Run it")]


def test_a_step_leads_to_its_module_and_the_module_to_the_step() -> None:
    at = page(model="atlas-bert", step="attention-queries", layer="3")
    (link,) = [element.proto for element in at.get("page_link") if element.proto.page == "encoder"]
    assert "encoder.layer.0-11.attention.self.query" in link.label.replace("\\", "")
    tree = opened("encoder", system="bert", tab="tree", node="encoder.layer.0-11.attention.self.query", layer="3")
    (back,) = at_work(tree)
    assert "layer 3 of Atlas BERT" in back.label
    assert "step=attention-queries" in back.query_string
    assert "layer=3" in back.query_string
    mask = page(model="atlas-bert", step="attention-mask")
    assert not [element for element in mask.get("page_link") if element.proto.page == "encoder"]


@pytest.mark.parametrize(("head", "heads"), [("3", "1 to 3"), ("4", "4 to 6")])
def test_the_heads_that_share_keys_with_the_chosen_one_are_named(head: str, heads: str) -> None:
    said = shown(opened("attention", model="atlas-llama", layer="1", head=head))
    assert f"query heads {heads} share one head of keys and values. The model has 6 heads of queries and 2" in said


@pytest.mark.usefixtures("open_tables")
def test_an_encoder_decoder_of_two_models_names_the_heads_of_its_halves(
    tmp_path: Path, use_checkpoints: Callable[[Path], None]
) -> None:
    settings = tinyhosts.ALL["both t5gemma"][1]
    halves = {"encoder": settings["encoder"] | {"num_key_value_heads": 1}, "decoder": settings["decoder"]}
    made = tinyhosts.build("both t5gemma", "seq2seq-lm", halves)
    made.model.save_pretrained(tmp_path / "two")
    made.tokenizer.save_pretrained(tmp_path / "two")
    use_checkpoints(tmp_path)
    for part, heads in (("encoder", "1 to 4"), ("cross", "3 to 4")):
        said = shown(opened("attention", model="dir-two", text="The cat sat.", map=part, layer="1", head="3"))
        assert f"query heads {heads} share one head of keys and values" in said
