"""What README, CONTRIBUTING and docs state about files, settings and sizes is what is there."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

from core.settings import Settings

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
HOSTING = (ROOT / "docs" / "hosting.md").read_text()
CHECKPOINTS = ROOT / "assets" / "checkpoints"
MB = 10**6


def allotted() -> dict[str, float]:
    """Megabytes of weights by checkpoint, from the table of docs/weights.md."""
    table = (ROOT / "docs" / "weights.md").read_text()
    rows = re.findall(r"^\| `?([\w.-]+)`? \|.*\| ([\d.]+) \|$", table, re.MULTILINE)
    return {name: float(size) for name, size in rows}


def test_the_weights_share_170_megabytes() -> None:
    assert sum(allotted().values()) == pytest.approx(170)
    assert max(size for name, size in allotted().items() if name not in ("free", "atlas-m2m-100")) <= 12  # two models


def test_every_bundled_checkpoint_keeps_within_its_share() -> None:
    folders = [folder for folder in CHECKPOINTS.iterdir() if folder.is_dir()] if CHECKPOINTS.is_dir() else []
    sizes = {folder.name: sum(f.stat().st_size for f in folder.rglob("*.safetensors")) for folder in folders}
    assert sizes.keys() <= allotted().keys()
    assert {name: size / MB for name, size in sizes.items() if size > allotted()[name] * MB} == {}


def test_every_difference_has_8_and_a_half_megabytes_at_most() -> None:
    assert [path for path in CHECKPOINTS.rglob("difference.safetensors") if path.stat().st_size > 8.5 * MB] == []


@pytest.mark.parametrize(
    "path", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda path: path.name
)
def test_links_and_pictures_lead_somewhere(path: Path) -> None:
    targets = re.findall(r"\]\(([^)\s]+)\)", path.read_text())
    for file, _, heading in (target.partition("#") for target in targets if "://" not in target):
        there = path.parent / file
        assert there.is_file(), file
        headings = re.findall(r"^#+ (.*)$", there.read_text(), re.MULTILINE) if heading else []
        assert not heading or heading in [title.lower().replace(" ", "-") for title in headings]


def test_pictures_of_the_docs_are_small() -> None:
    pictures = list((ROOT / "docs" / "pictures").iterdir())
    assert pictures
    assert max(picture.stat().st_size for picture in pictures) < 150_000


@pytest.mark.parametrize("text", [README, CONTRIBUTING], ids=["README", "CONTRIBUTING"])
def test_named_files_exist(text: str) -> None:
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    named = set(re.findall(r"`((?:core|tests|assets|scripts|benchmarks|pages)/[\w./-]+)`", prose))
    named |= set(re.findall(r"!\[[^]]*\]\(([^)]+)\)", prose))
    named |= {word for word in re.findall(r"^    ([\w./]+)  +\w", prose, re.MULTILINE) if "/" in word or "." in word}
    assert named
    assert sorted(name for name in named if not (ROOT / name).exists()) == []


def test_hosting_lists_every_setting_with_its_default() -> None:
    rows = dict(re.findall(r"^\| `(ATLAS_\w+)` \|([^|]*)\|", HOSTING, re.MULTILINE))
    fields = {f"ATLAS_{name.upper()}": field.default for name, field in Settings.model_fields.items()}
    assert rows.keys() == fields.keys()
    for name, default in fields.items():
        assert default is None or rows[name].strip("` ") == str(default)


def test_names_in_the_readmes_example_exist() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom):
            assert node.module is not None
            module = importlib.import_module(node.module)
            for alias in node.names:
                if not hasattr(module, alias.name):
                    importlib.import_module(f"{node.module}.{alias.name}")
