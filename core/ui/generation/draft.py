"""Speculative decoding: a small model drafts, the large one checks; what it took, what it refused, what that gains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from core import session
from core.checkpoints.spec import Checkpoint
from core.errors import InputUnusable
from core.language.decoding.wording import Wording
from core.language.types import Decoding
from core.table import Table
from core.ui.export import download_csv, download_html, html_page
from core.ui.generation.draft_text import LOOKS, inked, legend, legend_html
from core.ui.generation.draft_time import settings_of, time_both
from core.ui.generation.frame import GenerationView, writers
from core.ui.generation.ink import legend as scale
from core.ui.generation.ink import theme
from core.ui.generation.writing import forget, remember
from core.ui.glossary import plain_terms, told
from core.ui.text_table import TextTable, text_table

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from core.language.decoding.draft import Drafted
    from core.language.decoding.draft_bits import RoundBits
    from core.ui.links import PageState

HOW = {"greedy": "Greedy", "sample": "Sampling"}


def draft_section(view: GenerationView) -> None:
    """Draw controls, the coloured text, the counts, and the times where they were asked for.

    Raises:
        AtlasError: the model has no draft, or the text cannot be used.
    """
    state = view.state
    if "draft" not in view.spec.parts:
        able = [spec.name for spec in writers() if "draft" in spec.parts]
        raise InputUnusable(
            f"No small model with the tokens of {view.spec.name} comes with it, so nothing can draft for it. "
            + (f"Choose under “Live model”: {', '.join(able)}." if able else "A checkpoint with a draft works.")
        )
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        ahead = int(
            st.number_input("Tokens a draft", 1, 12, state.number("ahead", 4), key=state.key("ahead"), width=140)
        )
        how = str(
            st.segmented_control(
                "Both models write by",
                list(HOW),
                default=state.text("how", "greedy"),
                required=True,
                format_func=HOW.__getitem__,
                key=state.key("how"),
            )
        )
        heat: float | None = None
        if how == "sample":
            heat = float(
                st.number_input(
                    "Temperature", 0.1, 3.0, state.real("temperature", 0.7), 0.1, key=state.key("heat"), width=120
                )
            )
            state.set(temperature=heat)
        time_it = st.empty()
    state.set(ahead=ahead, how=how)
    large, small = session.checkpoint(view.spec.slug), session.checkpoint(view.spec.slug, "draft")
    begun = view.start()
    length = view.common.max_new_tokens if begun.room is None else min(view.common.max_new_tokens, begun.room)
    common = Decoding(penalty=view.common.penalty, no_repeat=view.common.no_repeat, stop=view.common.stop)
    key = (*view.key, length, ahead, heat, view.common.seed if heat is not None else 0, common)
    look = _look(state)
    place = st.empty()
    legend(look)
    found = _write(view, key, begun.prompt, (large, small), place)
    if found is None:
        return
    known = _bits(key, large, begun.prompt, found)
    html = inked(view.text, found, Wording(large.tokenizer), look, known)
    place.html(html)
    range_ = "" if look == "rounds" else f"<p>Grounds: {look}, from 0 bits to 12 bits and more.</p>"
    coloured = [html, f"<p>{legend_html(look)}</p>", range_]
    download_html(html_page(f"{view.spec.name} with a draft", coloured), "draft", state.key("draft.html"))
    _counts(found, ahead)
    told(
        "**Try** 1 and 8 tokens a draft, then sampling at temperature 1.\n\n"
        "**Notice** that the text is the same with every length of a draft under greedy decoding, and that what stands "
        "behind a refused token is lost: a long draft pays only where its first tokens hold. Under greedy decoding the "
        "accepted tokens surprise less, on average, than the large model's own: a small model is right where the large "
        "one is sure."
    )
    time_both(view, key, begun.prompt, (large, small), found, time_it)
    _rounds(found, known, Wording(large.tokenizer), state.key("draft.csv"))
    _formula()
    card = small.spec.card
    if card is not None:
        st.caption(
            plain_terms(
                f"{small.spec.name} has {small.model.num_parameters():,} parameters, {view.spec.name} "
                f"{large.model.num_parameters():,}. It learned from the same text. "
                + " ".join((*card.strengths, *card.weaknesses))
            )
        )


def _write(
    view: GenerationView,
    key: tuple[object, ...],
    prompt: Sequence[int],
    models: tuple[Checkpoint, Checkpoint],
    place: DeltaGenerator,
) -> Drafted | None:
    """The text, drawn round by round where it is not known yet; None where the visitor stopped it before a round."""
    from core.language.decoding.draft import Drafted, drafted

    wording, state = Wording(models[0].tokenizer), view.state
    known = session.drafts.get(key)
    slot, part = state.key("draft.stopped"), state.key("draft.part")
    buttons = st.empty()
    if known is None and st.session_state.get(slot) == key:
        known = st.session_state.get(part) or Drafted(())
        buttons.button("Go on", key=state.key("draft.go"), icon=":material/play_arrow:", on_click=forget, args=(slot,))
    elif known is None:
        buttons.button("Stop", key=state.key("draft.stop"), icon=":material/stop:", on_click=remember, args=(slot, key))
        length, ahead, heat, seed, common = settings_of(key)

        def draw(now: Drafted) -> None:
            st.session_state[part] = now
            place.html(inked(view.text, now, wording, growing=True))

        known = drafted(*models, prompt, length, ahead=ahead, temperature=heat, seed=seed, common=common, told=draw)
        session.drafts.put(key, known)
        buttons.empty()
    if not known.rounds:
        place.html(inked(view.text, known, wording))
        return None
    return known


def _look(state: PageState) -> str:
    """What the grounds tell, with the scale of it."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        look = str(
            st.segmented_control(
                "Colour",
                list(LOOKS),
                default=state.text("look", "rounds"),
                required=True,
                key=state.key("look"),
                format_func=LOOKS.__getitem__,
                label_visibility="collapsed",
            )
        )
        scale("none" if look == "rounds" else look, theme())
    state.set(look=look)
    return look


def _bits(key: tuple[object, ...], large: Checkpoint, prompt: Sequence[int], found: Drafted) -> tuple[RoundBits, ...]:
    """Surprise and entropy of the text's tokens; kept, since the text stands through many changes of the page."""
    from core.language.decoding.draft_bits import bits

    at = (*key, len(found.ids))  # a text that was stopped is shorter
    known = session.draft_bits.get(at)
    if known is None:
        known = bits(large, prompt, found)
        session.draft_bits.put(at, known)
    return known


def _counts(found: Drafted, ahead: int) -> None:
    from core.language.decoding.draft import expected

    tokens = len(found.ids)
    rate = found.rate
    said = f"nothing was checked over {tokens} tokens"
    if rate is not None:
        said = (
            f"of {found.checked} drafted tokens that were checked, {found.accepted} were accepted: α = {rate:.2f}. "
            f"With that rate the formula expects {expected(rate, ahead):.2f} tokens a round; here it was "
            f"{tokens / found.passes:.2f}"
        )
    st.markdown(
        f"**{found.passes} passes of the large model for {tokens} tokens**, {found.passes_per_token:.2f} a token "
        f"instead of 1; {said}." + (" It wrote a text that it was to stop at." if found.stopped else "")
    )


def _rounds(found: Drafted, bits: Sequence[RoundBits], wording: Wording, key: str) -> None:
    def words(ids: Sequence[int]) -> str:
        return " ".join(f"“{wording.token(i)}”" for i in ids)

    rows: list[tuple[str, ...]] = [
        (
            str(n),
            words(one.drafted[: one.accepted]) or "–",
            words(one.drafted[one.accepted :]) or "–",
            words(one.written[one.accepted :]) or "–",
            " ".join(f"{of.surprise:.1f}" for of in known.written),
        )
        for n, (one, known) in enumerate(zip(found.rounds, bits, strict=True), 1)
    ]
    headings = ("Round", "Accepted", "Refused or dropped", "The large model's own", "Surprise of what stands, bits")
    with st.expander("Every round as a table"):
        text_table(TextTable(headings, rows, "Rounds of speculative decoding", (8, 28, 28, 17, 19)))
        download_csv(Table(headings, tuple(rows)), "speculative-rounds", key)


def _formula() -> None:
    with st.expander("Formulas: what is accepted, and what it gains", expanded=False):
        st.latex(
            r"P(\text{accept } x) = \min\Bigl(1, \frac{p(x)}{q(x)}\Bigr), \qquad "
            r"x' \sim \frac{\max(0, p - q)}{\sum_v \max(0, p(v) - q(v))}"
        )
        told(
            "$P$ is how often a token is accepted, $p$ are the large model's probabilities, $q$ the draft's, $v$ runs "
            "over the vocabulary, $x$ is a drafted token, $x'$ what takes the place "
            "of a refused one. So every token is distributed as if the large model had written alone. Under greedy "
            "decoding a token is accepted where it is the large model's own choice, and the text is that of before. "
            "Penalties change the scores of both models first; $p$ and $q$ are what comes out."
        )
        st.latex(
            r"E[\text{tokens a round}] = \frac{1 - \alpha^{\gamma + 1}}{1 - \alpha}, \qquad "
            r"\text{gain} = \frac{1 - \alpha^{\gamma + 1}}{(1 - \alpha)(\gamma c + 1)}"
        )
        st.markdown(
            "$E$ is the mean, $\\alpha$ the share of checked tokens that are accepted, $\\gamma$ the tokens of a "
            "draft, $c$ the time "
            "of a pass of the draft in passes of the large model. The formula takes every token for equally hard."
        )
        st.caption("Leviathan et al. 2023, arXiv 2211.17192; Chen et al. 2023, arXiv 2302.01318.")
