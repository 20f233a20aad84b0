"""Reward, divergence and policy on a few continuations of the story decoder: RLHF in miniature, computed exactly."""

from __future__ import annotations

import streamlit as st

from core import checkpoints, session
from core.figures.labels import percent
from core.figures.plot import cut
from core.figures.predictions import compared_bars
from core.language.reward import policy, rewarded, score
from core.table import Table
from core.ui.generation.strategies import minus
from core.ui.page import accent, theme
from core.ui.panel import Panel
from core.ui.param import Real, Text
from core.ui.section import Section, View

PROMPT = Text(name="prompt", label="Prompt", default="Once upon a time there was a little girl who", most=300)
REWARDED = Text(
    name="rewarded",
    label="Reward: continuation, one on each line",
    default="""0: had three sons.
0: lived in the forest.
1: was very beautiful.
6: ate the moon.
3: cried.""",
    height=168,
    most=1_700,
)
BETA = Real(name="beta", label="β", default=0.5, low=0.1, high=10.0, step=0.1)


def reward(view: View) -> None:
    state, words, look = view.state, view.words, theme()
    slug = checkpoints.first("generation")[0]
    left, right = st.columns((2, 3), gap="large")
    with left:
        prompt = PROMPT.draw(state)
        texts, rewards = rewarded(REWARDED.draw(state))
        beta = BETA.draw(state)
    scored = session.computed("running-the-model", score, slug, prompt, texts)
    chosen = policy([candidate.total for candidate in scored], rewards, beta)
    pairs = list(zip(chosen.before.tolist(), chosen.after.tolist(), strict=True))
    names = tuple(words.front["policies"])
    rows = [
        (text, candidate.total, value, *pair)
        for text, candidate, value, pair in zip(texts, scored, rewards, pairs, strict=True)
    ]
    alt = "; ".join(f"{text} {percent(before)}, {percent(after)}" for text, _, _, before, after in rows)
    with right:
        Panel(
            "reward",
            words.label("picture"),
            compared_bars(
                names,
                [(cut(text, 30), pair) for text, pair in zip(texts, pairs, strict=True)],
                (accent("decoder"), look.muted),
                theme=look,
            ),
            f"{words.label('picture')}, {names[0]} and {names[1]}: {alt}.",
            Table(("continuation", "log-probability", "reward", *names), tuple(rows)),
        ).draw(state)
    before, after = chosen.expected
    view.say(
        "Answer",
        before=minus(before),
        after=minus(after),
        kl=f"{chosen.kl:.2f}",
        beta=f"{beta:g}",
        objective=minus(after - beta * chosen.kl),
    )
    view.try_and_notice()


REWARD = Section("reward", reward, (PROMPT, REWARDED, BETA))
