"""Deduplication on its page: the sample is found, thresholds and a file change the result, nonsense gets a sentence."""

from __future__ import annotations

from tests.pages import described, html_of, link, opened, shown, widget


def test_the_sample_s_repeats_are_found_and_the_thresholds_matter() -> None:
    at = opened("tokenizers", tab="dedup")
    assert "1 of 7 documents would go" in shown(at)
    assert "candidate pairs" in described(at)
    assert "would go" in html_of(at)
    assert "Ferry times for the island" in html_of(at)
    widget(at.slider, "Jaccard threshold").set_value(0.5).run()
    assert "2 of 7 documents would go" in shown(at)  # one word of 18 differs: five of its 5-grams
    assert link(at)["jaccard"] == "0.5"
    widget(at.number_input, "Exact repeat, tokens").set_value(500).run()
    assert "No run of that many tokens occurs twice" in shown(at)


def test_a_file_replaces_the_text() -> None:
    at = opened("tokenizers", tab="dedup")
    at.file_uploader[0].set_value(
        ("corpus.txt", b"one two three four five six\n\none two three four five six", "text/plain")
    ).run()
    assert "1 of 2 documents would go" in shown(at)
    at.file_uploader[0].set_value(("corpus.txt", b"\xff\xfe", "text/plain")).run()
    assert "not UTF-8" in shown(at)


def test_c4s_rules_on_pasted_text() -> None:
    at = opened("tokenizers", tab="cleaning")
    assert "4 of 17 lines stay" in shown(at)
    assert "Page: curly bracket" in html_of(at)
    at.text_area[0].set_value(" ").run()
    assert "There is no text to clean" in shown(at)
