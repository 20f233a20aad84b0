"""The heads panel without a browser or a model: what a link asks for, what the menus change, what the words say."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from tests.words import words


def _panel(layer: int | None, head: int | None, kind: str | None, view: str | None, kinds: str) -> None:
    """Runs inside the app: a made-up trace with 2 layers of 3 heads; layer 2, head 3 looks one token back."""
    import numpy as np
    import streamlit as st

    from core.attention.trace import AttentionMap, AttentionTrace
    from core.ui.heads.panel import heads_view

    def made(name: str) -> AttentionMap:
        weights = np.full((2, 3, 4, 4), 0.25, dtype=np.float32)
        weights[1, 2] = np.eye(4, dtype=np.float32)[[0, 0, 1, 2]]
        tokens = ("[CLS]", "$x^2$", "<b>", "[SEP]")
        return AttentionMap(name, tokens, tokens, weights)  # type: ignore[arg-type]

    trace = AttentionTrace("made-up", **{name: made(name) for name in kinds.split()})
    st.session_state["choice"] = tuple(heads_view(trace, key="h", layer=layer, head=head, kind=kind, view=view))


def _run(
    layer: int | None = None,
    head: int | None = None,
    kind: str | None = None,
    view: str | None = None,
    kinds: str = "encoder",
) -> AppTest:
    arguments = {"layer": layer, "head": head, "kind": kind, "view": view, "kinds": kinds}
    app = AppTest.from_function(_panel, kwargs=arguments, default_timeout=60).run()
    assert not app.exception
    return app


def test_a_telling_head_comes_first() -> None:
    app = _run()
    assert app.session_state["choice"] == (2, 3, "encoder", "heat")
    assert any("100% of its weight on the token before" in text.value for text in app.markdown)


def test_a_link_decides_layer_head_and_view() -> None:
    app = _run(layer=1, head=2, view="table")
    assert app.session_state["choice"] == (1, 2, "encoder", "table")
    assert any("almost evenly" in text.value for text in app.markdown)


def test_menus_change_the_head() -> None:
    app = _run(layer=1, head=1)
    app.selectbox[1].set_value(3).run()
    assert app.session_state["choice"][:2] == (1, 3)
    assert not app.exception


def test_what_the_model_lacks_is_named_and_passed_over() -> None:
    app = _run(layer=7, head=99, kind="cross", view="nonsense")
    assert [words(warning.value) for warning in app.warning] == [
        "There is no layer 7 here: this model has 2. Number 2 is shown.",
        "There is no head 99 here: this model has 3. Number 3 is shown.",
    ]
    assert app.session_state["choice"] == (2, 3, "encoder", "heat")


def test_an_encoder_decoder_opens_with_cross_attention() -> None:
    app = _run(kinds="encoder decoder cross")
    assert app.session_state["choice"][2] == "cross"
    assert _run(kind="decoder", kinds="encoder decoder cross").session_state["choice"][2] == "decoder"


def test_bertviz_view_runs() -> None:
    assert _run(view="bertviz").session_state["choice"][3] == "bertviz"
