"""Each rule of ours about sources finds what it forbids and lets pass what it allows."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from scripts import lint

PAGE = "core/ui/page.py"
SAMPLES = [
    (
        lint.kinds,
        'run("minilm")\nspec.kind in names\nside == stack.kind\nlinks.url("models", {"system": "t5"})',
        [1, 2],
    ),
    (lint.kinds, 'match spec.kind:\n    case _: ...\ntable["causal-lm"]\nmodel.config.model_type == "x"', [1, 3, 4]),
    (lint.kinds, 'if head.branch == "encoder": ...\nif config.is_decoder: ...\nkind = family.kind', [1, 2]),
    (lint.unlinked, 'st.caption(f"{n} of the softmax.")\nst.info(terms("A softmax."))', [1]),
    (lint.unlinked, 'st.warning(plain(str(error)))\nst.info(terms("Nothing."))\nst.caption("Nothing.")', [1]),
    (lint.sentences, 'caption("The first 12 of 40 are drawn.")\ninfo(f"It has {n} layers. Choose another.")', [1, 2]),
    (
        lint.sentences,
        'def f():\n    """A docstring is no prose of a page."""\n    raise E("It says what would work.")',
        [],
    ),
    (lint.sentences, 'button("Run the model again")\nSAMPLES = ("The cat sat on the mat.",)', []),
    (lint.sentences, 'w(f"The link names “{typed}”, not here.")\nText(default="The cat sat on the mat.")', []),
    (lint.forgetful, 'st.text_area("Text", key=box)\nleft.slider("k", 1, 9, key=slot)', [1, 2]),
    (lint.forgetful, 'st.text_area("Text", key=box, persist_state="page")\nst.text_input("No key")', []),
    (lint.forgetful, 'st.text_area("Text", text, key=box)\nst.selectbox("Task", names, index=2, key=box)', []),
    (lint.links, 'st.page_link("a.py")\nst.page_link(\n    "a.py", query_params={})', [2]),
    (lint.colors, 'line = "#0af"\nfill = "#00aaff"\nentity = "&#123;"\nurl = "a#b"', [1, 2]),
    (
        lint.doors,
        'csv.writer(file)\nst.download_button("a")\nfrom streamlit import dataframe\nfile.write("a")',
        [1, 2, 3],
    ),
]


@pytest.mark.parametrize(("rule", "text", "lines"), SAMPLES)
def test_a_rule_finds_what_it_forbids_alone(
    rule: Callable[[lint.Source], Iterator[lint.Finding]], text: str, lines: list[int]
) -> None:
    assert sorted({line for line, _ in rule(lint.source(PAGE, text))}) == lines


def test_a_test_keeps_to_published_names() -> None:
    text = "from core import cache\nfrom core.run import _hook\ncache._store\nmonkeypatch.setattr(cache, '_size', 1)"
    text += "\ncache.clear()\nother._private"
    assert [line for line, _ in lint.private(lint.source("tests/unit/test_a.py", text))] == [2, 3, 4]


def test_rules_hold_in_their_places_and_name_them() -> None:
    assert lint.check(lint.source("core/theme.py", 'ink = "#0af"')) == []
    (line,) = lint.check(lint.source("core/figures/lines.py", 'ink = "#0af"'))
    assert line.startswith("core/figures/lines.py:1: #0af (")
    files = {path.relative_to(lint.ROOT).as_posix() for path in lint.paths()}
    for place in {place for places in lint.RULES.values() for place in places}:
        assert any(file.startswith(place) for file in files), place
    assert lint.read(lint.ROOT / "app.py").nodes
