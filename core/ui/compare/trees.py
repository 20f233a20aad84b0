"""The section "Two trees": choose two networks, and see what is the same, new and gone."""

from __future__ import annotations

import streamlit as st

from core import anatomy, catalogue
from core.anatomy.compare import VERDICTS, Comparison, compare
from core.anatomy.told import told
from core.catalogue import System
from core.errors import AtlasError
from core.figures.numbers import in_words, short
from core.figures.parameters import butterfly, butterfly_table
from core.ui.chart import chart
from core.ui.compare.aligned import aligned_html, words
from core.ui.data_table import data_table
from core.ui.glossary import noted, plain_terms
from core.ui.links import PageState, page_link
from core.ui.notices import informed
from core.ui.page import plain, theme

START = {"left": "bert", "right": "albert"}
_LABELS = {"left": "From", "right": "To"}
_BARS = {"groups": "By group", "parts": "By part"}
_ROWS = {"all": "All parts", "differences": "Differences"}


def two_trees(state: PageState) -> None:
    """Draw the whole section; reads and writes left, right, their sizes, rows and bars."""
    columns = st.columns([1.3, 1.1, 1.3, 1.1], vertical_alignment="bottom")
    with columns[0]:
        left = _system("left", state)
    with columns[1]:
        left_size = _size("left", left, state)
    with columns[2]:
        right = _system("right", state)
    with columns[3]:
        right_size = _size("right", right, state)
    found = compare(left.slug, right.slug, left_size, right_size)
    _sentences(found)
    _bars(found, state)
    _tree(found, state)
    _records(left, right)
    noted(
        "Parts are matched by what they do, not by name: BERT's query, T5's q and a third of GPT-2's c_attn are one. "
        "The trees are those of the classes that the records name; a part that a class makes without a module, such as "
        "GPT-J's rotary positions, does not show here. Numbers are counted in the trees, shared tensors once."
    )


def _system(side: str, state: PageState) -> System:
    systems = {system.slug: system for system in catalogue.systems() if system.sizes}
    current = state.text(side, START[side])
    slugs = sorted(systems, key=lambda slug: systems[slug].name.lower())
    slug = st.selectbox(
        _LABELS[side],
        slugs,
        index=slugs.index(current),
        key=state.key(side),
        format_func=lambda slug: f"{systems[slug].name} ({systems[slug].year})",
    )
    if slug != current:
        state.set(**{f"{side}-size": None})
    state.set(**{side: None if slug == START[side] else slug})
    return systems[slug]


def _size(side: str, system: System, state: PageState) -> str:
    counts = anatomy.counts(system.slug)
    names, name = list(counts), f"{side}-size"
    asked = state.text(name, system.default_size.name)
    if not names:
        anatomy.tree(system.slug)  # says what is wrong with the record
    if asked not in names:
        usual = system.default_size.name if system.default_size.name in names else names[0]
        known = asked in [one.name for one in system.sizes]
        lacks = f"{system.name} {asked} cannot be built" if known else f"{system.name} has no size “{asked[:40]}”"
        st.caption(plain(f"{lacks}; this is {usual}."))
        asked = usual
    size = st.selectbox(
        "Size",
        names,
        index=names.index(asked),
        key=state.key(f"{name}.{system.slug}"),
        format_func=lambda option: f"{option} · {short(counts[option])}",
    )
    state.set(**{name: None if size == system.default_size.name else size})
    return str(size)


def _sentences(found: Comparison) -> None:
    said = told(found)
    st.markdown(plain(said.headline))
    parts = (("New", said.new), ("Gone", said.gone), ("Changed", said.changed), ("The same", said.same))
    lines = [f"- **{title}**: {plain_terms(text)}." for title, text in parts if text]
    st.markdown("\n".join(lines))


def _bars(found: Comparison, state: PageState) -> None:
    by = st.segmented_control(
        "Bars",
        list(_BARS),
        format_func=_BARS.__getitem__,
        default=state.text("bars", "groups"),
        key=state.key("bars"),
        required=True,
        label_visibility="collapsed",
    )
    state.set(bars=by)
    by_part = by == "parts"
    rows = butterfly_table(found, by_part=by_part)
    widest = max(rows[:-1], key=lambda row: abs(int(str(row["Difference"]))))
    names = found.left.name, found.right.name
    chart(
        butterfly(found, by_part=by_part, theme=theme()),
        key=state.key(f"bars.{by}"),
        alt=f"Parameters of {names[0]} to the left and of {names[1]} to the right, for {len(rows) - 1} "
        f"{'parts' if by_part else 'groups of parts'}. They differ most in “{widest['Part']}”, by "
        f"{in_words(abs(int(str(widest['Difference']))))}. The table below has every number.",
    )
    with st.expander("As a table"):
        numbers = {name: st.column_config.NumberColumn(format="localized") for name in rows[0] if name != "Part"}
        data_table(
            rows,
            "parameters-compared",
            alt=f"Parameters of {names[0]} and of {names[1]}, and their difference",
            column_config=numbers,
        )


def _tree(found: Comparison, state: PageState) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.subheader("Part by part", anchor=False, width="content")
        rows = st.segmented_control(
            "Parts",
            list(_ROWS),
            format_func=_ROWS.__getitem__,
            default=state.text("rows", "all"),
            key=state.key("rows"),
            required=True,
            label_visibility="collapsed",
        )
    state.set(rows=rows)
    used = {row.verdict for row in found.rows}
    st.caption(
        "Signs: "
        + ", ".join(
            f"{plain(sign)} {plain(words(verdict, found))}"
            for verdict, (sign, _) in VERDICTS.items()
            if verdict in used
        )
        + "."
    )
    if rows == "differences" and used == {"same"}:
        informed("Not a single part differs. “All parts” shows them.")
        return
    st.html(aligned_html(found, differences_only=rows == "differences"))
    st.markdown(
        "**Try** GPT-2 and Llama, or a small and a large size of one system. **Notice** how often a new name is an old "
        "part: most of the family differs in a norm, a gate, or in how a place is told."
    )


def _records(left: System, right: System) -> None:
    """What the two records say, and the way to their pages."""
    st.subheader("What the records say", anchor=False)
    for column, system in zip(st.columns(2), (left, right), strict=True):
        with column:
            st.markdown(f"**{plain(system.name)}** changed this{_against(system)}: {plain_terms(system.change)}")
            st.markdown(plain_terms(system.why))
            page_link(
                system.branch,
                f"{plain(system.name)}: its tree",
                {"system": system.slug, "tab": "tree"},
                icon=":material/account_tree:",
            )


def _against(system: System) -> str:
    if system.parent is None:
        return ""
    ancestor = next((one.name for one in catalogue.ancestors() if one.slug == system.parent), None)
    try:
        return f" in {plain(ancestor or catalogue.get(system.parent).name)}"
    except AtlasError:
        return ""
