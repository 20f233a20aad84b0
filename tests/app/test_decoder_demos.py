"""The demos of decoders that are more than text token by token: control codes, and layers with local attention."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from streamlit.testing.v1 import AppTest

from core.checkpoints.spec import CheckpointSpec
from core.language.codes import listed
from tests import tiny
from tests.app.test_branches import demos, survive_nonsense
from tests.pages import opened, shown

pytestmark = pytest.mark.usefixtures("open_tables")

CODES = {"Story": "<|story|>", "French": "<|french|>", "German": "<|german|>", "Reviews": "<|reviews|>"}
CARD = """
name = "Tiny {name}"
summary = "-"
data = ["-"]
data_licence = ["-"]
recipe = "-"
steps = 1
tokens = 1
seed = 0
licence = "-"
"""


@pytest.fixture(autouse=True)
def bundled(tmp_path: Path, use_assets: Callable[[Path], None]) -> None:
    """Two tiny models as the only ones that are bundled."""
    torch.manual_seed(0)
    tokenizer: Any = tiny.bytelevel_tokenizer()
    tokenizer.add_special_tokens({"additional_special_tokens": list(CODES.values())})
    common: Any = {"vocab_size": len(tokenizer), "initializer_range": 0.3, "bos_token_id": None, "eos_token_id": None}
    models = {
        "ctrl": transformers.CTRLLMHeadModel(
            transformers.CTRLConfig(n_positions=96, n_embd=16, n_layer=2, n_head=2, dff=32, **common)
        ),
        "gpt-neo": transformers.GPTNeoForCausalLM(
            transformers.GPTNeoConfig(
                max_position_embeddings=96,
                hidden_size=16,
                num_layers=2,
                num_heads=2,
                window_size=8,
                attention_types=[[["global", "local"], 1]],
                **common,
            )
        ),
    }
    for name, model in models.items():
        folder = tmp_path / "checkpoints" / f"atlas-{name}"
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        table = "\n[extra.codes]\n" + "\n".join(f'"{k}" = "{v}"' for k, v in CODES.items()) if name == "ctrl" else ""
        (folder / "card.toml").write_text(CARD.format(name=name) + table, encoding="utf-8")
    use_assets(tmp_path)


def page(**query: str) -> AppTest:
    return opened("decoder", system="ctrl", model="atlas-ctrl", **query)


def test_every_code_continues_the_same_prompt() -> None:
    at = page(text="The cat", length="5", passage="The dog sat.")
    assert not at.warning
    written, judged = (frame.value for frame in at.dataframe[:2])
    assert written["code"].tolist() == list(CODES)
    assert written["continuation"].nunique() > 1
    assert sorted(judged["code"]) == sorted(CODES)
    assert judged["probability"].sum() == pytest.approx(1.0)
    assert judged["probability"].is_monotonic_decreasing
    assert judged["bits per byte"].is_monotonic_increasing
    assert "**Notice**" in shown(at)
    assert at.get("plotly_chart")


def test_nonsense_gets_a_plain_answer_and_loses_nothing() -> None:
    at = page(length="3")
    survive_nonsense(at, "text_input")
    survive_nonsense(at)
    at.text_input[0].set_value("Tom").run()
    at.text_area[0].set_value("Tom sat.").run()
    assert not at.warning


def test_a_model_with_codes_also_writes_token_by_token() -> None:
    at = page(demo="text", length="4")
    assert not at.warning
    assert "begins with a control code: Story" in shown(at)
    at = opened("decoder", system="gpt-neo", model="atlas-gpt-neo", demo="codes", length="4")
    assert at.text_area[0].label == "Prompt"


def test_a_card_decides_which_demos_there_are() -> None:
    spec = CheckpointSpec("x", "X", None, "decoder", "causal-lm", "directory", "-", "-", True)
    assert listed(spec) == {}
    assert demos(spec) == ["text"]


def test_local_layers_are_counted() -> None:
    at = opened("attention", model="atlas-gpt-neo", text="The cat sat on", count="12")
    found = next(frame.value for frame in at.dataframe if "kind" in frame.value)
    assert found["kind"].tolist() == ["global", "local"]
    assert found["attends back at most (tokens)"].iloc[1] == 7
    assert found["attends back at most (tokens)"].iloc[0] > 7
    assert "fit into one window" not in shown(at)
