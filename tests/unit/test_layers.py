"""What only reads stays light: a fresh Python runs it and looks at what it has imported afterwards.

The arrows between the layers are import-linter's contracts in ``pyproject.toml``; what it cannot see is an import that
happens inside a function, or one that a library makes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[2]
HEAVY = {"torch", "transformers", "sentence_transformers", "sklearn", "scipy"}
READS = {
    "catalogue": "from core import catalogue; assert len(catalogue.systems()) > 1; catalogue.get('bert')",
    "results": ("from core.catalogue import questions, results\nassert results.results() and questions.questions()"),
    "links": "from core import links; links.write_query('encoder', {'text': 'a'}); links.url('encoder', {})",
    "checkpoints": "from core import checkpoints; assert isinstance(checkpoints.available(), tuple)",
    "listing": "from core.checkpoints.listing import live; assert isinstance(live(), tuple)",
    "kept trees": (
        "from core import anatomy, catalogue\n"
        "for system in (one for one in catalogue.systems() if one.sizes):\n"
        "    assert anatomy.module_tree(system.slug).parameters > 0"
    ),
    "costs": (
        "from core import catalogue\nfrom core.costs import shape_of\n"
        "from core.costs import blueprint, configuration, known, remarks\n"
        "import core.efficiency.fit\n"
        "for system in (one for one in catalogue.systems() if one.sizes):\n"
        "    shape_of(system.slug)"
    ),
    "patterns": "import core.patterns",
    "masks": (
        "from core.attention.masks import board, kinds\n"
        "from core.attention.masks.axes import one_text\n"
        "board.levels(board.build_board(kinds.parse_mask('bigbird'), one_text('abcdefgh')).allowed)\n"
        "kinds.describe('full')"
    ),
    "trace": "import core.attention.trace",
    "looking inside": (
        "import core.attention.ablation.ablate, core.attention.inside.block, core.attention.inside.lens\n"
        "import core.attention.scores, core.run.prepare\n"
        "import core.attention.inside.overview"
    ),
    "treebank": "from core.attention.roles import treebank; assert list(treebank.read_treebank(treebank.SHIPPED))",
    "head roles": "import core.attention.roles.rolefiles, core.attention.roles.relations",
    "every head": (
        "from core import checkpoints\nfrom core.attention.roles.everyhead import rows\n"
        "assert rows(checkpoints.available())"
    ),
    "pictures of attention": "import core.attention.bertviz, core.attention.combine, core.attention.views.grid",
    "names that stay": (
        "from core import attention\n"
        "calls = (attention.bertviz.render, attention.grid.render, attention.block.block, attention.lens.lens)\n"
        "assert all(callable(call) for call in (*calls, attention.ablate.ablate_heads, attention.capture))"
    ),
    "side by side": "import core.attention.word_maps",
    "objectives": (
        "import pkgutil, core.objectives, core.language.losses, core.language.text\n"
        "for found in pkgutil.iter_modules(core.objectives.__path__):\n"
        "    __import__(f'core.objectives.{found.name}')"
    ),
    "vectors": (
        "import core.vectors.contextual, core.vectors.input_embeddings, core.vectors.mix\n"
        "import core.vectors.nearest, core.vectors.occurrences, core.vectors.plane\n"
        "import core.vectors.positions, core.vectors.reading\n"
        "from core.vectors import precomputed; assert precomputed.layers('minilm')"
    ),
    "glossary and corrections": (
        "from core.catalogue.corrections import corrections; from core.catalogue.glossary import terms\n"
        "from core.anatomy.arithmetic import value\n"
        "assert terms() and all(value(one.expression) is not None for found in corrections() for one in found.sums)"
    ),
    "search": "from core.search import find; assert find('bert')[0].title == 'BERT'",
    "the family over the years": "from core.figures.lineage import family; assert len(family()) > 1",
    "the big table": "import core.anatomy.sheet; from core.anatomy.sheet import sheet; assert sheet()",
    "two trees": ("from core.anatomy.compare import compare; assert compare('bert', 't5').rows"),
    "tokenisers": (
        "from core.tokenizers import bpe, train, unigram, wordpiece\n"
        "from core.tokenizers.cut import cut\nfrom core.tokenizers.known import known\n"
        "from core.tokenizers.share import shares\n"
        "assert shares() and all(cut(one, 'a text').tokens for one in known())\n"
        "assert train.train('a text in a text', 'unigram').stages"
    ),
    "decoding": (
        "import core.language.decoding.cards, core.language.generate, core.language.decoding.rules\n"
        "import core.language.decoding.search, core.language.decoding.reader, core.language.generate\n"
        "import core.language.decoding.draft, core.efficiency.growth"
    ),
    "figures": (
        "import pkgutil, core.figures\n"
        "for found in pkgutil.iter_modules(core.figures.__path__):\n"
        "    __import__(f'core.figures.{found.name}')"
    ),
    "errors and settings": "import core.errors, core.settings; core.settings.settings()",
}
PAGES = ("home", "glossary", "catalogue")
VIEWS = {
    "encoder": ("tree",),
    "decoder": ("tree",),
    "encoder-decoder": ("tree",),
    "efficient": ("tree",),
    "training": ("inputs",),
    "glossary": ("corrections", "about"),
    "catalogue": ("table", "trees", "sizes", "share", "questions", "models", "memory", "scaling"),
    "tokenizers": ("beside", "steps", "train", "languages"),
    "objectives": ("masks",),
}


def imported_by(code: str) -> set[str]:
    """The top-level modules that a fresh Python has after running ``code``."""
    ending = "\nimport json, sys\nprint('\\n' + json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
    return set(json.loads(fresh(code + ending)))


def fresh(code: str) -> str:
    """The last line that a fresh Python writes."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ATLAS_")}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()[-1]


_ONE_BY_ONE = """
import json, sys, traceback
before, found = set(), {{}}
for what, code in {reads!r}.items():
    try:
        exec(code, {{}})
        failure = ""
    except Exception:
        failure = traceback.format_exc()
    now = {{name.split('.')[0] for name in sys.modules}}
    found[what] = [failure, sorted(now - before)]
    before = now
print(json.dumps(found))
"""


def brought(reads: dict[str, str]) -> dict[str, tuple[str, set[str]]]:
    """How each ended (nothing, or a traceback), and the top-level modules that it brought and none before it had.

    All in one fresh Python: to start one for each would take longer than what they do.
    """
    done = fresh(_ONE_BY_ONE.format(reads=reads))
    return {what: (failure, set(names)) for what, (failure, names) in json.loads(done).items()}


@pytest.fixture(scope="module")
def reading() -> dict[str, tuple[str, set[str]]]:
    """What each of `READS` brought."""
    return brought(READS)


@pytest.mark.parametrize("what", READS)
def test_what_reads_imports_neither_torch_nor_streamlit(what: str, reading: dict[str, tuple[str, set[str]]]) -> None:
    failure, names = reading[what]
    assert not failure, failure
    assert names & {*HEAVY, "streamlit"} == set()


def test_no_module_imports_itself_round_about() -> None:
    """Imports inside functions and those for types count: a cycle raises CycleError with its modules."""
    graph = grimp.build_graph("core", cache_dir=None)
    TopologicalSorter({name: graph.find_modules_directly_imported_by(name) for name in graph.modules}).prepare()


_RUN_VIEWS = """
import functools, logging, sys
logging.disable(logging.WARNING)
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest
# one look at the installed packages, as in tests/conftest.py
manifest_scanner.scan_component_manifests = functools.cache(manifest_scanner.scan_component_manifests)
for page, query in {views!r}:
    test = AppTest.from_file({app!r}, default_timeout=120)
    test.switch_page(f"pages/{{page}}.py")
    for name, value in query.items():
        test.query_params[name] = value
    test.run()
    assert not test.exception, (page, query, test.exception)
    assert len(test.main.children) > 0, (page, query)
    found = set({heavy!r}) & sys.modules.keys()
    assert not found, f"{{page}} {{query}} imported {{found}}"
"""


def test_pages_and_views_that_only_read_never_import_torch() -> None:
    views = [(page, {}) for page in PAGES] + [(page, {"tab": tab}) for page, tabs in VIEWS.items() for tab in tabs]
    assert imported_by(_RUN_VIEWS.format(app=str(ROOT / "app.py"), views=views, heavy=sorted(HEAVY))) & HEAVY == set()


def test_the_frame_of_a_page_needs_neither_models_nor_arrays() -> None:
    assert imported_by("import core.ui.section") & {"numpy", "pandas", "tokenizers"} == set()


def test_the_probe_sees_what_is_imported() -> None:
    assert imported_by("import scipy") & HEAVY == {"scipy"}  # the quickest of them
    modules = brought({"light": "import tomllib", "heavy": "import scipy", "again": "import scipy", "wrong": "1 / 0"})
    assert [names & HEAVY for _, names in modules.values()] == [set(), {"scipy"}, set(), set()]
    assert ["ZeroDivisionError" in failure for failure, _ in modules.values()] == [False, False, False, True]
