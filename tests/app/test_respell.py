"""ByT5's page: noise, the answer byte by byte, bytes beside pieces; a tiny random model, so not what it says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from streamlit.testing.v1 import AppTest

from core import checkpoints
from core.errors import InputTooLong
from core.language.noise import characters, noisy, tokenize_both
from core.language.tasks import tasks
from core.language.translate import prepare, rewrite
from core.language.types import Decoding
from core.training.models import ship_model
from core.training.objectives.denoise import to_ids
from core.training.objectives.pairs import EncoderDecoder
from core.training.tokenizers import T5, ship_tokenizer, single_bytes
from tests import tiny
from tests.app.test_branches import survive_nonsense
from tests.app.test_decoder_demos import CARD
from tests.pages import opened, shown

SIZES = {
    "type": "t5",
    "d_model": 16,
    "num_layers": 2,
    "num_decoder_layers": 1,
    "num_heads": 2,
    "d_kv": 8,
    "d_ff": 24,
    "feed_forward_proj": "gated-gelu",
}


@pytest.fixture(autouse=True)
def bundled(tmp_path: Path, use_assets: Callable[[Path], None]) -> None:
    """A tiny ByT5 and a tiny BERT as the only models that are bundled."""
    torch.manual_seed(0)
    folder = tmp_path / "checkpoints" / "atlas-byt5"
    model = EncoderDecoder(SIZES, vocab_size=259, pad_token_id=0, eos_token_id=1, decoder_start_token_id=0)
    ship_model(model.full, folder)
    named = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    ship_tokenizer(single_bytes(tuple(T5.values()), "</s>"), folder, 256, **named)
    card = CARD.format(name="ByT5") + '\n[extra]\nmax_positions = 256\n[extra.tasks]\nrespell = ""\n'
    (folder / "card.toml").write_text(card, encoding="utf-8")
    bert = tiny.tiny_bert(tmp_path / "checkpoints" / "atlas-bert")
    (bert / "card.toml").write_text(CARD.format(name="BERT"), encoding="utf-8")
    (tmp_path / "checkpoints" / "first.toml").write_text('respell = ["atlas-bert"]\n', encoding="utf-8")
    use_assets(tmp_path)


def page(**query: str) -> AppTest:
    return opened("encoder-decoder", system="t5", model="atlas-byt5", **({"length": "12"} | query))


def texts(at: AppTest) -> str:
    return " ".join(str(element.body) for element in at.get("html"))


def test_bytes_go_in_and_whatever_bytes_come_out_are_text() -> None:
    checkpoint = checkpoints.load("atlas-byt5")
    [task] = tasks(checkpoint)
    assert (task.slug, task.prefix, task.respells) == ("respell", "", True)
    request = prepare(checkpoint, "né 🦉", "respell")
    assert list(request.source) == to_ids("né 🦉")
    assert [token.text for token in request.tokens[:3]] == ["n", "‹c3›", "‹a9›"]
    forced = [*to_ids("aé")[:2], 0xF0 + 3, 0x9F + 3, *to_ids("b")[:1], 0xFF + 3]  # half characters, and no character
    steps = list(rewrite(checkpoint, "né", "respell", Decoding(max_new_tokens=len(forced)), forced=forced))
    assert steps[1].text == "a"  # half an é is not shown yet
    assert steps[-1].text.startswith("a")
    assert all("Traceback" not in step.text for step in steps)
    for strategy in ("sample", "beam"):
        found = list(rewrite(checkpoint, "né", "respell", Decoding(strategy, max_new_tokens=9)))
        assert isinstance(found[-1].text, str)
    with pytest.raises(InputTooLong, match="has 400 bytes; Tiny ByT5 takes up to 255"):
        prepare(checkpoint, "é" * 200, "respell")
    assert prepare(checkpoint, "###", "respell").source  # to a subword model these may be nothing


def test_characters_and_pieces_by_hand() -> None:
    assert [(c.name, c.bytes) for c in characters("ß🦉")] == [
        ("LATIN SMALL LETTER SHARP S", (0xC3, 0x9F)),
        ("OWL", (0xF0, 0x9F, 0xA6, 0x89)),
    ]
    found = tokenize_both(checkpoints.load("atlas-bert"), "the cat sat", "the qzt sat")
    assert found.clean == ("the", "cat", "sat")
    assert len(found.noisy) > 3 or found.unknown == 1
    bytewise = tokenize_both(checkpoints.load("atlas-byt5"), "the cat", "teh cat")
    assert (len(bytewise.clean), len(bytewise.noisy), bytewise.unknown) == (7, 7, 0)


def test_noise_of_a_link_is_read_and_what_it_costs_is_shown() -> None:
    at = page(text="the cat sat", damage="random-case", seed="3")
    assert not at.warning
    assert noisy("the cat sat", "random-case", seed=3) in texts(at)
    assert "underlined" in texts(at)
    assert "Edit distance" in shown(at)
    assert "**Notice**" in shown(at)
    said = " ".join(chart.proto.alt for chart in at.get("plotly_chart"))
    assert "Tiny ByT5: 11 clean, 11 noisy; Tiny BERT: 3 clean" in said
    at = page(text="the cat sat", damage="drop", rate="30", seed="1")
    assert noisy("the cat sat", "drop", 0.3, 1) in texts(at)
    assert next(slider for slider in at.slider if slider.label == "Noise rate").value == 30
    assert at.query_params["rate"][0] == "3"


def test_a_text_is_taken_as_it_is_typed() -> None:
    at = page(text="Straße 🦉", damage="none")
    table = next(frame.value for frame in at.dataframe if "character" in frame.value)
    assert table["bytes"].tolist()[4] == "c3 9f"
    assert table["ids"].tolist()[-1] == "243 162 169 140"
    assert "8 characters are 12 bytes" in shown(at)


def test_nonsense_gets_a_plain_answer_and_loses_nothing() -> None:
    at = page(damage="antspeak")
    survive_nonsense(at)
    at = page(damage="nosuch", rate="9999")


def test_a_sentence_has_room_without_saying_so() -> None:
    at = opened("encoder-decoder", system="t5", model="atlas-byt5")
    assert next(box for box in at.number_input if box.label == "New tokens").value == 160
    assert "length" not in at.query_params
