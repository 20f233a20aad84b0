"""What a section says before anything is opened: at most 120 words of prose, counted in its content file."""

from __future__ import annotations

import re

import pytest

from core.attention.masks.kinds import MOST_TERMS
from core.content import Content, content, names

MOST = 120
OPEN = ("Introduction", "Intro", "Question", "Note", "Try", "Notice")
"""Parts that every frame shows at once. Of "Notice: a" and "Notice: b" one is shown: the longest counts."""
ALSO: dict[str, tuple[str, ...]] = {
    "about/about": ("Texts", "Weights", "Scripts", "Versions", "Citing", "License"),
    "attention/all": ("Files",),
    "attention/beside": ("Cross", "Joined"),
    "attention/bertviz": ("Source",),
    "attention/grammar": ("Best",),
    "attention/every": ("Halves",),
    "attention/heads": ("About", "Not computed"),
    "attention/lens": ("Source",),
    "attention/off": ("Bars", "Sharp"),
    "calculators/epoch": ("Answer", "Rates"),
    "calculators/fit": ("Answer", "Remedies", "Memories"),
    "calculators/parallel": ("Answer",),
    "calculators/parameters": ("Answer",),
    "calculators/pipeline": ("Answer", "Stored"),
    "calculators/scaling": ("Answer", "Scale"),
    "calculators/training": ("Answer", "Fits", "Left out"),
    "compare/sizes": ("Columns", "Counted"),
    "compare/table": ("Count", "Sources"),
    "compare/trees": ("Matched",),
    "demos/beside": ("Costs",),
    "demos/few-shot": ("Mass", "Measured", "Reported"),
    "demos/hashing": ("Sorted", "Shared", "Kept", "Growth"),
    "demos/images": ("Matrix", "Baselines"),
    "demos/memory": ("Result", "Reach", "Trained"),
    "demos/orders": ("Masks",),
    "demos/parts": ("Scale",),
    "demos/passes": ("Savings",),
    "demos/reading": ("Guess", "Change"),
    "demos/replaced": ("Random", "Bars", "Result", "Threshold"),
    "demos/rewrite": ("Edits", "Distance"),
    "demos/shuffled": ("Measured",),
    "demos/sparse": ("Clue", "Pattern"),
    "demos/tasks": ("Cost",),
    "demos/text": ("Tokens", "Ended", "Repeats"),
    "demos/boundaries": ("Measured",),
    "demos/directions": ("Measured",),
    "demos/three-masks": ("Measured",),
    "demos/window": ("Pattern", "Distance"),
    "efficient/measured": ("Crossing", "Fused", "Machine"),
    "efficient/saved": ("Saved", "Trained"),
    "fine-tuning/changed": ("Flipped", "Recorded"),
    "fine-tuning/curve": ("Recorded",),
    "fine-tuning/learn": ("Status", "Construction"),
    "fine-tuning/load": ("Example", "Held out"),
    "fine-tuning/spans": ("Recorded", "Wrong", "Invalid"),
    "fine-tuning/tags": ("Status",),
    "fine-tuning/widths": ("Result", "Measured"),
    "generation/beam": ("Tree", "Wide tree", "Compared"),
    "generation/cache": ("Settings", "Measured"),
    "generation/draft": ("Counts", "Not measured"),
    "generation/ranking": ("Answer",),
    "generation/side": ("Measures",),
    "generation/temperature": ("Measured",),
    "generation/step": ("Bars", "Others", "Result", "Every"),
    "objectives/fine-tuning": ("Legend",),
    "objectives/reward": ("Answer",),
    "objectives/points": ("Frames", "Arrows", "Loss"),
    "objectives/rounds": ("Prompt", "Model", "Source"),
    "results/glue": ("Classes", "Scores"),
    "results/pass-at-k": ("Answer",),
    "results/questions": ("Picture", "Table"),
    "sources/corrections": ("Count",),
    "tokenizers/cleaning": ("Answer",),
    "timeline/family": ("Growth", "Leap", "Since", "Most"),
    "tokenizers/dedup": ("Answer", "Error", "None"),
    "tokenizers/languages": ("Hollow", "Sample size"),
    "tokenizers/noise": ("Sources",),
    "tokenizers/share": ("Range", "ByT5"),
    "tokenizers/train": ("Size",),
    "vectors/layers": ("self", "Words", "Embeddings", "Corrected"),
    "vectors/mix": ("Layers", "Learned", "Nearest"),
    "vectors/places": ("Without", "Content", "Position", "Content bias", "Position bias"),
    "vectors/sum": ("share", "Columns", "Average"),
    "vectors/word": ("Components", "Nearest"),
    "zoo/curves": ("Note",),
    "zoo/distillation": ("Result", "Sizes"),
}
"""What a section shows at once beside them, by file. Legends of formulas, tables and what “How it works” holds are no
prose that one has to read first."""


def count(markdown: str) -> int:
    """Words of Markdown, without formulas on lines of their own and without tables."""
    text = re.sub(r"\$\$.*?\$\$", "", markdown, flags=re.DOTALL)
    prose = [line for line in text.split("\n") if not line.startswith(("|", "###"))]
    return sum(bool(re.search(r"\w", word)) for line in prose for word in line.split())


def shown(words: Content, slug: str) -> int:
    """Words that the section shows at once; an objective's file also says who predicts, or why nobody does."""
    names = (*OPEN, *ALSO.get(slug, ()))
    longest = dict.fromkeys(names, 0)
    for title, part in words.parts.items():
        if (name := title.partition(": ")[0]) in longest and not title.endswith(("alt", "how")):
            longest[name] = max(longest[name], count(part.text))
    if "Question" in words.parts:
        below = (part for title, part in words.parts.items() if title.startswith(("Model", "Relative")))
        longest["Model"] = max(count(part.text) for part in below)
    return sum(longest.values())


def test_masks_show_at_most_120_words_of_any_mask_or_three_joined_under_every_tab() -> None:
    """The words of a mask stand in another file; below them is one of three tabs, or a table of all masks."""
    parts, masks = content("objectives", "masks").parts, content("objectives", "mask-patterns").front["mask"]
    words = {title: count(part.text) for title, part in parts.items()}
    tabs = {
        "three": sum(number for title, number in words.items() if title.startswith("Three"))
        + words["Try: three"]
        + words["Notice: three"],
        "reach": 1  # the token
        + words["Reach: one query"]
        + max(words["Reach: pairs"], words["Reach: pairs, some never"])
        + 1  # layers and their number
        + words["Try: reach"]
        + words["Notice: reach"],
        "count": words["Count: symbols"] + words["Try: count"] + max(words["Notice: count"], words["Notice: sizes"]),
    }
    purposes = sorted((count(mask["purpose"]) for mask in masks), reverse=True)
    shown = {mask["key"]: sum(count(mask[name]) for name in ("purpose", "attempt", "notice")) for mask in masks}
    shown["joined"] = sum(purposes[:MOST_TERMS]) + words["Try: joined"] + words["Notice: joined"]
    click = words["Turning cells over"]
    too_many = {
        (mask, tab): number + click + below
        for mask, number in shown.items()
        for tab, below in tabs.items()
        if number + click + below > MOST
    }
    assert too_many == {}


def test_words_are_counted_without_formulas_and_tables() -> None:
    assert count("One, two – $x$.\n$$a\n b$$\n| three | four |\n### Five\n**six** {{seven}}") == 5


@pytest.mark.parametrize("slug", ["/".join(name) for name in names()])
def test_a_section_shows_at_most_120_words_before_anything_is_opened(slug: str) -> None:
    words = content(*slug.split("/"))
    assert (there := shown(words, slug)) <= MOST, f"{words.path} shows {there} words at once; {MOST} are allowed."


def test_the_table_names_files_and_parts_that_exist() -> None:
    files = {"/".join(name) for name in names()}
    assert set(ALSO) <= files
    for slug, parts in ALSO.items():
        there = {title.partition(": ")[0] for title in content(*slug.split("/")).parts}
        assert set(parts) <= there, slug
