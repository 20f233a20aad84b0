"""ELECTRA's demo: the generator fills masked words, the discriminator classifies each token as original or replaced."""

from __future__ import annotations

import streamlit as st

from core import session
from core.figures.predictions import verdict_alt, verdict_bars
from core.language.fill_mask import prepare
from core.language.guesses import among, same_word
from core.language.replaced import Detection, detect, replace_and_detect
from core.ui.demos.cover import Judge, switch, verdict
from core.ui.demos.demo import Demo, DemoView, paragraph
from core.ui.demos.masking import MASK, mask_chips, masked_in
from core.ui.page import theme
from core.ui.param import Seed, Text

TEXT = Text(
    name="text",
    label="Sentence",
    default="The king gave a great feast for all of his friends, and they thanked him.",
    hide_label=True,
    sentence="plain",
)
OWN_SAMPLE = "The king ate a great feast for all of his trees, and they thanked him."
"""The sample sentence without a generator."""
SEED = Seed()


def draw_replaced(view: DemoView) -> None:
    spec, state = view.spec, view.state
    if "generator" not in spec.parts:
        typed = TEXT.with_(default=OWN_SAMPLE).draw(state, tag="replaced")
        _show(view, view.computed("running-the-discriminator", detect, typed))
        return
    text = TEXT.draw(state, tag="replaced")
    tokens = prepare(view.checkpoint, text).tokens
    slot, label = masked_in(state, tokens), view.words.label("chips")
    masked = mask_chips(tokens, slot, accent=spec.branch, label=label)
    with st.container(horizontal=True, vertical_alignment="center"):
        seed = SEED.button(state)
        view.note("Chosen" if masked else "Random", sample=seed + 1)
    _show(view, _sampled(spec.slug, text, masked, seed))


def _show(view: DemoView, detection: Detection) -> None:
    """Draw the corrupted text, and the discriminator's prediction for each token."""
    spec, state = view.spec, view.state
    threshold = float(spec.card.extra.get("threshold", 0.5)) if spec.card else 0.5
    guess_first, placeholder = switch(state), st.empty()
    ids = tuple(token.id for token in detection.after)
    shown = view.uncovered(view.words.label("guess"), _judge(detection, view), ids, on=guess_first)
    story = _story(
        detection if shown else Detection(detection.after, detection.after, (), (), detection.probabilities),
        view.accent,
    )
    placeholder.html(paragraph(story, "font-size:var(--atlas-large);line-height:1.7"))
    if not shown:
        return
    ordinary = [i for i, token in enumerate(detection.after) if not token.special]
    names = [detection.after[i].text for i in ordinary]
    values = [detection.probabilities[i] for i in ordinary]
    marked = [ordinary.index(i) for i in detection.replaced if i in ordinary]
    chances = dict(zip(detection.masked, detection.sampled, strict=False))
    rows = [
        {
            "token": i,
            "original": detection.before[i].original,
            "in the input": detection.after[i].text,
            "generator's probability": chances.get(i),
            "replaced": i in detection.replaced,
            "verdict": detection.probabilities[i],
        }
        for i in ordinary
    ]
    figure = verdict_bars(names, values, marked, view.accent, threshold=threshold, theme=theme())
    view.picture("verdicts", figure, rows, alt=verdict_alt(names, values, marked), note="Bars")
    if detection.masked:
        right, count = detection.correct(threshold)
        flagged = {i for i in ordinary if detection.probabilities[i] > threshold}
        view.say(
            "Result",
            masked=len(detection.masked),
            replaced=len(detection.replaced),
            flagged=len(flagged),
            caught=len(flagged & set(detection.replaced)),
            right=right,
            tokens=count,
        )
        if threshold != 0.5:
            view.note("Threshold", percent=f"{100 * threshold:.0f}")
    view.try_and_notice()


def _judge(detection: Detection, view: DemoView) -> Judge:
    """The verdict on a guess at the token with the highest probability of being replaced."""
    order = sorted(
        (i for i, token in enumerate(detection.after) if not token.special), key=lambda i: -detection.probabilities[i]
    )
    names = [detection.after[i].text for i in order]

    def judge(guess: str) -> str:
        if among(guess, names) is None:
            return view.words.part("No such token")
        sentence = verdict(guess, names, [detection.probabilities[i] for i in order])
        if not detection.masked:
            return sentence
        changed = any(i in detection.replaced for i, name in zip(order, names, strict=True) if same_word(guess, name))
        return f"{sentence} {view.words.part('Was replaced' if changed else 'Was not replaced')}"

    return judge


def _story(detection: Detection, color: str) -> list[tuple[str, str]]:
    """The corrupted text: the generator's tokens are underlined, followed by the originals, struck out."""
    parts: list[tuple[str, str]] = []
    for i, token in enumerate(detection.after):
        if token.special:
            continue
        if parts and not token.continuation and token.text not in ".,;:!?":
            parts.append((" ", ""))
        parts.append((token.text, f"font-weight:600;border-bottom:3px solid {color}" if i in detection.masked else ""))
        if i in detection.replaced and not detection.before[i].special:
            parts += [(" ", ""), (detection.before[i].text, "text-decoration:line-through;opacity:.65")]
    return parts


@session.cached("sampling-and-discriminating")
def _sampled(slug: str, text: str, masked: tuple[int, ...], seed: int) -> Detection:
    return replace_and_detect(session.checkpoint(slug, "generator"), session.checkpoint(slug), text, masked, seed)


REPLACED = Demo("replaced", draw_replaced, ("detects replaced tokens",), (TEXT, MASK, SEED))
