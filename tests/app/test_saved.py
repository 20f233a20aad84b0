"""The efficient page leads every system with what it saves, and still opens a link of a demo at the demo."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from core import catalogue
from tests.pages import described, link, opened, shown, widget

TRACES = {
    "bigbird": ("13 times fewer scores", "Full attention 16.8 M"),
    "mamba": ("No attention scores", "Mamba 0"),
    "transformer-xl": ("13 times as far back", "12 layers 6,656 tokens"),
    "albert": ("9.37 times fewer parameters", "V × H 23.0 M"),
    "adapter-bert": ("storage hardly grows", "Adapters 2.38 M"),
    "distilbert": ("6 of 12 layers", "DistilBERT base 66.4 M"),
    "electra": ("6.6 times as many prediction targets", "Masked language modeling 77"),
    "megatron-lm": ("on each of 8 devices", "8 devices: "),
}


@pytest.mark.parametrize("slug", TRACES)
def test_a_system_leads_with_its_own_saving(slug: str) -> None:
    said, drawn = TRACES[slug]
    at = opened("efficient", system=slug)
    assert said in shown(at)
    assert drawn in described(at)
    assert not at.warning
    assert len(at.get("page_link")) >= 2  # where it runs, and the next step


def test_every_system_of_the_branch_has_a_lead_and_the_menu_is_sorted_by_it() -> None:
    at = opened("efficient")
    names = widget(at.selectbox, "System").options
    savings = [name.rpartition(" · ")[2] for name in names]
    assert savings == sorted(savings, key=list(dict.fromkeys(savings)).index)  # each saving in one group
    for system in catalogue.by_branch("efficient"):
        at = widget(at.selectbox, "System").set_value(system.slug).run()
        assert not at.error
        assert at.get("plotly_chart")


def test_a_link_of_a_demo_opens_the_demo() -> None:
    def section(at: AppTest) -> str:
        return str(at.segmented_control[0].value)

    assert section(opened("efficient", system="bigbird")) == "saved"
    assert section(opened("efficient", system="longformer", counted="512")) == "saved"
    assert section(opened("efficient", system="mamba", model="atlas-reformer")) == "demo"
    assert section(opened("efficient", system="bigbird", tokens="256")) == "demo"


def test_controls_change_the_count_and_the_link() -> None:
    at = opened("efficient", system="albert")
    widget(at.number_input, "Embedding size E").set_value(768).run()
    assert "E\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}768 23.6 M" in described(at)
    assert link(at)["embedding"] == "768"
    at = opened("efficient", system="bigbird", blocks="64")
    assert "6.59 times fewer scores" in shown(at)
    assert "as in the authors’ scripts" in shown(at)
    at = opened("efficient", system="bigbird", blocks="64", counted="256")
    assert "1 times fewer" in shown(at)
    at = opened("efficient", counted="-1")
    assert "counted" in shown(at)
