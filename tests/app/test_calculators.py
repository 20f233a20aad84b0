"""The calculators: each shows its answer at once, a link carries all of it, and nonsense gets a sentence."""

from __future__ import annotations

import re

import pytest
from streamlit.testing.v1 import AppTest

from tests import pages
from tests.pages import described, html_of, link, widget

SECTIONS = ("parameters", "memory", "scaling")


def opened(**query: str) -> AppTest:
    return pages.opened("catalogue", **({"tab": "parameters"} | query))


def shown(at: AppTest) -> str:
    return f"{pages.shown(at)} {html_of(at)}"


@pytest.mark.parametrize("tab", SECTIONS)
def test_every_calculator_opens_with_an_answer_and_a_table(tab: str) -> None:
    at = opened(tab=tab)
    assert not at.warning
    menus = {block.label for block in at.expander}
    assert "As a table" in menus or (at.dataframe and "Download" in menus)
    assert at.latex or any("$$" in part.value for part in at.markdown)


def test_parameters_follow_the_boxes_and_another_system_starts_afresh() -> None:
    at = opened()
    assert "124,439,808 parameters, as many as GPT-2 small" in shown(at)
    assert widget(at.number_input, "Hidden size").help == "d_model"
    widget(at.number_input, "Layers").set_value(13).run()
    assert f"{124_439_808 + 12 * 768**2 + 13 * 768:,} parameters" in shown(at)
    assert link(at) == {"tab": "parameters", "layers": "13"}
    assert f"{124_439_808 + 12 * 768**2 + 13 * 768:,} parameters" in shown(opened(layers="13"))
    widget(at.selectbox, "System").set_value("albert").run()
    assert "11,683,584 parameters, as many as ALBERT base" in shown(at)
    assert link(at) == {"tab": "parameters", "system": "albert"}
    widget(at.selectbox, "Size").set_value("large").run()
    assert "17,683,968 parameters" in shown(at)
    at = opened(system="bert", size="175B")
    assert "“Size” cannot be “175B”: available here: base, large" in shown(at)
    assert "109,482,240 parameters" in shown(at)
    assert "Segments are the rows of the table of languages" in shown(opened(system="xlm"))


def test_experts_and_latents_of_deepseek_can_be_set() -> None:
    at = opened(system="deepseek-v3")
    text = shown(at)
    assert "671,026,404,352 parameters, as many as DeepSeek-V3 671B" in text
    assert "37,552,282,624" in text
    assert "576 values per layer" in text
    widget(at.number_input, "KV latent (0: none)").set_value(0).run()
    assert "values per layer" not in shown(at)
    at = opened(system="mistral", experts="8", active="9")
    assert "cannot use 9 of 8 experts" in shown(at)
    assert widget(at.number_input, "Experts per token (top-k)").value == 9
    widget(at.number_input, "Experts per token (top-k)").set_value(2).run()
    assert not at.warning


def test_the_zero_example_of_the_paper_s_kind() -> None:
    text = shown(
        opened(tab="memory", use="train", system="gpt-2", size="xl", data="64", stage="3", recompute="full", length="1")
    )
    assert "64 devices" in text
    # 16 bytes a parameter over 64 devices, and 2 s b h in each of 48 layers
    assert f"{(16 * 1_557_611_200 / 64 + 48 * 2 * 1600) / 1e6:.0f} MB" in text
    at = opened(tab="memory", use="train", tensor="8", system="gpt-2", size="xl")
    assert "25 heads cannot be divided equally among 8 GPUs. Degrees that work: 1, 5, 25" in shown(at)


def test_what_fits_says_yes_or_no_and_what_would_help() -> None:
    at = opened(tab="memory", system="llama", device="l4", bits="32")
    assert "No: 28.0 GB of 21.6 GB" in shown(at)
    assert "weights of 16 bits" in described(at)
    assert "2 of these devices" in described(at)
    assert "ZeRO stage 3" in described(opened(tab="memory", system="llama", use="train", memory="80"))
    at = opened(tab="memory", system="llama", device="own", memory="12")
    assert "No: 14.6 GB of 10.8 GB" in shown(at)
    widget(at.number_input, "Memory, GB").set_value(24.0).run()
    assert "Yes: 14.6 GB of 21.6 GB" in shown(at)
    assert link(at)["memory"] == "24"


def test_facts_show_costs_and_lead_to_the_calculators() -> None:
    def panel() -> None:
        from core import catalogue
        from core.ui.costs import computed_panel

        computed_panel(catalogue.get("gpt-3"))
        computed_panel(catalogue.get("t5"))

    at = AppTest.from_function(panel, default_timeout=120).run()
    text = shown(at)
    assert "349 GB in 16 bits" in text
    assert "4.72 MB per token" in text
    assert "2.79 TB" in text
    assert re.search(r'href="/catalogue\?tab=parameters&amp;system=gpt-3"', text)
    assert "A rounded name" in text  # T5 3B and 11B


def test_a_split_layer_equals_the_whole_and_names_its_all_reduces() -> None:
    at = pages.opened("calculators", tab="parallel", degree="8")  # where it was
    assert "8 parts, joined" in shown(at)
    assert "all-reduce of" in described(at)
    widget(at.text_input, "Text").set_value("").run()
    assert at.warning
    assert "8 parts, joined" not in shown(at)
    assert pages.opened("decoder", system="megatron-lm", degree="3").warning
    assert "layers 1 to 4, not 9" in shown(pages.opened("calculators", tab="parallel", layer="9"))


def test_turing_nlg_s_demo_divides_its_training_state_among_replicas() -> None:
    def amounts(**query: str) -> list[float]:
        text = described(pages.opened("decoder", system="turing-nlg", **query))
        return [float(amount) for amount in re.findall(r"ZeRO \d: ([\d.]+) GB", text)]

    none, first, second, third = amounts()
    assert none > first > second > third
    # of 16 bytes for each of 17.2 billion parameters / 4 devices, stage 1 leaves 4 and a 64th of 12
    assert none - first == pytest.approx(12 * 17_174_000_000 / 4 * 63 / 64 / 1e9, rel=0.01)
    assert len(set(amounts(data="1"))) == 1
    assert "Degrees that work: 1, 2, 4, 7" in shown(pages.opened("decoder", system="turing-nlg", tensor="3"))


def test_scaling_laws_of_chinchilla_and_gpt_3() -> None:
    text = shown(opened(tab="scaling"))
    assert "20 tokens per parameter" in text
    assert "1.937" in text  # Hoffmann's law at 70 billion parameters and 1.4 trillion tokens
    assert "5.88 × 10²³" in text
    assert "1.71 tokens per parameter" in shown(opened(tab="scaling", billions="175", trained="300"))
    assert "billions" in shown(opened(tab="scaling", billions="-1"))
