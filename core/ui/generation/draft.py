"""Speculative decoding: a draft model proposes tokens, the target model accepts or rejects them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import session
from core.checkpoints.spec import Checkpoint
from core.errors import InputUnusable
from core.language.decoding.draft import Drafted, RoundBits, bits, expected, generate_with_draft
from core.language.decoding.reader import room
from core.language.tokens import Wording
from core.language.types import Decoding
from core.table import Table
from core.ui.export import download_html, html_page
from core.ui.generation.colored import LOOKS, bits_legend, drafted_html, drafted_legend
from core.ui.generation.setup import MODEL, SHARED, Setup, setup
from core.ui.glossary import plain_terms
from core.ui.job import job
from core.ui.page import main_picture
from core.ui.panel import offer_table
from core.ui.param import Choice, Integer, Real, differing
from core.ui.section import Section, View

AHEAD = Integer(name="ahead", label="Draft tokens", default=4, low=1, high=12, width=140)
HOW = Choice(
    name="how", label="Decoding of both models", options={"greedy": "Greedy", "sample": "Sampling"}, style="row"
)
TEMPERATURE = Real(
    name="temperature", label="Temperature", default=0.7, low=0.1, high=3.0, step=0.1, style="box", width=120
)
LOOK = Choice(name="look", label="Color", options=LOOKS, style="row")


@dataclass(frozen=True, slots=True)
class Speculation:
    """A draft model with its target model, and their decoding settings."""

    target: Checkpoint
    draft: Checkpoint
    prompt: tuple[int, ...]
    length: int
    ahead: int
    temperature: float | None
    """None for greedy decoding."""
    seed: int
    common: Decoding
    """Penalties and stop strings."""

    @property
    def key(self) -> tuple[object, ...]:
        slug = self.target.spec.slug
        how = (self.length, self.ahead, self.temperature, self.seed, self.common)
        return (slug, session.files(slug), self.prompt, *how)

    def generate(self, on_round: Callable[[Drafted], None] | None = None) -> Drafted:
        """The text; ``on_round`` is called with it after each round."""
        how: dict[str, Any] = {"ahead": self.ahead, "temperature": self.temperature, "seed": self.seed}
        return generate_with_draft(
            self.target, self.draft, self.prompt, self.length, **how, common=self.common, on_round=on_round
        )


def speculative_decoding(view: View) -> None:
    """Draw controls, the colored text and the counts."""
    state, chosen = view.state, setup(view, also=differing(view.state, LOOK))
    if "draft" not in chosen.spec.parts:
        able = [spec.name for spec in MODEL.offered().values() if "draft" in spec.parts]
        raise InputUnusable(
            f"{chosen.spec.name} has no draft model that shares its tokens. "
            + (f"Choose under “Live model”: {', '.join(able)}." if able else "A checkpoint with a draft model works.")
        )
    with chosen.row:
        ahead = AHEAD.draw(state)
        temperature = TEMPERATURE.draw(state) if HOW.draw(state) == "sample" else None
    start, common = chosen.start(), chosen.common
    most = room(start)
    target = session.checkpoint(chosen.spec.slug)
    run = Speculation(
        target,
        session.checkpoint(chosen.spec.slug, "draft"),
        start.ids,
        common.max_new_tokens if most is None else min(common.max_new_tokens, most),
        ahead,
        temperature,
        common.seed if temperature is not None else 0,
        Decoding(penalty=common.penalty, no_repeat=common.no_repeat, stop=common.stop),
    )
    with chosen.menu:
        coloring = LOOK.draw(state)
    with chosen.row:
        button = st.empty()  # above the text, which moves what is below it while it grows
    with main_picture():
        placeholder = st.empty()
    st.html(drafted_legend(coloring))
    bits_legend(coloring)
    drafted = _text(chosen, run, placeholder, button)
    if drafted is None:
        return
    wording, bits = Wording(target.tokenizer), _bits(run, drafted)
    html = drafted_html(chosen.text, drafted, wording, coloring, bits)
    placeholder.html(html)
    parts = [html, f"<p>{drafted_legend(coloring)}</p>"]
    if coloring != "rounds":
        parts.append(f"<p>{view.words.part('Background', color=LOOKS[coloring].lower())}</p>")
    _counts(view, drafted, ahead)
    view.try_and_notice()
    download_html(html_page(f"{chosen.spec.name} with a draft model", parts), "draft", state.key("draft.html"))
    rounds = _rounds(drafted, bits, wording)
    offer_table(state, rounds, "Rounds of speculative decoding", "rounds", "speculative-rounds")
    view.how_it_works(notes=["Sources"])
    _about(chosen, run)


def _about(chosen: Setup, run: Speculation) -> None:
    card = run.draft.spec.card
    if card is not None:
        sizes = chosen.view.words.part(
            "Sizes",
            draft=run.draft.spec.name,
            draft_parameters=f"{run.draft.model.num_parameters():,}",
            target=chosen.spec.name,
            target_parameters=f"{run.target.model.num_parameters():,}",
        )
        with st.expander(chosen.view.words.label("model")):
            st.caption(plain_terms(" ".join((sizes, *card.strengths, *card.weaknesses))))


def _text(chosen: Setup, run: Speculation, placeholder: DeltaGenerator, button: DeltaGenerator) -> Drafted | None:
    """The text, drawn round by round unless cached; None if the visitor stopped it before the first round."""
    state, wording, key = chosen.state, Wording(run.target.tokenizer), ("draft", *run.key)
    drafted: Drafted | None = session.results.get(key)
    growing = job(state, "draft", key)
    if drafted is None and not growing.goes(button):
        drafted = growing.part or Drafted(())
    elif drafted is None:

        def draw_rounds(now: Drafted) -> None:
            growing.part = now
            placeholder.html(drafted_html(chosen.text, now, wording, growing=True))

        drafted = run.generate(draw_rounds)
        session.results.put(key, drafted)
        button.empty()
    if not drafted.rounds:
        placeholder.html(drafted_html(chosen.text, drafted, wording))
        return None
    return drafted


def _bits(run: Speculation, drafted: Drafted) -> tuple[RoundBits, ...]:
    """Surprisal and entropy of the text's tokens."""
    key = ("draft bits", *run.key, len(drafted.ids))  # a text that was stopped is shorter
    return session.results.get_or_compute(key, lambda: bits(run.target, run.prompt, drafted))


def _counts(view: View, drafted: Drafted, ahead: int) -> None:
    tokens, rate = len(drafted.ids), drafted.rate
    passes: dict[str, int | str] = {
        "passes": drafted.passes,
        "tokens": tokens,
        "per_token": f"{drafted.passes_per_token:.2f}",
    }
    if rate is None:
        view.say("Counts: none checked", **passes)
    else:
        view.say(
            "Counts",
            **passes,
            checked=drafted.checked,
            accepted=drafted.accepted,
            rate=f"{rate:.2f}",
            expected=f"{expected(rate, ahead):.2f}",
            a_round=f"{tokens / drafted.passes:.2f}",
        )
    if drafted.stopped:
        view.say("Stopped")


def _rounds(drafted: Drafted, bits: Sequence[RoundBits], wording: Wording) -> Table:
    def words(ids: Sequence[int]) -> str:
        return " ".join(f"“{wording.token(i)}”" for i in ids) or "–"

    rows = tuple(
        (
            str(number),
            words(round_.drafted[: round_.accepted]),
            words(round_.drafted[round_.accepted :]),
            words(round_.written[round_.accepted :]),
            " ".join(f"{token.surprisal:.1f}" for token in round_bits.written),
        )
        for number, (round_, round_bits) in enumerate(zip(drafted.rounds, bits, strict=True), 1)
    )
    headings = ("Round", "Accepted", "Rejected or dropped", "The target model's own", "Surprisal of the text, bits")
    return Table(headings, rows)


DRAFT = Section("draft", speculative_decoding, (*SHARED, AHEAD, HOW, TEMPERATURE, LOOK))
