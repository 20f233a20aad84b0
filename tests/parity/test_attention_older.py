"""Older architectures that go ways of their own: what is particular about each, held to the library's own numbers."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from transformers.models.mra import modeling_mra
from transformers.models.yoso import modeling_yoso

from core.attention.ablation.ablate import switch_off
from core.attention.ablation.gates import heads_of
from core.attention.ablation.question import Where
from core.attention.architectures.vectors import scores
from core.attention.capture import capture
from core.checkpoints.kinds import positions_of
from core.checkpoints.spec import Checkpoint
from core.errors import NoAttentionMatrix
from core.language import decode, translate
from core.language.limits import max_tokens
from core.language.tasks import tasks
from core.language.types import Decoding
from tests import tinyhosts
from tests.parity.test_attention_unusual import PERCEIVER, made
from tests.parity.test_vectors import IDS, softmax
from tests.tinyfamilies import PLAIN


def test_an_i_bert_of_whole_numbers_has_the_softmax_of_its_scores_but_for_rounding() -> None:
    plain = tinyhosts.make("encoder ibert")
    config = copy.deepcopy(plain.model.config)
    config.quant_mode = True
    model = transformers.AutoModelForMaskedLM.from_config(config)
    model.load_state_dict(plain.model.state_dict())
    drawn = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for _ in range(10):  # the ranges of its activations are learned by use
            model.train()(input_ids=torch.randint(5, 100, (4, 14), generator=drawn))
        rounded = Checkpoint(model.eval(), plain.tokenizer, plain.spec)
        expected = torch.cat(model(input_ids=IDS, output_attentions=True).attentions).numpy()
    found = softmax(scores(rounded, {"input_ids": IDS})["encoder"])
    np.testing.assert_array_equal(expected * 256, np.round(expected * 256))  # weights of eight bits
    assert 1e-3 < np.abs(found - expected).max() < 1 / 32
    drawn_map = capture(rounded, PLAIN, vectors=True).encoder
    assert drawn_map is not None
    assert "Rows do not sum to one" in drawn_map.note


def test_a_convbert_says_that_half_of_it_has_no_map() -> None:
    """Of four heads in the configuration two attend; of eight to one head, one does."""
    for name, heads in (("encoder convbert", 2), ("encoder convbert-one", 1)):
        found = capture(tinyhosts.make(name), PLAIN).encoder
        assert found is not None
        assert found.heads == heads
        assert "convolutions over neighbouring tokens" in found.note


def test_a_codegens_quarters_have_the_heads_in_the_order_in_which_they_are_joined() -> None:
    """Each head alone, by hand: what a head's queries and keys give is the map of that head and of no other."""
    checkpoint = tinyhosts.make("decoder codegen")
    found = capture(checkpoint, PLAIN, vectors=True).decoder
    assert found is not None
    assert found.queries is not None
    assert found.keys is not None
    n = found.weights.shape[2]
    total = found.queries @ found.keys.swapaxes(-1, -2) / np.sqrt(found.keys.shape[-1])
    total = np.where(np.tri(n, dtype=bool), total, -np.inf)
    every = softmax(total)
    for head in range(found.heads):
        apart = np.abs(every[0] - found.weights[0, head]).max(axis=(1, 2))
        assert apart.argmin() == head
        assert np.sort(apart)[1] > 1e-2


def test_a_prophetnets_maps_are_of_the_streams_that_read_and_that_write() -> None:
    checkpoint = tinyhosts.make("both prophetnet")
    trace = capture(checkpoint, PLAIN, target="The dog.")
    assert [found.note != "" for found in trace.maps] == [False, True, True]
    assert trace.decoder is not None
    assert trace.cross is not None
    source = checkpoint.tokenizer(PLAIN, return_tensors="pt")["input_ids"]
    written = checkpoint.tokenizer(text_target="The dog.")["input_ids"]
    read = torch.tensor([[1, *written[:-1]]])
    n = read.shape[1]
    asked = {"input_ids": source, "decoder_input_ids": read, "use_cache": False}
    with torch.inference_mode():
        out = checkpoint.model(**asked, output_attentions=True)
    np.testing.assert_allclose(trace.decoder.weights, torch.cat(out.decoder_attentions).numpy(), atol=1e-6)
    writes = torch.cat(out.cross_attentions).softmax(-1)[:, :, n : 2 * n]
    np.testing.assert_allclose(trace.cross.weights, writes.numpy(), atol=1e-6)
    for stream, counts in enumerate((False, True, False)):  # whose last look at the text is in the answers
        blind = copy.deepcopy(checkpoint.model)

        def hidden(_: Any, __: Any, back: Any, own: int = stream) -> Any:
            mixed = back[0].clone()
            mixed[:, own * n : (own + 1) * n] = 0
            return mixed, back[1]

        blind.prophetnet.decoder.layers[-1].cross_attn.register_forward_hook(hidden)
        with torch.inference_mode():
            found = blind(**asked).logits
        assert torch.allclose(found, out.logits, atol=1e-4) != counts


def test_a_prophetnets_later_words_are_asked_and_aligned_at_their_own_places() -> None:
    checkpoint = tinyhosts.make("both prophetnet")
    task = tasks(checkpoint)[0].slug
    steps = list(translate.rewrite(checkpoint, PLAIN, task, Decoding(max_new_tokens=4)))
    ids = [step.token.id for step in steps]
    assert len(ids) == 4
    request = translate.prepare(checkpoint, PLAIN, task)
    found = translate.align(checkpoint, request, ids)
    np.testing.assert_allclose(found.weights.sum(-1), 1.0, atol=1e-5)
    assert found.weights.shape[2:] == (len(ids), len(request.source))
    reader = decode.Reader(checkpoint.model, request.source, attention=True)
    reader.read(torch.tensor([[*request.prompt, *ids[:-1]]]))
    assert reader.cross is not None
    np.testing.assert_allclose(reader.cross, found.weights, atol=1e-5)
    for number, step in enumerate(steps):
        asked = switch_off(checkpoint, PLAIN, heads_of(checkpoint)[:1], where=Where(task=task, step=number))
        assert asked.before.ids[0] == step.token.id


def test_a_prophetnet_computes_another_stream_at_once_than_word_by_word_and_says_so() -> None:
    """The note is right as long as the library's predictions for a row depend on how many rows it reads."""
    checkpoint = tinyhosts.make("both prophetnet")
    with torch.inference_mode():
        whole, short = (
            checkpoint.model(
                input_ids=IDS, decoder_input_ids=IDS[:, 2 : 2 + n], output_attentions=True, use_cache=False
            )
            for n in (6, 1)
        )
    for one, other in zip(whole.decoder_attentions, short.decoder_attentions, strict=True):
        torch.testing.assert_close(one[:, :, :1, :1], other)  # the stream that reads is the same
    assert (whole.logits[:, :1] - short.logits).abs().max() > 1e-4
    cross = capture(checkpoint, PLAIN, target="The dog.").cross
    assert cross is not None
    assert "the library mixes up the distances" in cross.note


def test_a_nystromformer_is_told_apart_by_its_landmarks() -> None:
    """With fewer landmarks than tokens the library returns a matrix of tokens by landmarks, for one length alone."""
    whole = tinyhosts.make("encoder nystromformer")
    found = capture(whole, PLAIN).encoder
    assert found is not None
    assert found.note.startswith("As many landmarks as tokens")
    assert found.note.endswith("values of tokens nearby is added.")
    config = copy.deepcopy(whole.model.config)
    config.segment_means_seq_len, config.num_landmarks = 16, 4
    model = transformers.AutoModelForMaskedLM.from_config(config).eval()
    with torch.inference_mode():
        weights = model(input_ids=torch.arange(16)[None] + 5, output_attentions=True).attentions
        assert {tuple(layer.shape) for layer in weights} == {(1, 4, 16, 4)}
        with pytest.raises(RuntimeError):
            model(input_ids=torch.arange(15)[None] + 5)
    fewer = Checkpoint(model, whole.tokenizer, whole.spec)
    for look in (lambda: capture(fewer, PLAIN), lambda: scores(fewer, {"input_ids": torch.arange(16)[None] + 5})):
        with pytest.raises(NoAttentionMatrix, match="4 landmarks, means of 4 tokens each"):
            look()


def test_what_is_said_of_a_perceiver_and_an_mra_is_what_the_library_computes() -> None:
    perceiver = made("perceiver", "masked-lm", **PERCEIVER)
    with torch.inference_mode():
        out = perceiver.model(inputs=IDS, output_attentions=True)
    n, states = IDS.shape[1], PERCEIVER["num_latents"]
    reads, asks = out.cross_attentions
    assert reads.shape[-2:] == (states, n)
    assert {layer.shape[-2:] for layer in out.attentions} == {(states, states)}
    assert asks.shape[-2:] == (PERCEIVER["max_position_embeddings"], states)
    mra = made(
        "mra",
        "masked-lm",
        hidden_size=16,
        num_attention_heads=4,
        intermediate_size=24,
        num_hidden_layers=2,
        max_position_embeddings=64,
    )
    with pytest.raises(NoAttentionMatrix, match="puts zeros in place of what attention gives"):
        capture(mra, PLAIN)
    if modeling_mra.mra_cuda_kernel is None:
        given: list[torch.Tensor] = []
        for layer in mra.model.mra.encoder.layer:
            layer.attention.self.register_forward_hook(lambda _, __, back: given.append(back[0]))
        with torch.inference_mode():
            mra.model(input_ids=IDS)
        assert [float(one.abs().max()) for one in given] == [0.0, 0.0]


def test_a_cpm_ants_tokens_see_those_after_them_and_vectors_before_them() -> None:
    checkpoint = made(
        "cpmant",
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=4,
        dim_head=4,
        dim_ff=24,
        prompt_length=3,
        prompt_types=4,
        segment_types=8,
        position_bias_num_buckets=8,
        position_bias_max_distance=12,
    )
    kept: list[torch.Tensor] = []
    model = copy.deepcopy(checkpoint.model)
    for layer in model.cpmant.encoder.layers:
        own = layer.self_att.self_attention
        own.softmax.register_forward_hook(lambda _, __, back: kept.append(back[0]))
    ids = checkpoint.tokenizer(PLAIN, return_tensors="pt")["input_ids"]
    with torch.inference_mode():
        model(input_ids=ids, use_cache=False)
    whole = torch.stack(kept)  # (L, H, 3 + n, 3 + n)
    found = capture(checkpoint, PLAIN).decoder
    assert found is not None
    assert found.allowed is not None
    assert found.allowed.all()
    np.testing.assert_allclose(found.weights, whole[:, :, 3:, 3:].numpy(), atol=1e-6)
    np.testing.assert_allclose(found.weights.sum(-1) + whole[:, :, 3:, :3].sum(-1).numpy(), 1.0, atol=1e-5)
    assert found.weights[..., 0, 1:].min() > 0
    assert found.note.startswith("A token sees the whole text")
    assert "Rows do not sum to one" in found.note


def test_a_yosos_rows_are_what_its_values_are_mixed_by() -> None:
    """Divided by their sums, they mix the values to the same direction, which is all that the library keeps."""
    checkpoint = tinyhosts.make("encoder yoso")
    found = capture(checkpoint, PLAIN, vectors=True).encoder
    assert found is not None
    assert found.queries is not None
    np.testing.assert_allclose(np.linalg.norm(found.queries, axis=-1), 1.0, atol=1e-5)
    model = copy.deepcopy(checkpoint.model)
    values: list[torch.Tensor] = []
    mixes: list[torch.Tensor] = []
    for layer in model.yoso.encoder.layer:
        layer.attention.self.value.register_forward_hook(lambda _, __, back: values.append(back[0]))
        layer.attention.output.dense.register_forward_pre_hook(lambda _, given: mixes.append(given[0][0]))
    with torch.inference_mode():
        model(**checkpoint.tokenizer(PLAIN, return_tensors="pt"))
    for weights, value, mixed in zip(found.weights, values, mixes, strict=True):
        parts = torch.tensor(weights) @ value.unflatten(-1, (4, -1)).transpose(0, 1)
        again = torch.nn.functional.normalize(parts, dim=-1).transpose(0, 1).flatten(1)
        torch.testing.assert_close(again, mixed, atol=1e-4, rtol=1e-4)
    drawing = made("yoso", "masked-lm", **tinyhosts.HOSTS["encoder yoso"][1], use_expectation=False)
    with pytest.raises(NoAttentionMatrix, match="buckets that it draws at random"):
        capture(drawing, PLAIN)
    if modeling_yoso.lsh_cumulation is None:
        with pytest.raises(AttributeError):  # of the library's: there is nothing that it could compute with
            drawing.model(input_ids=IDS)


def test_a_prophetnet_reads_as_many_tokens_as_it_is_said_to() -> None:
    """Its predicting streams stand one place ahead, and its first place is kept for padding."""
    model = tinyhosts.make("both prophetnet").model
    most = positions_of(model.config.to_dict())
    assert most == 62
    ids = torch.full((1, most + 1), 7)
    with torch.inference_mode():
        model(input_ids=ids[:, :most], decoder_input_ids=ids[:, :most], use_cache=False)
        with pytest.raises(IndexError):
            model(input_ids=ids[:, :most], decoder_input_ids=ids, use_cache=False)
    made_of = tinyhosts.make("both prophetnet")
    endless = copy.deepcopy(model)
    endless.generation_config.eos_token_id = None
    checkpoint = Checkpoint(endless, made_of.tokenizer, made_of.spec)
    assert max_tokens(checkpoint) == most
    cross = capture(checkpoint, PLAIN).cross
    assert cross is not None
    assert cross.weights.shape[2] == most


def test_an_esm_with_its_own_tokeniser_in_python_reads_two_sequences(tmp_path: Path) -> None:
    letters = "LAGVSERTIDPKQNFYMHWCXBUZO.-"
    (tmp_path / "vocab.txt").write_text("\n".join(["<cls>", "<pad>", "<eos>", "<unk>", *letters, "<mask>"]))
    tokenizer = transformers.EsmTokenizer(str(tmp_path / "vocab.txt"))
    plain = tinyhosts.make("encoder esm")
    checkpoint = Checkpoint(plain.model, tokenizer, plain.spec)
    one = capture(checkpoint, "MKTAYIAKQR", vectors=True).encoder
    assert one is not None
    assert one.queries is not None
    assert one.query_tokens == ("<cls>", *"MKTAYIAKQR", "<eos>")
    assert one.second is None
    two = capture(checkpoint, "MKTAYIAKQR", "MKTA").encoder
    assert two is not None
    assert two.second == 12
    assert two.query_tokens[12:] == ("M", "K", "T", "A", "<eos>")
