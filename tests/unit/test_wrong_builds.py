"""Records that are wrong, make no network, or point to what is not there: one sentence each, and the rest goes on."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core import anatomy
from core.anatomy import store
from core.anatomy.build import build_model
from core.anatomy.sheet import sheet
from core.catalogue import load
from core.catalogue.schema import System
from core.checkpoints import package
from core.costs import shape_of
from core.errors import AtlasError, RecordUnusable
from core.figures.lineage import family
from core.ui.about import attribution
from tests.words import words

WHOLE = (load.SYSTEMS / "gpt-2.toml").read_text(encoding="utf-8")
GPT2 = WHOLE[: WHOLE.index('[[sizes]]\nname = "large"')] + WHOLE[WHOLE.index("[[facts]]") :]
"""GPT-2's record with the two sizes that are quickly built."""
BERT = (load.SYSTEMS / "bert.toml").read_text(encoding="utf-8")
CACHES = (load.load_all, store.live_tree, family, sheet)


@pytest.fixture
def records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Path]]:
    """A catalogue of BERT and a copy of GPT-2, ``gpt-9``, in which words are replaced."""

    def written(*changes: tuple[str, str]) -> Path:
        text = GPT2.replace('slug = "gpt-2"', 'slug = "gpt-9"').replace('parent = "gpt"\n', "")
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        (tmp_path / "gpt-9.toml").write_text(text, encoding="utf-8")
        (tmp_path / "bert.toml").write_text(BERT.replace('parent = "transformer"\n', ""), encoding="utf-8")
        monkeypatch.setattr(load, "SYSTEMS", tmp_path)
        for cached in CACHES:
            cached.cache_clear()
        return tmp_path

    yield written
    monkeypatch.undo()
    for cached in CACHES:
        cached.cache_clear()


def refused() -> str:
    with pytest.raises(load.BadRecord) as caught:
        load.load_all()
    assert isinstance(caught.value, AtlasError)  # the command line and the pages say it as it stands
    return str(caught.value)


def test_a_record_is_not_its_own_parent(records: Callable[..., Path]) -> None:
    records(("month = ", 'parent = "gpt-9"\nmonth = '))
    assert refused() == "gpt-9.toml: parent: it is the system itself"


def test_parents_in_a_circle_are_found(records: Callable[..., Path]) -> None:
    folder = records(("month = ", 'parent = "bert"\nmonth = '))
    bert = (folder / "bert.toml").read_text(encoding="utf-8")
    (folder / "bert.toml").write_text(bert.replace("month = ", 'parent = "gpt-9"\nmonth = ', 1), encoding="utf-8")
    assert refused() == "bert.toml: parent: it comes back to bert: bert → gpt-9 → bert"


def test_a_live_model_that_is_none_is_refused(records: Callable[..., Path]) -> None:
    records(('checkpoint = "atlas-gpt-2"', 'checkpoint = "atlas-gpt2"'))
    assert refused().startswith("gpt-9.toml: live.checkpoint: there is no model named 'atlas-gpt2'; is atlas-gpt-2")


def test_a_model_with_a_recipe_may_be_missing(
    records: Callable[..., Path], tmp_path: Path, use_assets: Callable[[Path], None]
) -> None:
    records()
    (tmp_path / "assets" / "checkpoints").mkdir(parents=True)
    recipes = tmp_path / "assets" / "recipes"
    recipes.mkdir()
    for name in ("atlas-gpt-2", "minilm"):
        (recipes / f"{name}.toml").touch()
    use_assets(tmp_path / "assets")
    assert {record.slug for record in load.load_all()} == {"bert", "gpt-9"}


def test_a_file_in_another_encoding_is_refused(records: Callable[..., Path]) -> None:
    folder = records()
    (folder / "gpt-9.toml").write_bytes(GPT2.encode("utf-16"))
    assert refused() == "gpt-9.toml: line 1: is not UTF-8 text; save the file as UTF-8"
    latin = GPT2.replace("“", "é").replace("”", "é").encode("latin-1", "replace")
    (folder / "gpt-9.toml").write_bytes(latin + b"\n# \xe9\n")
    assert refused().startswith("gpt-9.toml: line ")


def test_a_misspelt_argument_is_told_and_the_other_systems_stay(records: Callable[..., Path]) -> None:
    records(("n_embd = 1024", "n_emb = 1024"))
    (said,) = anatomy.faults()
    assert said.startswith("gpt-9.toml: sizes “medium”.overrides.n_emb: is no argument of GPT2Config; is n_embd meant?")
    with pytest.raises(RecordUnusable, match="n_emb"):
        anatomy.tree("gpt-9", "medium")
    with pytest.raises(RecordUnusable, match="n_emb"):
        shape_of("gpt-9", "medium")
    assert set(anatomy.counts("gpt-9")) == {"small"}
    assert {entry.slug for entry in family()} >= {"bert", "gpt-9"}
    assert [row.system.slug for row in sheet()] == ["bert", "gpt-9"]
    assert "medium: published 355M, not counted" in next(
        row.cells["parameters"].text for row in sheet() if row.system.slug == "gpt-9"
    )


def test_numbers_that_do_not_go_together_are_told(records: Callable[..., Path]) -> None:
    records(("n_embd = 1024", "n_embd = 1023"))
    (said,) = anatomy.faults()
    assert said.startswith("gpt-9.toml: sizes “medium”.overrides: GPT2LMHeadModel cannot be built from them: Val")


@pytest.mark.parametrize(
    ("architecture", "config", "overrides", "begins"),
    [
        ("BertSelfOutput", "BertConfig", {}, "architecture: there is no class named 'BertSelfOutput'"),
        (
            "BertModel",
            "BretConfig",
            {},
            "config: there is no class named 'BretConfig' in transformers or in core/anatomy/",
        ),
        ("BartForConditionalGenerator", "BartConfig", {}, "architecture: there is no class named 'BartForConditional"),
        ("CLIPModel", "CLIPConfig", {"text_config": {"hiden_size": 8}}, "overrides.text_config.hiden_size: is no arg"),
        (
            "EncoderDecoderModel",
            "EncoderDecoderConfig",
            {"encoder": {"config": "BertConfig", "hiden_size": 8}, "decoder": {"config": "BertConfig"}},
            "overrides.encoder.hiden_size: is no argument of BertConfig; is hidden_size meant?",
        ),
    ],
)
def test_what_cannot_be_built_begins_with_the_field(
    architecture: str, config: str, overrides: dict[str, object], begins: str
) -> None:
    with pytest.raises(RecordUnusable) as caught:
        build_model(architecture, config, overrides)
    assert str(caught.value).startswith(begins)


def test_a_tree_that_is_not_kept_is_built_once(records: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    records()
    first = anatomy.counts("gpt-9")
    assert first["small"] == 124_439_808
    monkeypatch.setattr(store, "build_model", None)
    assert anatomy.counts("gpt-9") == first
    records(("n_layer = 24", "n_layer = 25"))  # another record of that name is another tree
    monkeypatch.setattr(store, "build_model", build_model)
    assert anatomy.counts("gpt-9")["medium"] > first["medium"]


def test_a_page_says_what_cannot_be_built_and_shows_the_other_sizes(records: Callable[..., Path]) -> None:
    records(("n_embd = 1024", "n_emb = 1024"))

    def page() -> None:
        from core.ui.glossary import unbuilt
        from core.ui.links import PageState
        from core.ui.tree import tree_panel

        unbuilt()
        tree_panel("gpt-9", PageState("encoder", {}, 1), size="medium", node=None, drawing=None, key="tree")

    app = AppTest.from_function(page, default_timeout=120).run()
    assert not app.exception
    assert len(app.warning) == 2
    assert all("n_emb: is no argument of GPT2Config" in entry.value.replace("\\", "") for entry in app.warning)
    assert [option.split(" ")[0] for option in app.selectbox[0].options] == ["small"]


def test_no_page_goes_on_with_a_record_that_is_refused(records: Callable[..., Path]) -> None:
    records(('checkpoint = "atlas-gpt-2"', 'checkpoint = "atlas-gpt2"'))

    def page() -> None:
        import streamlit as st

        from core.ui.section import header

        header("Home", "What is here.")
        st.markdown("never drawn")

    app = AppTest.from_function(page, default_timeout=120).run()
    assert not app.exception
    assert "gpt-9.toml: live.checkpoint" in words(app.error[0].value)
    assert "never drawn" not in [element.value for element in app.markdown]


GOOD, ROOT_RECORD = ((load.SYSTEMS / name).read_text(encoding="utf-8") for name in ("bart.toml", "transformer.toml"))
SHARED = (load.DATA / "shared.toml").read_text(encoding="utf-8")


def parsed(text: str) -> System:
    return load.parse(text, load.shared()[0], "bart.toml")


def complaints(text: str) -> list[str]:
    """What the file is refused with, line by line."""
    with pytest.raises(load.BadRecord) as caught:
        parsed(text)
    return str(caught.value).split("\n")


def test_the_good_file_loads() -> None:
    record = parsed(GOOD)
    assert record.slug == "bart"
    assert record.default_size.name == "base"
    assert record.corrections[0].sources == ("bart-paper",)
    assert record.hub[0].short_name == "bart-base"
    assert record.citation("library").evidence == "library"


FAULTS = tomllib.loads((Path(__file__).parent / "data" / "wrong-records.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_fault_is_told_with_file_field_and_reason(fault: dict[str, str]) -> None:
    old, new, complaint = fault["old"], fault["new"], fault["complaint"]
    assert old in GOOD
    said = complaints(GOOD.replace(old, new, 1))
    assert any(line.startswith(f"bart.toml: {complaint}") for line in said), said
    assert all(len(line) < 400 for line in said)


def test_all_faults_of_a_file_are_told_at_once() -> None:
    text = (
        GOOD.replace("month = 10", 'month = "October"').replace('venue = "ACL 2020"', "").replace("[live]", "[alive]")
    )
    assert [line.split(": ")[1] for line in complaints(text)] == ["month", "paper.venue", "live", "alive"]


def test_a_long_wrong_value_is_cut() -> None:
    (said,) = complaints(GOOD.replace("month = 10", f'month = "{"x" * 5000}"'))
    assert len(said) < 200


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in place of the catalogue's own for records; the file that they share stands beside it."""
    systems = tmp_path / "systems"
    systems.mkdir()
    (tmp_path / "shared.toml").write_text(SHARED, encoding="utf-8")
    monkeypatch.setattr(load, "SYSTEMS", systems)
    monkeypatch.setattr(load, "DATA", tmp_path)
    load.load_all.cache_clear()
    load.shared.cache_clear()
    yield systems
    monkeypatch.undo()
    load.load_all.cache_clear()
    load.shared.cache_clear()


@pytest.mark.parametrize(
    ("name", "parent", "complaint"),
    [
        ("bart", "trasformer", r"bart.toml: parent: there is no system or milestone .*is transformer meant\?"),
        ("bart", "seq-2-seq", "bart.toml: parent: there is no system or milestone named 'seq-2-seq'$"),
        ("bert-2", "transformer", r"bert-2\.toml: slug: it is 'bart' and must be the file's name, 'bert-2'"),
    ],
)
def test_a_file_under_a_wrong_name_and_an_unknown_parent_are_refused(
    name: str, parent: str, complaint: str, folder: Path
) -> None:
    text = GOOD.replace('parent = "transformer"', f'parent = "{parent}"')
    (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    (folder / "transformer.toml").write_text(ROOT_RECORD, encoding="utf-8")
    with pytest.raises(load.BadRecord, match=complaint):
        load.load_all()


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('evidence = "library"', 'evidence = "rumour"', "shared.toml: citations.library.evidence: must be one of "),
        ("[citations.words]", "[cited.words]", "shared.toml: cited: is no field of this table, which has: "),
    ],
)
def test_the_shared_file_is_held_to_the_same(old: str, new: str, complaint: str, folder: Path) -> None:
    assert old in SHARED
    (folder.parent / "shared.toml").write_text(SHARED.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(load.BadRecord, match=complaint):
        load.shared()


def test_a_record_has_sizes_or_says_why_it_has_none() -> None:
    none = (load.SYSTEMS / "gpt-4.toml").read_text(encoding="utf-8")
    assert parsed(none).sizes == ()  # type: ignore[attr-defined]
    silent = "\n".join(line for line in none.splitlines() if not line.startswith("undisclosed"))
    with pytest.raises(load.BadRecord, match="either sizes or a sentence"):
        parsed(silent)
    with pytest.raises(load.BadRecord, match="either sizes or a sentence"):
        parsed('undisclosed = "Nothing was published."\n' + GOOD)


def test_every_text_weight_and_script_names_its_author_and_license() -> None:
    used = attribution()
    for work in (*used.texts, *used.weights, *used.scripts):
        assert work.name
        assert work.by
        assert work.licence
        assert work.use
        assert work.url is None or work.url.startswith("https://")
    licences = {work.name: work.licence for work in (*used.texts, *used.weights, *used.scripts)}
    assert licences["Tatoeba sentences"] == "CC BY 2.0 FR"
    assert licences["English Wikipedia"] == "CC BY-SA 3.0"
    assert licences["all-MiniLM-L6-v2"] == "Apache-2.0"
    if (installed := package.find_package()) is not None:  # the metadata's MIT is that of the code around the weights
        assert "\nlicense: apache-2.0\n" in (installed.folder / "README.md").read_text(encoding="utf-8")
        assert "weights are distributed under their respective Apache 2.0" in str(metadata.metadata(package.NAME))


def test_the_notice_lists_every_vendored_script() -> None:
    root = Path(__file__).resolve().parents[2]
    notice = (root / "NOTICE").read_text(encoding="utf-8")
    folders = [path for path in (root / "assets" / "vendor").iterdir() if path.is_dir()]
    assert folders
    for folder in folders:
        name, _, number = folder.name.rpartition("-")
        assert number in notice, folder.name
        assert any(number in work.name for work in attribution().scripts), f"{name} is missing on About"
        assert (folder / "LICENSE").is_file()
