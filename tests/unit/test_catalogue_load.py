"""What a bad data file gets: an error that names the fault, and no half-read record."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.catalogue import load
from core.catalogue.attribution import attribution

GOOD = (load.SYSTEMS / "gpt.toml").read_text(encoding="utf-8")


def parsed(text: str) -> object:
    return load.parse(text, load.shared()[0])


def test_the_good_file_loads() -> None:
    assert parsed(GOOD).slug == "gpt"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('label = "Layers, width, heads", value = "12 / 768 / 12", source = "gpt-paper"', "", "label|source"),
        ('branches = ["decoder"]', 'branches = ["sideways"]', "branches"),
        ('branches = ["decoder"]', "branches = []", "branches"),
        ('evidence = "paper"', 'evidence = "hearsay"', "evidence"),
        ('kind = "causal-lm"', 'kind = "oracle"', "kind"),
        ('change = "It keeps', 'changed = "It keeps', "change"),
        ('tokeniser.source = "gpt-paper"', 'tokeniser.source = "elsewhere"', "no citation named elsewhere"),
        ('claimed_by = "source-004"', 'claimed_by = "source-999"', "no citation named source-999"),
    ],
)
def test_a_fault_is_named(old: str, new: str, complaint: str) -> None:
    assert old in GOOD
    with pytest.raises(load.BadRecord, match=complaint):
        parsed(GOOD.replace(old, new, 1))


def test_a_record_has_sizes_or_says_why_it_has_none() -> None:
    none = (load.SYSTEMS / "gpt-4.toml").read_text(encoding="utf-8")
    assert parsed(none).sizes == ()  # type: ignore[attr-defined]
    silent = "\n".join(line for line in none.splitlines() if not line.startswith("undisclosed"))
    with pytest.raises(load.BadRecord, match="either sizes or a sentence"):
        parsed(silent)
    with pytest.raises(load.BadRecord, match="either sizes or a sentence"):
        parsed('undisclosed = "Nothing was published."\n' + GOOD)


def test_a_file_under_a_wrong_name_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gpt-1.toml").write_text(GOOD, encoding="utf-8")
    monkeypatch.setattr(load, "SYSTEMS", tmp_path)
    load.load_all.cache_clear()
    try:
        with pytest.raises(load.BadRecord, match=r"gpt-1\.toml"):
            load.load_all()
    finally:
        monkeypatch.undo()
        load.load_all.cache_clear()


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
