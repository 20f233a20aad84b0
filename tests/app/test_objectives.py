"""The page of objectives and its section Masks: each from its link, all that one can type, and what is random."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.content import content
from core.ui.objectives import points
from core.ui.objectives.objective import ENTRIES
from tests import pages
from tests.app.history import back
from tests.pages import html_of, link, protos, shown, widget


def opened(**query: str) -> AppTest:
    at = pages.opened("objectives", **query)
    assert not at.error
    return at


def said(at: AppTest) -> str:
    return pages.shown(at).replace("**", "")


def key_of(at: AppTest, name: str) -> str:
    """The key of a widget, which begins with the page and the number of its state."""
    begin, number, _ = str((*at.text_area, *at.text_input)[0].key).split(".", 2)
    return f"{begin}.{number}.{name}"


def tokens_of(at: AppTest) -> list[str]:
    return re.findall(r'<span class="t">(.*?)</span>', html_of(at))


def targets_of(at: AppTest) -> list[str]:
    return re.findall(r'<span class="a">(.*?)</span>', html_of(at))


@pytest.fixture(scope="module")
def page() -> AppTest:
    return opened()


@pytest.mark.usefixtures("open_files")
@pytest.mark.parametrize("slug", ENTRIES)
def test_every_objective_opens_from_its_link(page: AppTest, slug: str) -> None:
    at = back(page, objective=slug)
    assert not at.warning
    assert tokens_of(at)
    entry, words = ENTRIES[slug], content("objectives", slug)
    assert len(entry.settings) <= 1  # what else it has stands in Settings
    assert pages.words(words.part("Paper")) in pages.shown(at)
    saved = " ".join(str(button.key) for button in at.download_button)
    assert f"html.{slug}" in saved
    assert slug not in ("distillation", "gaps", "spans") or f"{slug}.csv" in saved
    assert "Try" in said(at)
    assert "Notice" in said(at)
    if entry.answer is not None and not words.has("Relative"):
        assert re.search(r'class="n">\d+\.\d\d<|random guessing has', html_of(at) + said(at))
    else:
        assert "No live model" in said(at)
    if entry.shares is not None:
        assert "Proportions over many samples, and the published ones" not in html_of(at)  # costs nothing while closed
        at.session_state[key_of(at, f"shares.{slug}")] = True
        assert "Proportions over many samples, and the published ones" in html_of(at.run())


def test_again_takes_the_next_seed(page: AppTest) -> None:
    at = back(page, objective="masked", seed="4")
    before = tokens_of(at)
    widget(at.button, "Again").click().run()
    assert link(at)["seed"] == "5"
    assert tokens_of(at) != before
    assert tokens_of(back(page, objective="masked", seed="5")) == tokens_of(at)


def test_bits_are_nats_over_log_two(page: AppTest) -> None:
    def numbers(at: AppTest) -> list[float]:
        return [float(value) for value in re.findall(r'class="n">(\d+\.\d\d)<', html_of(at))]

    nats, bits = (numbers(back(page, objective="causal", unit=unit)) for unit in ("nats", "bits"))
    assert len(nats) == len(bits) > 5
    assert bits == pytest.approx([value * 1.4427 for value in nats], abs=0.0125)  # both are rounded


def test_covered_answers_are_nowhere_on_the_page(page: AppTest) -> None:
    at = back(page, objective="replaced", cover="yes", text="The king gave his daughter a golden ring.")
    assert "original" not in html_of(at)
    assert 'class="b"' not in html_of(at)
    assert not at.dataframe
    covered = back(page, objective="sentence-order", cover="yes", seed="0")
    assert "✓" not in html_of(covered)
    (group,) = [group for group in covered.button_group if group.label == "Sentence order?"]
    said_of = [str(m.value) for m in group.set_value(group.options[0]).run().info if "guessed" in m.value]
    right = re.search(r"✓ ([^<]+)<", html_of(page))
    assert right is not None
    assert ("Right" in said_of[0]) == (right[1] == group.options[0])


@pytest.mark.parametrize("slug", ["prefix", "denoise", "permutation"])
def test_the_covered_word_cannot_be_read_off_a_neighbor(page: AppTest, slug: str) -> None:
    at = back(page, objective=slug, cover="yes")
    asked = [box for box in at.expander if box.label.startswith("Your ")]
    assert asked
    assert not asked[0].proto.expanded
    before = tokens_of(at)
    assert "?" in targets_of(at)
    at = widget(at.button, "Show").click().run()
    after = tokens_of(at)
    targets = set(targets_of(at))
    assert targets
    assert sum(token in targets for token in before) < sum(token in targets for token in after)


def test_a_phrase_is_marked_by_typing_it(page: AppTest) -> None:
    text = "the old shoemaker found a golden ring"
    at = back(page, objective="knowledge", level="phrase", units="golden ring", text=text, seed="0")
    assert targets_of(at) == ["golden", "ring"]
    at = back(page, objective="knowledge", units="silver ring", text=text)
    assert "do not occur" in at.warning[0].value
    at = back(page, objective="knowledge", text=text)
    assert "finds no entity" in at.warning[0].value


def test_ones_own_text_stays_when_the_objective_changes(page: AppTest) -> None:
    at = back(page, objective="masked", text="My own little sentence is short.")
    at.selectbox[0].set_value("causal").run()
    assert at.text_input[0].value == "My own little sentence is short."
    assert link(at)["text"] == "My own little sentence is short."


@pytest.mark.parametrize("slug", ["spans", "prefix"])
def test_a_relative_answers_only_when_it_is_asked(slug: str) -> None:
    at = opened(objective=slug, text="Long ago Anna and the king of Spain lived in a castle. They had a golden ring.")
    assert "No live model" in pages.shown(at)
    assert "top prediction" not in pages.shown(at)
    at.toggle[-1].set_value(True).run()
    assert "top prediction" in pages.shown(at)
    assert "No live model" not in pages.shown(at)
    assert link(at)["relative"] == "yes"


def test_what_a_link_asks_for_in_vain_is_said_where_only_the_page_can_tell() -> None:
    cases = (
        ({"objective": "masked", "rate": "60"}, "“Masking rate, %” cannot be “60”: it must lie from 5 to 50 here"),
        ({"objective": "denoise", "damage": "foo"}, "available here: permute"),
        ({"objective": "causal", "model": "atlas-bert"}, "“Model” cannot be “atlas-bert”"),
        ({"objective": "permutation", "order": "1.0"}, "order is none of"),
        ({"objective": "points", "count": "12", "angles": "1.2"}, "2 angles for"),
    )
    for query, sentence in cases:
        at = opened(**query)
        assert sentence in pages.shown(at), query


def test_a_sentence_of_another_text_is_no_translation() -> None:
    at = opened(objective="next-sentence", other="Snow fell on the hills.")
    assert widget(at.text_input, "A sentence of another text").value == "Snow fell on the hills."
    widget(at.selectbox, "Objective").set_value("translation").run()
    assert widget(at.text_input, "The same in French").value.startswith("Ma sœur")
    assert "other" not in at.query_params


def test_a_link_carries_every_setting() -> None:
    at = opened(objective="sentinels", rate="50", mean="10", seed="3")
    assert [(box.value, box.help) for box in at.number_input[:2]] == [
        (50, "T5 uses 15%."),
        (10, "T5's final models use 3 tokens."),
    ]
    assert at.number_input[2].value == 3
    at = opened(objective="denoise", damage="rotate,delete")
    assert "moved" in html_of(at)
    at = opened(objective="unified", mask="right", rate="30")
    assert "right to left" in pages.shown(at)
    at = opened(objective="distillation", temperature="7")
    assert "at temperature 7" in pages.shown(at)
    at = opened(objective="prefix", prefix="4")
    assert "The first 4 tokens" in pages.shown(at)
    at = opened(objective="gaps", choose="lead", rate="50")
    assert widget(at.selectbox, "Sentence selection").value == "lead"


def test_the_order_is_the_links_until_another_text() -> None:
    order = "5.4.3.2.1.0"
    at = opened(objective="permutation", text="one two three four five six", order=order, k="3")
    assert "1. “two”; 2. “one”" in pages.shown(at)
    assert at.query_params["order"] == order
    widget(at.button, "Left to right").click().run()
    assert "1. “five”; 2. “six”" in pages.shown(at)
    widget(at.button, "As sampled").click().run()
    assert "order" not in at.query_params
    at.text_input[0].set_value("a b c").run()


def test_the_row_of_the_order_names_what_is_asked_once_it_was_shown() -> None:
    at = opened(objective="permutation", text="one two three four five six", cover="yes", k="3")
    assert row_of(at).count('"text": "▢"') == 2
    widget(at.button, "Show").click().run()
    assert "▢" not in row_of(at)


def row_of(at: AppTest) -> str:
    """What the browser is sent for the row of tokens."""
    (row,) = [proto for proto in protos(at, "bidi_component") if proto.component_name == "atlas_order"]
    return json.dumps(json.loads(row.json)["tokens"], ensure_ascii=False)


def loss_of(at: AppTest) -> float:
    return float(re.search(r"\*\*L = ([\d.]+) nats", pages.shown(at))[1])


def test_the_points_step_downhill_and_the_seed_brings_others() -> None:
    at = opened(objective="points")
    usual = loss_of(at)
    widget(at.button, "Twenty gradient steps").click().run()
    assert loss_of(at) < usual / 2
    assert len(link(at)["angles"].split(".")) == 8
    widget(at.button, "Reset the points").click().run()
    assert loss_of(at) == usual
    assert "angles" not in at.query_params
    widget(at.button, "Again").click().run()
    assert link(at)["seed"] == "1"
    drawn = loss_of(at)
    assert drawn != usual
    assert loss_of(opened(objective="points", seed="1")) == drawn
    assert len(points.start("supervised", 6, 3)) == 12


def test_every_class_of_the_points_has_partners() -> None:
    for half in range(2, 7):
        of = points.classes(half)
        assert len(of) == 2 * half
        assert all(of.count(one) > 1 for one in of)


def test_a_reward_moves_the_policy() -> None:
    at = opened(objective="reward", rewarded="0: had three sons.\n0: ran.")
    assert "from 0.00 to 0.00, at a divergence of 0.00 nats" in said(at)
    at.text_area[0].set_value("had three sons.\n0: ran.").run()
    assert "Line 1 has no reward" in said(at)


def masks(**query: str) -> AppTest:
    return pages.opened("objectives", tab="masks", **query)


def board(at: AppTest) -> dict[str, Any]:
    """What the browser is given for the board."""
    (found,) = [json.loads(proto.json) for proto in protos(at, "bidi_component") if "bits" in proto.json]
    return dict(found)


def test_it_opens_with_a_causal_mask_on_a_sentence() -> None:
    at = masks()
    assert "**Causal** · 45 of 81 pairs, 55.6%" in shown(at)
    assert "Two masks define" in shown(at)
    assert board(at)["bits"][:18] == "100000000110000000"
    assert not at.warning
    assert link(at) == {"tab": "masks"}


def test_a_link_carries_everything() -> None:
    at = masks(pattern="global-0-3", tokens="6", flips="5.35", below="reach", layers="3", place="4")
    assert not at.warning
    data = board(at)
    assert data["flips"] == [5, 35]
    assert len(data["bits"]) == 36
    # rows and columns 0 and 3 are 20; by hand (0, 5) is taken away and (5, 5) added
    assert "20 of 36 pairs" in shown(at)
    assert "2 cells changed by hand" in shown(at)
    assert "pattern" in at.query_params
    assert at.query_params["flips"] == "5.35"


def test_choosing_another_mask_forgets_the_edits_and_writes_the_link() -> None:
    at = masks(pattern="prefix-2", flips="3")
    assert board(at)["flips"] == [3]
    widget(at.selectbox, "Mask").set_value("window").run()
    assert board(at)["flips"] == []
    assert at.query_params["pattern"] == "window"
    assert "flips" not in at.query_params
    widget(at.number_input, "To the right").set_value(0).run()
    assert at.query_params["pattern"] == "window-2-0"
    widget(at.selectbox, "Mask").set_value("global").run()
    widget(at.text_input, "Positions, from 0").set_value("4 and 1").run()
    assert at.query_params["pattern"] == "global-1-4"


def test_undo_takes_all_edits_back_and_is_offered_only_for_them() -> None:
    at = masks(flips="1.2")
    widget(at.button, "Undo edits").click().run()
    assert board(at)["flips"] == []
    assert "flips" not in at.query_params
    assert not any(button.label == "Undo edits" for button in at.button)


def test_cross_attention_has_a_text_for_each_axis() -> None:
    at = masks(pattern="cross", queries="Le roi", text="The king .")
    assert board(at)["bits"] == "111111"
    assert "Cross** · 6 of 6 pairs" in shown(at)


def test_reach_beside_the_formula() -> None:
    at = masks(pattern="window-2-2", tokens="40", below="reach", layers="3")
    assert "l times w = 3 times 4 = 12$" in shown(at)
    assert "Counted at the middle token: 12." in shown(at)
    assert "cut off at the end" in shown(masks(pattern="window-2-2", tokens="10", below="reach", layers="3"))
    assert "its own token never does" in shown(masks(pattern="permutation-3-1", below="reach"))


@pytest.mark.parametrize("pattern", ["longer", "causal.and.window-3", "x" * 3000, "<script>alert(1)</script>"])
def test_a_mask_that_is_none_is_a_sentence(pattern: str) -> None:
    at = masks(pattern=pattern)
    assert "The mask in the link cannot be read" in shown(at)
    assert "**Causal**" in shown(at)


def test_numbers_that_this_text_does_not_have_are_passed_over() -> None:
    at = masks(tokens="3", flips="0.4000", place="63", below="reach", layers="24")
    assert board(at)["flips"] == [0]
    assert "1 row attends to nothing" in shown(at)


def test_the_menu_has_eight_objectives_by_architecture_and_then_the_variants() -> None:
    kinds = [label.partition(": ")[0] for label in widget(opened().selectbox, "Objective").options]
    assert kinds == ["Encoder"] * 4 + ["Decoder"] * 2 + ["Encoder-decoder"] * 2 + ["Variant"] * 14
