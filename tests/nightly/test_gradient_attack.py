"""What `assets/content/interventions/attack.md` says of the attack and its baselines, computed again."""

from __future__ import annotations

from math import exp, log
from statistics import fmean

from core import checkpoints
from core.content import content
from core.finetuning.attack import AttackSetup, Sentence, attack, classifier, perplexity, substitute
from core.finetuning.examples import ready

TEXTS = 26
"""Held-out ones, the first: all 16 on sports, then on cooking."""
BASELINES = ("random", "nearest", "flips")


def test_accuracy_words_and_perplexity_by_method() -> None:
    encoder, decoder = map(checkpoints.load, checkpoints.first("attack"))
    head, examples = classifier(encoder, "topic"), ready("topic").held_out[:TEXTS]
    assert {example.label for example in examples} == {"sports", "cooking"}
    made: dict[str, list[Sentence]] = {}
    for number, example in enumerate(examples):
        for name, setup in (("fluent", AttackSetup(seed=number)), ("free", AttackSetup(fluency=0.0, seed=number))):
            *_, last = attack(encoder, head, example.text, setup)
            made.setdefault(name, []).append(last.sentence)
        made.setdefault("none", []).append(last.original)
        swaps = sum(made["fluent"][-1].changed)
        for name in BASELINES:
            sentence = substitute(encoder, head, example.text, name, swaps, setup.kept, number)
            made.setdefault(name, []).append(sentence)
    right = {
        name: sum(head.labels[s.best] == example.label for s, example in zip(sentences, examples, strict=True))
        for name, sentences in made.items()
    }
    words = {name: fmean(sum(s.changed) for s in sentences) for name, sentences in made.items()}
    costs = {name: exp(fmean(log(perplexity(decoder, s.text)) for s in sentences)) for name, sentences in made.items()}
    said = content("interventions", "attack").part("Notice")
    assert f"Of {right['none']} held-out sentences" in said
    assert f"{right['fluent']} still are after the attack, with {words['fluent']:.1f} words changed" in said
    assert right["random"] == right["nearest"] == TEXTS
    assert f"as many steepest swaps {TEXTS - right['flips']}." in said
    assert f"all {TEXTS - right['free']} change, with {words['free']:.1f} words" in said
    assert f"the perplexity is {costs['free']:.0f} instead of {costs['fluent']:.0f}" in said
    assert f"({costs['none']:.0f} before, {costs['flips']:.0f} after steepest swaps)" in said
