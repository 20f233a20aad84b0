"""The tree's figures add up and repeat layers as often as they stand; its panel opens every view without torch."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from core import anatomy
from core.anatomy.node import ModuleNode
from core.anatomy.roles import ROLES
from core.figures.labels import in_words, percent, scientific, short, with_unit
from core.figures.parameters import (
    ROLE_COLORS,
    ROLE_INK,
    legend_rows,
    share_table,
    sizes_bars,
    sizes_table,
    sunburst,
    treemap,
)
from core.theme import DARK, LIGHT
from core.ui.tree import VIEWS
from tests.unit.test_figures_look import contrast


def small_tree() -> ModuleNode:
    """wte 40; a stack that only wraps three layers of attention 16 and mlp 32 each."""
    attention = ModuleNode("attention", "Linear", "", tensors=(("weight", (4, 4)),)).counted()
    mlp = ModuleNode("mlp", "Linear", "", tensors=(("weight", (8, 4)),)).counted()
    layer = ModuleNode("0-2", "Layer", "", (attention, mlp), repeat=3).counted()
    stack = ModuleNode("h", "ModuleList", "", (layer,)).counted()
    table = ModuleNode("wte", "Embedding", "10, 4", tensors=(("weight", (10, 4)),)).counted()
    drop = ModuleNode("drop", "Dropout", "p=0.1")
    return ModuleNode("", "Net", "", (table, drop, stack)).counted()


@pytest.mark.parametrize("draw", [treemap, sunburst])
def test_tiles_by_hand(draw: object) -> None:
    trace = draw(small_tree(), theme=LIGHT).data[0]  # type: ignore[operator]
    tiles = dict(zip(trace.ids, zip(trace.parents, trace.labels, trace.values, strict=True), strict=True))
    assert tiles == {
        "Net": ("", "Net", 184),
        "wte": ("Net", "wte", 40),
        "h.0-2": ("Net", "h › 0-2: 3 × Layer", 144),
        "h.0-2.attention": ("h.0-2", "attention", 48),
        "h.0-2.mlp": ("h.0-2", "mlp", 96),
    }
    assert trace.branchvalues == "total"


def test_tables_hold_what_the_pictures_show() -> None:
    root = anatomy.tree("bert", "base")
    rows = {row["Module"]: row for row in share_table(root)}
    assert rows["embeddings.word_embeddings"]["Parameters"] == 30522 * 768
    assert rows["encoder.layer.0-11.attention.self.query"]["Parameters"] == 12 * 590592
    assert rows["(whole network)"]["Share"] == 1
    table = sizes_table({"base": root, "large": anatomy.tree("bert", "large")})
    assert [row["Parameters"] for row in table] == [109_482_240, 335_141_888]


def test_bars_stack_to_the_whole() -> None:
    networks = {name: anatomy.tree("gpt-2", name) for name in ("small", "xl")}
    stacked = [trace for trace in sizes_bars(networks, theme=LIGHT).data if trace.type == "bar"]
    assert [sum(trace.x[i] for trace in stacked) for i in range(2)] == [124_439_808, 1_557_611_200]
    relative = [trace for trace in sizes_bars(networks, relative=True, theme=LIGHT).data if trace.type == "bar"]
    assert [sum(trace.x[i] for trace in relative) for i in range(2)] == pytest.approx([100, 100])


def test_legend_names_the_roles_that_occur() -> None:
    assert [(role, amount) for role, _, amount, _ in legend_rows(small_tree())] == [
        ("embeddings", 40),
        ("attention", 48),
        ("feed-forward", 96),
    ]


@pytest.mark.parametrize(
    ("fill", "ink"),
    [*((ROLE_COLORS[role], ROLE_INK[role]) for role in ROLES), (LIGHT.raised, LIGHT.ink), (DARK.raised, DARK.ink)],
)
def test_words_on_colors_can_be_read(fill: str, ink: str) -> None:
    assert contrast(fill, ink) >= 4.5


def test_numbers() -> None:
    assert short(109_482_240) == "109 M"
    assert short(4350) == "4.35 k"
    assert short(174_604_259_328) == "175 B"
    assert short(12) == "12"
    assert short(99_955_200) == "100 M"
    assert short(9_996) == "10.0 k"
    assert in_words(99_996_000) == "100.0 million"
    assert in_words(109_482_240) == "109.5 million"
    assert in_words(768) == "768"
    assert percent(0.2137) == "21.4%"
    assert [percent(p) for p in (1.0, 0.999, 0.031, 0.0004, 0.00001)] == ["100.0%", "99.9%", "3.1%", "0.04%", "< 0.01%"]
    assert percent(0) == "0.0%"
    assert [scientific(4.31e-6), scientific(0.0), scientific(12.0, 3)] == ["4.3 × 10⁻⁶", "0.0 × 10⁰", "1.20 × 10¹"]
    assert [with_unit("33.2", "%"), with_unit("1.31", "bits"), with_unit("12", "")] == ["33.2%", "1.31 bits", "12"]


def panel(slug: str, size: str | None = None, node: str | None = None, drawing: str | None = None) -> None:
    import streamlit as st

    from core.ui.links import PageState
    from core.ui.tree import tree_panel

    chosen = tree_panel(slug, PageState("encoder", {}, 1), key="tree", size=size, node=node, drawing=drawing)
    st.text(f"size={chosen[0]} node={chosen[1]} drawing={chosen[2]}")


def run(**kwargs: str | None) -> AppTest:
    app = AppTest.from_function(panel, kwargs=kwargs, default_timeout=120).run()
    assert not app.exception
    return app


def words(app: AppTest) -> str:
    """Everything that the panel says, with Markdown's escapes taken out."""
    said = [*app.markdown, *app.caption, *app.subheader, *app.warning, *app.text, *app.code, *app.latex]
    return "\n".join(str(element.value) for element in said).replace("\\", "")


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("slug", ["gpt-3", "bert2bert"])
def test_a_link_opens_every_view(slug: str, view: str) -> None:
    app = run(slug=slug, drawing=view)
    assert app.segmented_control(key="tree.view").value == view
    assert f"drawing={None if view == 'treemap' else view}" in words(app)
    assert "parameters, shared tensors once" in words(app)


def test_a_link_opens_its_size_and_node() -> None:
    app = run(slug="bert", size="large", node="encoder.layer.0-23.attention.self.query")
    said = words(app)
    assert "size=large node=encoder.layer.0-23.attention.self.query" in said
    single = 1024 * 1024 + 1024
    assert f"**{24 * single:,}** parameters in 24 copies, {single:,} in one: **7.5%** of the network." in said
    assert app.latex[0].value.strip("$ \n").startswith("y = x W")


def test_the_areas_open_first_and_a_node_opens_the_list() -> None:
    assert run(slug="bert").segmented_control(key="tree.view").value == "treemap" == next(iter(VIEWS))
    node = run(slug="bert", node="encoder.layer.0-11.intermediate")
    assert node.segmented_control(key="tree.view").value == "tree"
    assert "drawing=None" in words(node)
    both = run(slug="bert", node="encoder.layer.0-11.intermediate", drawing="treemap")
    assert "drawing=treemap" in words(both)


def test_another_size_keeps_the_place() -> None:
    app = run(slug="bert", node="encoder.layer.0-11.intermediate")
    app.selectbox(key="tree.size").set_value("large").run()
    assert "node=encoder.layer.0-23.intermediate" in words(app)


def test_a_size_that_is_not_there_is_named_and_the_default_shown() -> None:
    app = run(slug="bert", size="<b>huge</b>")
    assert "has no size" in app.warning[0].value
    assert "size=None" in words(app)


def test_a_node_that_is_not_there_falls_back_to_the_whole_network() -> None:
    app = run(slug="gpt-2", node="encoder.layer.0-11")
    assert "node=None" in words(app)
    assert app.subheader[0].value == "GPT2LMHeadModel"


def test_the_tied_head_says_where_it_is_counted() -> None:
    said = words(run(slug="gpt-2", node="lm_head"))
    assert "the same tensor as `transformer.wte.weight`" in said


def test_text_of_source_000_comes_with_its_notes() -> None:
    app = run(slug="t5")
    app.segmented_control(key="tree.view").set_value("text").run()
    assert app.code[0].value.startswith("T5ForConditionalGeneration(")
    app.radio(key="tree.which").set_value("As printed in source 000").run()
    assert app.code[0].value.startswith("T5Model(")
    assert "prints the last two modules" in words(app)
