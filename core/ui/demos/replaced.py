"""ELECTRA's demo: hide words, let the generator fill them, see which tokens the discriminator takes for replaced."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import streamlit as st

from core import session
from core.checkpoints.spec import CheckpointSpec
from core.figures.predictions import verdict_alt, verdict_bars
from core.language.guesses import among, same_word
from core.language.replaced import Judged
from core.language.tokens import words
from core.links import parameters as link
from core.ui.chart import chart
from core.ui.chips import token_chips
from core.ui.data_table import data_table
from core.ui.demos.cover import Judge, switch, uncovered, verdict
from core.ui.demos.demo import Demo, DemoView
from core.ui.glossary import noted, told
from core.ui.page import accent, sentences, theme
from core.ui.param import Carried
from core.ui.text_box import text_box

if TYPE_CHECKING:
    from core.language.types import Token
    from core.ui.links import PageState

TEXT = "The king gave a great feast for all of his friends, and they thanked him."
OWN = "The king ate a great feast for all of his trees, and they thanked him."


def replaced_demo(view: DemoView) -> None:
    """Draw the demo; text, hidden words and seed are kept in the page's state."""
    spec, state = view.spec, view.state
    filled = "generator" in spec.parts
    threshold = float(spec.card.extra.get("threshold", 0.5)) if spec.card else 0.5
    start = TEXT if filled else OWN
    text = text_box(state, "text", "Sentence", start, key="replaced.text", height=68, hidden_label=True)
    with sentences():
        if not filled:
            _show(spec, _own(spec.slug, text), threshold, state)
            return
        positions = _choose(spec, text, state)
        seed = _seed(state)
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(
                "Sample again",
                key=state.key("replaced.again"),
                help="Another sample of the generator",
                on_click=_again,
                args=(state.key("replaced.seed"),),
            )
            st.caption(
                f"Sample {seed + 1}. "
                + ("Words chosen at random; click words to choose them." if not positions else "You chose the words.")
            )
        _show(spec, _sampled(spec.slug, text, positions, seed), threshold, state)


def _seed(state: PageState) -> int:
    """The number of the sample, kept under a key of its own, so that a click can raise it."""
    seed = int(st.session_state.setdefault(state.key("replaced.seed"), state.number("seed")))
    state.set(seed=seed or None)
    return seed


def _again(slot: str) -> None:
    st.session_state[slot] = (st.session_state[slot] + 1) % 2**31


def _choose(spec: CheckpointSpec, text: str, state: PageState) -> tuple[int, ...]:
    """The words that the visitor hides; none leaves the choice to chance."""
    tokens = _cut(spec.slug, text)
    fixed = [i for i, token in enumerate(tokens) if token.special]
    kept = [i for i in state.integers("mask") if i < len(tokens) and i not in fixed]
    numbers = words(tokens)
    whole = {numbers[i] for i in kept}
    picked = token_chips(
        tokens,
        selected=[i for i, number in enumerate(numbers) if number in whole and i not in fixed],
        key=state.key("replaced.chips"),
        multi=True,
        accent="encoder",
        label="Tokens of the sentence; choose words for the generator to fill",
        disabled=fixed,
        groups=numbers,
    )
    state.set(mask=picked)
    return picked


def _show(spec: CheckpointSpec, found: Judged, threshold: float, state: PageState) -> None:
    colour = accent("encoder")
    hidden = switch(state)
    place = st.empty()
    question = (spec.slug, tuple(token.id for token in found.after))
    shown = uncovered(state, question, "Which token does the judge suspect most?", _judge(found), on=hidden)
    story = _story(found if shown else Judged(found.after, found.after, (), (), found.verdicts), colour)
    place.html(f'<p dir="auto" style="font-size:1.2rem;line-height:1.7;overflow-wrap:anywhere">{story}</p>')
    if not shown:
        return
    ordinary = [i for i, token in enumerate(found.after) if not token.special]
    names = [found.after[i].text for i in ordinary]
    values = [found.verdicts[i] for i in ordinary]
    marked = [ordinary.index(i) for i in found.replaced if i in ordinary]
    picture, advice = st.columns([3, 2], gap="large")
    with picture:
        noted("How sure the discriminator is that each token was replaced; ◂ and hatching mark those that were")
        chart(
            verdict_bars(names, values, marked, colour, threshold=threshold, theme=theme()),
            key=state.key("replaced.bars"),
            alt=verdict_alt(names, values, marked),
        )
    with advice:
        hits, count = found.right(threshold)
        caught = sum(found.verdicts[i] > threshold for i in found.replaced)
        if found.hidden:
            told(
                f"Hidden tokens: {len(found.hidden)}. Replaced by another one: {len(found.replaced)}, of which the "
                f"discriminator catches {caught}. Right verdicts: {hits} of {count} tokens."
            )
            if threshold != 0.5:
                st.caption(
                    f"A token is taken for replaced above {100 * threshold:.0f} %: few tokens are, so that a fair "
                    "judge of both kinds draws the line lower than at one half."
                )
        told(
            "**Try** sampling again, then hide a word that cannot be guessed, such as a name.\n\n"
            "**Notice** that every token gets a verdict, so that training learns from all of them and not from 15 % "
            "alone; and that a guess which happens to be right counts as original."
        )
    _table(found)
    _teach()


def _judge(found: Judged) -> Judge:
    """A guess at the token that the discriminator suspects most, and whether that one was replaced."""
    ordinary = [i for i, token in enumerate(found.after) if not token.special]
    order = sorted(ordinary, key=lambda i: -found.verdicts[i])

    def judge(guess: str) -> str:
        names = [found.after[i].text for i in order]
        said = verdict(guess, names, [found.verdicts[i] for i in order])
        at = among(guess, names)
        if at is None or not found.hidden:
            return said if at is not None else "There is no such token in the text."
        changed = any(order[i] in found.replaced for i in range(len(order)) if same_word(guess, names[i]))
        return f"{said} It was {'replaced' if changed else 'not replaced'}."

    return judge


def _story(found: Judged, colour: str) -> str:
    """The text as it stands now: what was written is underlined, and what stood there follows, struck out."""
    out: list[str] = []
    for i, token in enumerate(found.after):
        if token.special:
            continue
        glue = "" if token.continuation or not out or token.text in ".,;:!?" else " "
        text = html.escape(token.text)
        if i in found.hidden:
            text = f'<strong style="border-bottom:3px solid {colour}">{text}</strong>'
        if i in found.replaced and not found.before[i].special:
            text += f' <s style="opacity:.65">{html.escape(found.before[i].text)}</s>'
        out.append(glue + text)
    return "".join(out)


def _table(found: Judged) -> None:
    chances = dict(zip(found.hidden, found.chances, strict=False))
    with st.expander("As a table"):
        data_table(
            [
                {
                    "token": i,
                    "stood there": found.before[i].text,
                    "stands there": token.text,
                    "generator's probability": chances.get(i),
                    "replaced": i in found.replaced,
                    "verdict": found.verdicts[i],
                }
                for i, token in enumerate(found.after)
                if not token.special
            ],
            "verdicts",
            alt="Every token with what stood there and the discriminator's verdict",
            column_config={
                name: st.column_config.NumberColumn(format="%.4f") for name in ("generator's probability", "verdict")
            },
        )


def _teach() -> None:
    with st.expander("How it is trained"):
        st.latex(
            r"L = L_{MLM} + 50 \cdot \frac{1}{n} \sum_{t=1}^{n} "
            r"-\big[\, r_t \log D_t + (1 - r_t) \log (1 - D_t) \,\big]"
        )
        told(
            "$L$ is the loss over $n$ tokens. $r_t$ is 1 where token $t$ is not the one that stood there, $D_t$ the "
            "discriminator's verdict, $L_{MLM}$ "
            "the generator's loss at the hidden places. The two share their word vectors. The generator is not "
            "trained to deceive: no gradient flows from the verdicts back to it."
        )
        st.caption("Clark et al. 2020, arXiv:2003.10555.")


@st.cache_data(max_entries=256, ttl=3600.0, show_spinner=False)
def _cut(slug: str, text: str) -> tuple[Token, ...]:
    from core.language.fill_mask import prepare

    return prepare(session.checkpoint(slug), text).tokens


@st.cache_data(max_entries=256, ttl=3600.0, show_spinner="Sampling and judging")
def _sampled(slug: str, text: str, positions: tuple[int, ...], seed: int) -> Judged:
    from core.language.replaced import replace_and_judge

    return replace_and_judge(session.checkpoint(slug, "generator"), session.checkpoint(slug), text, positions, seed)


@st.cache_data(max_entries=256, ttl=3600.0, show_spinner="Judging")
def _own(slug: str, text: str) -> Judged:
    from core.language.replaced import judge_own

    return judge_own(session.checkpoint(slug), text)


REPLACED = Demo(
    "replaced",
    replaced_demo,
    lambda spec: spec.offers("judges tokens"),
    (
        Carried(name="mask", label="Masked tokens", as_=link.Integers(high=511, most=64)),
        Carried(name="seed", label="Seed", as_=link.Integer(0, 0, 2**31 - 1)),
    ),
)
