"""Costs worked out by hand, against figures that papers print, and of what is no single stack of attention layers."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from core import anatomy, catalogue
from core.costs import activations, cache_bytes, forward, shape_of, states
from core.costs.configuration import start
from core.costs.known import formulas
from core.costs.memory import cache_bytes_per_token, layer
from core.costs.operations import towers, word_work
from core.costs.remarks import differences, left_out, no_stack, rounds_to
from core.costs.shape import LayerShape, Shape
from core.efficiency.fit import (
    Plan,
    device_memory,
    inference_memory,
    inference_remedies,
    training_remedies,
    usable_bytes,
    zero_memory,
)
from core.errors import OutOfRange
from core.figures.labels import in_bytes, in_operations
from core.ui.costs import lines

GPT3 = "gpt-3", "175B"


def shape(slug: str, size: str | None = None) -> Shape:
    model_shape = shape_of(slug, size)
    assert model_shape is not None
    return model_shape


def test_gpt_3_by_hand() -> None:
    count = anatomy.counts("gpt-3")["175B"]
    assert in_bytes(2 * count) == "349 GB"
    assert cache_bytes_per_token(shape(*GPT3)) == 2 * 96 * 12288 * 2 == 4_718_592
    assert cache_bytes(shape(*GPT3), 2048) == 2048 * 4_718_592
    work = forward(shape(*GPT3), anatomy.tree(*GPT3), 2048)
    # 12 d² in each layer and the words; 4 L s d for attention
    assert work.matrices / 2048 == 2 * (96 * 12 * 12288**2 + 50257 * 12288)
    assert work.attention / 2048 == 4 * 96 * 2048 * 12288
    step = forward(shape(*GPT3), anatomy.tree(*GPT3), 2048).training
    assert step.total == 3 * work.total
    # the paper trains on 300 billion tokens and prints 3.14e23 operations, which is 6 N tokens
    assert 6 * count * 300e9 == pytest.approx(3.14e23, rel=0.003)
    assert step.total / 2048 == pytest.approx(6 * count, rel=0.03)


def test_grouped_queries_keep_a_quarter() -> None:
    assert cache_bytes_per_token(shape("llama", "7B")) == 2 * 32 * 4096 * 2
    assert cache_bytes_per_token(shape("llama", "3-8B")) == 2 * 32 * 1024 * 2


def test_windows_bound_the_keys() -> None:
    neo = shape("gpt-neo", "125M").main
    assert neo.keys(1000) == [1000, 256] * 6
    assert neo.keys(100) == [100] * 12
    assert cache_bytes(shape("gpt-neo", "125M"), 1000) == (6 * 1000 + 6 * 256) * 2 * 768 * 2
    assert cache_bytes(shape("bert"), 512) == 0  # an encoder keeps nothing


def test_keys_and_values_of_cross_attention_are_made_of_the_source() -> None:
    """The Transformer of 2017: 6 (4 d² + 2 d f) in its encoder, 6 · 2 d² in the decoder's projections that read it."""
    width, inner = 512, 2048
    work = forward(shape("transformer", "base"), anatomy.tree("transformer", "base"), tokens=0, source=1)
    assert work.matrices == 2 * (6 * (4 * width**2 + 2 * width * inner) + 6 * 2 * width**2)


def test_a_shared_layer_is_counted_once_and_used_twelve_times() -> None:
    albert, bert = shape("albert", "base"), shape("bert", "base")
    inside = forward(albert, anatomy.tree("albert", "base"), 128).matrices - 2 * 128 * 128 * 768
    assert inside == forward(bert, anatomy.tree("bert", "base"), 128).matrices == 2 * 128 * 12 * 12 * 768**2


def test_states_are_sixteen_bytes() -> None:
    held_here = states(7.5e9)
    assert (held_here.weights, held_here.gradients, held_here.optimizer) == (15e9, 15e9, 90e9)
    assert states(1e9, "sgd", "full").total == 8e9
    assert states(1e9, "momentum", "half").total == 6e9
    assert in_bytes(states(1.5e9).total) == "24.0 GB"  # GPT-2 in the ZeRO paper


def test_zero_on_64_devices_as_the_paper_prints_it() -> None:
    printed = [120, 31.4, 16.6, 1.9]
    counted = [zero_memory(7.5e9, stage, 64).total / 1e9 for stage in range(4)]
    assert [round(value, 1) for value in counted] == printed


STANDARD = LayerShape("decoder", 1, 1024, 16, 16, 64, 64, 4096, False, False, (0,), 2048)


def test_activations_are_the_paper_s_34() -> None:
    s, b, h, a = 512, 4, 1024, 16
    assert layer(STANDARD, s, b) == s * b * h * 34 + 5 * a * s * s * b
    assert layer(STANDARD, s, b, recompute="selective") == s * b * h * 34
    assert layer(STANDARD, s, b, recompute="full") == 2 * s * b * h
    assert layer(STANDARD, s, b, tensor=8) == s * b * h * (10 + 24 / 8) + 5 * a * s * s * b / 8
    assert layer(STANDARD, s, b, tensor=8, sequence=True) == layer(STANDARD, s, b) / 8


def test_gpt_3_s_scores_are_80_of_114() -> None:
    stack = shape(*GPT3).main
    assert 5 * stack.heads * 2048 / stack.width == 80
    assert activations(shape(*GPT3), 2048, 1) == 96 * 2048 * 12288 * (34 + 80)


def test_each_side_stores_what_its_own_text_needs() -> None:
    t5, lengths = shape("t5", "base"), {"encoder": 512, "decoder": 32}
    expected = sum(stack.layers * layer(stack, lengths[stack.side], 1, source=512) for stack in t5.stacks)
    assert activations(t5, 32, 1, source=512) == expected > 0


def test_a_device_s_share() -> None:
    plan = Plan(data=64, stage=3, length=1024)
    part = device_memory(1e9, shape("gpt-2", "xl"), plan)
    assert dict(part.parts)["weights"] == 2e9 / 64
    assert device_memory(1e9, shape("gpt-2", "xl"), Plan(tensor=5, pipeline=2)).parts[0] == ("weights", 2e8)
    with pytest.raises(OutOfRange, match=r"Degrees that work: 1, 5, 25\."):
        device_memory(1e9, shape("gpt-2", "xl"), Plan(tensor=8))
    with pytest.raises(OutOfRange, match="48 layers make at most 48 pipeline stages"):
        device_memory(1e9, shape("gpt-2", "xl"), Plan(pipeline=49))


def test_what_fits_and_what_would() -> None:
    count, of = anatomy.counts("llama")["7B"], shape("llama", "7B")
    need = inference_memory(count, of, "16", 2048, 1)
    assert dict(need.parts)["weights"] == 2 * count
    assert need.total < usable_bytes(24)
    assert inference_memory(count, of, "32", 2048, 1).total > usable_bytes(24)
    remedies = {remedy.what: remedy for remedy in inference_remedies(count, of, "32", 2048, 1, 24)}
    assert remedies["weights of 16 bits"].fits
    assert remedies["2 of these devices, each with a share"].fits
    long = {remedy.what: remedy.bytes for remedy in inference_remedies(count, of, "16", 100_000, 1, 24)}
    # what is left of 21.6 GB beside the weights, at half a megabyte a token
    most = int((21.6e9 - 2 * count) // (2 * 32 * 4096 * 2))
    assert long[f"sequences of at most {most:,} tokens"] <= usable_bytes(24)


def test_what_would_make_training_fit() -> None:
    count, of = anatomy.counts("gpt-2")["xl"], shape("gpt-2", "xl")
    plan = Plan(batch=4, length=1024)
    assert device_memory(count, of, plan).total > usable_bytes(40)
    remedies = list(training_remedies(count, of, plan, 40))
    last = remedies[-1]
    assert last.fits
    assert "ZeRO stage 3" in last.what
    assert all(remedy.bytes <= usable_bytes(40) for remedy in remedies if remedy.fits)
    hopeless = list(training_remedies(count, of, Plan(length=10**6), 1))
    assert not hopeless[-1].fits
    assert "any number" in hopeless[-1].what


def test_differences_are_those_above_two_per_cent_with_a_reason() -> None:
    result = {
        (difference.system.slug, difference.size.name): difference for difference in differences(catalogue.systems())
    }
    assert ("bert", "large") not in result  # 1.4%
    assert result["m2m-100", "418M"].share == pytest.approx(0.158, abs=0.001)
    assert "418.3 million" in result["m2m-100", "418M"].why
    assert result["deberta", "base"].why.startswith("The published figure is 100M without the embedding matrix;")
    assert result["albert", "base"].why.startswith("Rounded")
    assert rounds_to(11_683_584, 12_000_000)
    assert rounds_to(1_637_964_550, 1_600_000_000)
    assert not rounds_to(1_557_611_200, 1_500_000_000)
    shares = [abs(difference.share) for difference in differences(catalogue.systems())]
    assert shares == sorted(shares, reverse=True)
    assert min(shares) > 0.02


def test_amounts_in_words() -> None:
    assert in_bytes(4_718_592) == "4.72 MB"
    assert in_bytes(999) == "999 B"
    assert in_bytes(2.79e12) == "2.79 TB"
    assert in_operations(3.14e23) == "3.14 × 10²³"
    assert in_operations(249e6) == "249.0 million"


def test_the_towers_of_clip_by_hand() -> None:
    text, image = towers("clip", "ViT-B/32")
    layers = 12 * (4 * 512 * 512 + 2 * 512 * 2048)
    assert text.forward.matrices == 2 * (77 * layers + 512 * 512)
    assert text.forward.attention == 4 * 12 * 77 * 77 * 512
    layers = 12 * (4 * 768 * 768 + 2 * 768 * 3072)
    assert image.tokens == 7 * 7 + 1
    assert image.forward.matrices == 2 * (50 * layers + 49 * 3 * 32 * 32 * 768 + 768 * 512)
    assert image.forward.training.total == 3 * image.forward.total
    assert image.shape.main.heads == 12


def test_smaller_patches_cost_more() -> None:
    coarse, fine = towers("clip", "ViT-B/32")[1], towers("clip", "ViT-B/16")[1]
    assert fine.tokens == 14 * 14 + 1
    assert 3.9 < fine.forward.total / coarse.forward.total < 4.2


def test_a_word_of_elmo_by_hand() -> None:
    work = word_work("elmo", "original")
    assert work.recurrent == 36 * 2 * 4096 * 512
    filters = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024))
    places = sum(f * w * 16 * (50 - w + 1) for w, f in filters)
    assert work.letters == 2 * (places + 2 * 2 * 2048 * 2048 + 2048 * 512)


@pytest.mark.parametrize(
    "system", [entry for entry in catalogue.systems() if entry.sizes], ids=lambda entry: entry.slug
)
def test_every_size_tells_its_operations_or_why_not(system: catalogue.System) -> None:
    for size in system.sizes:
        table = lines(system.slug, size.name)
        missing = left_out(system.slug, size.name)
        assert {line.formula for line in table} <= set(formulas())
        for what in ("Operations", "Activations"):
            assert any(line.what.startswith(what) for line in table) != ("are not computed" in missing)
        if "are not computed" in missing:  # layers of several kinds
            continue
        assert any(line.what.startswith("Key-value") for line in table) != ("key-value cache" in missing), size.name


def test_the_calculators_give_the_reason_for_refusing_a_size() -> None:
    assert "two stacks of attention layers side by side" in no_stack("clip")
    assert "no attention layers" in no_stack("elmo")
    assert no_stack("bert") == ""
    assert shape_of("clip") is None
    with pytest.raises(OutOfRange, match="two stacks of attention layers"):
        start("clip")


@pytest.mark.parametrize(("slug", "linked"), [("clip", False), ("mamba", False), ("bert", True)])
def test_only_what_the_calculators_take_is_sent_there(slug: str, linked: bool) -> None:
    def panel(slug: str) -> None:
        from core import catalogue
        from core.ui.costs import computed_table

        computed_table(catalogue.get(slug), catalogue.get(slug).default_size.name)

    app = AppTest.from_function(panel, kwargs={"slug": slug}, default_timeout=120).run()
    assert not app.exception
    drawn = " ".join(str(node.proto) for node in app.main.children.values())
    assert ("open the calculators" in drawn) == linked
    assert left_out(slug)[:12] in drawn
