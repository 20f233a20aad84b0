"""What the inventory says of two lists of items: nothing of what stayed, one line for what changed alike everywhere."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


inventory = script("inventory")


def test_comparing_two_files_needs_neither_torch_nor_streamlit() -> None:
    path = str(SCRIPTS / "inventory.py")
    code = f"import runpy, sys; runpy.run_path({path!r}); print({{'torch', 'streamlit'}} & set(sys.modules))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "set()"


def test_the_same_items_in_another_order_are_no_difference() -> None:
    items = ["button | label: Reset", "heading | text: Attention | tag: h1", "button | label: Reset"]
    assert inventory.compare({"home": {"home": items}}, {"home": {"home": items[::-1]}}) == []


def test_a_change_that_many_views_share_is_told_once() -> None:
    def page(label: str) -> dict[str, list[str]]:
        return {
            f"zoo?model={name}": [f"download | label: {label} | file: atlas-{name}.csv | mime: text/csv"]
            for name in ("bert", "t5")
        }

    assert inventory.compare({"zoo": page("Save as CSV")}, {"zoo": page("Download CSV")}) == [
        ("download: label “Save as CSV” -> “Download CSV”", ["zoo?model=bert", "zoo?model=t5"])
    ]


def test_an_item_that_stands_there_once_less_is_a_difference() -> None:
    assert inventory.differences(["chart | alt: A"] * 2, ["chart | alt: A"]) == ["gone: chart | alt: A"]


def test_views_and_pages_that_are_not_there_any_more_are_told() -> None:
    before = {"home": {"home": []}, "zoo": {"zoo": [], "zoo?tab=curves": []}}
    after = {"zoo": {"zoo": [], "zoo?tab=new": []}}
    assert inventory.compare(before, after) == [
        ("view is gone", ["home", "zoo?tab=curves"]),
        ("view is new", ["zoo?tab=new"]),
    ]


def test_what_is_measured_makes_no_difference() -> None:
    counted = script("inventory_items").counted
    assert counted("It took 1.2 s and 3,400 kB.") == counted("It took 900 ms and 2 MB.")
    assert counted("GPT-2 has 124,439,808 parameters") == "GPT-2 has # parameters"
    assert counted('a [head](/glossary?term=head "What it is") of 12') == "a head of #"
