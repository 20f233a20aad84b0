"""Costs of what is no single stack of attention layers, by hand: CLIP's towers, ELMo's LSTMs; and what is left out."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from core import catalogue
from core.costs import shape_of
from core.costs.known import formulas
from core.costs.remarks import left_out, no_stack
from core.costs.special import towers, word_work
from core.costs.start import start
from core.errors import OutOfRange
from core.ui.costs import lines


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


def test_smaller_squares_cost_more() -> None:
    coarse, fine = towers("clip", "ViT-B/32")[1], towers("clip", "ViT-B/16")[1]
    assert fine.tokens == 14 * 14 + 1
    assert 3.9 < fine.forward.total / coarse.forward.total < 4.2


def test_a_word_of_elmo_by_hand() -> None:
    work = word_work("elmo", "original")
    assert work.recurrent == 36 * 2 * 4096 * 512
    filters = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024))
    places = sum(f * w * 16 * (50 - w + 1) for w, f in filters)
    assert work.letters == 2 * (places + 2 * 2 * 2048 * 2048 + 2048 * 512)


@pytest.mark.parametrize("system", [one for one in catalogue.systems() if one.sizes], ids=lambda one: one.slug)
def test_every_size_tells_its_operations_or_why_not(system: catalogue.System) -> None:
    for size in system.sizes:
        told = lines(system.slug, size.name)
        missing = left_out(system.slug, size.name)
        assert {line.formula for line in told} <= set(formulas())
        for what in ("Operations", "Activations"):
            assert any(line.what.startswith(what) for line in told) != ("are not computed" in missing)
        if "are not computed" in missing:  # layers of several kinds
            continue
        assert any(line.what.startswith("Key-value") for line in told) != ("key-value cache" in missing), size.name


def test_the_calculators_say_why_they_cannot_take_a_size() -> None:
    assert "two stacks of attention layers side by side" in no_stack("clip")
    assert "no layers of attention" in no_stack("elmo")
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

    app = AppTest.from_function(panel, kwargs={"slug": slug}, default_timeout=60).run()
    assert not app.exception
    drawn = " ".join(str(node.proto) for node in app.main.children.values())
    assert ("open the calculators" in drawn) == linked
    assert left_out(slug)[:12] in drawn
