"""XLNet finds words in any order and Transformer-XL reads with a memory, on their pages, with tiny random models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from core import checkpoints
from core.content import content
from core.ui.demos.orders import SAMPLES
from tests import tiny
from tests.app.test_branches import demos, survive_nonsense
from tests.app.test_decoder_demos import CARD
from tests.pages import opened, shown

pytestmark = pytest.mark.usefixtures("open_tables")

LONG = " ".join(tiny.SENTENCES[:6])


@pytest.fixture(autouse=True)
def bundled(tmp_path: Path, use_assets: Callable[[Path], None]) -> None:
    """Two tiny models as the only ones that are bundled."""
    root = tmp_path / "checkpoints"
    tiny.tiny_xlnet(root / "atlas-xlnet")
    tiny.tiny_transformer_xl(root / "atlas-transformer-xl", memory=48)
    for name in ("xlnet", "transformer-xl"):
        (root / f"atlas-{name}" / "card.toml").write_text(CARD.format(name=name), encoding="utf-8")
    use_assets(tmp_path)


def xlnet(**query: str) -> AppTest:
    return opened("decoder", system="xlnet", model="atlas-xlnet", **query)


def xl(**query: str) -> AppTest:
    return opened("decoder", system="transformer-xl", model="atlas-transformer-xl", **query)


def press(at: AppTest, label: str) -> AppTest:
    return next(button for button in at.button if button.label == label).click().run()


def test_three_words_are_found_and_cost_something_in_three_orders() -> None:
    at = xlnet()
    assert not at.warning
    assert at.text_area[0].value == SAMPLES[0]
    assert len(at.multiselect[0].value) == 3
    assert "**Notice**" in shown(at)
    steps, seen, costs = (frame.value for frame in at.dataframe[:3])
    assert len(at.get("plotly_chart")) == min(len(steps), 9) + 1
    assert steps["probability"].between(0, 1).all()
    assert len(seen) == seen["its query stream attends to"].count()
    assert seen["predicted in step"].count() == len(steps)
    together = costs.iloc[-1]
    assert together["word"] == "total"
    for order in ("your order", "left to right", "right to left"):
        assert together[order] == pytest.approx(costs[order].iloc[:-1].sum())
    assert together["your order"] == pytest.approx(together["left to right"])  # it opens with that one
    assert together["your order"] != pytest.approx(together["right to left"], abs=1e-6)


def test_the_order_can_be_reversed_and_travels_in_the_link() -> None:
    at = xlnet(text="The cat sat on the mat.", words="2.6")
    assert at.multiselect[0].value == [2, 6]
    first = at.dataframe[0].value
    assert first["original"].tolist() == ["cat", "mat"]
    assert "the ▣ sat on the ▢" in shown(at)
    press(at, "Right to left")
    assert at.multiselect[0].value == [6, 2]
    assert at.query_params["words"] == "6.2"
    assert at.dataframe[0].value["original"].tolist() == ["mat", "cat"]
    costs = at.dataframe[2].value
    assert costs["your order"].tolist() == pytest.approx(costs["right to left"].tolist())
    press(at, "All words")
    assert at.multiselect[0].value == [1, 2, 3, 4, 5, 6, 7]
    press(at, "Shuffle")
    assert sorted(at.multiselect[0].value) == [1, 2, 3, 4, 5, 6, 7]
    assert at.multiselect[0].value != [1, 2, 3, 4, 5, 6, 7]
    again = xlnet(text="The cat sat on the mat.", words="6.2")
    assert again.multiselect[0].value == [6, 2]


def test_its_own_predictions_can_be_fed_back() -> None:
    at = xlnet(text="The cat sat on the mat.", words="2.6", fed="own")
    assert not at.warning
    truth = xlnet(text="The cat sat on the mat.", words="2.6")
    own, fed = at.dataframe[0].value, truth.dataframe[0].value
    assert own.iloc[0].equals(fed.iloc[0])
    assert own["top predictions"].iloc[1] != fed["top predictions"].iloc[1]
    pd.testing.assert_frame_equal(at.dataframe[2].value, truth.dataframe[2].value)  # costs are those of the truth
    at.segmented_control[1].set_value("truth").run()
    assert "fed" not in at.query_params


def test_nonsense_gets_a_sentence_and_loses_nothing() -> None:
    at = xlnet()
    survive_nonsense(at)
    at.text_area[0].set_value("The cat sat.").run()
    assert not at.warning
    at.multiselect[0].set_value([]).run()
    assert "No word is chosen for prediction" in shown(at)
    at = xlnet(text="The cat sat.", words="88.3.3.0")
    assert at.multiselect[0].value == [3]
    assert xlnet(words="x").warning  # refused in a sentence


def test_masked_words_all_at_once_and_the_heads_of_a_known_text() -> None:
    at = xlnet(demo="masks", text="The cat [MASK] on the [MASK].")
    assert not at.warning
    assert sorted(set(at.dataframe[0].value["mask"])) == [1, 2]
    at = opened("attention", model="atlas-xlnet")
    assert not at.warning
    assert at.get("plotly_chart")
    at = xlnet(demo="text")  # it does not write
    assert at.multiselect


def test_a_story_is_read_with_the_memory_and_without() -> None:
    at = xl(passage=LONG, segment="16")
    assert not at.warning
    assert at.text_area[0].value == LONG
    tokens, places, reach = (frame.value for frame in at.dataframe[:3])
    assert tokens["saved"].iloc[:16].abs().max() < 1e-4
    assert tokens["saved"].iloc[16:].abs().max() > 1e-3
    assert tokens["saved"].tolist() == pytest.approx((tokens["bits without"] - tokens["bits with the memory"]).tolist())
    assert places["tokens"].sum() == len(tokens) - 16
    assert places["position in its segment"].tolist() == ["1–4", "5–8", "9–16"]
    assert (reach["the furthest key of a layer"] == 15 + 48).all()
    assert reach["the furthest influence on the last token"].is_monotonic_increasing
    assert "**Notice**" in shown(at)


def test_the_sample_is_longer_than_a_segment_and_the_memory_can_be_shorter() -> None:
    at = xl()
    assert at.text_area[0].value == content("demos", "memory").label("story")
    assert at.slider[0].value == at.slider[0].max == 48
    at.slider[0].set_value(3).run()
    assert at.query_params["memory"] == "3"
    at = xl(passage=LONG, memory="4000", segment="16")
    assert "it must lie from 1 to 48 here" in shown(at)
    assert at.slider[0].value == 48


def test_a_short_text_has_nothing_to_remember_and_nonsense_loses_nothing() -> None:
    at = xl(passage="The cat sat.")
    assert "the memory stays empty" in shown(at)
    survive_nonsense(at)


def test_it_also_writes_token_by_token_and_its_heads_reach_back() -> None:
    at = xl(demo="text", length="4", text=LONG)
    assert not at.warning
    at = opened("attention", model="atlas-transformer-xl", text="The cat sat on", count="6")
    assert not at.warning


def test_the_kind_decides_which_demos_there_are() -> None:
    found = {spec.slug: spec for spec in checkpoints.available()}
    assert demos(found["atlas-xlnet"]) == ["orders", "masks"]
    assert demos(found["atlas-transformer-xl"]) == ["memory", "text"]
