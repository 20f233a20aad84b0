"""A head that reads the whole sentence, and two copies of an encoder joined: what learns, and what a file keeps."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import BertConfig, BertModel

from core.checkpoints.bundled import apply, as_encoder_decoder
from core.checkpoints.heads import READER, SentenceBert, SentenceHead
from core.errors import AtlasError
from core.training import models
from core.training.objectives.encoder import new_encoder as new_model
from core.training.objectives.masked import SentenceModel, SentenceObjective, linear_map
from core.training.objectives.pairs import LEARNED, JoinedModel, JoinedObjective, join, shifted
from core.training.tokens import Ragged
from tests.unit.test_training_torch import tiny_masked

MASK = 4
State = dict[str, Tensor]


@pytest.fixture
def tiny() -> tuple[SentenceModel, BertConfig, State, State]:
    """A finished model with a head on top, its configuration, the backbone, and the weights of the finished model."""
    finished, backbone = tiny_masked(0)
    config = finished.bert.config
    config.mask_token_id = MASK
    with torch.no_grad():
        for parameter in finished.parameters():
            if parameter.requires_grad:
                parameter.add_(0.1 * torch.randn_like(parameter))
    reader = BertModel(config, add_pooling_layer=False)
    reader.load_state_dict({name.removeprefix("bert."): value for name, value in backbone.items()})
    return SentenceModel(finished, SentenceHead(reader, MASK)).eval(), config, backbone, finished.whole()


def texts() -> tuple[Tensor, Tensor]:
    torch.manual_seed(6)
    mask = torch.rand(3, 8) < 0.4
    return torch.randint(5, 20, (3, 8)).masked_fill(mask, MASK), mask


def test_only_the_head_learns(tiny: tuple[SentenceModel, BertConfig, State, State]) -> None:
    model = tiny[0]
    model(*texts()).logsumexp(-1).sum().backward()  # type: ignore[no-untyped-call]
    trained = {name for name, value in model.named_parameters() if value.grad is not None}
    assert trained == {"head.about.weight", "head.repeated.weight", "head.repeated.bias"}
    assert trained == {name for name, value in model.named_parameters() if value.requires_grad}


def test_the_linear_map_is_recovered() -> None:
    torch.manual_seed(1)
    words, map_ = 30 * torch.randn(400, 6), torch.randn(6, 6)
    texts = words @ map_
    torch.testing.assert_close(linear_map(words - words.mean(0), texts + 3.0), map_, atol=1e-3, rtol=1e-3)


def test_the_loss_combines_the_base_and_the_sentence_encoder(
    tiny: tuple[SentenceModel, BertConfig, State, State],
) -> None:
    model = tiny[0]
    objective = object.__new__(SentenceObjective)
    objective.model = model  # type: ignore[assignment]
    objective.alpha, objective.beta = 0.75, 3.0
    words = torch.nn.functional.normalize(torch.randn(20, 12), dim=-1)
    objective.near = SimpleNamespace(words=words)  # type: ignore[assignment]
    ids, mask = texts()
    context = torch.where(mask, -1, ids)
    labels = torch.randint(5, 20, (int(mask.sum()),))
    found = objective.loss({"ids": ids, "mask": mask, "labels": labels, "context": context})

    rows = mask.nonzero()[:, 0]
    wanted = model.base(ids, mask) + 3.0 * (model.head.vectors(ids, torch.ones_like(ids)) @ words.T)[rows]
    for number, row in enumerate(rows):
        wanted[number, ids[row][~mask[row]]] = -math.inf
    logs = model(ids, mask).log_softmax(-1)
    expected = -0.75 * (wanted.softmax(-1) * logs).sum(-1).mean() - 0.25 * logs.gather(1, labels[:, None]).mean()
    torch.testing.assert_close(found, expected)


def test_what_is_shipped_is_the_model_that_was_trained(
    tiny: tuple[SentenceModel, BertConfig, State, State], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, _, backbone, whole = tiny
    stage = tmp_path / "first" / "out"
    stage.mkdir(parents=True)
    save_file(whole, stage / models.DIFFERENCE)  # every tensor whole is a difference, too
    objective: Any = object.__new__(SentenceObjective)
    objective.model, objective.stages, objective.folder = model, tmp_path, None
    objective.recipe = SimpleNamespace(model={"start": "first"})
    objective.pieces = SimpleNamespace(mask=MASK)
    monkeypatch.setattr(models, "ship_backbone", lambda made, backbone, folder: made.save_pretrained(folder))
    objective.export(tmp_path / "out")

    shipped = BertConfig.from_pretrained(tmp_path / "out")
    assert shipped.sentence_head
    theirs = SentenceBert(shipped).eval()
    state = apply(backbone, load_file(tmp_path / "out" / models.DIFFERENCE))
    report = theirs.load_state_dict(
        state | {name.replace("bert.", READER, 1): v for name, v in backbone.items()}, False
    )
    assert not report.unexpected_keys
    theirs.tie_weights()
    ids, mask = texts()
    # float16 is what a file keeps
    torch.testing.assert_close(theirs(ids).logits[mask], model(ids, mask), atol=2e-3, rtol=2e-3)


def test_a_stage_that_was_not_trained_is_named(tmp_path: Path) -> None:
    with pytest.raises(AtlasError, match="no-such-stage"):
        models.finished("no-such-stage", tmp_path, models.DIFFERENCE)


@pytest.fixture
def base() -> Any:
    torch.manual_seed(0)
    return new_model(
        {
            "type": "bert",
            "hidden_size": 16,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "intermediate_size": 32,
            "max_position_embeddings": 32,
        },
        60,
    ).eval()


def batch() -> dict[str, torch.Tensor]:
    inputs = Ragged.of([[2, 7, 8, 9, 3], [2, 10, 3]])
    outputs = Ragged.of([[11, 12, 3], [13, 3]])
    return shifted(inputs, outputs, pad=0, start=2)


def test_rows_are_shifted_and_padded() -> None:
    made = batch()
    assert made["ids"].tolist() == [[2, 7, 8, 9, 3], [2, 10, 3, 0, 0]]
    assert made["real"].tolist() == [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]
    assert made["decoder_ids"].tolist() == [[2, 11, 12], [2, 13, 3]]
    assert made["labels"].tolist() == [[11, 12, 3], [13, 3, -100]]


def test_both_halves_are_the_base_and_their_layers_alone_learn(base: Any) -> None:
    model = JoinedModel(join(base))
    state, ours = base.state_dict(), model.full.state_dict()
    for name, value in as_encoder_decoder(state).items():
        if name in ours:
            assert torch.equal(ours[name], value), name
    learning = {name for name, p in model.full.named_parameters() if p.requires_grad}
    assert learning == {name for name, _ in model.full.named_parameters() if name.startswith(LEARNED)}
    assert any("crossattention" in name for name in learning)
    assert not [
        n for n in ours if n not in as_encoder_decoder(state) and "crossattention" not in n and "position_ids" not in n
    ]


def test_training_logits_are_the_librarys_and_causal(base: Any) -> None:
    model = JoinedModel(join(base)).eval()
    made = batch()
    known = made["labels"] != -100
    with torch.no_grad():
        ours = model(made["ids"], made["real"], made["decoder_ids"], known)
        theirs = model.full(
            input_ids=made["ids"], attention_mask=made["real"], decoder_input_ids=made["decoder_ids"]
        ).logits
        torch.testing.assert_close(ours, theirs[known])
        changed = made["decoder_ids"].clone()
        changed[:, 2] = 40
        later = model.full(input_ids=made["ids"], attention_mask=made["real"], decoder_input_ids=changed).logits
    torch.testing.assert_close(later[:, :2], theirs[:, :2])


def test_base_and_difference_make_the_merged_model(base: Any, tmp_path: Any) -> None:
    from transformers import AutoModelForSeq2SeqLM, EncoderDecoderConfig

    from tests import tiny

    objective = JoinedObjective.__new__(JoinedObjective)
    objective.model = JoinedModel(join(base)).eval()
    objective.full_tokenizer = tiny.wordpiece_tokenizer()
    objective.export(tmp_path)
    state = apply(as_encoder_decoder(base.state_dict()), load_file(tmp_path / "difference.safetensors"))
    loaded = AutoModelForSeq2SeqLM.from_config(EncoderDecoderConfig.from_pretrained(tmp_path))
    report = loaded.load_state_dict(state, strict=False)
    assert not [name for name in report.missing_keys if "decoder.cls.predictions.decoder" not in name]
    loaded.tie_weights()
    made = batch()
    given = {"input_ids": made["ids"], "attention_mask": made["real"], "decoder_input_ids": made["decoder_ids"]}
    with torch.no_grad():
        torch.testing.assert_close(
            loaded.eval()(**given).logits, objective.model.full(**given).logits, atol=2e-3, rtol=2e-3
        )
