"""A twin computes what the shared model computes, with its numbers, and nothing done to it reaches the shared one."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from core.attention.architectures.recording import twin
from tests import tinyfamilies

FAMILIES = [
    name
    for name in tinyfamilies.FAMILIES
    if name not in ("big_bird", "reformer")  # a call would change the shared instance; would throw dice
]


def _inputs(checkpoint: Any) -> dict[str, Any]:
    ids = torch.arange(5, 17)[None]
    rest = {"decoder_input_ids": ids[:, :5]} if checkpoint.model.config.is_encoder_decoder else {}
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), **rest}


@pytest.mark.parametrize("name", FAMILIES)
def test_a_twin_answers_as_the_shared_model_and_shares_its_numbers(name: str) -> None:
    checkpoint = tinyfamilies.make(name)
    made: Any = twin(checkpoint.model)
    inputs = _inputs(checkpoint)
    with torch.inference_mode():
        expected = checkpoint.model(**inputs, output_attentions=True)
        found = made(**inputs, output_attentions=True)
        again = twin(checkpoint.model)(**inputs, output_attentions=True)  # now that the shared one has hooks
    torch.testing.assert_close(found.logits, expected.logits, atol=0, rtol=0)
    for key in ("attentions", "decoder_attentions", "encoder_attentions", "cross_attentions"):
        counts = {len(getattr(out, key, None) or ()) for out in (expected, found, again)}
        assert len(counts) == 1, key
    theirs = dict(checkpoint.model.named_parameters(remove_duplicate=False))
    theirs |= dict(checkpoint.model.named_buffers(remove_duplicate=False))
    own = dict(made.named_parameters(remove_duplicate=False)) | dict(made.named_buffers(remove_duplicate=False))
    assert own.keys() == theirs.keys()
    assert all(own[key].data_ptr() == theirs[key].data_ptr() for key in theirs)


def test_hooks_on_a_twin_do_not_fire_for_the_shared_model() -> None:
    checkpoint = tinyfamilies.make("bert")
    made: Any = twin(checkpoint.model)
    fired: list[str] = []
    for name, module in made.named_modules():
        module.register_forward_hook(lambda *_, name=name: fired.append(name))
    mine = {id(module) for module in made.modules()}
    assert not mine & {id(module) for module in checkpoint.model.modules()}
    with torch.inference_mode():
        checkpoint.model(**_inputs(checkpoint))
        assert fired == []
        made(**_inputs(checkpoint))
    assert "bert.encoder.layer.1.output.LayerNorm" in fired
    assert not any(module._forward_hooks for module in checkpoint.model.modules())


def test_what_occurs_twice_occurs_twice_in_the_twin() -> None:
    shared = torch.nn.Linear(2, 2)
    made = twin(torch.nn.ModuleList([shared, shared, torch.nn.Linear(2, 2)]))
    first, second, third = (made.get_submodule(str(number)) for number in range(3))
    assert first is second
    assert first is not shared
    assert third is not first
