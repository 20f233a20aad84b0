"""The timeline's layouts: no name on another, time and size where they belong, lanes that read as lines of descent."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest

from core import anatomy, catalogue
from core.figures.lineage import Entry, entries, family, leap, line_of, middle, records, tops
from core.figures.timeline import AXIS, ORDER, SYMBOLS, Box, Drawing, by_size, key, lanes, radius, span_of
from core.ui.catalogue.timeline import WIDTHS, component_data, sizes_in_words

FAMILY = family()
SPAN = span_of(FAMILY)


def twice(shown: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """Twice as many systems: every one again, some months later, under a longer name."""
    again = [
        replace(entry, slug=f"{entry.slug}+", name=f"{entry.name}-{i % 7}", month=(entry.month + i) % 12 + 1)
        for i, entry in enumerate(shown)
        if entry.branch
    ]
    return tuple(sorted([*shown, *again], key=lambda entry: entry.at))


def boxes(drawing: Drawing) -> list[Box]:
    return [mark.label for mark in drawing.marks if mark.label]


def meet(one: Box, other: Box) -> bool:
    """Whether the two share any area."""
    beside = one.right <= other.left or other.right <= one.left
    return not (beside or one.bottom <= other.top or other.bottom <= one.top)


def on_each_other(drawing: Drawing) -> list[tuple[str, str]]:
    """Pairs of systems whose names meet, or whose name lies on the other's marker."""
    result = []
    for first, other in combinations(drawing.marks, 2):
        dots = [Box(mark.x - mark.r, mark.y - mark.r, 2 * mark.r, 2 * mark.r) for mark in (first, other)]
        if first.label and other.label and meet(first.label, other.label):
            result.append((first.slug, other.slug))
        if (first.label and meet(first.label, dots[1])) or (other.label and meet(other.label, dots[0])):
            result.append((first.slug, other.slug))
    return result


@pytest.mark.parametrize("width", [WIDTHS["branch"][0], WIDTHS["branch"][-1]])
@pytest.mark.parametrize("shown", [FAMILY, twice(FAMILY)], ids=["catalogue", "twice as many"])
def test_in_lanes_every_name_has_a_place_of_its_own(shown: tuple[Entry, ...], width: int) -> None:
    drawing = lanes(shown, SPAN, width)
    assert len(boxes(drawing)) == len(shown)
    assert on_each_other(drawing) == []
    assert all(box.left >= 0 and box.right <= width and box.bottom <= drawing.height for box in boxes(drawing))


@pytest.mark.parametrize("width", [860, WIDTHS["size"][-1]])
def test_by_size_every_name_of_the_catalogue_has_a_place_of_its_own(width: int) -> None:
    drawing = by_size([entry for entry in FAMILY if entry.branch], SPAN, width)
    assert [mark.slug for mark in drawing.marks if mark.label is None] == []
    assert on_each_other(drawing) == []


@pytest.mark.parametrize("width", [WIDTHS["size"][0], WIDTHS["size"][-1]])
def test_by_size_names_that_find_no_place_are_left_out_and_none_meet(width: int) -> None:
    drawing = by_size(twice(FAMILY), SPAN, width)
    assert len(boxes(drawing)) > 0.7 * len(drawing.marks)
    assert on_each_other(drawing) == []


def test_time_runs_evenly_to_the_right() -> None:
    for drawing in (lanes(FAMILY, SPAN, 1000), by_size(FAMILY, SPAN, 1000)):
        places = {mark.slug: mark.x for mark in drawing.marks}
        step = drawing.step
        assert places["gpt-3"] - places["bert"] == pytest.approx(19 * step, abs=0.5 * step)  # October 2018 to May 2020
        years = {year: x for x, year in drawing.years}
        assert years["2020"] - years["2019"] == pytest.approx(12 * step)
        assert min(places.values()) >= 0
        assert max(places.values()) < 1000


def test_ten_times_more_parameters_stand_one_decade_higher_and_add_as_many_pixels() -> None:
    assert radius(10**11) - radius(10**10) == pytest.approx(radius(10**9) - radius(10**8)) == pytest.approx(3.1)
    drawing = by_size(FAMILY, SPAN, 1000)
    ticks = {text: y for y, text in drawing.levels}
    decade = ticks["100 M"] - ticks["1 B"]
    assert ticks["1 B"] - ticks["10 B"] == pytest.approx(decade)
    gpt3 = next(mark for mark in drawing.marks if mark.slug == "gpt-3")
    assert ticks["100 B"] - gpt3.y == pytest.approx(0.24205 * decade, rel=1e-3)  # log10(174,604,259,328) = 11.24205


def test_in_lanes_nobody_stands_between_a_parent_and_its_child_on_their_line() -> None:
    for width in WIDTHS["branch"]:
        places = {mark.slug: mark for mark in lanes(FAMILY, SPAN, width).marks}
        for entry in FAMILY:
            child, parent = places[entry.slug], places.get(entry.parent or "")
            if parent is None or parent.y != child.y:
                continue
            between = [slug for slug, m in places.items() if m.y == child.y and parent.x < m.x < child.x]
            assert between == [], f"{between} between {entry.parent} and {entry.slug}"


def test_lanes_follow_the_stated_order_and_hold_their_own() -> None:
    drawing = lanes(FAMILY, SPAN, 900)
    there = [band.branch for band in drawing.bands]
    assert there == [branch for branch in ORDER if branch in there]
    assert drawing.bands[0].top == AXIS
    branch_of = {entry.slug: entry.branch for entry in FAMILY}
    for mark in drawing.marks:
        band = next(band for band in drawing.bands if band.branch == branch_of[mark.slug])
        assert band.top <= mark.y - mark.r
        assert mark.y + mark.r <= band.top + band.height


def test_without_a_size_a_system_is_hollow_and_stands_below_the_axis() -> None:
    shown = tuple(replace(entry, sizes=()) if entry.slug == "gpt-3" else entry for entry in FAMILY)
    drawing = by_size(shown, SPAN, 1000)
    there = {mark.slug: mark for mark in drawing.marks}
    assert all(there["gpt-3"].y > mark.y for slug, mark in there.items() if dict_of(shown)[slug].largest)
    gpt3 = next(node for node in component_data(shown, "size", "x")["nodes"] if node["slug"] == "gpt-3")
    assert (gpt3["hollow"], gpt3["size"], gpt3["sizes"]) == (True, "", "Size not published")
    assert any("not published" in sign.text for sign in key(shown, 1000, sizes=False))
    assert (
        sizes_in_words(next(entry for entry in FAMILY if entry.slug == "bert")) == "109 M to 335 M parameters, 2 sizes"
    )


def dict_of(shown: tuple[Entry, ...]) -> dict[str, Entry]:
    return {entry.slug: entry for entry in shown}


def test_color_is_never_the_only_sign() -> None:
    branches = [branch for branch in ORDER if branch]
    assert len({SYMBOLS[branch] for branch in branches}) == len(branches)


def one(slug: str, year: int, month: int, parent: str | None = None, *sizes: int) -> Entry:
    named = tuple((str(size), size) for size in sizes)
    return Entry(slug, slug.upper(), parent, ("encoder",), year, month, "somewhere", "It changed.", named)


ROOT = one("root", 2017, 6)
LEFT = one("left", 2018, 1, "root", 100)
RIGHT = one("right", 2018, 7, "root", 50, 400)
LEAF = one("leaf", 2020, 1, "left", 10_000)
FOUR = (ROOT, LEFT, RIGHT, LEAF)


def test_everything_of_the_catalogue_is_there_in_the_order_of_time() -> None:
    entries = family()
    assert {entry.slug for entry in entries} == {
        *(system.slug for system in catalogue.systems()),
        *(milestone.slug for milestone in catalogue.milestones()),
    }
    assert [entry.at for entry in entries] == sorted(entry.at for entry in entries)
    bert = next(entry for entry in entries if entry.slug == "bert")
    assert (bert.date, bert.at) == ("October 2018", 2018 * 12 + 9)
    assert dict(bert.sizes) == {"base": 109_482_240, "large": 335_141_888}
    assert bert.largest == anatomy.module_tree("bert", "large").parameters


def test_a_system_without_sizes_has_none() -> None:
    bare = catalogue.get("gpt-3").model_copy(update={"sizes": ()})
    (entry,) = entries([bare], [], {})
    assert (entry.sizes, entry.largest, entry.smallest) == ((), None, None)


def test_a_line_is_ancestors_itself_and_descendants() -> None:
    assert [entry.slug for entry in line_of("left", FOUR)] == ["root", "left", "leaf"]
    assert [entry.slug for entry in line_of("root", FOUR)] == ["root", "left", "right", "leaf"]
    assert [entry.slug for entry in line_of("right", FOUR)] == ["root", "right"]
    assert line_of("no-such", FOUR) == ()
    up = [entry.slug for entry in line_of("roberta", family())]
    assert up[:3] == ["transformer", "bert", "roberta"]
    assert {"longformer", "bigbird", "deberta"} <= set(up)
    assert "electra" not in up


def test_two_that_name_each_other_as_parents_do_not_hang() -> None:
    circle = (one("a", 2018, 1, "b"), one("b", 2018, 2, "a"))
    assert {entry.slug for entry in line_of("a", circle)} == {"a", "b"}


def test_records_are_those_larger_than_all_before() -> None:
    assert [entry.slug for entry in records((*FOUR, one("late", 2021, 1, None, 9_999)))] == ["left", "right", "leaf"]


def test_the_top_of_a_year_is_its_last_record_and_a_leap_joins_years_in_a_row() -> None:
    fifth = one("fifth", 2021, 3, None, 30_000)
    shown = (*FOUR, fifth)
    assert [entry.slug for entry in tops(shown)] == ["right", "leaf", "fifth"]
    assert leap(shown) == (LEAF, fifth, 3.0)  # 2018 to 2020 is more, but two years
    assert leap(FOUR) is None


@pytest.mark.parametrize("shown", [(), (ROOT,), (LEFT,), (LEFT, replace(LEFT, slug="twin", sizes=(("x", 500),)))])
def test_without_two_years_there_is_no_leap(shown: tuple[Entry, ...]) -> None:
    assert leap(shown) is None
    assert len(tops(shown)) < 2


def test_the_middle_leaves_out_what_has_no_size() -> None:
    assert middle(FOUR) == 400
    assert middle((LEFT, LEAF)) == 100  # of two, the lower one
    assert middle((ROOT,)) is None
