"""Rewriting against ``model.generate`` of transformers, on tiny random encoder-decoders."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, PreTrainedTokenizerFast

from core.checkpoints.spec import Card, Checkpoint
from core.errors import InputEmpty, InputTooLong, InputUnusable, UnknownTask
from core.language.starts import prepare
from core.language.tasks import PLAIN, tasks
from core.language.translate import align, rewrite
from core.language.types import Decoding
from tests import tiny, tinyfamilies

TEXT = "The cat sat on the mat and the dog runs."
TOLD = {"en-fr": "translate English to French: ", "repair": "repair: "}


def checkpoint(model: Any, tokenizer: Any, told: dict[str, str] | None = None) -> Checkpoint:
    card = None if told is None else Card("tiny", "", (), (), "", 0, 0, 0, "", extra={"tasks": told})
    slugs = tuple(told or ())
    spec = tinyfamilies.spec_of("Tiny", "seq2seq-lm", tasks=slugs, card=card)
    with torch.no_grad():  # larger weights, so that the output depends on the input
        for parameter in model.parameters():
            parameter.mul_(3)
    return Checkpoint(model.eval(), tokenizer, spec)


@pytest.fixture(scope="module", params=["t5", "bart"])
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    folder: Path = getattr(tiny, f"tiny_{request.param}")(tmp_path_factory.mktemp(request.param))
    model = AutoModelForSeq2SeqLM.from_pretrained(folder, attn_implementation="eager")
    return checkpoint(model, AutoTokenizer.from_pretrained(folder), TOLD)


def generated(made: Checkpoint, text: str, **settings: Any) -> list[int]:
    inputs = made.tokenizer(text, return_tensors="pt")
    inputs.pop("token_type_ids", None)
    with torch.no_grad():
        return made.model.generate(**inputs, do_sample=False, max_new_tokens=12, **settings)[0].tolist()


def test_alignment_equals_the_cross_attention_of_generate(pair: Checkpoint) -> None:
    request = prepare(pair, TEXT, "repair")
    ids = list(rewrite(pair, TEXT, "repair", Decoding(max_new_tokens=8)))[-1].ids
    alignment = align(pair, TEXT, "repair", ids)
    inputs = pair.tokenizer(TOLD["repair"] + TEXT, return_tensors="pt")
    inputs.pop("token_type_ids", None)
    with torch.no_grad():
        out = pair.model.generate(
            **inputs, do_sample=False, max_new_tokens=8, output_attentions=True, return_dict_in_generate=True
        )
    steps = [torch.stack([layer[0, :, -1] for layer in step]) for step in out.cross_attentions]
    expected = torch.stack(steps, dim=2).numpy()  # (L, H, T, S)
    assert alignment.weights.shape == expected.shape == (2, 2, len(ids), len(request.source))
    np.testing.assert_allclose(alignment.weights, expected, atol=1e-5)
    np.testing.assert_allclose(alignment.weights.sum(-1), 1, atol=1e-5)
    assert [token.id for token in alignment.target] == list(ids)
    assert alignment.weights.flags.writeable is False


def test_the_shared_model_is_left_alone(pair: Checkpoint) -> None:
    before = pair.model.config.to_json_string(), pair.model.generation_config.to_json_string()
    first = list(rewrite(pair, TEXT, "en-fr", Decoding(max_new_tokens=6)))[-1].ids
    align(pair, TEXT, "en-fr", first)
    list(rewrite(pair, "A dog.", "repair", Decoding("beam", max_new_tokens=6)))
    assert list(rewrite(pair, TEXT, "en-fr", Decoding(max_new_tokens=6)))[-1].ids == first
    assert before == (pair.model.config.to_json_string(), pair.model.generation_config.to_json_string())


def test_a_source_is_tokenized_once(pair: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    made, texts = type(pair.tokenizer).__call__, list[str]()

    def counted(tokenizer: Any, text: str, **more: Any) -> Any:
        texts.append(text)
        return made(tokenizer, text, **more)

    monkeypatch.setattr(type(pair.tokenizer), "__call__", counted)
    prepare(pair, TEXT, "en-fr")
    assert texts == ["translate English to French: " + TEXT]


def test_requests_carry_the_prefix_and_the_offsets(pair: Checkpoint) -> None:
    request = prepare(pair, f"  {TEXT}\n", "en-fr")
    assert request.text == TEXT
    ids = pair.tokenizer("translate English to French: " + TEXT)["input_ids"]
    assert [token.id for token in request.source] == ids == request.tensors["input_ids"][0].tolist()
    placed = [token for token in request.source if token.start >= 0 and not token.special and token.text in TEXT]
    assert len(placed) > 5
    assert all(TEXT[token.start : token.end] == token.text for token in placed)
    assert request.source[0].start == -1, "the prefix stands in no text"
    assert request.source[-1].special


def test_bad_input(pair: Checkpoint) -> None:
    for text, error in (
        ("", InputEmpty),
        (" \n\x00\u200e ", (InputEmpty, InputUnusable)),
        ("a " * 60_000, InputTooLong),
        ("the cat " * 40, InputTooLong),
        ("😀🎉", InputUnusable),
    ):
        with pytest.raises(error):
            rewrite(pair, text, "en-fr")
    with pytest.raises(UnknownTask, match="en-fr, repair"):
        rewrite(pair, TEXT, "en-xx")
    for text in ("</script><script>alert(1)</script>", "# *bold* $x^2$", "هذا نص cat", "repair: <extra_id_0>"):
        assert list(rewrite(pair, text, "repair", Decoding(max_new_tokens=2)))


def test_tasks_of_a_card_and_of_plain_models(pair: Checkpoint) -> None:
    assert [(task.slug, task.label) for task in tasks(pair)] == [
        ("en-fr", "Translate English to French"),
        ("repair", "Reconstruct corrupted text"),
    ]
    bare = Checkpoint(pair.model, pair.tokenizer, dataclasses.replace(pair.spec, tasks=(), card=None))
    assert tasks(bare) == (PLAIN,)
    ids = list(rewrite(bare, TEXT, "text", Decoding(max_new_tokens=5)))[-1].ids
    assert list(ids) == generated(bare, TEXT, num_beams=1)[1:6]


def test_tasks_of_a_published_t5_configuration(tmp_path: Path) -> None:
    tiny.tiny_t5(tmp_path)
    model = AutoModelForSeq2SeqLM.from_pretrained(tmp_path, attn_implementation="eager")
    model.config.task_specific_params = {
        "summarization": {"prefix": "summarize: ", "num_beams": 4},
        "translation_en_to_de": {"prefix": "translate English to German: "},
        "broken": {"prefix": 3},
        "also broken": "no",
    }
    made = checkpoint(model, AutoTokenizer.from_pretrained(tmp_path))
    assert [(task.slug, task.label, task.prefix) for task in tasks(made)] == [
        ("summarization", "Summarization", "summarize: "),
        ("en-de", "Translate English to German", "translate English to German: "),
    ]


def test_m2m100_names_its_languages_by_tokens() -> None:
    tokenizer: PreTrainedTokenizerFast = tiny.metaspace_tokenizer()
    tokenizer.add_tokens(["__en__", "__fr__"], special_tokens=True)
    torch.manual_seed(0)
    family = tinyfamilies.FAMILIES["m2m_100"]
    settings = family.settings | {"vocab_size": len(tokenizer), "decoder_layers": 2, "bos_token_id": 1}
    made = checkpoint(tinyfamilies.build(family, settings), tokenizer)
    assert [task.slug for task in tasks(made)] == ["en-fr", "fr-en"]
    english, french = tokenizer.convert_tokens_to_ids(["__en__", "__fr__"])
    source = [english, *tokenizer(TEXT, add_special_tokens=False)["input_ids"], 1]
    assert [token.id for token in prepare(made, TEXT, "en-fr").source] == source
    ids = list(rewrite(made, TEXT, "en-fr", Decoding(max_new_tokens=7)))[-1].ids
    with torch.no_grad():
        expected = made.model.generate(
            torch.tensor([source]), forced_bos_token_id=french, do_sample=False, num_beams=1, max_new_tokens=8
        )[0].tolist()
    assert [1, french, *ids] == expected
