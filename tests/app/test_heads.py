"""The heads panel without a browser or a model: what a link asks for, what the menus change, what the words say."""

from __future__ import annotations

import json

from streamlit.testing.v1 import AppTest

from core.attention.roles import rolefiles
from core.ui.chips import Clicked
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
        return AttentionMap(name, tokens, tokens, weights)

    state = PageState("decoder", dict(st.session_state.get("kept", values)), 1)
    trace = AttentionTrace("made-up", **{name: made(name) for name in kinds.split()})
    heads_panel(trace, state, "encoder", st.container())
    st.session_state["kept"] = state.values


def _run(kinds: str = "encoder", **values: str | int) -> AppTest:
    app = AppTest.from_function(_panel, kwargs={"kinds": kinds, **values}, default_timeout=60).run()
    return app


def _choice(app: AppTest) -> tuple[object, ...]:
    kept = app.session_state["kept"]
    return kept["layer"], kept["head"], kept.get("map"), kept.get("view")


def test_a_telling_head_comes_first() -> None:
    app = _run()
    assert _choice(app) == (2, 3, None, None)
    assert any("100% of this head’s weight is on the token before" in words(text.value) for text in app.markdown)


def test_a_head_that_follows_a_relation_comes_before_a_diagonal() -> None:
    at = opened("attention", model="minilm")
    relation = rolefiles.best_relations("minilm")["obj"]
    assert tuple(widget(at.selectbox, menu).value - 1 for menu in ("Layer", "Head")) == relation.best
    assert f"links an object and its verb in {100 * relation.accuracy:.0f}% of {relation.n} cases" in shown(at)


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
