"""One run: what is recorded, what an edit changes, and that nothing is left behind."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
import torch

from core.checkpoints.spec import Checkpoint
from core.run.run import CURRENT, Edit, Site, recording, run
from tests import tinyfamilies
from tests.library import library_model
from tests.parity.test_vectors import inputs_of

NAMES = {"q", "k", "v", "terms", "scores", "pattern", "z", "attn_out", "mlp_out", "resid_pre", "resid_mid", "final"}
EDITED = (
    "q",
    "k",
    "v",
    "scores",
    "pattern",
    "z",
    "attn_out",
    "mlp_out",
    "resid_pre",
    "resid_mid",
    "resid_post",
    "final",
)


def given(name: str) -> tuple[Checkpoint, dict[str, Any]]:
    checkpoint = tinyfamilies.make(name)
    return checkpoint, inputs_of(checkpoint)


# The library throws dice for a Reformer and cuts a Longformer's text into windows: their own tests compare them.
@pytest.mark.parametrize("name", [name for name in tinyfamilies.FAMILIES if name not in ("reformer", "longformer")])
def test_a_run_without_edits_has_the_librarys_logits(name: str) -> None:
    checkpoint, inputs = given(name)
    library = library_model(checkpoint.model)
    if name == "big_bird":
        library.bert.set_attention_type("original_full")
    with torch.inference_mode():
        expected = library(**inputs).logits
        bare = checkpoint.model(**inputs).logits
    recorded = run(checkpoint.model, inputs, keep=NAMES)
    torch.testing.assert_close(bare, expected, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(recorded.output.logits, bare, atol=1e-5, rtol=1e-5)
    assert CURRENT.get() is None


def test_sites_need_no_hooks_and_modules_keep_their_names() -> None:
    model = tinyfamilies.make("gpt2").model
    modules = list(model.modules())
    hooks = [
        hook for module in modules for hook in (*module._forward_pre_hooks.values(), *module._forward_hooks.values())
    ]
    assert not [hook for hook in hooks if hook.__module__.startswith("core.")]
    assert repr(model) == repr(library_model(model))
    for ours, theirs in zip(modules, library_model(model).modules(), strict=True):
        assert isinstance(ours, type(theirs))
        assert str(type(ours)) == str(type(theirs))


@pytest.mark.parametrize("name", tinyfamilies.FAMILIES)
def test_every_site_put_back_gives_the_same_logits(name: str) -> None:
    checkpoint, inputs = given(name)
    clean = run(checkpoint.model, inputs, keep=EDITED)
    edits = {site: (lambda _, tensor=tensor: tensor.clone()) for site, tensor in clean.tensors.items()}
    assert edits
    again = run(checkpoint.model, inputs, edits=edits)
    torch.testing.assert_close(again.output.logits, clean.output.logits, atol=0, rtol=0)
    other = run(checkpoint.model, inputs, edits={site: torch.zeros_like for site in edits if site.name == "z"})
    assert not torch.allclose(other.output.logits, clean.output.logits, atol=1e-4)


def test_the_right_activation_from_another_text_makes_its_answer() -> None:
    """Patching the last state of one text into another gives the answer of the first."""
    checkpoint = tinyfamilies.make("gpt2")
    clean, corrupt = torch.tensor([[5, 6, 7, 8]]), torch.tensor([[9, 6, 7, 8]])
    source = run(checkpoint.model, {"input_ids": clean}, keep={"resid_post"})
    last = max(source.tensors)
    patched = run(checkpoint.model, {"input_ids": corrupt}, edits={last: lambda _: source.tensors[last]})
    torch.testing.assert_close(patched.output.logits, source.output.logits, atol=1e-5, rtol=1e-5)


def test_each_row_of_a_batch_has_its_own_edit() -> None:
    checkpoint = tinyfamilies.make("bert")
    ids = torch.arange(5, 13)[None]
    gate = torch.ones(2, 1, 2, 1)
    gate[1, :, 0] = 0
    both = run(checkpoint.model, {"input_ids": ids.expand(2, -1)}, edits={Site("encoder", 0, "z"): lambda z: z * gate})
    alone = run(checkpoint.model, {"input_ids": ids})
    torch.testing.assert_close(both.output.logits[:1], alone.output.logits, atol=1e-5, rtol=1e-5)
    assert not torch.allclose(both.output.logits[1], both.output.logits[0], atol=1e-4)


def test_a_mean_is_taken_over_positions_or_other_texts() -> None:
    """That over the rows of one text is the text itself, so that it is no ablation."""
    checkpoint = tinyfamilies.make("bert")
    site, ids = Site("encoder", 0, "z"), torch.arange(5, 13)[None]
    others = run(checkpoint.model, {"input_ids": torch.stack((ids[0].flip(0), ids[0] + 3))}, keep={site})[site]
    means: dict[str, Edit] = {
        "rows": lambda z: z.mean(0, keepdim=True).expand_as(z),
        "positions": lambda z: z.mean(1, keepdim=True).expand_as(z),
        "texts": lambda z: others.mean((0, 1)).expand_as(z),
    }
    whole = run(checkpoint.model, {"input_ids": ids}).output.logits
    edited = {
        name: run(checkpoint.model, {"input_ids": ids}, edits={site: mean}).output.logits
        for name, mean in means.items()
    }
    assert torch.equal(edited["rows"], whole)
    assert not any(torch.allclose(edited[name], whole, atol=1e-4) for name in ("positions", "texts"))


def test_a_mask_is_replaced() -> None:
    """Without the mask a decoder attends to what comes later; with that of an encoder it is one."""
    checkpoint = tinyfamilies.make("gpt2")
    ids = torch.arange(5, 13)[None]
    edits = {Site("decoder", layer, "mask"): torch.ones_like for layer in range(2)}
    free = run(checkpoint.model, {"input_ids": ids}, keep={"pattern", "mask"}, edits=edits)
    assert all(bool((pattern > 0).all()) for pattern in free.layers("decoder", "pattern"))
    assert all(bool(mask.all()) for mask in free.layers("decoder", "mask"))
    plain = run(checkpoint.model, {"input_ids": ids}, keep={"pattern"})
    assert not any(bool(pattern.triu(1).any()) for pattern in plain.layers("decoder", "pattern"))


def test_a_sub_layer_is_dropped() -> None:
    checkpoint = tinyfamilies.make("gpt2")
    ids = torch.arange(5, 13)[None]
    edits = {Site("decoder", 1, name): torch.zeros_like for name in ("attn_out", "mlp_out")}
    dropped = run(checkpoint.model, {"input_ids": ids}, keep={"resid_pre", "resid_post"}, edits=edits)
    torch.testing.assert_close(dropped["decoder", 1, "resid_post"], dropped["decoder", 1, "resid_pre"])


def test_two_threads_with_different_edits_do_not_meet() -> None:
    checkpoint = tinyfamilies.make("bert")
    ids = torch.arange(5, 13)[None]
    site = Site("encoder", 0, "z")
    together = Barrier(3)

    def logits(factor: float) -> torch.Tensor:
        together.wait()
        for _ in range(20):
            recorded = run(checkpoint.model, {"input_ids": ids}, edits={site: lambda z: z * factor})
        output: torch.Tensor = recorded.output.logits
        return output

    factors = (1.0, 0.5, 0.0)
    with ThreadPoolExecutor(3) as pool:
        results = list(pool.map(logits, factors))
    for factor, result in zip(factors, results, strict=True):
        alone = run(checkpoint.model, {"input_ids": ids}, edits={site: lambda z, factor=factor: z * factor})
        torch.testing.assert_close(result, alone.output.logits, atol=1e-6, rtol=1e-5)
    assert not torch.allclose(results[0], results[2], atol=1e-3)


def test_an_exception_leaves_nothing_behind() -> None:
    checkpoint = tinyfamilies.make("t5")
    inputs = inputs_of(checkpoint)
    with torch.inference_mode():
        before = checkpoint.model(**inputs).logits

    def fails(_: torch.Tensor) -> torch.Tensor:
        raise ArithmeticError("an edit")

    with pytest.raises(ArithmeticError), recording(edits={Site("encoder", 1, "pattern"): fails}):
        checkpoint.model(**inputs)
    assert CURRENT.get() is None
    with torch.inference_mode():
        torch.testing.assert_close(checkpoint.model(**inputs).logits, before, atol=0, rtol=0)


def test_an_edit_of_a_site_that_a_pass_lacks_is_refused() -> None:
    checkpoint, ids = tinyfamilies.make("bert"), torch.arange(5, 9)[None]
    with pytest.raises(LookupError, match="layer=7"):
        run(checkpoint.model, {"input_ids": ids}, edits={Site("encoder", 7, "z"): torch.zeros_like})
