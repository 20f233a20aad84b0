"""A sweep of architectures that a host may add: as the library has them, or refused in a sentence.

Relatives of what comes with the app hold what that holds; of others the attention modules are found, or their maps are
those that they return.
Not among the tests of every change: ``python -m pytest tests/nightly``.
"""

from __future__ import annotations

import numpy as np
import pytest

from core.attention.ablation.ablate import heads_of
from core.attention.capture import capture
from core.attention.inside.block import block
from core.attention.inside.lens import lens
from core.attention.layers import has_blueprint, stacks
from core.attention.word_maps import word_attention
from core.errors import AtlasError, NoAttentionMatrix
from core.run.sites import ADAPTERS, TABLE
from tests import tinyfamilies, tinyhosts
from tests.parity import test_ablate, test_block, test_vectors
from tests.parity.test_discover import check_heads, check_maps, check_scores
from tests.parity.test_hosts import check_views
from tests.tinyfamilies import PLAIN, text_for

CHECKS = (
    test_ablate.test_a_head_off_is_its_columns_at_zero,
    test_vectors.test_the_softmax_of_the_scores_is_what_the_model_attends_to,
    test_block.test_every_step_follows_from_those_before_it,
    test_block.test_norms_are_the_models_own,
    test_block.test_the_last_step_is_the_librarys_state,
    test_block.test_every_letter_of_a_formula_is_named,
    test_block.test_input_embeddings_and_terms_are_those_of_their_sources,
    test_ablate.test_each_lens_prediction_is_that_of_a_truncated_model,
)


@pytest.mark.parametrize("name", tinyfamilies.RELATIVES)
def test_relatives_hold_what_holds_of_the_bundled(name: str) -> None:
    for check in CHECKS:
        check(name)


def test_every_architecture_of_the_table_is_tested() -> None:
    tested = {
        stack.type
        for name in (*tinyfamilies.FAMILIES, *tinyfamilies.RELATIVES)
        for stack in stacks(tinyfamilies.make(name))
    }
    assert set(TABLE) <= tested | {ADAPTERS}


@pytest.mark.parametrize("name", tinyhosts.HOOKED)
def test_queries_keys_and_heads_are_the_librarys(name: str) -> None:
    checkpoint = tinyhosts.make(name)
    assert not has_blueprint(checkpoint)
    check_scores(checkpoint)
    check_maps(checkpoint)
    check_heads(checkpoint)
    with pytest.raises(NoAttentionMatrix, match="cannot be shown step by step"):
        block(checkpoint, PLAIN, 0)
    with pytest.raises(AtlasError, match="no head to apply to each layer"):
        lens(checkpoint, text_for(checkpoint))


@pytest.mark.parametrize("name", tinyhosts.HOOKED)
def test_every_view_has_an_answer_or_a_sentence(name: str) -> None:
    check_views(tinyhosts.make(name))


MIXED = tinyhosts.SHARED | {
    "attn_layer_offset": 1,
    "attn_layer_period": 2,
    "num_experts": 2,
    "mamba_d_state": 4,
    "mamba_dt_rank": 2,
    "use_mamba_kernels": False,
}
STATE = {"hidden_size": 16, "num_hidden_layers": 2, "attention_hidden_size": 16}


def test_layers_without_attention_are_refused_in_a_sentence() -> None:
    mixed = tinyhosts.build("decoder jamba", "causal-lm", MIXED)
    rwkv = tinyhosts.build("decoder rwkv", "causal-lm", STATE, eager=False)
    for run in (word_attention, capture):
        with pytest.raises(NoAttentionMatrix, match="Attention is in 1 of 2 layers"):
            run(mixed, PLAIN)
        with pytest.raises(NoAttentionMatrix, match="RWKV carries a state"):
            run(rwkv, PLAIN)
    with pytest.raises(NoAttentionMatrix, match="cannot be read here"):
        heads_of(mixed)


def test_the_text_of_a_model_of_pictures_and_texts_is_mapped() -> None:
    """Its configuration holds that of its text, where the number of layers is."""
    text = {"model_type": "persimmon", **tinyhosts.WIDTHS, "vocab_size": len(tinyfamilies.tokenizer_of("causal-lm"))}
    checkpoint = tinyhosts.build("decoder fuyu", "causal-lm", {"text_config": text, "patch_size": 2, "num_channels": 1})
    assert not hasattr(checkpoint.model.config, "num_hidden_layers")
    decoder = capture(checkpoint, PLAIN).decoder
    assert decoder is not None
    assert decoder.allowed is not None
    np.testing.assert_array_equal(decoder.weights > 0, np.broadcast_to(decoder.allowed, decoder.weights.shape))
    assert (decoder.layers, decoder.note) == (2, "")
