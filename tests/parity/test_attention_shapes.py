"""Maps of every shape: sparse ones, memories, two streams; and bertviz's own parameters."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from core import checkpoints
from core.attention import bertviz as ours
from core.attention.capture import capture
from core.attention.scores import scores_by_layer
from core.attention.trace import AttentionMap, AttentionTrace
from core.checkpoints import available
from core.language.inputs import Inputs
from core.patterns.layout import Sparsity
from core.run.odd import hashing
from core.sparse import reformer
from tests import tiny, tinyfamilies
from tests.library import library_model
from tests.tinyfamilies import PLAIN, loaded

LONG = " ".join(["The cat sat on the mat and the dog sat on the log."] * 4)
LONGER = " ".join([LONG] * 3)

TWICE = " ".join(LONG.split() + LONG.split()[:20])


def computed(attention_map: AttentionMap) -> np.ndarray[Any, np.dtype[np.bool_]]:
    assert attention_map.allowed is not None
    return np.broadcast_to(attention_map.allowed, attention_map.weights.shape)


def sound(attention_map: AttentionMap) -> None:
    """Rows sum to one over what is computed, and what is not computed is zero."""
    np.testing.assert_allclose(attention_map.weights.sum(-1), 1.0, atol=1e-5)
    assert not attention_map.weights[~computed(attention_map)].any()
    assert (attention_map.weights[computed(attention_map)] > 0).mean() > 0.99
    assert not attention_map.weights.flags.writeable


@pytest.mark.parametrize("rounds", [1, 3])
@pytest.mark.parametrize("n", [12, 50, 64])
def test_reformer_mixes_its_values_by_these_weights(tmp_path: Path, n: int, rounds: int) -> None:
    checkpoint = loaded(tiny.tiny_reformer(tmp_path / "r"), "causal-lm", max_positions=512)
    model = checkpoint.model
    for layer in model.reformer.encoder.layers:
        layer.attention.self_attention.num_hashes = rounds
    ids = torch.randint(2, 258, (1, n), generator=torch.Generator().manual_seed(n))
    result = scores_by_layer(Inputs(checkpoint, {"input_ids": ids}, ()))["decoder"]
    with torch.inference_mode():
        run = reformer.HashedPass(model, n, rounds, hashing.SEED)
        first = second = run.embedded(ids)
        for index, layer in enumerate(model.reformer.encoder.layers):
            attention = layer.attention
            value = attention.self_attention.value(attention.layer_norm(second))[0, :n].view(n, 2, -1).transpose(0, 1)
            mixed = (result[index][1].weights @ value).transpose(0, 1).flatten(1)
            there = run.attention(index, second)
            torch.testing.assert_close(attention.output(mixed)[1:], there[0, 1:n], atol=1e-6, rtol=1e-4)
            # where nothing but itself is met the library adds up scores of -100,000, which float32 has to 1/128
            torch.testing.assert_close(attention.output(mixed)[0], there[0, 0], atol=1e-4, rtol=2e-2)
            first = first + there
            second = second + layer.feed_forward(first)


def test_reformer_tells_what_no_round_met(tmp_path: Path) -> None:
    checkpoint = loaded(tiny.tiny_reformer(tmp_path / "r"), "causal-lm", max_positions=512)
    decoder = capture(checkpoint, LONG[:120]).decoder
    np.testing.assert_allclose(decoder.weights.sum(-1), 1.0, atol=1e-5)
    assert not decoder.weights[~computed(decoder)].any()
    local, hashed = computed(decoder)[0, 0], computed(decoder)[1]
    assert local[40].nonzero()[0].tolist() == list(range(16, 41))  # chunks of 16: its own and the one before
    assert (hashed[0] != hashed[1]).any()  # every head has a rotation of its own
    assert not np.triu(hashed, 1).any()


def test_reformer_reads_its_own_continuation_as_one_text(tmp_path: Path) -> None:
    checkpoint = loaded(tiny.tiny_reformer(tmp_path / "r"), "causal-lm", max_positions=512)
    decoder = capture(checkpoint, "The cat sat", count=6).decoder
    assert decoder.weights.shape[-1] == len("The cat sat") + 6


def test_longformer_attends_to_its_window_and_the_first_token(tmp_path: Path) -> None:
    checkpoint = loaded(tiny.tiny_longformer(tmp_path / "l"), "masked-lm", max_positions=512)
    encoder = capture(checkpoint, LONG).encoder
    assert encoder is not None
    sound(encoder)
    seen = computed(encoder)[0, 0]
    assert seen[20].nonzero()[0].tolist() == [0, *range(12, 29)]
    assert seen[0].all()


def test_bigbird_attends_to_its_blocks_and_is_unchanged(tmp_path: Path) -> None:
    checkpoint = loaded(tiny.tiny_bigbird(tmp_path / "b"), "masked-lm", max_positions=512)
    before = checkpoint.model.bert.attention_type, [type(module) for module in checkpoint.model.modules()]
    encoder = capture(checkpoint, LONGER).encoder
    assert (checkpoint.model.bert.attention_type, [type(module) for module in checkpoint.model.modules()]) == before
    sound(encoder)
    config = checkpoint.model.config
    kinds = Sparsity.of(config).kinds(encoder.weights.shape[-1], 1, 1)
    size = config.block_size
    for row, column in np.ndindex(*kinds.shape):
        if row * size < encoder.weights.shape[2] and column * size < encoder.weights.shape[2]:
            assert computed(encoder)[1, 1, row * size, column * size] == bool(kinds[row, column])


def test_a_pair_has_two_segments_in_a_bigbird() -> None:
    checkpoint = checkpoints.load("atlas-bigbird")
    encoder = capture(checkpoint, "The cat sat.", "It was warm.").encoder
    assert encoder is not None
    encoded = checkpoint.tokenizer("The cat sat.", "It was warm.", return_tensors="pt")
    assert encoded["token_type_ids"].any()
    with torch.no_grad():  # a text of few blocks has full attention
        expected = library_model(checkpoint.model)(**encoded, output_attentions=True).attentions
    np.testing.assert_allclose(encoder.weights, torch.cat(expected).numpy(), atol=1e-5)


@pytest.mark.parametrize("memory", [96, 16, None])
def test_transformer_xl_attends_to_its_memory(tmp_path: Path, memory: int | None) -> None:
    checkpoint = loaded(tiny.tiny_transformer_xl(tmp_path / "x", memory=memory), "causal-lm")
    decoder = capture(checkpoint, TWICE).decoder
    n = decoder.weights.shape[2]
    assert n > 80
    sound(decoder)
    seen = computed(decoder)[0, 0]
    oldest = 0 if memory is None else max(0, 64 - memory)
    assert seen[63].nonzero()[0].tolist() == list(range(64))
    assert seen[64].nonzero()[0].tolist() == list(range(oldest, 65))
    assert seen[n - 1].nonzero()[0].tolist() == list(range(oldest, n))
    ids = checkpoint.tokenizer(TWICE, return_tensors="pt")["input_ids"]
    with torch.no_grad():
        single = checkpoint.model(input_ids=ids[:, :64], use_mems=True)
        second_segment = checkpoint.model(
            input_ids=ids[:, 64:], mems=single.mems, use_mems=True, output_attentions=True
        )
    direct = second_segment.attentions[1][0].numpy()
    np.testing.assert_allclose(decoder.weights[1, :, 64:, n - direct.shape[-1] :], direct, atol=1e-6)


def test_xlnet_has_two_streams(tmp_path: Path) -> None:
    checkpoint = loaded(tiny.tiny_xlnet(tmp_path / "n"), "permutation-lm", max_positions=512)
    trace = capture(checkpoint, "The cat sat on the mat.")
    full, content, query = trace.maps
    assert [full.kind, content.label, query.label] == ["encoder", "Content stream", "Query stream"]
    assert full.allowed is None
    np.testing.assert_allclose(full.weights.sum(-1), 1.0, atol=1e-5)
    sound(content)
    sound(query)
    n = len(content.key_tokens)
    assert query.weights.shape[2:] == (n - 2, n)  # [CLS] and [SEP] are known from the start
    assert query.query_tokens == content.query_tokens[1:-1]
    first = computed(query)[0, 0, 0]
    assert first.nonzero()[0].tolist() == [0, n - 1]
    assert computed(content)[0, 0, 1].nonzero()[0].tolist() == [0, 1, n - 1]


@pytest.mark.parametrize("slug", {spec.kind: spec.slug for spec in available() if spec.ready}.values())
def test_queries_and_keys_of_each_kind_of_live_model_fit_its_maps(slug: str) -> None:
    checkpoint = checkpoints.load(slug)
    for attention_map in capture(checkpoint, "The cat sat on the mat.", vectors=True).maps:
        assert attention_map.queries.shape[:3] == attention_map.weights.shape[:3]
        assert attention_map.keys.shape[:3] == (*attention_map.weights.shape[:2], attention_map.weights.shape[3])
        sums = attention_map.weights.sum(-1)
        np.testing.assert_allclose(sums, 1.0, atol=1e-4)


def test_the_heads_of_a_generated_text_know_their_windows() -> None:
    checkpoint = tinyfamilies.make("gpt_neo")
    decoder = capture(checkpoint, PLAIN, count=8).decoder
    np.testing.assert_array_equal(decoder.weights > 0, computed(decoder))
    assert not computed(decoder)[1, 0, -1, 0]


theirs = pytest.importorskip("bertviz")


@pytest.mark.parametrize(("view", "call"), [("head", "head_view"), ("model", "model_view")])
def test_parameters_equal_bertviz_own(view: ours.View, call: str) -> None:
    import torch

    rng = np.random.default_rng(1)

    def found(kind: Any, queries: int, keys: int) -> AttentionMap:
        weights = rng.dirichlet(np.ones(keys), (2, 3, queries)).astype(np.float32)
        return AttentionMap(kind, tuple("abcdef"[:queries]), tuple("uvwxyz"[:keys]), weights)

    encoder, cross = found("encoder", 4, 4), found("cross", 3, 4)
    decoder = found("decoder", 3, 3)
    page = ours.render(AttentionTrace("x", encoder, decoder, cross), view)
    mine = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S).group(1))  # type: ignore[union-attr]

    def tensors(kept: AttentionMap) -> list[Any]:
        return [torch.tensor(layer)[None] for layer in kept.weights]

    html = getattr(theirs, call)(
        encoder_attention=tensors(encoder),
        decoder_attention=tensors(decoder),
        cross_attention=tensors(cross),
        encoder_tokens=list(encoder.key_tokens),
        decoder_tokens=list(decoder.key_tokens),
        html_action="return",
    ).data
    expected = json.loads(re.search(r"const params = (\{.*\}); // HACK", html).group(1))  # type: ignore[union-attr]

    same_keys = set(expected) - {"root_div_id", "include_layers", "include_heads"}
    assert set(expected) <= set(mine)
    for name in same_keys - {"attention", "display_mode", "layer", "heads"}:
        assert mine[name] == expected[name], name
    # bertviz names layers and heads from 0, our pages from 1; the script treats both as names.
    assert mine["include_layers"] == [layer + 1 for layer in expected["include_layers"]]
    assert [packed["name"] for packed in mine["attention"]] == [packed["name"] for packed in expected["attention"]]
    for packed, reference in zip(mine["attention"], expected["attention"], strict=True):
        assert packed["weights"]["shape"] == list(np.shape(reference["attn"]))


@pytest.mark.parametrize("view", ["head", "model", "neuron"])
def test_the_page_holds_the_installed_script_unchanged(view: ours.View) -> None:
    script = (Path(theirs.__file__).parent / f"{view}_view.js").read_text(encoding="utf-8")
    ones = np.ones((1, 1, 1, 1), dtype=np.float32)
    map_ = AttentionMap("encoder", ("a",), ("a",), ones, queries=ones, keys=ones)
    assert script in ours.render(AttentionTrace("x", map_), view)


def test_the_neuron_view_is_given_what_bertviz_gives_it() -> None:
    """bertviz's own function runs old copies of models; the names that its script reads are what can be compared."""
    folder = Path(theirs.__file__).parent
    script = (folder / "neuron_view.js").read_text(encoding="utf-8")
    assert "const params = window.bertviz_params" in script
    asked = set(re.findall(r"params\['(\w+)'\]", script))
    asked_of_a_map = set(
        re.findall(r"(?:attnData|attentionFilter)(?:\.|\[')(attn|queries|keys|left_text|right_text)", script)
    )
    assert asked_of_a_map == {"attn", "queries", "keys", "left_text", "right_text"}
    weights = np.full((2, 1, 2, 2), 0.5, dtype=np.float32)
    map_ = AttentionMap("decoder", ("a", "b"), ("a", "b"), weights, queries=weights, keys=weights)
    page = ours.render(AttentionTrace("x", decoder=map_), "neuron")
    mine = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S).group(1))  # type: ignore[union-attr]
    assert asked <= set(mine)
    # For GPT-2 bertviz says the same; see ``show`` in its neuron_view.py.
    assert mine["bidirectional"] is False
