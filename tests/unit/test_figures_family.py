"""The family tree: every system has its own row, descent runs downwards, and the picture keeps to its themes."""

from __future__ import annotations

from core import catalogue
from core.figures.family import ORDER, ROWS, SYMBOLS, WHOLE, family, layout

ACCENTS = {"encoder": "#0072B2", "decoder": "#D55E00", "encoder-decoder": "#009E73", "efficient": "#CC79A7"}
TITLES = {branch: branch.title() for branch in ACCENTS}
NODES = layout(catalogue.systems(), catalogue.ancestors())


def test_every_system_has_a_row_of_its_own() -> None:
    assert sorted(node.row for node in NODES) == list(range(len(NODES)))
    assert {node.slug for node in NODES} == {
        *(system.slug for system in catalogue.systems()),
        *(ancestor.slug for ancestor in catalogue.ancestors()),
    }


def test_rows_of_a_branch_lie_together_in_the_stated_order() -> None:
    nodes = sorted(NODES, key=lambda node: node.row)
    roots = [node for node in nodes if node.parent is None]
    assert "transformer" in {node.slug for node in roots}
    assert nodes[: len(roots)] == roots
    branches = [node.branch for node in nodes[len(roots) :]]
    assert [branch for i, branch in enumerate(branches) if not i or branch != branches[i - 1]] == list(ORDER)


def test_a_root_with_a_page_stands_above_its_band_in_its_branchs_colour() -> None:
    root = next(node for node in NODES if node.slug == "transformer")
    figure = family(catalogue.systems(), catalogue.ancestors(), ACCENTS, TITLES)
    assert root.branch == "encoder-decoder"
    assert all(band.y0 > root.row for band in figure.layout.shapes)
    trunk = next(trace for trace in figure.data if trace.mode == "lines" and tuple(trace.x) == (root.x, root.x))
    assert trunk.line.color == ACCENTS["encoder-decoder"]
    assert trunk.y[0] == root.row


def test_an_ancestor_without_a_page_is_a_grey_root() -> None:
    ancestor = catalogue.Ancestor("lstm", "LSTM", 1997, 11, "Munich", "It remembers.")
    figure = family(catalogue.systems(), (ancestor,), ACCENTS, TITLES)
    grey = next(trace for trace in figure.data if trace.name == "Ancestor")
    assert [tuple(row) for row in grey.customdata] == [("", "lstm")]
    assert ("", "lstm") not in {tuple(row) for row in figure.data[-1].customdata}  # its name takes no clicks


def test_inside_a_branch_a_child_stands_below_and_right_of_its_parent() -> None:
    places = {node.slug: node for node in NODES}
    for node in NODES:
        if node.parent and places[node.parent].branch == node.branch:
            assert node.row > places[node.parent].row
            assert node.x >= places[node.parent].x


def test_every_parent_stands_above_its_children() -> None:
    """Lines run down from a parent; one to a child above it would begin in the air."""
    rows = {node.slug: node.row for node in NODES}
    for node in NODES:
        assert node.parent is None or rows[node.parent] < node.row, node.name


def test_the_last_name_has_room() -> None:
    axis = family(catalogue.systems(), catalogue.ancestors(), ACCENTS, TITLES).layout.xaxis
    year = 360 / (axis.range[1] - axis.range[0])  # pixels, on a picture of 360
    for node in NODES:
        name = 8 + 7.7 * len(node.name)  # letters of 13 pixels, as a browser draws them
        assert (axis.range[1] - node.x) * year >= name, node.name


def test_no_line_down_to_a_child_crosses_a_name() -> None:
    """A trunk at a parent's year may pass a row only left of that row's own marker: names stand to the right of it."""
    for parent in NODES:
        rows = [node.row for node in NODES if node.parent == parent.slug]
        for node in NODES:
            if rows and parent.row < node.row <= max(rows) and node.x < parent.x:
                assert parent.x - node.x > 0.9, f"the trunk of {parent.name} runs through {node.name}"


def test_bert_stands_where_its_month_is() -> None:
    bert = next(node for node in NODES if node.slug == "bert")
    assert bert.x == 2018 + 9.5 / 12  # October


def test_the_picture_has_a_marker_and_a_clickable_name_for_every_system() -> None:
    figure = family(catalogue.systems(), catalogue.ancestors(), ACCENTS, TITLES)
    marked = [trace for trace in figure.data if trace.mode == "markers"]
    drawn = [row[1] for trace in marked[:-1] for row in trace.customdata]
    assert sorted(drawn) == sorted(node.slug for node in NODES)
    over_names = [tuple(row) for row in marked[-1].customdata]
    assert set(over_names) == {(node.branch, node.slug) for node in NODES if node.branch}
    names = {annotation.text for annotation in figure.layout.annotations}
    assert {node.name for node in NODES} <= names
    assert set(TITLES.values()) <= names


def test_colour_is_never_the_only_sign_and_no_background_is_painted() -> None:
    assert len(set(SYMBOLS.values())) == len(SYMBOLS)
    layout = family(catalogue.systems(), catalogue.ancestors(), ACCENTS, TITLES).layout
    assert layout.paper_bgcolor == layout.plot_bgcolor == "rgba(0,0,0,0)"
    # with the title above it on a lecturer's screen, as long as names have room
    assert 380 < layout.height <= max(WHOLE, ROWS[0] * len(NODES) + 34)
    few = family(catalogue.systems()[:3], catalogue.ancestors(), ACCENTS, TITLES).layout
    assert few.height == ROWS[1] * (3 + len(catalogue.ancestors())) + 34


def test_the_latest_names_are_whole_on_a_narrow_screen() -> None:
    start, end = family(catalogue.systems(), catalogue.ancestors(), ACCENTS, TITLES).layout.xaxis.range
    pixels = 366 / (end - start)  # for a year, on a screen of 400
    for node in NODES:
        assert (node.x - start) * pixels + 8 + 8 * len(node.name) <= 366, node.name
