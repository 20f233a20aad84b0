"""Sentences stand in content files, and few before anything is opened."""

from __future__ import annotations

import re

import pytest

from core.content import Content, content, names
from core.settings import ROOT

FOLDERS = ("anatomy", "attention/inside", "attention/views", "costs", "figures", "ui", "../pages")
FILES = [path for folder in FOLDERS for path in sorted((ROOT / "core" / folder).resolve().rglob("*.py"))]


def test_all_that_a_visitor_waits_for_has_words() -> None:
    words = content("frame", "waiting")
    calls = re.compile(r'(?:session\.|view\.|@)(?:cached|computed|waiting)\(\s*"([^"]+)"')
    assert {
        work
        for path in (*FILES, ROOT / "core" / "session.py")
        for work in calls.findall(path.read_text(encoding="utf-8"))
    } == ({*words.front, *words.parts} - {"title"})


MOST = 120
OPEN = ("Introduction", "Intro", "Question", "Note", "Try", "Notice")
"""Parts that every frame shows at once. Of "Notice: a" and "Notice: b" one is shown: the longest counts."""
ALSO: dict[str, tuple[str, ...]] = {
    "attention/all": ("Files",),
    "transformer/beside": ("Cross", "Joined"),
    "attention/bertviz": ("Source",),
    "attention/roles": ("Best", "Sentence", "Arcs"),
    "attention/heads": ("About", "Not computed"),
    "interventions/break": ("Change", "Control", "Loss", "Purpose"),
    "interventions/features": ("Explained", "Judged", "Changed"),
    "interventions/induction": ("Copied", "Predictions"),
    "interventions/lens": ("Source",),
    "interventions/off": ("Bars", "Sharp"),
    "interventions/patch": ("Returned",),
    "interventions/sinks": ("Answer",),
    "interventions/steer": ("Size", "Counts"),
    "interventions/write": ("Sum",),
    "interventions/probes": ("Result", "Classes"),
    "catalogue/memory": ("Answer", "Plan", "Remedies"),
    "demos/pass-at-k": ("Answer",),
    "demos/ranking": ("Answer",),
    "demos/tensor-parallel": ("Answer",),
    "demos/zero": ("Answer",),
    "catalogue/parameters": ("Answer",),
    "catalogue/scaling": ("Answer", "Scale"),
    "catalogue/sizes": ("Columns", "Counted"),
    "catalogue/table": ("Count", "Sources"),
    "catalogue/trees": ("Matched",),
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
    "efficient/saved": ("Saved", "Trained"),
    "training/data": ("Measured", "Removed"),
    "training/train": ("Status", "Construction", "Flipped"),
    "training/spans": ("Recorded", "Wrong", "Invalid"),
    "training/tags": ("Status",),
    "generation/beam": ("Tree", "Wide tree", "Compared"),
    "generation/cache": ("Stored", "Computed"),
    "generation/draft": ("Counts",),
    "generation/side": ("Measures",),
    "generation/step": ("Bars", "Others", "Result", "Every"),
    "training/inputs": ("Legend",),
    "objectives/reward": ("Answer",),
    "objectives/points": ("Frames", "Arrows", "Loss"),
    "training/glue": ("Classes", "Scores"),
    "catalogue/questions": ("Picture", "Table"),
    "glossary/about": ("Citations", "Texts", "Weights", "Scripts", "Versions", "Citing", "License"),
    "glossary/corrections": ("Count",),
    "catalogue/timeline": ("Growth", "Leap", "Since", "Most"),
    "experiments/dedup": ("Answer", "Error", "None"),
    "tokenizers/languages": ("Hollow", "Sample size"),
    "catalogue/share": ("Range", "ByT5"),
    "tokenizers/train": ("Size",),
    "vectors/layers": ("self", "Words", "Embeddings", "Corrected"),
    "demos/mix": ("Layers", "Learned", "Nearest"),
    "vectors/places": ("Content", "Position", "Content bias", "Position bias"),
    "vectors/sum": ("share", "Columns", "Average"),
    "vectors/word": ("Components", "Nearest"),
    "catalogue/beside": ("Costs",),
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


def test_masks_show_at_most_120_words_of_any_mask_under_every_tab() -> None:
    """The words of a mask stand in another file; below them is one of two tabs, or a table of all masks."""
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
    }
    shown = {mask["key"]: sum(count(mask[name]) for name in ("purpose", "attempt", "notice")) for mask in masks}
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


MAIN = re.findall(
    r"`([a-z]+/[a-z-]+)`",
    re.findall(r"^- \*\*Main views\*\*.+?(?=^- )", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.M | re.S)[
        0
    ],
)
"""The content files of the views that explain a subject, as CONTRIBUTING lists them."""


def explained(slug: str) -> bool:
    """Whether a view says why, in one argument with a number, and how it works."""
    words = content(*slug.split("/"))
    why = words.parts["Why"].text if words.has("Why") else ""
    how = any(part.startswith("How it works") for part in words.parts)
    return how and 80 <= count(why) <= 150 and bool(re.search(r"\d|\{\{", why))


def test_each_main_view_says_why_with_a_number_and_how_it_works() -> None:
    assert len(MAIN) == len(set(MAIN)) == 25
    assert [slug for slug in MAIN if not explained(slug)] == []


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
