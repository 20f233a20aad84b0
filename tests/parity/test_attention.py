"""Captured attention equals what transformers computes when it is called directly, on tiny random models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.attention.capture import MAX_TOKENS, capture
from core.attention.generated import stitch
from core.checkpoints.families.family import Kind
from core.checkpoints.spec import Checkpoint, CheckpointSpec
from core.errors import InputEmpty, InputTooLong, NoAttentionMatrix
from core.language.types import Alternative, GenerationStep
from tests import tiny

SENTENCE = "The cat sat on the mat."


def _load(folder: Path, kind: Kind, implementation: str = "eager", positions: int | None = 64) -> Checkpoint:
    import transformers

    auto = {
        "masked-lm": transformers.AutoModelForMaskedLM,
        "causal-lm": transformers.AutoModelForCausalLM,
        "seq2seq-lm": transformers.AutoModelForSeq2SeqLM,
    }[kind]
    model = auto.from_pretrained(folder, attn_implementation=implementation).eval()
    spec = CheckpointSpec(
        "tiny", "Tiny", None, "encoder", kind, "directory", "test", str(folder), True, max_positions=positions
    )
    return Checkpoint(model, transformers.AutoTokenizer.from_pretrained(folder), spec)


@pytest.fixture(scope="module")
def bert(tiny_root: Path) -> Checkpoint:
    return _load(tiny_root / "tiny-bert", "masked-lm")


@pytest.fixture(scope="module")
def gpt2(tiny_root: Path) -> Checkpoint:
    return _load(tiny_root / "tiny-gpt2", "causal-lm")


@pytest.fixture(scope="module")
def t5(tiny_root: Path) -> Checkpoint:
    return _load(tiny_root / "tiny-t5", "seq2seq-lm", positions=None)


def _stack(layers: Any) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.stack([layer[0].detach().numpy() for layer in layers])


def _rows_sum_to_one(weights: np.ndarray[Any, Any]) -> None:
    np.testing.assert_allclose(weights.sum(-1), 1.0, atol=1e-5)


def test_encoder_is_what_transformers_computes(bert: Checkpoint) -> None:
    trace = capture(bert, SENTENCE)
    encoded = bert.tokenizer(SENTENCE, return_tensors="pt")
    direct = _stack(bert.model(**encoded, output_attentions=True).attentions)
    assert trace.encoder is not None
    assert (trace.decoder, trace.cross) == (None, None)
    assert trace.encoder.weights.shape == (2, 2, *[encoded["input_ids"].shape[1]] * 2)
    np.testing.assert_allclose(trace.encoder.weights, direct, atol=1e-6)
    assert trace.encoder.query_tokens[:3] == ("[CLS]", "the", "cat")
    assert trace.encoder.query_tokens[-1] == "[SEP]"
    _rows_sum_to_one(trace.encoder.weights)


def test_encoder_reads_a_second_sentence_as_a_pair(bert: Checkpoint) -> None:
    found = capture(bert, "The cat", "the dog").encoder
    assert found is not None
    assert found.key_tokens == ("[CLS]", "the", "cat", "[SEP]", "the", "dog", "[SEP]")
    encoded = bert.tokenizer("The cat", "the dog", return_tensors="pt")
    direct = _stack(bert.model(**encoded, output_attentions=True).attentions)
    np.testing.assert_allclose(found.weights, direct, atol=1e-6)


def test_decoder_never_looks_ahead(gpt2: Checkpoint) -> None:
    found = capture(gpt2, SENTENCE).decoder
    assert found is not None
    encoded = gpt2.tokenizer(SENTENCE, return_tensors="pt")
    direct = _stack(gpt2.model(**encoded, output_attentions=True).attentions)
    np.testing.assert_allclose(found.weights, direct, atol=1e-6)
    ahead = np.triu(np.ones(found.weights.shape[2:], dtype=bool), 1)
    assert not found.weights[:, :, ahead].any()
    assert found.weights[0, 0, 0, 0] == 1.0
    assert found.key_tokens[1].startswith("␣")
    _rows_sum_to_one(found.weights)


def test_encoder_decoder_gives_three_maps_for_a_given_target(t5: Checkpoint) -> None:
    import torch

    trace = capture(t5, SENTENCE, target="Le chat dort.")
    written = t5.tokenizer(text_target="Le chat dort.")["input_ids"]
    encoded = t5.tokenizer(SENTENCE, return_tensors="pt")
    direct = t5.model(**encoded, decoder_input_ids=torch.tensor([[0, *written[:-1]]]), output_attentions=True)
    assert [found.kind for found in trace.maps] == ["encoder", "decoder", "cross"]
    for found, expected in zip(
        trace.maps, (direct.encoder_attentions, direct.decoder_attentions, direct.cross_attentions), strict=True
    ):
        np.testing.assert_allclose(found.weights, _stack(expected), atol=1e-6)
        _rows_sum_to_one(found.weights)
    assert trace.decoder is not None
    assert trace.cross is not None
    assert trace.decoder.query_tokens[0] == "<pad>"
    assert trace.cross.query_tokens[:-1] == trace.decoder.query_tokens[1:]
    assert trace.cross.query_tokens[-1] == "</s>"


def test_encoder_decoder_uses_its_own_greedy_output(t5: Checkpoint) -> None:
    trace = capture(t5, SENTENCE)
    encoded = t5.tokenizer(SENTENCE, return_tensors="pt")
    ids = t5.model.generate(**encoded, do_sample=False, max_new_tokens=64)[0].tolist()
    assert trace.cross is not None
    assert len(trace.cross.query_tokens) == len(ids) - 1


def test_bart_family_works_too(tmp_path: Path) -> None:
    checkpoint = _load(tiny.tiny_bart(tmp_path / "bart"), "seq2seq-lm")
    trace = capture(checkpoint, SENTENCE, target="Le chat")
    assert len(trace.maps) == 3
    for found in trace.maps:
        _rows_sum_to_one(found.weights)


def test_shared_model_and_result_stay_as_they_are(bert: Checkpoint) -> None:
    before = {name: value.clone() for name, value in bert.model.state_dict().items()}
    config = bert.model.config.to_dict()
    found = capture(bert, SENTENCE).encoder
    assert all(bool((value == before[name]).all()) for name, value in bert.model.state_dict().items())
    assert bert.model.config.to_dict() == config
    assert found is not None
    with pytest.raises(ValueError, match="read-only"):
        found.weights[0, 0, 0, 0] = 1.0


def test_no_weights_from_fused_attention_is_said(tiny_root: Path) -> None:
    fused = _load(tiny_root / "tiny-bert", "masked-lm", implementation="sdpa")
    with pytest.raises(NoAttentionMatrix):
        capture(fused, SENTENCE)


@pytest.mark.parametrize("text", ["", "   ", "\x00\x01", "\n\t"])
def test_nothing_to_read(bert: Checkpoint, text: str) -> None:
    with pytest.raises(InputEmpty):
        capture(bert, text)


def test_too_long_for_the_model_and_for_the_picture(bert: Checkpoint, t5: Checkpoint) -> None:
    with pytest.raises(InputTooLong, match="64"):
        capture(bert, "cat " * 100)
    t5.tokenizer.model_max_length = 10**30
    with pytest.raises(InputTooLong, match=str(MAX_TOKENS)):
        capture(t5, "cat " * 600)
    with pytest.raises(InputTooLong):
        capture(bert, "x" * 100_000)


@pytest.mark.parametrize(
    "text", ["</script><script>alert(1)</script>", "[MASK]", "🙂🙂", "שלום עולם", "[MASK] $x^2$ **b**"]
)
def test_odd_text_is_data(bert: Checkpoint, gpt2: Checkpoint, text: str) -> None:
    for checkpoint in (bert, gpt2):
        for found in capture(checkpoint, text).maps:
            assert all(found.query_tokens)
            _rows_sum_to_one(found.weights)


def _steps(checkpoint: Checkpoint, ids: list[int], count: int) -> list[GenerationStep]:
    """Greedy steps with a cache, by hand: the rows of each call as a generator would keep them."""
    import torch

    steps, cache, read = [], None, ids
    for index in range(count):
        with torch.no_grad():
            out = checkpoint.model(torch.tensor([read]), past_key_values=cache, use_cache=True, output_attentions=True)
        cache, chosen = out.past_key_values, int(out.logits[0, -1].argmax())
        read = [chosen]
        token = Alternative(chosen, f"t{index}", 1.0, 1.0)
        steps.append(GenerationStep(index, token, (), "", attention=_stack(out.attentions)))
    return steps


def test_stitched_steps_equal_one_pass_over_the_whole_text(gpt2: Checkpoint) -> None:
    import torch

    prompt = gpt2.tokenizer(SENTENCE)["input_ids"]
    steps = _steps(gpt2, prompt, 5)
    found = stitch(steps, [str(i) for i in prompt])
    whole = torch.tensor([[*prompt, *[step.token.id for step in steps[:-1]]]])
    with torch.no_grad():
        direct = _stack(gpt2.model(whole, output_attentions=True).attentions)
    np.testing.assert_allclose(found.weights, direct, atol=1e-5)
    assert found.query_tokens[-1] == "t3"
    _rows_sum_to_one(found.weights)


def test_stitched_steps_of_an_encoder_decoder_equal_one_pass(t5: Checkpoint) -> None:
    import torch

    encoded = t5.tokenizer(SENTENCE, return_tensors="pt")
    with torch.no_grad():
        out = t5.model.generate(
            **encoded, max_new_tokens=4, do_sample=False, output_attentions=True, return_dict_in_generate=True
        )
        direct = t5.model(**encoded, decoder_input_ids=out.sequences[:, :-1], output_attentions=True)
    steps = [
        GenerationStep(i, Alternative(0, f"t{i}", 1.0, 1.0), (), "", attention=_stack(rows))
        for i, rows in enumerate(out.decoder_attentions)
    ]
    np.testing.assert_allclose(stitch(steps, ["<pad>"]).weights, _stack(direct.decoder_attentions), atol=1e-5)


def test_continuation_is_one_pass_over_prompt_and_written_tokens(gpt2: Checkpoint) -> None:
    import torch

    from core.attention.generated import continued

    found = continued(gpt2, SENTENCE, 5).decoder
    prompt = gpt2.tokenizer(SENTENCE, return_tensors="pt")
    with torch.no_grad():
        whole = gpt2.model.generate(**prompt, do_sample=False, max_new_tokens=5, eos_token_id=None)
        direct = _stack(gpt2.model(whole, output_attentions=True).attentions)
    assert found is not None
    assert len(found.query_tokens) == prompt["input_ids"].shape[1] + 5
    np.testing.assert_allclose(found.weights, direct, atol=1e-5)
    nothing_written = continued(gpt2, SENTENCE, 0).decoder
    assert nothing_written is not None
    assert nothing_written.query_tokens == found.query_tokens[:-5]


def test_answer_of_an_encoder_decoder_has_three_maps(t5: Checkpoint) -> None:
    from core.attention.generated import rewritten
    from core.language.tasks import tasks

    trace = rewritten(t5, SENTENCE, tasks(t5)[0].slug)
    assert trace.cross is not None
    assert trace.decoder is not None
    assert trace.cross.query_tokens[:-1] == trace.decoder.query_tokens[1:]
    _rows_sum_to_one(trace.cross.weights)


def test_a_forced_language_is_read_but_not_among_the_written(t5: Checkpoint) -> None:
    from core.attention.capture import capture_pair

    trace = capture_pair(t5, [5, 6, 7, 1], [0, 9], [11, 12, 1])
    assert trace.decoder is not None
    assert trace.cross is not None
    assert trace.decoder.weights.shape[2:] == (4, 4)
    assert trace.cross.weights.shape[2:] == (3, 4)
    plain = capture_pair(t5, [5, 6, 7, 1], [0], [9, 11, 12, 1])
    assert plain.cross is not None
    np.testing.assert_array_equal(trace.cross.weights, plain.cross.weights[:, :, 1:])
