"""Scores of DeBERTa and states of ELMo, by hand."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers

from core.attention.disentangled import run_with_terms, supported
from core.checkpoints.recurrent import BidirectionalLM
from core.errors import NoAttentionMatrix
from core.run.odd import COMPONENTS
from core.run.odd.disentangled import by_distance
from core.run.prepare import prepare
from core.vectors.elmo import combined

SHAPE = {
    "type": "deberta-v2",
    "hidden_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 16,
    "max_position_embeddings": 32,
    "type_vocab_size": 0,
    "relative_attention": True,
    "position_biased_input": False,
    "pos_att_type": ["c2p", "p2c"],
    "share_att_key": True,
    "norm_rel_ebd": "layer_norm",
}


def new_model(settings: dict[str, Any], vocabulary: int) -> Any:
    config = transformers.AutoConfig.for_model(
        settings["type"], vocab_size=vocabulary, **{name: settings[name] for name in settings if name != "type"}
    )
    return transformers.AutoModelForPreTraining.from_config(config, attn_implementation="eager")


def model(**changes: Any) -> Any:
    torch.manual_seed(0)
    made = new_model(SHAPE | changes, 40).eval()
    for parameter in made.parameters():
        if parameter.ndim == 2:
            torch.nn.init.normal_(parameter, 0.0, 0.5)
    prepare(made, ("encoder",))
    return made


def test_every_pair_finds_its_distance_by_hand() -> None:
    columns = torch.tensor([[-2, -1, 0, 1, 2, 9]]).expand(3, 6)  # rising distances and a column that is never read
    assert by_distance(columns).tolist() == [[0, 1, 2], [-1, 0, 1], [-2, -1, 0]]  # j - i
    assert by_distance(torch.tensor([[5, 9]])).tolist() == [[5]]


def test_without_distances_a_text_is_a_bag_of_words() -> None:
    made, ids = model(), torch.tensor([[2, 7, 9, 8, 30, 3]])
    order = [0, 4, 2, 1, 3, 5]
    alone, turned = (run_with_terms(made, tokens, ("c2c",)).states for tokens in (ids, ids[:, order]))
    torch.testing.assert_close(turned, alone[:, order])
    full, turned = (run_with_terms(made, tokens).states for tokens in (ids, ids[:, order]))
    assert not torch.allclose(turned, full[:, order], atol=1e-2)


def test_without_any_part_every_token_counts_the_same() -> None:
    scored_pass = run_with_terms(model(), torch.tensor([[2, 7, 9, 3]]), ())
    torch.testing.assert_close(scored_pass.weights, torch.full((2, 3, 4, 4), 0.25))
    assert scored_pass.scores.shape == (2, len(COMPONENTS), 3, 4, 4)
    assert not scored_pass.scores.any(), "ablated terms are zero"
    assert run_with_terms(model(), torch.tensor([[2, 7, 9, 3]])).scores.abs().amax((0, 2, 3, 4)).min() > 0.1


def test_other_models_have_no_such_parts() -> None:
    assert supported(model())
    assert not supported(model(pos_att_type=["c2p"]))
    bert = new_model({"type": "bert", "hidden_size": 12, "num_attention_heads": 3, "num_hidden_layers": 1}, 40)
    assert not supported(bert)
    with pytest.raises(NoAttentionMatrix, match="cannot be taken apart"):
        run_with_terms(bert, torch.tensor([[2, 3]]))


def small() -> BidirectionalLM:
    torch.manual_seed(0)
    return BidirectionalLM(20, 4, 8).eval()


def test_each_direction_reads_its_own_side_alone() -> None:
    model, ids, real = small(), torch.tensor([[2, 7, 8, 9, 3]]), torch.ones(1, 5, dtype=torch.long)
    changed = ids.clone()
    changed[0, 2] = 11
    before, after = model.states(ids, real), model.states(changed, real)
    moved = (before - after).abs().sum(-1)[:, :, 0] > 0  # (layers, directions, n)
    assert moved[0].tolist() == [[False, False, True, False, False]] * 2
    assert moved[1:, 0].tolist() == [[False, False, True, True, True]] * 2
    assert moved[1:, 1].tolist() == [[True, True, True, False, False]] * 2


def test_padding_changes_nothing() -> None:
    model, ids = small(), torch.tensor([[2, 7, 8, 3, 0, 0]])
    real = (ids != 0).long()
    alone = model.states(ids[:, :4], real[:, :4])
    torch.testing.assert_close(model.states(ids, real)[..., :4, :], alone)
    left, right = model.predicting(ids, real)
    assert left.shape == right.shape == (3, 4)


def test_both_sides_are_multiplied_and_the_frequency_is_divided_by() -> None:
    model, ids, real = small(), torch.tensor([[2, 7, 8, 3]]), torch.ones(1, 4, dtype=torch.long)
    torch.nn.init.normal_(model.bias)
    left, right, both = combined(model, ids, real, torch.tensor([2])).exp()[:, 0]
    by_hand = left * right / model.bias.softmax(-1)
    torch.testing.assert_close(both, by_hand / by_hand.sum())
    first, last = (
        combined(model, torch.tensor([row]), real, torch.tensor([2])).exp()[:, 0]
        for row in ([2, 9, 8, 3], [2, 7, 8, 9])
    )
    torch.testing.assert_close(last[0], left)  # another token after it
    torch.testing.assert_close(first[1], right)  # another one before it
    assert not torch.equal(first[0], left)
    assert not torch.equal(last[1], right)
