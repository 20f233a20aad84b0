"""DeBERTa's page: the parts of its scores, and words guessed without one; a tiny random model, so not what it says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from core import checkpoints
from core.attention.architectures.disentangled import MOST, predict_without_components, score_components
from core.language.fill_mask import fill_mask
from core.training.objectives.encoder import new_encoder as new_model
from core.ui.chips import Clicked
from tests import tiny
from tests.app.test_branches import demos, survive_nonsense
from tests.app.test_decoder_demos import CARD
from tests.pages import opened, shown
from tests.unit.test_disentangled import SHAPE

pytestmark = pytest.mark.usefixtures("open_tables")


@pytest.fixture(autouse=True)
def bundled(tmp_path: Path, use_assets: Callable[[Path], None]) -> None:
    """A tiny DeBERTa as the only model that is bundled."""
    torch.manual_seed(0)
    tokenizer = tiny.wordpiece_tokenizer()
    folder = tmp_path / "checkpoints" / "atlas-deberta"
    model = new_model(SHAPE | {"max_position_embeddings": 64, "initializer_range": 0.4}, len(tokenizer))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    (folder / "card.toml").write_text(CARD.format(name="DeBERTa"), encoding="utf-8")
    use_assets(tmp_path)


def page(**query: str) -> AppTest:
    return opened("encoder", system="deberta", model="atlas-deberta", **({"demo": "parts"} | query))


def test_what_is_drawn_is_what_the_library_computes() -> None:
    checkpoint = checkpoints.load("atlas-deberta")
    text = "the cat sat on the [MASK]"
    found = score_components(checkpoint, text)
    inputs = checkpoint.tokenizer(text, return_tensors="pt")
    expected = checkpoint.model(inputs["input_ids"], output_attentions=True).attentions
    sums = found.scores.sum(axis=1)
    mine = np.exp(sums) / np.exp(sums).sum(axis=-1, keepdims=True)
    for layer, attention in enumerate(expected):
        np.testing.assert_allclose(found.weights[layer], attention[0].numpy(), atol=1e-5)
        np.testing.assert_allclose(mine[layer], attention[0].numpy(), atol=1e-5)
    assert not found.scores.flags.writeable
    whole, *without = predict_without_components(checkpoint, text)
    [usual] = fill_mask(checkpoint, text)
    assert whole.tokens == usual.tokens
    np.testing.assert_allclose(whole.probabilities, usual.probabilities, atol=1e-5)
    assert [ablation.component for ablation in without] == ["c2c", "c2p", "p2c"]
    assert len({prediction.probabilities for prediction in (whole, *without)}) == 4


def test_masked_words_and_parts_are_both_offered_and_a_link_opens_a_row() -> None:
    assert demos(checkpoints.get("atlas-deberta")) == ["masks", "parts"]
    at = page(demo="masks")
    at = page(text="the cat sat on the [MASK]", layer="2", head="3", token="3")
    assert not at.warning
    row = at.dataframe[0].value
    assert row["distance"].tolist() == [2, 1, 0, -1, -2, -3, -4, -5]
    np.testing.assert_allclose(row[["c2c", "c2p", "p2c"]].sum(axis=1), row["sum"], atol=1e-5)
    found = score_components(checkpoints.load("atlas-deberta"), "the cat sat on the [MASK]")
    np.testing.assert_allclose(row["weight"], found.weights[1, 2, 2], atol=1e-6)
    assert row["weight"].sum() == pytest.approx(1.0, abs=1e-5)
    assert len(at.get("plotly_chart")) == 4 + 4
    assert "**Notice**" in shown(at)
    assert [at.query_params[name][0] for name in ("layer", "head", "token")] == ["2", "3", "3"]
    at.session_state["encoder.1.token.parts.chips--sent"] = Clicked(selected=[0])
    at.run()
    assert at.dataframe[0].value["distance"].tolist()[:2] == [0, -1]
    assert at.query_params["token"][0] == "1"


def test_nonsense_gets_a_plain_answer_and_loses_nothing() -> None:
    at = page()
    survive_nonsense(at, "text_input")
    at.text_input[0].set_value("the cat " * MOST).run()
    assert "drawn for up to 40" in shown(at) or "positions for 64" in shown(at)
    at.text_input[0].set_value("Nothing is hidden here.").run()
    assert "There is no mask in this text" in shown(at)
    assert at.dataframe[0].value["sum"].notna().all()  # the parts are there without a mask, too
    at = page(layer="99", head="99", token="500")
    assert not at.warning or "99" in shown(at)
