"""The page of generation: its five sections, every model, and everything that one can type or link."""

from __future__ import annotations

import re
from functools import partial
from html import unescape
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core import checkpoints, session
from core.checkpoints.spec import Checkpoint
from core.language.decoding import reader as one_step
from core.language.decoding.search import tree
from core.language.generate import steps_in_batch
from core.language.starts import start
from core.language.tasks import tasks
from core.language.types import Decoding
from core.ui.generation.setup import PROMPT
from core.ui.section import pages
from tests.pages import html_of, protos, shown
from tests.pages import opened as open_page
from tests.words import words

SECTIONS = [section.slug for section in pages()["generation"].sections]
WRITERS = [s for s in checkpoints.available() if s.ready and s.kind in ("causal-lm", "seq2seq-lm")]


def writer() -> Checkpoint:
    return session.checkpoint(checkpoints.first("generation")[0])


opened = partial(open_page, "generation")


def box(at: AppTest, label: str) -> Any:
    return next(result for result in (*at.selectbox, *at.number_input) if result.label == label)


def table(at: AppTest) -> Any:
    """The numbers of the picture, asked for by the menu of tables."""
    at.session_state[f"generation.{at.session_state['links.epoch']}.tables"] = True
    return at.run().dataframe[-1].value


@pytest.mark.usefixtures("open_files")
def test_the_page_opens_with_four_strategies_on_one_prompt() -> None:
    at = opened()
    assert not at.warning
    assert [b.value for b in at.selectbox if b.label.startswith("Strategy ")] == ["greedy", "sample", "top_p", "beam"]
    text = html_of(at)
    assert text.count("Once upon a time") >= 4
    assert text.count('title="step 24: probability') == 4
    assert "surprisal" in text
    assert text.count('scope="row"') == 4
    assert "measures.csv" in saved(at)
    assert "side.html" in saved(at)
    assert "**Notice**" in shown(at)


def saved(at: AppTest) -> str:
    """Keys of what can be downloaded."""
    return " ".join(str(button.key) for button in at.download_button)


def menus(at: AppTest) -> list[str]:
    """The labels of the closed menus above the foot of the page."""
    labels = [block.proto.popover.label for block in at.get("popover")]
    return [label for label in labels if label != "More"]


def cards(at: AppTest) -> list[str]:
    """The names over the texts."""
    return [name[1] for part in at.markdown if (name := re.fullmatch(r"\*\*([^*]+)\*\*", part.value))]


def remove(at: AppTest, number: int) -> AppTest:
    return next(b for b in at.button if str(b.key).endswith(f".card.{number - 1}.remove")).click().run()


def test_strategies_are_changed_added_removed_and_linked() -> None:
    at = opened()
    box(at, "Strategy 2").set_value("min_p").run()
    assert cards(at) == ["Greedy", "Min-p, m = 0.1", "Top-p, p = 0.9, T = 0.7", "Beam search, B = 4"]
    assert at.query_params["rules"] in (
        "greedy,min_p-0.1,top_p-0.9-0.7,beam-4",
        ["greedy,min_p-0.1,top_p-0.9-0.7,beam-4"],
    )
    next(b for b in at.button if b.label == "Add").click().run()
    assert html_of(at).count('scope="row"') == 5
    kept = ["greedy", "min_p", "top_p", "beam", "sample"]
    for number in (4, 3, 2):
        assert [b.value for b in at.selectbox if b.label.startswith("Strategy ")] == kept
        remove(at, number)
        kept.pop(number - 1)
    assert [b.value for b in at.selectbox if b.label.startswith("Strategy ")] == kept == ["greedy", "sample"]
    assert remove(at, 1).query_params["rules"] == "sample-0.7"
    assert next(b for b in at.button if b.label == "Remove").disabled
    again = opened(rules="min_p-0.1,typical-0.5-2", colour="entropy")
    assert [b.value for b in again.selectbox if b.label.startswith("Strategy ")] == ["min_p", "typical"]
    assert not again.warning


def test_one_step_stays_along_its_text_when_a_rule_before_it_goes() -> None:
    at = opened(rules="greedy,min_p-0.1,top_k-40", along="3", length="4")
    assert remove(at, 1).query_params["along"] == "2"
    remove(at, 2)
    assert "along" not in at.query_params


def test_settings_change_the_texts() -> None:
    free = opened(rules="greedy", length="60")
    assert "It generated a stop string." not in shown(free)
    stopped = opened(rules="greedy", length="60", stop="she")
    assert "It generated a stop string." in shown(stopped)
    banned = opened(rules="greedy", length="60", norepeat="2")
    assert "repeated 2-grams 0.0%" in shown(banned)
    assert "repeated 2-grams 0.0%" not in shown(free)
    assert "Settings (2 changed)" in menus(banned)
    step = opened(tab="step", first="top_k-40", along="2", rule="top_p")
    assert menus(step)[0] == "Settings (2 changed)"
    step.selectbox(key="generation.1.along").set_value("1").run()
    assert menus(step)[0] == "Settings (1 changed)"


@pytest.mark.parametrize("spec", WRITERS, ids=lambda spec: spec.slug)
def test_every_model_generates_side_by_side_in_beams_and_step_by_step(spec: Any) -> None:
    checkpoint = session.checkpoint(spec.slug)
    task = tasks(checkpoint)[0].slug if spec.kind == "seq2seq-lm" else None
    ways = [Decoding(max_new_tokens=6), Decoding("sample", top_k=20, max_new_tokens=6)]
    assert {row for row, _ in steps_in_batch(checkpoint, PROMPT, ways, task)} == {0, 1}
    chances = [row.after for row in one_step.apply_at(start(checkpoint, PROMPT, task), [], "top_k", 3.0).rows]
    assert sum(chance > 0 for chance in chances) == 3
    assert sum(chances) == pytest.approx(1, abs=1e-5)
    assert 1 <= len(tree(checkpoint, PROMPT, Decoding("beam", beams=2, max_new_tokens=4), task).rows) <= 4


@pytest.mark.parametrize("section", ["side", "beam"])
def test_a_model_that_rewrites_has_every_section(section: str) -> None:
    at = opened(tab=section, model="atlas-t5", length="6", depth="4", rules="greedy,top_k-20,beam-2")
    assert not at.warning
    assert protos(at, "plotly_chart") or section == "side"


@pytest.mark.usefixtures("open_files")
@pytest.mark.parametrize("rule", ["top_k", "typical"])
def test_every_rule_at_a_step(rule: str) -> None:
    at = opened(tab="step", rule=rule, step="9")
    assert not at.warning
    assert len(protos(at, "plotly_chart")) == (2 if rule == "typical" else 1)
    assert html_of(at).count('scope="row"') == 7
    assert "at step 9" in shown(at)
    assert "rules.csv" in saved(at)
    assert at.get("latex") or "$" in shown(at)


def test_a_rule_after_others() -> None:
    at = opened(tab="step", rule="top_p", value="0.5", first="temperature-2,top_k-3")
    assert not at.warning
    assert "of 3 tokens" in shown(at)
    assert opened(tab="step", first="best-3").warning
    assert opened(tab="step", first="top_k-0").warning
    assert opened(tab="step", value="7").warning


def test_a_beam_search_and_its_length_penalty() -> None:
    at = opened(tab="beam", beams="2", depth="5")
    frame = table(at)
    assert set(frame["fate"]) == {"kept", "finished", "pruned"}
    assert frame["step"].max() == 5
    assert (frame.groupby("step")["fate"].apply(lambda f: (f == "kept").sum()) <= 2).all()
    assert "Greedy decoding finds" in shown(at)
    assert "to the power α = 1, the length penalty" in shown(at)
    assert "to the power α = 0.5" in shown(opened(tab="beam", beams="2", depth="5", lengthpenalty="0.5"))


def test_the_cache_keeps_keys_and_values_and_is_counted() -> None:
    at = opened(tab="cache", grow="24", at="3")
    assert (
        "its query is compared with 3 keys. After it, the cache holds 3 keys and values in each layer, 24.6 kB"
        in shown(at)
    )
    assert "A text of 24 tokens takes 24 tokens with the cache" in shown(at)
    assert "300 in all" in shown(at)  # 24 · 25 / 2
    assert not [button.label for button in at.button if button.label.startswith(("Settings", "Measure"))]
    assert "8.19 kB per token" in shown(at)  # 2 · 4 layers · 256 · 4 bytes


def test_the_cache_of_gpt_3() -> None:
    at = opened(tab="cache", beside="gpt-3 175B,llama 3-8B,bert base", tokens="2048")
    text = html_of(at)
    assert "4.72 MB" in text
    assert "9.66 GB" in text
    assert "8 of 32 heads" in text
    assert "“Published sizes” ignores “bert base”" in shown(at)
    at.multiselect[0].set_value([]).run()
    assert "No size is chosen" in shown(at)


def test_a_model_without_a_cache_or_without_a_draft_gets_a_sentence() -> None:
    assert "has no KV cache" in words(opened(tab="cache", model="atlas-reformer").warning[0].value)
    at = opened(tab="draft", model="atlas-gpt-neo")
    assert "Atlas GPT" in at.warning[0].value


@pytest.mark.usefixtures("open_files")
@pytest.mark.parametrize("how", ["greedy", "sample"])
def test_drafts_are_accepted_and_rejected(how: str) -> None:
    at = opened(tab="draft", how=how, length="20")
    assert not at.warning
    assert "passes of the target model for 20 tokens" in shown(at)
    assert "drafted and accepted" in html_of(at)
    assert "draft.html" in saved(at)
    assert "the target model's own" in html_of(at).replace("&#x27;", "'")


def test_a_drafted_text_shows_surprisal_and_entropy_too() -> None:
    """The same tokens under every look, each checked one with its bits; only the grounds differ."""
    looks = {look: opened(tab="draft", length="20", look=look) for look in ("rounds", "surprise", "entropy")}
    grounds = {}
    for look, at in looks.items():
        spans = re.findall(r'<span title="(round [^"]*)" style="([^"]*)"', html_of(at))
        assert sum("bits, entropy" in title for title, _ in spans) >= 20
        assert all("bits, entropy" in title or "dropped" in title for title, _ in spans)
        grounds[look] = [(title, style) for title, style in spans if "bits, entropy" in title]
    assert len({tuple(title for title, _ in spans) for spans in grounds.values()}) == 1
    assert len({tuple(style for _, style in spans) for spans in grounds.values()}) == 3
    for look, name in (("surprise", "surprisal"), ("entropy", "entropy")):
        pairs = [(float(re.search(name + r" ([\d.]+) bits", title)[1]), style) for title, style in grounds[look]]
        darkest, palest = max(pairs), min(pairs)
        assert darkest[1].split("background:")[-1] != palest[1].split("background:")[-1]


def drafted_text(at: AppTest) -> str:
    """What stands in the text: what was accepted and what is the large model's own."""
    spans = re.findall(r'( ?)<span title="round \d+: ([^"]+)"[^>]*>(.*?)</span>', html_of(at))
    return "".join(space + unescape(text) for space, label, text in spans if "accepted" in label or "own" in label)


@pytest.mark.parametrize("settings", [{"penalty": "1.5", "norepeat": "2"}, {"stop": "girl"}])
def test_a_draft_follows_the_settings_as_greedy_decoding_does(settings: dict[str, str]) -> None:
    at = opened(tab="draft", length="20", **settings)
    decoding = Decoding(
        max_new_tokens=20,
        penalty=float(settings.get("penalty", 1)),
        no_repeat=int(settings.get("norepeat", 0)),
        stop=tuple(settings.get("stop", "").splitlines()),
    )
    *_, (_, last) = steps_in_batch(writer(), PROMPT, [decoding])
    assert drafted_text(at).strip() == last.text.strip().replace("\n", "⏎")
    assert ("ends with a stop string" in shown(at)) == ("stop" in settings)


@pytest.mark.usefixtures("open_files")
def test_nonsense_in_the_settings_gets_a_sentence() -> None:
    at = opened(stop="x" * 90, length="3")
    assert "may end a generation" in words(at.warning[0].value)
    at = opened(stop="\n".join("abcdefghijk"), length="3")
    assert "may end a generation" in words(at.warning[0].value)
    at = opened(model="atlas-t5", task="nowhere", length="3")
    assert "cannot be “nowhere”: available here: " in words(at.warning[0].value)


def test_what_comes_next_is_covered_until_it_was_guessed() -> None:
    def text(at: AppTest) -> str:
        return re.sub(r"<[^>]+>", "", html_of(at))

    at = opened(tab="step", step="9", cover="yes")
    assert not protos(at, "plotly_chart")
    before = text(at)
    at = next(b for b in at.text_input if b.label == "Token 9: what comes next?").set_value("xyzzy").run()
    assert "You guessed “xyzzy”" in shown(at)
    assert protos(at, "plotly_chart")
    assert len(text(at)) > len(before)
    at = next(b for b in at.button if b.label == "Next token").click().run()
    assert not protos(at, "plotly_chart")
    assert at.query_params["step"] in ("10", ["10"])


def test_a_step_that_the_text_does_not_have_is_refused_in_a_sentence() -> None:
    at = opened(tab="step", step="200", length="5")
    assert any("lies from 1 to" in words(str(warning.value)) for warning in at.warning)


def test_a_slider_of_the_temperature_moves_the_bars() -> None:
    at = opened(tab="step", rule="temperature", value="0.5")
    assert "bits after" in shown(at)
    sharp = entropy_after(at)
    at.slider[0].set_value(2.0).run()
    assert at.query_params["value"] == "2"
    assert sharp < entropy_before(at) < entropy_after(at)


def entropy_before(at: AppTest) -> float:
    return float(re.search(r"Entropy: ([\d.]+) bits before", shown(at))[1])


def entropy_after(at: AppTest) -> float:
    return float(re.search(r"\*\*([\d.]+)\*\* bits after", shown(at))[1])


def test_a_blank_at_the_end_of_a_prompt_is_a_token_and_stays() -> None:
    greedy = [Decoding(max_new_tokens=1)]
    texts = {text: next(steps_in_batch(writer(), text, greedy))[1].text for text in ("Once upon a", "Once upon a ")}
    assert texts == {"Once upon a": " time", "Once upon a ": "z"}
    at = opened(tab="step", text="Once upon a ")
    assert [field.value for field in at.text_input if field.label == "Prompt"] == ["Once upon a "]
