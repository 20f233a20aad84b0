"""What each bundled model does on its branch's page: found by what its folder holds, opened, and changed."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from core import checkpoints
from core.attention.disentangled import predict_without_components, score_components
from core.content import content
from core.errors import InputTooLong
from core.language.bilingual import prepare as prepare_pair
from core.language.fill_mask import fill_mask
from core.language.noise import characters, noisy, tokenize_both
from core.language.starts import prepare
from core.ui.chips import Clicked
from core.ui.demos.buckets import SAMPLE
from core.ui.demos.orders import SAMPLES
from core.ui.demos.pairs import PAIRS as PAIRS_DEMO
from tests import tiny
from tests.app.test_branches import demos
from tests.pages import html_of, link, opened, shown, widget

pytestmark = pytest.mark.usefixtures("open_tables")

READY = [spec for spec in checkpoints.available() if spec.ready and spec.source == "bundled"]
PAIRS = [spec for spec in READY if spec.offers("pairs")]
REPLACED = [spec for spec in READY if spec.kind == "replaced-token"]
ENCODERS = [spec for spec in READY if spec.branch == "encoder" and spec.kind == "masked-lm"]
LONG = " ".join(tiny.SENTENCES[:6])


def page(slug: str, **query: str) -> AppTest:
    return opened(checkpoints.get(slug).branch, model=slug, **query)


def charts(at: AppTest) -> list[Any]:
    """The pictures of a demo; the learning curve on a model's card is none."""
    return [chart.proto for chart in at.get("plotly_chart") if "learning-curve" not in chart.key]


def table(at: AppTest, column: str) -> Any:
    """The first table with this column."""
    return next(frame.value for frame in at.dataframe if column in frame.value)


@pytest.mark.parametrize("spec", ENCODERS, ids=lambda spec: spec.slug)
def test_every_demo_of_an_encoder_opens_filled(spec: Any) -> None:
    for demo in demos(spec):
        at = page(spec.slug, **({} if demo == "masks" else {"demo": demo}))
        assert not at.warning
        assert "**Notice**" in shown(at), demo
        assert at.get("plotly_chart"), demo


def test_what_a_model_is_decides_which_demos_there_are() -> None:
    found = {spec.slug: demos(spec) for spec in READY}
    assert found["atlas-deberta"][:2] == ["masks", "parts"]
    assert found["atlas-xlnet"] == ["orders", "masks"]
    assert found["atlas-transformer-xl"] == ["memory", "text"]
    assert found["atlas-ctrl"] == ["codes", "text"]
    assert found["atlas-gpt-neo"] == ["text"]


@pytest.mark.parametrize("spec", PAIRS, ids=lambda spec: spec.slug)
def test_pairs_are_classified(spec: Any) -> None:
    at = page(spec.slug, demo="pairs", first="The dog barked.", second="It was hungry.\nThe moon is far away.")
    assert at.text_input[0].value == "The dog barked."
    found = at.dataframe[0].value
    assert found["second"].tolist() == ["It was hungry.", "The moon is far away."]
    assert all(0 < value < 1 for value in found["probability"])
    at.text_area[0].set_value("\n".join(f"Line {i}." for i in range(9))).run()
    assert "Up to 8 work" in shown(at)


def test_bert_tells_a_sentence_that_fits_from_one_that_does_not() -> None:
    values = page("atlas-bert", demo="pairs").dataframe[0].value["probability"].tolist()
    assert values[0] > 0.5 > values[3]


def test_albert_tells_a_definition_from_what_follows_it() -> None:
    page_of = page("atlas-albert", demo="pairs")
    values = page_of.dataframe[0].value["probability"].tolist()
    swapped = page(
        "atlas-albert",
        demo="pairs",
        first="She won the prize twice.",
        second="Anna Berg (born 1950) is a writer from Norway.",
    )
    assert values[0] > 0.5 > swapped.dataframe[0].value["probability"].iloc[0]
    assert "On stories it is chance" in shown(page_of)


@pytest.mark.parametrize("spec", REPLACED, ids=lambda spec: spec.slug)
def test_replaced_tokens_are_shown(spec: Any) -> None:
    at = page(spec.slug)
    assert not at.warning
    first = at.dataframe[0].value
    assert first["replaced"].any() or first["generator's probability"].notna().any()
    widget(at.button, "Sample again").click().run()
    assert "Sample 2." in shown(at)
    assert at.dataframe[0].value["in the input"].tolist() != first["in the input"].tolist()


def test_a_demo_that_a_model_lacks_is_not_offered_but_named_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.ui.branch.base_path", lambda: "/below")
    at = opened("encoder", system="bert", model="minilm", demo="pairs")
    assert f"Also here: [{PAIRS_DEMO.words.title.lower()}, with Atlas BERT](/below/encoder?" in shown(at)


def test_a_row_of_scores_is_the_sum_of_its_parts() -> None:
    text = "the cat sat on the [MASK]"
    checkpoint = checkpoints.load("atlas-deberta")
    at = page("atlas-deberta", demo="parts", text=text, layer="2", head="3", token="3")
    assert not at.warning
    row = at.dataframe[0].value
    assert row["distance"].tolist() == [2, 1, 0, -1, -2, -3, -4, -5]
    np.testing.assert_allclose(row[["c2c", "c2p", "p2c"]].sum(axis=1), row["sum"], atol=1e-4)
    np.testing.assert_allclose(row["weight"], score_components(checkpoint, text).weights[1, 2, 2], atol=1e-6)
    assert row["weight"].sum() == pytest.approx(1.0, abs=1e-5)
    at.session_state["encoder.1.token.parts.chips--sent"] = Clicked(selected=[0])
    at.run()
    assert at.dataframe[0].value["distance"].tolist()[:2] == [0, -1]
    assert link(at)["token"] == "1"
    at.text_input[0].set_value("Nothing is hidden here.").run()
    assert "There is no mask in this text" in shown(at)
    assert at.dataframe[0].value["sum"].notna().all()  # the parts are there without a mask, too
    whole, *without = predict_without_components(checkpoint, text)
    [usual] = fill_mask(checkpoint, text)
    assert whole.tokens == usual.tokens
    np.testing.assert_allclose(whole.probabilities, usual.probabilities, atol=1e-5)
    assert [ablation.component for ablation in without] == ["c2c", "c2p", "p2c"]
    assert len({prediction.probabilities for prediction in (whole, *without)}) == 4


def test_a_task_is_swapped_in_beside_a_head_alone() -> None:
    at = page("atlas-adapter-bert", text="The cat sat. It was old.")
    assert not at.warning
    everything = table(at, "adapters")
    for frame in at.dataframe[:2]:
        assert frame.value["probability"].sum() == pytest.approx(1.0)
    assert f"in memory once for all {len(everything)} tasks" in shown(at)
    at.segmented_control(key=next(w.key for w in at.segmented_control if str(w.key).endswith(".task"))).set_value(
        "genre"
    ).run()
    assert at.dataframe[0].value["answer"].tolist() == ["story", "conversation", "encyclopedia", "textbook"]
    assert link(at)["task"] == "genre"
    assert table(at, "adapters").equals(everything)  # a swap changes nothing for the other tasks
    at = page("atlas-adapter-bert", text="?!", task="question")
    assert table(at, "adapters")["adapters"].str.contains("no text before the punctuation").sum() == 1
    at = page("atlas-adapter-bert", text="Is the old king asleep? His son is not.", task="question")
    assert "Model input: Is the old king asleep" in [caption.value for caption in at.caption]


def test_a_word_is_predicted_with_its_translation_and_without() -> None:
    at = page("atlas-xlm")  # it opens with both sentences
    assert set(at.dataframe[0].value["read"]) == {"both sentences", "one sentence"}
    assert at.dataframe[0].value.groupby(["token", "read"])["probability"].sum().le(1).all()
    second = prepare_pair(checkpoints.load("atlas-xlm"), "The dog sat.", "Le chien.").second
    at = page("atlas-xlm", first="The dog sat.", second="Le chien.", mask=str(second + 1))
    assert at.text_input[0].value == "The dog sat."
    assert (at.dataframe[0].value["token"] > second).all()
    at = page("atlas-xlm", demo="masks", text="The dog sat.", mask="2")
    assert "marks every token as English" in shown(at)


def test_every_code_continues_the_same_prompt() -> None:
    at = page("atlas-ctrl", text="The cat", length="5", passage="The dog sat.")
    assert not at.warning
    written, judged = (frame.value for frame in at.dataframe[:2])
    assert written["continuation"].nunique() > 1
    assert sorted(judged["code"]) == sorted(written["code"])
    assert judged["probability"].sum() == pytest.approx(1.0)
    assert judged["probability"].is_monotonic_decreasing
    assert judged["bits per byte"].is_monotonic_increasing
    assert "begins with a control code: Story" in shown(page("atlas-ctrl", demo="text", length="4"))


def test_local_layers_are_counted() -> None:
    found = table(opened("attention", model="atlas-gpt-neo", text="The cat sat on the mat. " * 12), "kind")
    assert found["kind"].tolist() == ["global", "local"] * 2
    assert found["attends back at most (tokens)"].iloc[1] == 63
    assert found["attends back at most (tokens)"].iloc[0] > 63


def test_words_are_found_in_three_orders() -> None:
    at = page("atlas-xlnet")
    assert not at.warning
    assert at.text_input[0].value == SAMPLES[0]
    steps, seen, costs = (frame.value for frame in at.dataframe[:3])
    assert len(charts(at)) == min(len(steps), 9) + 1
    assert len(seen) == seen["its query stream attends to"].count()
    assert seen["predicted in step"].count() == len(steps)
    together = costs.iloc[-1]
    for order in ("your order", "left to right", "right to left"):
        assert together[order] == pytest.approx(costs[order].iloc[:-1].sum())
    assert together["your order"] == pytest.approx(together["left to right"])  # it opens with that one
    assert together["your order"] != pytest.approx(together["right to left"], abs=1e-6)


def test_the_order_can_be_reversed_and_travels_in_the_link() -> None:
    at = page("atlas-xlnet", text="The cat sat on the mat.", words="2.6")
    assert at.multiselect[0].value == [2, 6]
    assert at.dataframe[0].value["original"].tolist() == ["cat", "mat"]
    widget(at.button, "Right to left").click().run()
    assert at.multiselect[0].value == [6, 2]
    assert link(at)["words"] == "6.2"
    assert at.dataframe[0].value["original"].tolist() == ["mat", "cat"]
    costs = at.dataframe[2].value
    assert costs["your order"].tolist() == pytest.approx(costs["right to left"].tolist())
    widget(at.button, "All words").click().run()
    assert at.multiselect[0].value == [1, 2, 3, 4, 5, 6, 7]
    widget(at.button, "Shuffle").click().run()
    assert sorted(at.multiselect[0].value) == [1, 2, 3, 4, 5, 6, 7] != at.multiselect[0].value
    at.multiselect[0].set_value([]).run()
    assert "No word is chosen for prediction" in shown(at)
    assert page("atlas-xlnet", text="The cat sat.", words="88.3.3.0").multiselect[0].value == [3]
    assert page("atlas-xlnet", words="x").warning  # refused in a sentence


def test_its_own_predictions_can_be_fed_back() -> None:
    at, truth = (page("atlas-xlnet", text="The xyzzy sat on the mat.", words="2.6", **fed) for fed in FED)
    own, fed = at.dataframe[0].value, truth.dataframe[0].value
    assert own.iloc[0].equals(fed.iloc[0])
    assert own["top predictions"].iloc[1] != fed["top predictions"].iloc[1]
    pd.testing.assert_frame_equal(at.dataframe[2].value, truth.dataframe[2].value)  # costs are those of the truth
    at.segmented_control[1].set_value("truth").run()
    assert "fed" not in at.query_params


FED: tuple[dict[str, str], ...] = ({"fed": "own"}, {})


def test_masked_words_are_predicted_all_at_once() -> None:
    at = page("atlas-xlnet", demo="masks", text="The cat [MASK] on the [MASK].")
    assert not at.warning
    assert sorted(set(at.dataframe[0].value["mask"])) == [1, 2]


def test_a_story_is_read_with_the_memory_and_without() -> None:
    at = page("atlas-transformer-xl", passage=LONG, segment="16")
    assert not at.warning
    tokens, places, reach = (frame.value for frame in at.dataframe[:3])
    assert tokens["saved"].iloc[:16].abs().max() < 1e-4
    assert tokens["saved"].iloc[16:].abs().max() > 1e-3
    assert tokens["saved"].tolist() == pytest.approx((tokens["bits without"] - tokens["bits with the memory"]).tolist())
    assert places["tokens"].sum() == len(tokens) - 16
    assert places["position in its segment"].tolist() == ["1–4", "5–8", "9–16"]
    assert (reach["the furthest key of a layer"] == len(tokens)).all()  # all of this text fits into the memory
    assert reach["the furthest influence on the last token"].is_monotonic_increasing
    (terms,) = [one.proto for one in at.get("page_link") if one.proto.label.startswith("The four terms")]
    assert "kind=relative" in terms.query_string
    at = page("atlas-transformer-xl")
    assert at.text_area[0].value == content("demos", "memory").label("story")
    assert at.slider[0].value == at.slider[0].max == 192
    at.slider[0].set_value(3).run()
    assert link(at)["memory"] == "3"
    assert "it must lie from 1 to 192 here" in shown(page("atlas-transformer-xl", memory="4000"))


def test_a_translation_without_english_stands_beside_the_way_through_it() -> None:
    at = page("atlas-m2m-100", length="8", task="fr-de")
    assert "Direct, and with English as pivot" in shown(at)
    assert "French to English" in html_of(at)
    assert "that English to German" in html_of(at)
    assert "Special tokens name the languages" in shown(at)
    assert "English as pivot" not in shown(page("atlas-m2m-100", length="8", task="fr-en"))


def test_the_english_centric_model_translates_beside_the_many_to_many_one() -> None:
    at = page("atlas-m2m-100", task="fr-de", text="Je suis fatigué.", length="12")
    made = re.findall(r"French to German, direct</small><br>(.*?)</p>", html_of(at))
    through = re.findall(r"that English to German</small><br>(.*?)</p>", html_of(at))
    assert made[0] != made[1]
    assert {"Ich bin müde."} == {made[0], *through}
    bleu = next(frame.value for frame in at.dataframe if "many-to-many" in frame.value.columns).set_index("direction")
    assert len(bleu) == 8
    gain = bleu["many-to-many"] - bleu["English-centric"]
    assert gain["French to German, direct"] > 20
    assert gain["German to French, direct"] > 20
    assert gain.drop(["French to German, direct", "German to French, direct"]).abs().max() < 8


@pytest.mark.parametrize(("model", "told", "divided"), [("atlas-t5", True, False), ("atlas-bert2bert", False, True)])
def test_the_formula_is_that_of_the_model(model: str, told: bool, divided: bool) -> None:
    at = page(model, length="4")
    assert ("The task is a prefix of the text" in shown(at)) == told
    formula = next(element.value for element in at.markdown if "cross" in element.value and "$$" in element.value)
    assert (r"\sqrt{d}" in formula) == divided


def test_generated_spans_are_read_in_their_text() -> None:
    at = page("atlas-t5", task="spans", length="8", text="I would like a <extra_id_0> of tea.")
    assert "The text with the generated spans" in html_of(at)
    assert "Measured on" in shown(at)
    assert "whole span" in shown(at)


def test_noise_of_a_link_is_read_and_what_it_costs_is_shown() -> None:
    at = page("atlas-byt5", length="12", text="the cat sat", damage="random-case", seed="3")
    assert not at.warning
    assert noisy("the cat sat", "random-case", seed=3) in html_of(at)
    assert "underlined" in html_of(at)
    assert "edit distance" in shown(at)
    assert "Atlas ByT5: 11 clean, 11 noisy; " in " ".join(chart.proto.alt for chart in at.get("plotly_chart"))
    at = page("atlas-byt5", length="12", text="the cat sat", damage="drop", rate="30", seed="1")
    assert noisy("the cat sat", "drop", 0.3, 1) in html_of(at)
    assert widget(at.slider, "Noise rate").value == 30
    at = page("atlas-byt5", length="12", text="Straße 🦉", damage="none")
    assert table(at, "character")["bytes"].tolist()[4] == "c3 9f"
    assert table(at, "character")["ids"].tolist()[-1] == "243 162 169 140"
    assert "The text is 8 characters, in UTF-8 12 bytes" in shown(at)


def test_characters_and_pieces_by_hand() -> None:
    assert [(c.name, c.bytes) for c in characters("ß🦉")] == [
        ("LATIN SMALL LETTER SHARP S", (0xC3, 0x9F)),
        ("OWL", (0xF0, 0x9F, 0xA6, 0x89)),
    ]
    checkpoint = checkpoints.load("atlas-byt5")
    bytewise = tokenize_both(checkpoint, "the cat", "teh cat")
    assert (len(bytewise.clean), len(bytewise.noisy), bytewise.unknown) == (7, 7, 0)
    assert [token.text for token in prepare(checkpoint, "né 🦉", "respell").source[:3]] == ["n", "‹c3›", "‹a9›"]
    with pytest.raises(InputTooLong, match="has 400 bytes; Atlas ByT5 takes up to 255"):
        prepare(checkpoint, "é" * 200, "respell")


def test_a_window_opens_filled_and_its_controls_change_it() -> None:
    at = page("atlas-longformer", tokens="256", sample="middle", side="40")
    assert not at.warning
    assert "**Notice**" in shown(at)
    assert len(charts(at)) == 4
    assert widget(at.selectbox, "Window, each side").value == 40
    widget(at.text_input, "Global words").set_value("Max").run()
    assert link(at)["words"] == "Max"
    assert "Layers needed through a global token: 1." in shown(at)
    for words, said in (("zebra", "does not occur in this text"), ("cat," * 9, "up to 8 work")):
        widget(at.text_input, "Global words").set_value(words).run()
        assert said in shown(at)
    widget(at.toggle, "First token global").set_value(False).run()
    assert link(at)["start"] == "no"
    assert "no masked word" in shown(page("atlas-longformer", sample="own", text="Nothing is hidden here."))


def test_buckets_open_filled_and_rounds_change_them() -> None:
    at = page("atlas-reformer")
    assert not at.warning
    first = charts(at)
    assert len(first) == 5
    caught = next(chart.alt for chart in first if "of the weight" in chart.alt)
    assert re.findall(r"rounds (\d+)", caught) == ["1", "2", "4", "8"]
    shares = [float(share) for share in re.findall(r"([\d.]+)% of the weight", caught)]
    assert shares[0] < shares[-1]  # each number of rounds samples its own rotations
    assert f"{len(SAMPLE)} bytes" in first[0].alt
    widget(at.selectbox, "Rounds").set_value(4).run()
    assert link(at)["rounds"] == "4"
    assert "Rounds: 4." in shown(at)
    widget(at.number_input, "Seed of the rotations").set_value(7).run()
    assert charts(at)[0].spec != first[0].spec
    for name in ("recall", "stored"):  # computed when they are opened
        at.session_state[f"efficient.{at.session_state['links.epoch']}.{name}.box"] = True
    at.run()
    assert len(charts(at)) == 7
    assert "Within half the cost" in shown(at)
    assert "Reversible layers keep two streams" in shown(at)


def test_reading_further_is_measured_at_several_lengths() -> None:
    at = page("atlas-reformer", demo="reading")
    assert f"{len(SAMPLE)} bytes of context" in charts(at)[0].alt
    at.text_area[0].set_value("Too short.").run()
    assert "at least 256" in shown(at)
