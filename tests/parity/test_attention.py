"""Captured attention equals what transformers computes when it is called directly, on tiny random models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from core.attention.capture import MAX_TOKENS, capture, capture_pair, continued, rewritten
from core.checkpoints.spec import Checkpoint
from core.errors import InputEmpty, InputTooLong, NoAttentionMatrix
from core.language.limits import own_language
from core.language.tasks import tasks
from core.language.translate import start_token
from tests import tinyfamilies

SENTENCE = "The cat sat on the mat."
OTHER_SHAPES = ("big_bird", "longformer", "reformer", "xlnet")
DIRECT = [name for name in tinyfamilies.FAMILIES if name not in OTHER_SHAPES]


@pytest.fixture(scope="module")
def bert() -> Checkpoint:
    return tinyfamilies.make("bert")


@pytest.fixture(scope="module")
def gpt2() -> Checkpoint:
    return tinyfamilies.make("gpt2")


@pytest.fixture(scope="module")
def t5() -> Checkpoint:
    return tinyfamilies.make("t5", num_decoder_layers=2)  # else the library's own generation fails


def _stack(layers: Any) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.stack([layer[0].detach().numpy() for layer in layers])


def _rows_sum_to_one(weights: np.ndarray[Any, Any]) -> None:
    np.testing.assert_allclose(weights.sum(-1), 1.0, atol=1e-5)


@pytest.mark.parametrize("name", DIRECT)
def test_maps_are_what_the_library_computes(name: str) -> None:
    checkpoint = tinyfamilies.make(name)
    model, tokenizer = checkpoint.model, checkpoint.tokenizer
    given = dict(tokenizer(SENTENCE, return_tensors="pt"))
    given |= own_language(model, given["input_ids"])
    target: str | None = None
    if checkpoint.spec.offers("rewrites"):
        target = "Le chat dort."
        start, written = start_token(model), tokenizer(text_target=target)["input_ids"]
        given["decoder_input_ids"] = torch.tensor([[start, *written[:-1]]])
    trace, direct = capture(checkpoint, SENTENCE, target=target), model(**given, output_attentions=True)
    kinds = ("encoder", "decoder", "cross")
    if target is None:
        kept = {"decoder" if checkpoint.spec.offers("continues") else "encoder": direct.attentions}
    else:
        kept = {kind: getattr(direct, f"{kind}_attentions") for kind in kinds}
    assert [found.kind for found in trace.maps] == [*kept]
    for found in trace.maps:
        np.testing.assert_allclose(found.weights, _stack(kept[found.kind]), atol=1e-6)
        _rows_sum_to_one(found.weights)
    if trace.cross is not None and trace.decoder is not None:
        assert trace.cross.query_tokens[:-1] == trace.decoder.query_tokens[1:]
    elif trace.decoder is not None:
        assert not trace.decoder.weights[:, :, np.triu(np.ones((trace.decoder.weights.shape[2],) * 2, bool), 1)].any()


def test_tokens_are_labels(bert: Checkpoint, gpt2: Checkpoint, t5: Checkpoint) -> None:
    encoder, decoder = capture(bert, SENTENCE).encoder, capture(gpt2, SENTENCE).decoder
    cross = capture(t5, SENTENCE, target="Le chat dort.").cross
    assert (*encoder.query_tokens[:3], encoder.query_tokens[-1]) == ("[CLS]", "the", "cat", "[SEP]")
    assert decoder.key_tokens[1].startswith("␣")
    assert cross.query_tokens[-1] == "</s>"


def test_encoder_reads_a_second_sentence_as_a_pair(bert: Checkpoint) -> None:
    found, alone = capture(bert, "The cat", "the dog").encoder, capture(bert, "The cat").encoder
    assert found.key_tokens == ("[CLS]", "the", "cat", "[SEP]", "the", "dog", "[SEP]")
    assert (found.second, alone.second) == (4, None)
    encoded = bert.tokenizer("The cat", "the dog", return_tensors="pt")
    direct = _stack(bert.model(**encoded, output_attentions=True).attentions)
    np.testing.assert_allclose(found.weights, direct, atol=1e-6)


def test_encoder_decoder_uses_its_own_greedy_output(t5: Checkpoint) -> None:
    trace = capture(t5, SENTENCE)
    encoded = t5.tokenizer(SENTENCE, return_tensors="pt")
    ids = t5.model.generate(**encoded, do_sample=False, max_new_tokens=64)[0].tolist()
    assert len(trace.cross.query_tokens) == len(ids) - 1


def test_shared_model_and_result_stay_as_they_are(bert: Checkpoint) -> None:
    before = {name: value.clone() for name, value in bert.model.state_dict().items()}
    config = bert.model.config.to_dict()
    found = capture(bert, SENTENCE).encoder
    assert all(bool((value == before[name]).all()) for name, value in bert.model.state_dict().items())
    assert bert.model.config.to_dict() == config
    with pytest.raises(ValueError, match="read-only"):
        found.weights[0, 0, 0, 0] = 1.0


def test_no_weights_from_fused_attention_is_said() -> None:
    fused = tinyfamilies.make("bert")
    fused.model.set_attn_implementation("sdpa")
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


def test_continuation_is_one_pass_over_prompt_and_written_tokens(gpt2: Checkpoint) -> None:
    found = continued(gpt2, SENTENCE, 5).decoder
    prompt = gpt2.tokenizer(SENTENCE, return_tensors="pt")
    with torch.no_grad():
        whole = gpt2.model.generate(**prompt, do_sample=False, max_new_tokens=5, eos_token_id=None)
        direct = _stack(gpt2.model(whole, output_attentions=True).attentions)
    assert len(found.query_tokens) == prompt["input_ids"].shape[1] + 5
    np.testing.assert_allclose(found.weights, direct, atol=1e-5)
    nothing_written = continued(gpt2, SENTENCE, 0).decoder
    assert nothing_written.query_tokens == found.query_tokens[:-5]


def test_answer_of_an_encoder_decoder_has_three_maps(t5: Checkpoint) -> None:
    trace = rewritten(t5, SENTENCE, tasks(t5)[0].slug)
    assert trace.cross.query_tokens[:-1] == trace.decoder.query_tokens[1:]
    _rows_sum_to_one(trace.cross.weights)


def test_a_forced_language_is_read_but_not_among_the_written(t5: Checkpoint) -> None:
    trace = capture_pair(t5, [5, 6, 7, 1], [0, 9], [11, 12, 1])
    assert trace.decoder.weights.shape[2:] == (4, 4)
    assert trace.cross.weights.shape[2:] == (3, 4)
    plain = capture_pair(t5, [5, 6, 7, 1], [0], [9, 11, 12, 1])
    np.testing.assert_array_equal(trace.cross.weights, plain.cross.weights[:, :, 1:])
