"""The gradient attack on a live classifier: its pass, its limits, what random words do, and its section."""

from __future__ import annotations

from functools import partial

import pytest
import torch

from core import checkpoints
from core.checkpoints.spec import Checkpoint
from core.errors import AtlasError, InputEmpty, InputTooLong, InputUnusable, OutOfRange
from core.finetuning.attack import (
    ENOUGH,
    MOST_KEPT,
    MOST_STEPS,
    AttackSetup,
    Classifier,
    Victim,
    attack,
    classifier,
    perplexity,
    substitute,
)
from core.run.run import Site, run
from tests.pages import html_of, link, opened, shown, widget

TEXTS = ("Leave the dough in a warm place for an hour.", "Roast the potatoes until they are brown.")
page = partial(opened, "interventions", tab="attack")


@pytest.fixture(scope="module")
def minilm() -> Checkpoint:
    return checkpoints.load("minilm")


@pytest.fixture(scope="module")
def head(minilm: Checkpoint) -> Classifier:
    return classifier(minilm, "topic")


def test_expected_embeddings_of_certain_words_give_the_scores_of_the_words(
    minilm: Checkpoint, head: Classifier
) -> None:
    victim = Victim(minilm, head, TEXTS[0])
    certain = torch.zeros(len(victim.ids), len(victim.table))
    certain[torch.arange(len(victim.ids)), victim.ids] = 1
    certain.requires_grad_()
    embed, final = Site(victim.kind, 0, "embed"), Site(victim.kind, 0, "final")
    states: list[torch.Tensor] = []

    def read(tensor: torch.Tensor) -> torch.Tensor:
        states.append(tensor)
        return tensor

    edits = {embed: lambda _: (certain @ victim.table)[None], final: read}
    run(minilm.model, {"input_ids": victim.ids[None]}, edits=edits, gradients=True)
    scores = victim.classify(states[0])
    assert torch.allclose(scores, victim.scores(victim.ids[None]), atol=1e-4)
    victim.margins(scores).sum().backward()  # type: ignore[no-untyped-call]
    assert certain.grad is not None
    assert certain.grad.abs().max() > 0


def test_the_attack_fools_where_as_many_random_words_do_not(minilm: Checkpoint, head: Classifier) -> None:
    assert head.accuracy >= 0.9
    fooled = random = 0
    for text in TEXTS:
        *_, last = attack(minilm, head, text, AttackSetup())
        assert last.step < last.steps  # it ends early
        assert last.fooled[-1] >= ENOUGH
        swaps = sum(last.sentence.changed)
        assert 0 < swaps <= 4
        assert not any(kept and changed for kept, changed in zip(last.kept, last.sentence.changed, strict=True))
        fooled += last.sentence.best != last.original.best
        random += substitute(minilm, head, text, "random", swaps, 1).best != last.original.best
    assert (fooled, random) == (len(TEXTS), 0)


def test_the_steepest_swap_lowers_the_margin_more_than_the_nearest_word(minilm: Checkpoint, head: Classifier) -> None:
    own = substitute(minilm, head, TEXTS[0], "random", 0)
    flipped, nearest = (substitute(minilm, head, TEXTS[0], method, 2, 1) for method in ("flips", "nearest"))
    assert sum(flipped.changed) == sum(nearest.changed) == 2
    assert flipped.probabilities[own.best] < nearest.probabilities[own.best]


@pytest.mark.parametrize(
    ("text", "setup", "error"),
    [
        ("", AttackSetup(), InputEmpty),
        ("word " * 40, AttackSetup(), InputTooLong),
        ("x" * 300, AttackSetup(), InputTooLong),
        ("?! 12 …", AttackSetup(), InputUnusable),
        ("Rain fell.", AttackSetup(kept=MOST_KEPT), InputUnusable),
        ("Rain fell.", AttackSetup(kept=MOST_KEPT + 1), OutOfRange),
        ("Rain fell.", AttackSetup(steps=MOST_STEPS + 1), OutOfRange),
        ("Rain fell.", AttackSetup(fluency=float("nan")), OutOfRange),
    ],
)
def test_what_cannot_be_attacked_gets_a_sentence(
    minilm: Checkpoint, head: Classifier, text: str, setup: AttackSetup, error: type[AtlasError]
) -> None:
    with pytest.raises(error):
        next(attack(minilm, head, text, setup))


def test_a_perplexity_is_that_of_the_uniform_guess_at_most_for_a_common_sentence() -> None:
    decoder = checkpoints.load("atlas-gpt-2")
    plain, shuffled = (perplexity(decoder, text) for text in ("the cat sat on the mat.", "mat the on. sat cat the"))
    assert 1 < plain < shuffled < decoder.model.config.vocab_size


def test_the_section_opens_with_a_sentence_that_fools_the_classifier() -> None:
    at = page()
    assert not at.warning
    assert not at.error
    assert "the classifier predicts **" in shown(at)
    assert "<mark" in html_of(at)
    assert "HotFlip" in html_of(at)
    assert "Attack again" in [button.label for button in at.button]


def test_the_section_takes_its_settings_from_a_link_and_refuses_others() -> None:
    at = page(attacked="Rain.", kept="99", fluency="maybe", similarity="5")
    said = " ".join(warning.value for warning in at.warning)
    assert "kept “99”" in said
    assert "fluency “maybe”" in said
    assert "This text has 1 whole word, and 1 may not change" in said
    at = page(attacked="Rain.", fluency="off")
    at = widget(at.text_input, "Text").set_value("<b>It</b> rained all day, and the wind blew.").run()
    assert "<b>it" not in html_of(at)
    assert link(at)["attacked"].startswith("<b>It</b>")
