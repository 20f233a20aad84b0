"""The Transformer page: each architecture opens filled and bounded, links choose, and what cannot be is said."""

from __future__ import annotations

import json
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core import checkpoints, links
from core.attention.byhand import MODES, compute, example
from core.attention.inside.pair import pair_steps
from core.content import content
from core.ui.byhand import Changed
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


def by_hand(at: AppTest) -> dict[str, Any]:
    """What the browser is given of three tokens."""
    (result,) = [proto for proto in protos(at, "bidi_component") if proto.component_name.endswith("atlas_byhand")]
    return dict(json.loads(result.json))


def test_by_hand_opens_with_the_example_beside_the_same_step_of_a_live_head() -> None:
    at = opened("transformer", tab="by-hand")
    assert not at.warning
    given = by_hand(at)
    assert given["now"]["cells"] == given["cells"]
    assert (given["cells"]["q1"][2], given["cells"]["k1"][0], given["now"]["at"]) == ([1, 2], [3, 1], "s131")
    parts = {part["title"]: part for part in given["live"]["parts"]}
    steps = pair_steps(checkpoints.load(checkpoints.first("by-hand")[0]), "Mary saw herself.", 1, 3, "herself", "mary")
    assert parts["Divided by √32"]["lines"] == [f"{steps.product:.2f} / 5.66 = {steps.product / 32**0.5:.2f}"]
    (bars,) = [part["bars"] for part in parts.values() if "bars" in part]
    assert dict(bars)["mary"] == max(weight for _, weight in bars) >= 0.8, "the example's reason is the live head's"
    assert set(given["words"]["stages"]) == {
        name[0] for mode in MODES for name in compute(example().cells, mode, causal=True)
    }


def test_a_link_holds_the_numbers_by_hand_and_what_the_browser_sends() -> None:
    query = {"tab": "by-hand", "cells": "q131_-1~t11_2.5", "mode": "temperature", "mask": "none", "number": "x131"}
    at = opened("transformer", **query, until="weights")
    assert by_hand(at)["now"] | {"cells": None} == {
        "cells": None, "mode": "temperature", "mask": "none", "at": "x131", "until": "weights",
    }  # fmt: skip
    assert by_hand(at)["now"]["cells"]["t"] == [[2.5]]
    assert link(at) == query | {"until": "weights"}
    at.session_state["transformer.1.byhand--sent"] = Changed(
        cells="k111_9", mode="head", mask="causal", at="s131", until="output", count=1
    )
    at.run()
    assert link(at) == {"tab": "by-hand", "cells": "k111_9"}
    assert widget(at.button, "Reset").click().run()
    assert by_hand(opened("transformer", tab="by-hand"))["now"]["cells"]["k1"][0] == [3, 1]


@pytest.mark.parametrize("cells", ["q131_1e999", "<script>alert(1)</script>", "t11_0", "q111_1~" * 200])
def test_numbers_that_do_not_fit_give_way_to_the_example(cells: str) -> None:
    at = opened("transformer", tab="by-hand", cells=cells, number="a199")
    said = " ".join(warning.value for warning in at.warning)
    assert "The example is shown" in said
    assert "the first score is shown" in said
    given = by_hand(at)
    assert given["now"]["cells"] == given["cells"]
    assert given["now"]["at"] == "s131"
