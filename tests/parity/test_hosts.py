"""Models of a host without a blueprint here: maps as transformers returns them, and a sentence wherever there is none.

They are read from folders, as the app does.
"""

from __future__ import annotations

import importlib
import itertools
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from core.attention.ablation.ablate import ablate_heads, heads_of
from core.attention.capture import capture, trace_of
from core.attention.inside import lens
from core.attention.inside.block import block
from core.attention.inside.states import by_layer
from core.attention.layers import has_blueprint
from core.attention.word_maps import word_attention
from core.checkpoints.families.architectures import architecture_of, branch_of
from core.checkpoints.spec import Checkpoint
from core.efficiency.growth import bytes_a_token, caches, check
from core.errors import AtlasError, InputUnusable, NoAttentionMatrix
from core.finetuning import trainable
from core.finetuning.examples import parse
from core.finetuning.setup import Setup
from core.finetuning.train import fine_tune
from core.language.fill_mask import fill_mask, predict_together
from core.language.generate import generate
from core.language.inputs import one_text, pair
from core.language.makers import inputs
from core.language.tasks import tasks
from core.language.tokens import describe
from core.language.translate import rewrite
from core.language.types import Decoding
from core.vectors import positions
from core.vectors.nearest import embedding_matrix
from core.vectors.reading import read_states
from tests import tinyfamilies, tinyhosts
from tests.library import library_model
from tests.tinyfamilies import MASKED, PLAIN, loaded, text_for, tokenizer_of

TEXTS = parse("\n".join(f"{label}: {text}" for label, text in [("cat", "The cat sat."), ("dog", "A dog runs.")] * 4))
OF_HOSTS = [*tinyhosts.RETURNED, *tinyhosts.MAPLESS]


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Checkpoint]:
    """A model of `tests.tinyhosts`, read from its folder."""
    root, read_before = tmp_path_factory.mktemp("hosts"), dict[str, Checkpoint]()

    def found(name: str) -> Checkpoint:
        if name not in read_before:
            folder, kind = tinyhosts.folder(name, root / name), tinyhosts.ALL[name][0]
            config = json.loads((folder / "config.json").read_text())
            spec = {"architecture": architecture_of(config), "branch": branch_of(kind, config)}
            host_model = loaded(folder, kind, name)
            read_before[name] = replace(host_model, spec=replace(host_model.spec, **spec))
        return read_before[name]

    return found


def answers(checkpoint: Checkpoint) -> None:
    """What the model is for works."""
    few = (Decoding(max_new_tokens=2), Decoding(strategy="beam", beams=2, max_new_tokens=2))
    match checkpoint.spec.kind:
        case "masked-lm":
            assert fill_mask(checkpoint, MASKED)[0].tokens
        case "causal-lm":
            assert all(list(generate(checkpoint, PLAIN, decoding)) for decoding in few)
        case _:
            assert all(list(rewrite(checkpoint, PLAIN, tasks(checkpoint)[0].slug, decoding)) for decoding in few)


def views_of(checkpoint: Checkpoint) -> list[Callable[[], object]]:
    text = text_for(checkpoint)
    views: list[Callable[[], object]] = [
        lambda: capture(checkpoint, text, target="The dog." if checkpoint.spec.kind == "seq2seq-lm" else None),
        lambda: ablate_heads(checkpoint, text, heads_of(checkpoint)[:1]),
        lambda: block(checkpoint, text, 0),
        lambda: lens.trajectory(checkpoint, text),
        lambda: word_attention(checkpoint, PLAIN),
        lambda: read_states(checkpoint, PLAIN),
        lambda: positions.distance_terms(checkpoint, PLAIN),
        lambda: positions.position_embeddings(checkpoint),
        lambda: positions.rotary_vectors(checkpoint, PLAIN),
        lambda: embedding_matrix(checkpoint),
    ]
    if checkpoint.spec.kind == "causal-lm":
        views += [
            lambda: capture(checkpoint, PLAIN, count=2),
            lambda: check(checkpoint),
            lambda: bytes_a_token(checkpoint.model, range(4)),
        ]
    if trainable(checkpoint.spec):
        for trained, pretrained in (("head", True), ("lora", True), ("top", True), ("all", False)):
            setup: Any = Setup(trained=trained, epochs=1, pretrained=pretrained, pooling="last")
            views.append(partial(lambda setup: list(fine_tune(checkpoint, TEXTS, setup)), setup))
    return views


def check_views(checkpoint: Checkpoint) -> None:
    """A result, or a sentence: any other exception fails."""
    answers(checkpoint)
    for view in views_of(checkpoint):
        with suppress(AtlasError):
            view()


@pytest.mark.parametrize("name", [*OF_HOSTS, "decoder gemma3"])
def test_every_view_has_an_answer_or_a_sentence(name: str, host: Callable[[str], Checkpoint]) -> None:
    checkpoint = host(name)
    check_views(checkpoint)
    if checkpoint.spec.sparse:
        demos = importlib.import_module("pages.efficient").DEMOS
        assert [demo.slug for demo in demos if demo.fits(checkpoint.spec)] == [
            {"masked-lm": "masks", "causal-lm": "text", "seq2seq-lm": "rewrite"}[checkpoint.spec.kind]
        ]


@pytest.mark.parametrize("name", tinyhosts.RETURNED)
def test_maps_are_those_that_the_library_returns(name: str, host: Callable[[str], Checkpoint]) -> None:
    checkpoint = host(name)
    assert not has_blueprint(checkpoint)
    model: Any = checkpoint.model
    ids = checkpoint.tokenizer(PLAIN)["input_ids"]
    row = torch.tensor([ids])
    inputs = {"input_ids": row, "attention_mask": torch.ones_like(row), "output_attentions": True}
    if checkpoint.spec.kind == "seq2seq-lm":
        trace = trace_of(pair(checkpoint, describe(checkpoint.tokenizer, ids), [1], [7, 8, 9]))
        with torch.inference_mode():
            out = model(**inputs, decoder_input_ids=torch.tensor([[1, 7, 8]]), use_cache=False)
        expected = [out.encoder_attentions, out.decoder_attentions, out.cross_attentions]
    else:
        decoder = checkpoint.spec.kind == "causal-lm"
        tokens = describe(checkpoint.tokenizer, ids)
        trace = trace_of(one_text(checkpoint, tokens)) if decoder else capture(checkpoint, PLAIN)
        with torch.inference_mode():
            expected = [model(**inputs).attentions]
    assert len(trace.maps) == len(expected)
    for attention_map, layers in zip(trace.maps, expected, strict=True):
        np.testing.assert_array_equal(attention_map.weights, torch.cat(layers).numpy())
        assert np.abs(attention_map.weights - 1 / attention_map.weights.shape[-1]).max() > 1e-3
        np.testing.assert_allclose(attention_map.weights.sum(-1), 1, atol=1e-5)
        assert (attention_map.allowed is not None) == (attention_map.kind == "decoder")
    with pytest.raises(NoAttentionMatrix, match="queries, keys and heads cannot be read here"):
        capture(checkpoint, PLAIN, target="The dog." if checkpoint.spec.kind == "seq2seq-lm" else None, vectors=True)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("encoder squeezebert", "no shares"),
        ("encoder fnet", "Fourier transform"),
        ("encoder funnel", "no matrix of attention from every token to every token"),
        ("decoder mamba", "a state of a fixed size"),
        ("decoder rwkv", "RWKV carries a state"),
        ("both led", "within parts of the text"),
        ("both prophetnet", "no shares"),
    ],
)
def test_where_there_is_no_map_a_sentence_says_why(name: str, said: str, host: Callable[[str], Checkpoint]) -> None:
    checkpoint = host(name)
    with pytest.raises(NoAttentionMatrix, match=said):
        capture(checkpoint, PLAIN, target="The dog." if checkpoint.spec.kind == "seq2seq-lm" else None)
    if checkpoint.spec.kind != "seq2seq-lm":
        with pytest.raises(NoAttentionMatrix, match=said):
            word_attention(checkpoint, PLAIN)


def test_what_runs_without_a_cache_is_said(host: Callable[[str], Checkpoint]) -> None:
    for name in ("decoder mamba", "decoder rwkv"):
        with pytest.raises(InputUnusable, match="carries a state of a fixed size"):
            check(host(name))
    gpt = tinyfamilies.make("openai-gpt")
    assert not caches(gpt.model)
    with pytest.raises(InputUnusable, match="whole text again"):
        check(gpt)


PADDED = [
    *(name for name, family in tinyfamilies.FAMILIES.items() if family.kind in ("masked-lm", "causal-lm")),
    *(name for name, (kind, _) in tinyhosts.ALL.items() if kind != "seq2seq-lm"),
]


@pytest.mark.parametrize("name", [name for name in PADDED if name not in ("reformer", "xlnet-left")])
def test_models_that_read_padding_are_marked(name: str) -> None:
    """The others are trained and asked in batches."""
    checkpoint = (tinyfamilies if name in tinyfamilies.FAMILIES else tinyhosts).make(name)
    spec = replace(checkpoint.spec, architecture=checkpoint.model.config.model_type)
    ids = torch.arange(5, 13)[None]
    padded = torch.cat([ids, torch.zeros_like(ids)], 1)
    with torch.inference_mode():
        base: Any = checkpoint.model.base_model
        alone = base(input_ids=ids, attention_mask=torch.ones_like(ids))[0]
        states = base(input_ids=padded, attention_mask=(torch.arange(16) < 8).long()[None])[0][:, :8]
    assert spec.offers("padding in states") == (not torch.allclose(alone, states, atol=1e-4))
    assert not (spec.offers("padding in states") and trainable(spec))


def test_a_batch_gives_what_each_text_gives_alone(host: Callable[[str], Checkpoint]) -> None:
    checkpoint = host("encoder convbert")
    texts = (MASKED, "A [MASK].")
    together = predict_together(checkpoint, [(text, 5, ()) for text in texts])
    for text, result in zip(texts, together, strict=True):
        np.testing.assert_allclose(result[0].probabilities, fill_mask(checkpoint, text)[0].probabilities, atol=1e-6)


SAID = {"return_dict": False, "output_attentions": True, "output_hidden_states": True, "tie_last_hidden_states": False}
"""What a configuration may say of a pass's outputs, for which the app asks itself."""


def check_lens(checkpoint: Checkpoint) -> None:
    question = inputs(checkpoint, text_for(checkpoint), step=0)
    logs = lens.ask_each_layer(question)[-1]
    torch.testing.assert_close(logs, tinyfamilies.answer_of(checkpoint.model, question), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", tinyfamilies.FAMILIES)
def test_the_last_row_of_the_lens_is_the_prediction(name: str) -> None:
    check_lens(tinyfamilies.make(name))


@pytest.mark.parametrize("name", tinyfamilies.RELATIVES)
def test_states_of_relatives_are_the_librarys(name: str) -> None:
    checkpoint = tinyfamilies.make(name)
    ids = checkpoint.tokenizer(PLAIN)["input_ids"]
    row = torch.tensor([ids])
    library = library_model(checkpoint.model)
    reader = library.get_encoder() if checkpoint.spec.kind == "seq2seq-lm" else library.base_model
    with torch.inference_mode():
        expected = torch.cat(reader(row, attention_mask=torch.ones_like(row), output_hidden_states=True).hidden_states)
    tokens, rewrites = describe(checkpoint.tokenizer, ids), checkpoint.spec.kind == "seq2seq-lm"
    text_inputs = pair(checkpoint, tokens, ids[:1]) if rewrites else one_text(checkpoint, tokens)
    np.testing.assert_allclose(by_layer(text_inputs, "encoder").numpy(), expected.numpy(), atol=1e-4)


@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "t5", "bart", "bert2bert"])
def test_a_configuration_decides_nothing_about_outputs(name: str, tmp_path: Path) -> None:
    kind = tinyfamilies.FAMILIES[name].kind
    tinyfamilies.make(name).model.save_pretrained(tmp_path)
    tokenizer_of(kind).save_pretrained(tmp_path)
    file = tmp_path / "config.json"
    config = json.loads(file.read_text())
    for part in (config, *(config[side] for side in ("encoder", "decoder") if side in config)):
        part |= SAID
    file.write_text(json.dumps(config))
    checkpoint = loaded(tmp_path, kind, name)
    check_lens(checkpoint)
    assert capture(checkpoint, text_for(checkpoint)).maps
    answers(checkpoint)
    for module in itertools.islice(checkpoint.model.modules(), 3):
        assert getattr(module, "config", checkpoint.model.config).return_dict
