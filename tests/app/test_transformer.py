"""The Transformer page: each architecture opens filled and bounded, links choose, and what cannot be is said."""

from __future__ import annotations

import json
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core import links
from core.content import content
from core.ui.transformer import STEPS, Moved
from tests.pages import link, opened, protos, shown, widget

MOST_BYTES = 200_000
LONG = "The old man and the young girl went to the river because of it."


def data(at: AppTest) -> dict[str, Any]:
    """What the browser is given."""
    (result,) = [proto for proto in protos(at, "bidi_component") if proto.component_name.endswith("atlas_transformer")]
    return dict(json.loads(result.json))


@pytest.mark.parametrize("architecture", STEPS)
def test_each_architecture_opens_filled_and_bounded(architecture: str) -> None:
    at = opened("transformer", architecture=architecture)
    assert not at.warning
    run = data(at)
    assert [step["slug"] for step in run["steps"]] == [slug for lane in STEPS[architecture] for slug in lane]
    assert len(run["lanes"]) == len(STEPS[architecture])
    assert run["answers"]
    mask = run["lanes"][-1]["block"]["attention-mask"]["allowed"]
    assert ("0" in mask) is (architecture != "encoder")
    assert ("cross-attention-weights" in run["lanes"][-1]["block"]) is (architecture == "encoder-decoder")
    assert any(piece.get("href") == "/glossary?term=residual-connection" for piece in run["steps"][4]["text"])
    for step in run["steps"]:
        terms = [piece["text"].lower() for piece in step["text"] if "href" in piece]
        assert len(terms) == len(set(terms))
        for door in step["doors"]:
            page, _, query = door["href"].lstrip("/").partition("?")
            values = {name: value for name, _, value in (pair.partition("=") for pair in query.split("&") if query)}
            assert links.read_query(page, values)[1] == ()
    widget(at.text_input, "Text").set_value(LONG).run()
    assert len(json.dumps(data(at))) < MOST_BYTES


def test_a_link_chooses_and_what_it_asks_in_vain_is_said() -> None:
    at = opened("transformer", architecture="decoder", step="mask", depth="numbers", layer="2", head="3", position="4")
    assert data(at)["now"] == {"step": "mask", "depth": "numbers", "layer": 2, "head": 3, "position": 4, "source": 1}
    assert link(at)["step"] == "mask"
    at = opened("transformer", step="no-such-step", layer="77", position="16")
    said = " ".join(warning.value for warning in at.warning)
    assert "begins at the first one" in said
    assert "77" in said
    assert data(at)["now"]["layer"] == 1


def test_what_the_browser_sends_is_in_the_link() -> None:
    at = opened("transformer")
    at.session_state["transformer.1.picture.encoder--sent"] = Moved(
        step="weights", depth="tensors", layer=3, head=2, position=1, source=0, count=4
    )
    at.run()
    assert link(at) == {"step": "weights", "depth": "tensors", "layer": "3", "head": "2", "position": "2"}


def test_a_text_without_a_mask_and_one_with_a_mask_for_a_decoder() -> None:
    at = opened("transformer", text="The cat sat on the mat.")
    assert "its last word is masked here" in shown(at)
    assert data(at)["lanes"][0]["tokens"][-3] == "[MASK]"
    at = opened("transformer", architecture="decoder", text="The cat sat on the [MASK] and slept.")
    assert "reads only what comes before the mask" in shown(at)
    assert data(at)["lanes"][0]["tokens"][-1] == "␣the"


def test_every_step_has_its_words() -> None:
    words = content("transformer", "picture")
    slugs = {slug for lanes in STEPS.values() for lane in lanes for slug in lane}
    assert slugs == set(words.front["titles"])
    assert slugs >= set(words.front["doors"])
