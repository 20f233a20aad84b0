"""The family as data: dates, lines of descent, and how the largest grew, against values worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core import anatomy, catalogue
from core.figures.lineage import Entry, entries, family, leap, line_of, middle, records, tops


def one(slug: str, year: int, month: int, parent: str | None = None, *sizes: int) -> Entry:
    named = tuple((str(size), size) for size in sizes)
    return Entry(slug, slug.upper(), parent, ("encoder",), year, month, "somewhere", "It changed.", named)


ROOT = one("root", 2017, 6)
LEFT = one("left", 2018, 1, "root", 100)
RIGHT = one("right", 2018, 7, "root", 50, 400)
LEAF = one("leaf", 2020, 1, "left", 10_000)
FOUR = (ROOT, LEFT, RIGHT, LEAF)


def test_everything_of_the_catalogue_is_there_in_the_order_of_time() -> None:
    found = family()
    assert {entry.slug for entry in found} == {
        *(system.slug for system in catalogue.systems()),
        *(ancestor.slug for ancestor in catalogue.ancestors()),
    }
    assert [entry.at for entry in found] == sorted(entry.at for entry in found)
    bert = next(entry for entry in found if entry.slug == "bert")
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
