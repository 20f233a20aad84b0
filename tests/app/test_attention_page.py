"""The page Attention with models that run here: every section opens filled, links decide, nonsense is answered."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core import checkpoints, session
from core.attention.roles import rolefiles
from tests.pages import described, opened, shown, widget
from tests.words import words


def page(**query: str) -> AppTest:
    return opened("attention", **query)


def test_it_opens_with_a_head_of_a_real_model() -> None:
    at = page()
    assert not at.warning
    assert "**Notice**" in shown(at)
    assert len(at.get("plotly_chart")) == 1


def test_two_sentences_are_read_as_a_pair(checkpoint_dir: Path) -> None:
    at = page(model="dir-tiny-bert", text="The cat sat.", second="The dog ran.")
    assert not at.warning
    assert at.dataframe[0].value["token"].tolist().count("[SEP]") == 2
    widget(at.text_input, "Second sentence").set_value("").run()
    assert at.dataframe[0].value["token"].tolist().count("[SEP]") == 1
    assert "second" not in at.query_params


def test_another_model_starts_with_heads_of_its_own(checkpoint_dir: Path) -> None:
    at = page(model="dir-tiny-bert", layer="2", head="2")
    widget(at.selectbox, "Live model").set_value("dir-tiny-gpt2").run()
    assert at.query_params["model"] == "dir-tiny-gpt2"
    assert "Continue by" in [box.label for box in at.selectbox]


@pytest.mark.parametrize(
    ("section", "model"),
    [("all", "dir-tiny-t5"), ("bertviz", "dir-tiny-gpt2"), ("block", "dir-tiny-bigbird")],
)
def test_every_kind_of_model_opens(checkpoint_dir: Path, section: str, model: str) -> None:
    at = page(tab=section, model=model)
    assert not at.warning, [warning.value for warning in at.warning]


LONG = "The cat sat on the mat and the dog ran to the river. " * 24


@pytest.mark.parametrize(
    ("section", "model"), [("all", "atlas-gpt-2"), ("bertviz", "atlas-t5"), ("block", "atlas-bert")]
)
def test_a_long_text_is_read_in_part(section: str, model: str) -> None:
    at = page(tab=section, model=model, text=LONG)
    assert not at.warning, [warning.value for warning in at.warning]
    assert widget(at.number_input, "From token").value == 1
    assert "window" not in at.query_params
    assert "as a text of their own" in shown(at)


def test_the_part_is_chosen_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    sentence = LONG[: LONG.index(".") + 1]
    n = len(session.checkpoint("atlas-bert").tokenizer(sentence, add_special_tokens=False)["input_ids"])
    at = page(tab="heads", model="atlas-bert", text=LONG, window=f"{n + 1}.{2 * n}")
    assert not at.warning
    read: list[str] = []
    real = session.trace
    monkeypatch.setattr(session, "trace", lambda slug, text, *others, **more: (read.append(text), real(slug, text))[1])
    at.run()
    assert read == [sentence]
    widget(at.number_input, "From token").set_value(2 * n + 1).run()
    assert at.query_params["window"].startswith(f"{2 * n + 1}.")
    assert read[-1].startswith(sentence)


def test_grammar_reads_a_sentence_with_the_best_head() -> None:
    at = page(tab="roles", role="coreference")
    assert not at.warning
    best = rolefiles.best_relations("minilm")["coreference"]
    assert f"**Layer {best.best[0] + 1}, head {best.best[1] + 1}** is right in {100 * best.accuracy:.0f}%" in shown(at)
    assert re.search(r"\w+ → \w+ [01]\.\d\d, right", described(at))
    widget(at.selectbox, "Role").set_value("det").run()
    assert at.query_params["role"] == "det"


def test_grammar_over_universal_dependencies() -> None:
    at = page(tab="roles", model="atlas-bert", role="obj", treebank="ud-english")
    best_relation = rolefiles.best_relations("atlas-bert", rolefiles.UD)["obj"]
    assert best_relation.n > 1000
    assert f"{100 * best_relation.accuracy:.0f}% of {best_relation.n:,} links" in shown(at)
    assert "5,363 of Universal Dependencies" in shown(at)
    lacking = page(tab="roles", model="atlas-bert", role="coreference", treebank="ud-english")
    assert "“coreference”" in words(lacking.warning[0].value)
    assert widget(lacking.selectbox, "Role").value == "obj"


def test_grammar_of_a_model_that_was_not_measured(checkpoint_dir: Path) -> None:
    at = page(tab="roles", model="dir-tiny-bert")
    assert "python -m lab heads dir-tiny-bert" in words(at.info[0].value)


def test_without_a_model_it_says_so(
    tmp_path: Path,
    use_assets: Callable[[Path], None],
    use_checkpoints: Callable[[Path], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use_assets(tmp_path)
    monkeypatch.setattr(checkpoints, "available", lambda: ())
    use_checkpoints(tmp_path)
    at = page()
    assert "No live model is installed here." in words(at.info[0].value)


def test_the_table_of_a_head_has_a_column_for_every_token(checkpoint_dir: Path, open_tables: None) -> None:
    text = "the cat saw the cat and the cat"
    at = page(model="dir-tiny-bert", text=text, layer="1", head="2")
    table = next(frame.value for frame in at.dataframe if "query \\ key" in frame.value)
    shown = session.trace("dir-tiny-bert", text).maps[0]
    assert shown.key_tokens.count("the") == 3
    assert table.shape == (len(shown.query_tokens), 1 + len(shown.key_tokens))
    assert {"the", "the (2)", "the (3)"} <= set(table.columns)
    for row, weights in zip(table.values.tolist(), shown.weights[0, 1], strict=True):
        assert row[1:] == pytest.approx(weights.tolist())


def test_texts_that_differ_in_an_accent_alone_are_said_to_be_equal() -> None:
    both = {"tab": "all", "together": "texts", "model": "minilm", "text": "the café"}
    assert "Both texts have the same tokens here" in shown(page(**both, other="the cafe"))
    assert "Both texts have the same tokens here" not in shown(page(**both, other="the cake"))


def test_what_a_model_reads_otherwise_is_said_below_its_text(checkpoint_dir: Path) -> None:
    said = shown(page(model="minilm", text="I saw a 💩 [SEP] here"))
    assert "“💩” is not in the vocabulary" in said
    assert "is a special token of this model" in said
    assert "is not in the vocabulary" not in shown(page(model="minilm"))
