"""The vectors of live models are those of the library: states, sums of embeddings, tables and terms of distance."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pytest
import torch

from core import checkpoints
from core.attention.scores import scores_by_layer
from core.checkpoints.families.architectures import Trait
from core.checkpoints.spec import Checkpoint
from core.content import content
from core.errors import InputUnusable
from core.language.inputs import Inputs
from core.vectors import positions, precomputed
from core.vectors.input_embeddings import input_embeddings
from core.vectors.nearest import embedding_matrix, in_vocabulary, static_vectors, vocabulary
from core.vectors.occurrences import word_vectors
from core.vectors.positions import rotated, sinusoids, slopes, t5_bucket
from core.vectors.reading import read_states, readable
from tests import tinyfamilies
from tests.library import library_model

TEXT = "The cat sat on the mat and looked at the dog."
KINDS = content("vectors", "sum").front["kinds"]
BUNDLED = [spec.slug for spec in checkpoints.available() if readable(spec) and spec.source in ("bundled", "package")]


@lru_cache
def tiny(name: str) -> Checkpoint:
    return tinyfamilies.make(name)


@pytest.mark.parametrize("name", [name for name in tinyfamilies.FAMILIES if name not in ("longformer", "reformer")])
def test_states_are_the_librarys(name: str) -> None:
    checkpoint = tiny(name)
    if not readable(checkpoint.spec):
        pytest.skip("adapters have no layers of their own")
    reading = read_states(checkpoint, TEXT)
    model: Any = library_model(checkpoint.model)
    ids = torch.tensor([[token.id for token in reading.tokens]])
    inputs = {"input_ids": ids}
    if model.config.model_type == "xlm":
        inputs["langs"] = torch.full_like(ids, int(model.config.lang_id))
    reads = model.get_encoder() if checkpoint.spec.kind == "seq2seq-lm" else model.base_model
    with torch.inference_mode():
        states = reads(**inputs, output_hidden_states=True).hidden_states
    assert len(reading.states) == len(states)
    for mine, theirs in zip(reading.states[:-1], states, strict=False):
        np.testing.assert_allclose(mine, theirs[0].numpy(), atol=1e-5)
    last = torch.from_numpy(reading.states[-1].copy())
    if (narrow := getattr(getattr(reads, "decoder", None), "project_out", None)) is not None:  # of some OPTs
        last = narrow(last)
    np.testing.assert_allclose(last.numpy(), states[-1][0].numpy(), atol=1e-5)


@pytest.mark.parametrize("name", ["longformer", "reformer"])
def test_what_the_library_runs_otherwise_ends_in_its_states(name: str) -> None:
    """Longformer with one global token, Reformer's two streams before their norm."""
    if name not in tinyfamilies.FAMILIES:
        pytest.skip("no tiny model of this family")
    checkpoint = tiny(name)
    reading = read_states(checkpoint, TEXT)
    ids = torch.tensor([[token.id for token in reading.tokens]])
    model: Any = checkpoint.model
    with torch.inference_mode():
        if name == "longformer":
            from core.sparse.longformer import states

            last = states(model, ids)[0]
        else:
            from core.sparse.reformer import states as hashed

            assert reading.states.shape[-1] == 2 * model.config.hidden_size
            last = model.reformer.encoder.layer_norm(torch.from_numpy(reading.states[-1].copy())).numpy()
            # the library's sum over rounds is rounded where a token attends to itself alone
            np.testing.assert_allclose(last[1:], hashed(model, ids)[0, 1:].numpy(), atol=1e-4)
            return
    np.testing.assert_allclose(reading.states[-1], last.numpy(), atol=1e-5)


@pytest.mark.parametrize("slug", BUNDLED)
def test_every_bundled_model_gives_a_words_vectors(slug: str) -> None:
    checkpoint = checkpoints.load(slug)
    made = word_vectors(
        checkpoint, "dog", "a | The dog barks.\nb | I saw a dog.", lambda text: read_states(checkpoint, text)
    )
    assert len(made.own.occurrences) == 2
    assert made.static_own.shape[1] == made.own.vectors.shape[2] == embedding_matrix(checkpoint).shape[1]
    assert np.isfinite(made.own.vectors).all()
    ids = [occurrence.ids for occurrence in made.own.occurrences]
    if ids[0] == ids[1]:
        np.testing.assert_array_equal(made.static_own[0], made.static_own[1])
    # each model's own word is what its table's vector is nearest to
    ways_of = vocabulary(checkpoint)
    if len(ids[0]) == 1:
        (nearest, cosine), *_ = in_vocabulary(
            checkpoint, ways_of, static_vectors(checkpoint, ids[:1]), ways_of.mean, k=1
        )[0]
        assert "dog" in nearest.lower()
        assert cosine == pytest.approx(1, abs=1e-4)


def test_every_bundled_model_is_in_the_table_of_input_embeddings() -> None:
    ways_of = [architecture for kind in KINDS for architecture in kind["architectures"]]
    assert len(ways_of) == len(set(ways_of))
    assert {checkpoints.get(slug).architecture for slug in BUNDLED} == set(ways_of)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind["architectures"][0])
def test_input_embeddings_are_what_the_first_layer_reads(kind: Any) -> None:
    for slug in (slug for slug in BUNDLED if checkpoints.get(slug).architecture in kind["architectures"]):
        checkpoint = checkpoints.load(slug)
        embeddings = input_embeddings(checkpoint, "The cat sat down.")
        assert (tuple(embeddings.parts), tuple(embeddings.after)) == (tuple(kind["parts"]), tuple(kind["after"]))
        last = list(embeddings.after.values())[-1] if embeddings.after else embeddings.total
        np.testing.assert_array_equal(last, read_states(checkpoint, "The cat sat down.").states[0][:, : last.shape[1]])
        np.testing.assert_allclose(sum(embeddings.parts.values()), embeddings.total, atol=1e-5)  # type: ignore[call-overload]
        np.testing.assert_allclose(embeddings.shares.sum(axis=0), 1, atol=1e-4)
        np.testing.assert_allclose(
            embeddings.cosines * embeddings.lengths[:-1] / embeddings.lengths[-1], embeddings.shares, atol=1e-4
        )


@pytest.mark.parametrize("slug", ["atlas-bert", "atlas-albert", "atlas-electra", "minilm"])
def test_two_sentences_are_the_embedding_module(slug: str) -> None:
    """BERT's sum for a pair, against the module itself; the second sentence has the second row of segments."""
    checkpoint = checkpoints.load(slug)
    model: Any = checkpoint.model
    embeddings = input_embeddings(checkpoint, "The cat sat down.", "It slept.")
    encoded = checkpoint.tokenizer("The cat sat down.", "It slept.", return_tensors="pt", return_token_type_ids=True)
    with torch.inference_mode():
        made = model.base_model.embeddings(input_ids=encoded["input_ids"], token_type_ids=encoded["token_type_ids"])
    np.testing.assert_allclose(embeddings.after["norm"], made[0].numpy(), atol=1e-6)
    rows = model.base_model.embeddings.token_type_embeddings.weight.detach().numpy()
    np.testing.assert_array_equal(embeddings.parts["segment"], rows[encoded["token_type_ids"][0].numpy()])


def test_xlm_adds_a_language_and_counts_again() -> None:
    checkpoint = checkpoints.load("atlas-xlm")
    embeddings = input_embeddings(checkpoint, "The cat sleeps.", "Le chat dort.")
    second = next(
        i for i in range(1, len(embeddings.tokens)) if embeddings.tokens[i].special and embeddings.tokens[i - 1].special
    )
    np.testing.assert_array_equal(embeddings.parts["position"][second], embeddings.parts["position"][0])
    assert len(np.unique(embeddings.parts["language"], axis=0)) == 2


def test_sinusoids_are_those_of_the_library() -> None:
    from transformers.models.ctrl.modeling_ctrl import positional_encoding
    from transformers.models.m2m_100.modeling_m2m_100 import M2M100SinusoidalPositionalEmbedding
    from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding

    ctrl = positional_encoding(50, 32, torch.float)
    np.testing.assert_allclose(sinusoids(50, 32, "halves"), ctrl.numpy(), atol=1e-5)
    marian = MarianSinusoidalPositionalEmbedding(50, 32)
    np.testing.assert_allclose(sinusoids(50, 32, "halves"), marian.create_weight().numpy(), atol=1e-6)
    m2m = M2M100SinusoidalPositionalEmbedding.get_embedding(50, 32)
    np.testing.assert_allclose(sinusoids(50, 32, "tensor2tensor"), m2m.numpy(), atol=1e-5)


def test_buckets_are_those_of_the_library() -> None:
    from transformers.models.t5.modeling_t5 import T5Attention

    distances = torch.arange(-300, 301)
    for both in (True, False):
        theirs = T5Attention._relative_position_bucket(distances, both, 32, 128).tolist()
        assert [t5_bucket(int(d), both=both) for d in distances] == theirs


def test_turns_are_those_of_the_library() -> None:
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

    checkpoint = checkpoints.load("atlas-llama")
    model: Any = checkpoint.model
    random = np.random.default_rng(0)
    vectors = random.normal(size=(1, 1, 40, 32)).astype(np.float32)
    cos, sin = model.base_model.rotary_emb(torch.zeros(1), torch.arange(40)[None])
    theirs, _ = apply_rotary_pos_emb(torch.from_numpy(vectors), torch.from_numpy(vectors), cos, sin)
    mine = np.stack([rotated(vectors[0, 0, t], t) for t in range(40)])
    np.testing.assert_allclose(mine, theirs[0, 0].numpy(), atol=1e-5)


def test_the_queries_of_a_text_are_those_before_rotation() -> None:
    """By hand from the states that enter the first layer: normalized, projected, cut into heads."""
    checkpoint = checkpoints.load("atlas-llama")
    model: Any = checkpoint.model.base_model
    rotary_vectors = positions.rotary_vectors(checkpoint, TEXT)
    layer = model.layers[0]
    with torch.inference_mode():
        states = layer.input_layernorm(torch.from_numpy(read_states(checkpoint, TEXT).states[0].copy()))
        queries = layer.self_attn.q_proj(states).unflatten(-1, (rotary_vectors.queries.shape[1], -1)).transpose(0, 1)
    np.testing.assert_allclose(rotary_vectors.queries[0], queries.numpy(), atol=1e-5)


@pytest.mark.parametrize("heads", [1, 2, 6, 8, 12, 16])
def test_slopes_are_those_of_bloom(heads: int) -> None:
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor

    alibi = build_alibi_tensor(torch.ones(1, 5), heads, torch.float32)  # (heads, 1, 5): slope times place
    np.testing.assert_allclose(alibi[:, 0, 4].numpy() / 4, slopes(heads), rtol=1e-5)


def test_every_bundled_model_has_one_kind_of_position_encoding() -> None:
    ways: tuple[Trait, ...] = ("learned positions", "fixed positions", "relative positions", "rotary positions")
    ways_of = {slug: [way for way in ways if checkpoints.get(slug).offers(way)] for slug in BUNDLED}
    assert [slug for slug, result in ways_of.items() if len(result) != 1] == ["atlas-bert2bert"]


@pytest.mark.parametrize(
    ("slug", "path", "first"),
    [
        ("atlas-bert", "bert.embeddings.position_embeddings", 0),
        ("atlas-roberta", "roberta.embeddings.position_embeddings", None),
        ("atlas-gpt-2", "transformer.wpe", 0),
        ("atlas-bart", "model.encoder.embed_positions", 2),
    ],
)
def test_a_table_of_positions_is_the_models_own(slug: str, path: str, first: int | None) -> None:
    checkpoint = checkpoints.load(slug)
    model: Any = checkpoint.model
    first = model.config.pad_token_id + 1 if first is None else first
    rows = model.get_submodule(path).weight.detach().numpy()
    position_embeddings = positions.position_embeddings(checkpoint)
    np.testing.assert_array_equal(position_embeddings, rows[first : first + len(position_embeddings)])


def test_t5s_term_is_its_bias() -> None:
    checkpoint = checkpoints.load("atlas-t5")
    model: Any = checkpoint.model
    distance_term = positions.distance_terms(checkpoint, TEXT)["position"]
    bias = (
        model.encoder.block[0].layer[0].SelfAttention.compute_bias(distance_term.reach + 1, distance_term.reach + 1)[0]
    )
    assert np.nanmax(distance_term.spreads) < 1e-5  # nothing but the distance
    np.testing.assert_allclose(distance_term.means[0, :, distance_term.reach :], bias[:, 0].detach().numpy(), atol=1e-5)
    np.testing.assert_allclose(distance_term.means[1], distance_term.means[0], atol=1e-5)  # of every layer the same


def test_terms_of_words_have_a_spread() -> None:
    for slug, name in (("atlas-deberta", "c2p"), ("atlas-xlnet", "position"), ("atlas-transformer-xl", "position")):
        distance_term = positions.distance_terms(checkpoints.load(slug), TEXT)[name]
        assert np.nanmax(distance_term.spreads) > 0.1
        if slug == "atlas-transformer-xl":  # causal: no key on the right
            assert np.isnan(distance_term.means[..., distance_term.reach + 1 :]).all()
            assert not np.isnan(distance_term.means[..., : distance_term.reach + 1]).any()


@pytest.mark.parametrize("slug", ["atlas-transformer-xl", "atlas-xlnet"])
def test_the_four_terms_sum_to_the_models_own_scores(slug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint, softmax, weights = checkpoints.load(slug), torch.nn.functional.softmax, list[torch.Tensor]()
    score_components = positions.score_terms(checkpoint, TEXT)
    ids = torch.tensor([[token.id for token in read_states(checkpoint, TEXT).tokens]])
    monkeypatch.setattr(
        torch.nn.functional, "softmax", lambda scores, **more: weights.append(scores) or softmax(scores, **more)
    )
    with torch.inference_mode():
        library_model(checkpoint.model)(input_ids=ids)
    theirs = torch.cat(weights).numpy()
    seen = theirs > -1e20
    np.testing.assert_allclose(score_components.scores.sum(axis=1)[seen], theirs[seen], atol=1e-4)
    assert np.isnan(score_components.scores[:, 0][~seen]).all()
    np.testing.assert_allclose(score_components.weights, softmax(torch.cat(weights), dim=-1).numpy(), atol=1e-5)
    a, b, c, d = np.nanstd(score_components.scores, axis=(3, 4)).transpose(
        1, 0, 2
    )  # (layers, heads) each; the page's Notice
    assert c.max() < 0.3
    assert (np.maximum(b, d) > 2 * a)[0].all()


def test_keys_in_memory_have_the_scores_of_one_long_segment() -> None:
    """Cached states of a causal model are those that it would compute again."""
    checkpoint = checkpoints.load("atlas-transformer-xl")
    score_components = positions.score_terms(checkpoint, TEXT)
    n = len(score_components.tokens)
    row = torch.tensor([[token.id for token in read_states(checkpoint, TEXT).tokens]])
    inputs = {"input_ids": row, "attention_mask": torch.ones_like(row)}
    full = scores_by_layer(Inputs(checkpoint, inputs, ()), segment=n)["decoder"][-1][1]
    np.testing.assert_allclose(score_components.weights[-1], full.score.softmax(-1), atol=1e-5)
    remembered = score_components.scores[..., positions.first_segment(n) :, : positions.first_segment(n)]
    assert np.isfinite(remembered).all()


def test_each_of_the_four_terms_by_its_formula() -> None:
    """Of the first layer's third head, from embeddings, matrices and sinusoids."""
    checkpoint, head = checkpoints.load("atlas-transformer-xl"), 2
    score = positions.score_terms(checkpoint, TEXT).scores[0, :, head]
    states, layer = read_states(checkpoint, TEXT).states[0], checkpoint.model.transformer.layer[0].rel_attn
    u, v, w_q, w_e, w_r = (
        part.detach().numpy()[..., head, :] for part in (layer.r_w_bias, layer.r_r_bias, layer.q, layer.k, layer.r)
    )
    query, key = states @ w_q, states @ w_e
    for i, j in ((3, 3), (5, 0), (9, 4)):
        distance = sinusoids(i - j + 1, len(w_r), "halves")[-1] @ w_r
        terms = [query[i] @ key[j], query[i] @ distance, u @ key[j], v @ distance]
        np.testing.assert_allclose(score[:, i, j], np.array(terms) * layer.scale, atol=1e-4)
    with pytest.raises(InputUnusable, match="have no such terms"):
        positions.score_terms(checkpoints.load("atlas-t5"), TEXT)


@pytest.mark.parametrize("slug", BUNDLED)
def test_what_was_measured_is_kept_for_every_model(slug: str) -> None:
    layers, similarity = precomputed.layers(slug), precomputed.word_similarity(slug)
    checkpoint = checkpoints.load(slug)
    assert len(layers) == len(read_states(checkpoint, "a").states)
    assert all(-1 <= value <= 1 for layer in layers for value in (layer.baseline or 0, layer.self_similarity or 0))
    assert similarity[0][:2] == ("the", 366)
    assert all(len(values) == len(layers) for _, _, values in similarity)


def test_elmo_has_learned_weights_of_five_tasks() -> None:
    learned = precomputed.learned_mixes()
    assert list(learned) == ["speech", "relation", "next", "position", "topic"]
    for mix in learned.values():
        assert len(mix.weights) == len(mix.alone) == 3
        assert sum(mix.weights) == pytest.approx(1, abs=1e-3)
        assert mix.accuracy > mix.commonest
