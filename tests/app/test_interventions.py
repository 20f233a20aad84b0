"""The sections of the page Interventions: opened, changed, linked, and given nonsense."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages import described, html_of, opened, shown, widget

page = partial(opened, "interventions")


def click(at: AppTest, label: str) -> None:
    widget(at.button, label).click().run()


@pytest.mark.usefixtures("open_tables")
def test_ablation_opens_with_the_head_of_the_largest_effect() -> None:
    at = page(tab="off")
    assert not at.warning
    ranked = at.dataframe[-1].value
    assert len(ranked) == 84  # 6 x 12 heads, a feed-forward layer and a layer each
    assert ranked["change, bits"][:72].is_monotonic_decreasing
    assert widget(at.multiselect, "Ablated").value == [f"e{ranked['layer'][0]}-{ranked['head'][0]}"]
    assert (
        f"Parts ablated: 1. The prediction changes by **{ranked['change, bits'][0]:.2f} bits** (KL divergence)"
        in shown(at)
    )
    assert "off" not in at.query_params
    click(at, "Ablate none")
    assert "Nothing is ablated." in shown(at)
    assert at.query_params["off"] == ""
    mean = page(tab="off", by="mean", off="e6-ff,e6-all")
    assert "Parts ablated: 2." in shown(mean)
    assert widget(mean.multiselect, "Ablated").value == ["e6-ff", "e6-all"]
    largest = [at.dataframe[-1].value["change, bits"][0] for at in (at, mean)]
    assert largest[0] != largest[1]


def test_a_link_ablates_heads_and_names_missing_ones(checkpoint_dir: Path) -> None:
    at = page(tab="off", model="dir-tiny-bert", asked="The cat [MASK].", off="e1-2,e9-9,x1-1,e0-1")
    assert widget(at.multiselect, "Ablated").value == ["e1-2"]
    assert "“Ablated” ignores “e9-9”, “x1-1”, “e0-1”." in shown(at)
    at.run()
    assert not at.warning
    click(at, "Ablate all others")
    assert sorted(widget(at.multiselect, "Ablated").value) == ["e1-1", "e2-1", "e2-2"]
    click(at, "Layer 2")
    assert sorted(widget(at.multiselect, "Ablated").value) == ["e2-1", "e2-2"]
    assert "Parts ablated: 2." in shown(at)


def test_each_text_has_its_own_largest_head_until_one_is_chosen(checkpoint_dir: Path) -> None:
    at = page(tab="off", model="dir-tiny-bert", asked="The cat [MASK].")
    for text, largest in (("The cat [MASK].", "e1-1"), ("[MASK] sat on the mat.", "e2-2")):
        widget(at.text_input, "Text").set_value(text).run()
        assert f"Largest effect: {largest[1:]}" in [button.label for button in at.button]
        assert widget(at.multiselect, "Ablated").value == [largest]
        assert "off" not in at.query_params
    widget(at.multiselect, "Ablated").set_value(["e1-2"]).run()
    widget(at.text_input, "Text").set_value("The cat [MASK].").run()
    assert widget(at.multiselect, "Ablated").value == ["e1-2"]
    assert at.query_params["off"] == "e1-2"


@pytest.mark.usefixtures("open_tables")
def test_a_model_with_adapters_answers_by_its_task() -> None:
    at = page(tab="off", model="atlas-adapter-bert")
    assert not at.warning
    assert "Have two neighboring words changed places?" in shown(at)
    assert set(at.dataframe[-1].value["top prediction after"][:72]) == {"swapped"}
    assert len(at.dataframe[-1].value) == 84
    assert widget(at.multiselect, "Ablated").value == ["e4-7"]
    assert "“swapped” goes from 96.5% to " in shown(at)
    words = at.dataframe[-1].value["change, bits"].max()
    widget(at.selectbox, "Task").set_value("genre").run()
    assert at.query_params["task"] == "genre"
    assert "Where does the sentence come from?" in shown(at)
    assert at.dataframe[-1].value["change, bits"].max() != words
    again = page(tab="off", model="atlas-adapter-bert", task="genre", asked="The soup was cold and tasted of nothing.")
    assert {"story", "conversation"} <= set(again.dataframe[-1].value["top prediction after"])
    bare = page(tab="off", model="atlas-adapter-bert", task="question", asked="?!")
    assert "no text before the punctuation" in bare.warning[0].value


@pytest.mark.usefixtures("open_tables")
def test_a_head_of_two_streams_is_off_in_both_or_in_one() -> None:
    at = page(tab="off", model="atlas-xlnet", off="d4-1")
    assert not at.warning
    assert "The prediction changes by **0.00 bits**" in shown(at)
    assert set(at.dataframe[-1].value["attention"]) == {"Both streams", "Content stream", "Query stream"}
    assert len(at.dataframe[-1].value) == 72
    other = page(tab="off", model="atlas-xlnet", off="q4-1,c1-1", map="query")
    assert widget(other.multiselect, "Ablated").value == ["q4-1"]
    assert "“Ablated” ignores “c1-1”." in shown(other)
    assert "Layer 4" in [button.label for button in other.button]


def test_patching_opens_with_a_cell_that_returns_the_difference() -> None:
    at = page()
    assert not at.warning
    assert "“are” − “is”: 5.5 nats in the first text, -3.2 in the second, **5.8** patched" in shown(at)
    other = page(cell="7.7", part="resid")
    assert "**5.5** patched: 100.0% of the difference." in shown(other)
    assert "“are”" in shown(page(part="heads", cell="4.2"))
    wide = page(model="atlas-llama", part="heads", cell="4.6")  # heads of six, tokens of five
    assert "Heads, layer 4, head 6" in [heading.value for heading in wide.subheader]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"second": "The key [MASK] on the table."}, "texts of equal length work"),
        ({"second": "The keys to the cabinets [MASK] on the table.", "a": "", "b": ""}, "have the same answer"),
        ({"a": "<b>antidisestablishmentarianism</b>"}, "tokens of this model"),
        ({"model": "atlas-xlnet"}, "cannot be patched here"),
        ({"model": "atlas-electra", "second": "The house was sitting on her throne."}, "differ too little"),
        ({"cell": "99.1"}, "this grid has 7 rows and 12 columns, counted from 1."),
        ({"a": "😀"}, "“😀” is not in the vocabulary of this model."),
        ({"tab": "write", "a": "are", "b": "are"}, "“are” is compared with itself"),
        ({"first": "[MASK] keys to the cabinet are on the table."}, "of token 2 in the first text and of token 7"),
    ],
)
def test_what_cannot_be_patched_is_said(query: dict[str, str], words: str) -> None:
    assert words in shown(page(**query))


def test_the_lens_reads_the_text_of_the_ablation() -> None:
    at = page(tab="lens", model="minilm")
    widget(at.text_input, "Text with a [MASK]").set_value("Paris is the capital of [MASK].").run()
    assert "**“france”**" in shown(at)
    widget(at.text_input, "Text with a [MASK]").set_value("There is nothing hidden.").run()
    assert "There is no mask in this text\\." in at.warning[0].value


def test_attribution_shows_the_head_that_wrote_the_answer() -> None:
    at = page(tab="write")
    assert not at.warning
    assert "The logit of “are” is 5.55 nats above that of “is”, and the bars sum to it." in shown(at)
    assert "Largest share of a head: attention, layer 5, head 4, with 1.36." in shown(at)
    assert "do not sum to its logits here" in shown(page(tab="write", model="atlas-xlnet"))


def test_attribution_subtracts_the_answer_to_the_examples_other_text() -> None:
    at = page(tab="write", model="atlas-t5")
    assert "The logit of “chat” is 9.36 nats above that of “chien”" in shown(at)
    assert widget(at.text_input, "Minus the answer").placeholder == "that to “The dog sleeps.”"
    widget(at.text_input, "Text").set_value("The bird sleeps.").run()
    assert not at.warning
    assert widget(at.text_input, "Minus the answer").placeholder == "the next most probable"
    same = page(tab="write", model="atlas-t5", output="3")  # both texts go on alike: “dort”
    assert not same.warning
    assert "above that of" in shown(same)


def test_one_part_is_broken_at_a_time() -> None:
    at = page(tab="break")
    assert not at.warning
    assert "What this model lacks" in [expander.label for expander in at.expander]
    switch = widget(at.selectbox, "Broken part")
    assert switch.value == "positions"
    assert "No causal mask" not in switch.options
    assert "its attention has none: each token attends to both sides." in shown(at)
    for name, before, after in (("causal-added", 94, 1), ("padding", 94, 77), ("mask-hidden", 94, 93)):
        widget(at.selectbox, "Broken part").set_value(name).run()
        assert at.query_params["switch"] == name
        (match,) = re.findall(r"france (\S+)% → (\S+)%", described(at))
        assert [float(share) for share in match] == pytest.approx([before, after], abs=0.5)
        assert ("correct mask: 0.00 bits" in shown(at)) == (name == "padding")


def test_a_typed_text_is_shared_and_a_default_is_not() -> None:
    at = page(tab="off")
    widget(at.segmented_control, "Show").set_value("break").run()
    assert widget(at.text_input, "Text with a [MASK]").value.startswith("The capital of [MASK] is Paris")
    assert "asked" not in at.query_params
    widget(at.text_input, "Text with a [MASK]").set_value("Rome is the capital of [MASK].").run()
    widget(at.segmented_control, "Show").set_value("lens").run()
    assert widget(at.text_input, "Text with a [MASK]").value == "Rome is the capital of [MASK]."


def test_a_broken_decoder_and_what_has_no_such_part() -> None:
    at = page(tab="break", model="atlas-gpt-2", switch="mask-hidden")
    assert "“Broken part” cannot be “mask-hidden”" in shown(at)
    assert "carry several streams or adapters" in shown(page(tab="break", model="atlas-xlnet"))
    at = page(tab="break", model="atlas-t5", output="2")
    assert not at.warning
    assert "Token 2 of the output" in [heading.value for heading in at.subheader]


def test_a_sink_has_much_weight_and_a_small_value() -> None:
    at = page(tab="sinks")
    assert not at.warning
    assert "In layer 5, “[CLS]” gets " in shown(at)
    assert not page(tab="sinks", model="atlas-t5").warning


def test_a_key_is_shown_as_typed() -> None:
    at = page(tab="sinks", model="atlas-gpt-2", asked="$x$ and $y$")
    assert any("“\\$” gets " in element.value for element in at.markdown)


def test_a_decoder_of_two_layers_learns_to_copy_and_needs_its_previous_token_head() -> None:
    at = page(tab="induction")
    assert not at.warning
    assert re.search(r"With 2 layers and random seed 0, \*\*(9\d\.\d|100\.0)%\*\* of the repeated tokens", shown(at))
    widget(at.segmented_control, "Ablated in layer 1").set_value("previous").run()
    (shares,) = re.findall(
        r"Without head [12] of layer 1, the decoder predicts \*\*(\S+)%\*\* of them instead of (\S+)%", shown(at)
    )
    without, before = map(float, shares)
    assert without < before - 10
    widget(at.segmented_control, "Ablated in layer 1").set_value("other").run()
    assert re.search(r"Without head [12] of layer 1, the decoder predicts \*\*(9\d\.\d|100\.0)%\*\* of them", shown(at))
    widget(at.segmented_control, "Layers").set_value("1").run()
    assert at.query_params["layers"] == "1"
    widget(at.segmented_control, "Ablated in layer 1").set_value("none").run()
    assert re.search(r"With 1 layer and random seed 0, \*\*[1-3]\d\.\d%\*\* of the repeated tokens", shown(at))


def test_a_link_names_a_head_that_the_decoder_lacks() -> None:
    at = page(tab="induction", layers="1", scored="2.1")
    assert "this decoder has 1 layer with 2 heads each" in shown(at)
    assert "Layer 1, head " in shown(at)


def test_steered_texts_stand_with_their_words_and_costs_beside_a_random_direction() -> None:
    at = page(tab="steer")
    assert not at.warning
    assert widget(at.selectbox, "Live model").value == "atlas-gpt-2"
    html = html_of(at)
    assert [name in html for name in ("Unsteered", "Steered, α = +2.0", "Random direction, α = +2.0")] == [True] * 3
    assert len(re.findall(r"<mark[^>]*>happy</mark>", html)) >= 3
    assert "The direction times +2.0 is 17.4 long, a state of this layer 80." in shown(at)
    assert "Counts like those at 0 differ by up to 5 by chance (95%)." in shown(at)
    assert len(at.get("plotly_chart")) == 2
    widget(at.slider, "Factor α").set_value(-2.0).run()
    assert at.query_params["alpha"] == "-2"
    assert "Steered, α = −2.0" in html_of(at)
    widget(at.text_area, "Texts to steer toward, one on each line").set_value("<b>The sea.</b>").run()
    assert not at.warning
    assert "For texts of your own no words are counted." in shown(at)
    assert "<mark" not in html_of(at)
    assert len(at.get("plotly_chart")) == 1
    assert "“Live model” cannot be “atlas-t5”" in shown(page(tab="steer", model="atlas-t5", toward="The sea."))


def test_probes_show_what_a_layer_tells_and_name_models_without_any() -> None:
    at = page(tab="probes")
    assert not at.warning
    assert "1,563 words of 150 sentences" in shown(at)
    assert "Best is layer 2, with 97.9%; its control has 68.8%." in shown(at)
    assert "watch NOUN, . PUNCT" in described(at)
    distances = page(tab="probes", probe="distance", tagged="<b>We</b> sleep.")
    assert not distances.warning
    assert "the head is the word before" in shown(distances)
    assert "Which word is it?" in shown(page(tab="probes", probe="identity"))
    assert "No probes are stored for this model" in shown(page(tab="probes", model="atlas-adapter-bert"))
    assert "There is no text" in page(tab="probes", tagged="").warning[0].value


def test_features_open_with_the_next_token_and_say_what_a_reader_made_of_one() -> None:
    at = page(tab="features")
    assert not at.warning
    assert widget(at.selectbox, "Live model").value == "atlas-gpt-2"
    assert "It is not among the twenty that were judged." in shown(at)
    assert re.search(r"changes the next token by \*\*\d\.\d{3} bits\*\*", shown(at))
    assert html_of(at).count("<mark") == 8
    assert "who" in html_of(at)
    named, failed = (page(tab="features", feature=f"{feature}.2") for feature in (1269, 89))
    assert "Feature 1269: the word after had or have" in [heading.value for heading in named.subheader]
    assert "Given its name, a reader said correctly for 13 of 16 unseen texts whether it is active." in shown(named)
    assert "the best guess was correct for 10 of 16 unseen texts" in shown(failed)
    other = page(tab="features", feature="0.3", told="<b>Once</b> upon a time")
    assert not other.warning
    assert "Feature 0" in [heading.value for heading in other.subheader]
    assert "After “" in " ".join(heading.value for heading in other.subheader)
    assert "features count from 0 to 2,047, tokens of this text from 1 to" in shown(
        page(tab="features", feature="0.99")
    )
    assert "features count from 0 to 2,047" in shown(page(tab="features", feature="5000.1"))
    assert "“Live model” cannot be “minilm”" in shown(page(tab="features", model="minilm", told="The sea."))
