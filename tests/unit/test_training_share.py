"""An ALBERT that starts as a layer of a BERT: its vectors are the nearest of their rank, its layer is BERT's."""

import pytest
import torch
from transformers import BertConfig, BertForPreTraining

from core.training.objectives.encoder import factorize as factorise
from core.training.objectives.encoder import new_encoder as new_model
from core.training.objectives.encoder import share


def test_factors_of_a_table_worked_out_by_hand() -> None:
    table = torch.tensor([[3.0, 0.0], [0.0, 1.0], [4.0, 0.0]])  # orthogonal columns of lengths 5 and 1
    words, basis = factorise(table, 1)
    assert torch.allclose(words @ basis, torch.tensor([[3.0, 0.0], [0.0, 0.0], [4.0, 0.0]]), atol=1e-6)
    assert torch.allclose(basis.abs(), torch.tensor([[1.0, 0.0]]), atol=1e-6)
    assert words.abs().flatten().tolist() == pytest.approx([3.0, 0.0, 4.0], abs=1e-6)


def test_every_pass_is_the_chosen_layer_and_a_word_widens_to_berts_vector() -> None:
    torch.manual_seed(0)
    sizes = {"hidden_size": 12, "num_attention_heads": 2, "intermediate_size": 24, "max_position_embeddings": 8}
    config = BertConfig(vocab_size=30, num_hidden_layers=3, hidden_act="gelu_new", **sizes)
    bert = BertForPreTraining(config).eval()
    bert.bert.embeddings.LayerNorm.weight.data.uniform_(0.5, 1.5)
    basis = torch.linalg.qr(torch.randn(12, 4))[0].T
    coded = torch.randn(30, 4)
    bert.bert.embeddings.word_embeddings.weight.data = coded @ basis  # of rank 4
    albert = new_model({"type": "albert", "embedding_size": 4, "num_hidden_layers": 2, **sizes}, 30).eval()
    share(albert, bert, layer=1)

    own = albert.albert.embeddings.word_embeddings.weight
    widen = albert.albert.encoder.embedding_hidden_mapping_in
    gain = bert.bert.embeddings.LayerNorm.weight
    back = (own @ widen.weight.T) / gain / 3**0.5  # the root of 12 / 4
    assert torch.allclose(back, bert.bert.embeddings.word_embeddings.weight, atol=1e-5)

    hidden = torch.randn(2, 5, 12)
    with torch.no_grad():
        expected = bert.bert.encoder.layer[1](hidden)
        found = albert.albert.encoder.albert_layer_groups[0].albert_layers[0](hidden)
    expected, found = (x[0] if isinstance(x, tuple) else x for x in (expected, found))
    assert torch.allclose(found, expected, atol=1e-5)
