"""What a bad data file gets: an error that names the fault, and no half-read record."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.catalogue import load
from core.catalogue.schema import System
from core.ui.about import attribution

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
        ("bart", "trasformer", r"bart.toml: parent: there is no system or ancestor .*is transformer meant\?"),
        ("bart", "seq-2-seq", "bart.toml: parent: there is no system or ancestor named 'seq-2-seq'$"),
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


def test_every_text_weight_and_script_names_its_author_and_licence() -> None:
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
