"""Large decoders and what came after them: counts, what is assumed, and what was never published."""

from __future__ import annotations

import pytest

from core import anatomy, catalogue
from core.figures.lineage import family

# Counted on the meta device for the fact sheet of the project, independently of the kept trees.
COUNTED = {
    ("megatron-lm", "355M"): 355_788_800,
    ("megatron-lm", "2.5B"): 2_490_408_960,
    ("megatron-lm", "8.3B"): 8_317_040_640,
    ("turing-nlg", "17B"): 17_176_845_728,
    ("codex", "12B"): 12_853_386_240,  # GPT-3's 13B, the nearest shape that was published
    ("llama", "7B"): 6_738_415_616,
    ("llama", "13B"): 13_015_864_320,
    ("llama", "33B"): 32_528_943_616,
    ("llama", "65B"): 65_285_660_672,
    ("llama", "2-70B"): 68_976_648_192,
    ("llama", "3-8B"): 8_030_261_248,
    ("mistral", "7B"): 7_241_732_096,
    ("qwen", "2-0.5B"): 494_032_768,
    ("qwen", "2-1.5B"): 1_543_714_304,
    ("qwen", "2-7B"): 7_615_616_512,
    ("qwen", "2-72B"): 72_706_203_648,
    ("qwen", "3-8B"): 8_190_735_360,
    ("qwen", "3-235B-A22B"): 235_093_634_560,
    ("deepseek-v3", "671B"): 671_026_404_352,
    ("gemma", "2B"): 524_550_144 + 1_981_884_416,  # table 2 of the paper, to the last one
    ("gemma", "7B"): 786_825_216 + 7_751_248_896,
    ("gemma", "2-2B"): 2_614_341_888,
    ("mamba", "130M"): 129_135_360,
    ("mamba", "370M"): 371_516_416,
    ("mamba", "790M"): 793_204_224,
    ("mamba", "1.4B"): 1_372_178_432,
    ("mamba", "2.8B"): 2_768_345_600,
}


@pytest.mark.parametrize(("slug", "size"), COUNTED)
def test_a_configuration_counts_what_it_should(slug: str, size: str) -> None:
    assert anatomy.counts(slug)[size] == COUNTED[slug, size]


LATER = ("megatron-lm", "turing-nlg", "codex", "dall-e", "mistral", "qwen", "deepseek-v3", "gemma", "mamba")


@pytest.mark.parametrize("slug", LATER)
def test_two_per_cent_and_more_are_explained_in_the_later_line(slug: str) -> None:
    counts = anatomy.counts(slug)
    for size in catalogue.get(slug).sizes:
        if size.published and abs(counts[size.name] / size.published - 1) >= 0.0199:
            assert size.note, size.name


def test_the_later_line_and_its_forebears_tell_unknown_words_and_batches() -> None:
    decoders = ("gpt", "gpt-2", "ctrl", "gpt-3", "gpt-neo", "gpt-j", "llama", "transformer-xl", "xlnet", "gpt-4")
    for slug in (*decoders, *LATER):
        system = catalogue.get(slug)
        assert system.unknown is not None
        assert system.batch is not None


def test_the_first_llama_s_figures_are_its_own() -> None:
    system = catalogue.get("llama")
    for fact in system.facts:
        of_one = any(word in f"{fact.label} {fact.unit}" for word in ("LLaMA", "Llama 2", "Llama 3"))
        assert of_one, fact.label
    assert "1.0 trillion tokens for 7B and 13B, 1.4 trillion for 33B and 65B" in system.data.text
    assert next(entry for entry in family() if entry.slug == "llama").largest == 68_976_648_192


def test_a_rumour_is_marked_wherever_it_stands() -> None:
    system = catalogue.get("gpt-4")
    rumours = [fact for fact in system.facts if "1.8" in fact.value]
    assert len(rumours) == 1
    assert "rumour" in rumours[0].label
    assert "rumour" in rumours[0].value
    assert "rumour" in system.undisclosed
    assert all("rumour" in row.claim for row in system.corrections if "1.8" in row.claim)


@pytest.mark.parametrize(
    ("slug", "label", "by_hand"),
    [
        ("mistral", "Numbers remembered for a token", 2 * 32 * 8 * 128),
        ("mistral", "Reach through all layers", 32 * 4096),
        ("deepseek-v3", "Numbers remembered for a token", 61 * (512 + 64)),
        ("gemma", "Numbers remembered for a token, 2B", 2 * 18 * 1 * 256),
        ("mamba", "State between two tokens, 130M", 24 * 2 * 768 * 16),
        ("deepseek-v3", "Parameters that a token uses", 671_026_404_352 - 58 * 248 * 3 * 7168 * 2048),
        ("qwen", "Parameters that a token uses, Qwen3 235B-A22B", 235_093_634_560 - 94 * 120 * 3 * 4096 * 1536),
    ],
)
def test_what_is_called_computed_can_be_computed(slug: str, label: str, by_hand: int) -> None:
    fact = next(fact for fact in catalogue.get(slug).facts if fact.label == label)
    assert fact.source == "computed"
    assert fact.value == f"{by_hand:,}"
