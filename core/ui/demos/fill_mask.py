"""The encoder's demo: hide words by clicking or typing, see the guesses as bars and the sentence refilled."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

import streamlit as st

from core import session
from core.checkpoints.spec import CheckpointSpec
from core.errors import AtlasError
from core.figures.predictions import bars_alt, guess_bars
from core.language.probes import PROBES
from core.language.tokens import words
from core.links import parameters as link
from core.ui.chart import chart
from core.ui.chips import token_chips
from core.ui.data_table import data_table
from core.ui.demos.cover import uncovered
from core.ui.demos.cover_masks import judge_of, label
from core.ui.demos.demo import Demo, DemoView
from core.ui.demos.probes import all_probes
from core.ui.demos.samples import sample_pills
from core.ui.glossary import noted, told
from core.ui.notices import warned
from core.ui.page import accent, plain, theme
from core.ui.param import Carried

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from core.language.fill_mask import MaskedText, Part
    from core.language.types import MaskPrediction, Token
    from core.ui.links import PageState

DEFAULT_TEXT = "The capital of France is [MASK]."
GUESSES = 6
_IN_A_ROW = 3
_MOST_PICTURES = 9


@dataclass(frozen=True, slots=True)
class FillMaskResult:
    """What a link to this view has to carry. ``text`` is None for the page's own example."""

    text: str | None
    masked: tuple[int, ...]
    """Positions of the hidden tokens among the sentence's tokens, special ones included; typed masks are not listed."""


def fill_mask_demo(
    spec: CheckpointSpec,
    *,
    text: str | None,
    masked: tuple[int, ...],
    key: str,
    branch: str = "encoder",
    page: PageState | None = None,
) -> FillMaskResult:
    """Draw the demo and return the state that the page keeps.

    :param text: the sentence, None for the default one.
    :param masked: positions of the tokens that were clicked.
    :param key: prefix of the widgets' keys; a new prefix starts afresh from ``text`` and ``masked``.
    :param page: the page whose link says whether the answers wait for a guess; None never covers them.
    """
    box = f"{key}.text"
    if box not in st.session_state:
        st.session_state[box] = DEFAULT_TEXT if text is None else text
        st.session_state[f"{key}.cut"] = None
    _samples(key)
    typed = str(
        st.text_area(
            "Sentence",
            key=box,
            persist_state="page",
            height=68,
            label_visibility="collapsed",
            placeholder="Type a sentence with [MASK] where a word is to be guessed, or click a word below",
        )
        or ""
    )
    state = FillMaskResult(None if typed == DEFAULT_TEXT else typed, masked)
    try:
        masked = _carry_over(key, spec, typed, masked)
        masked = _choose(key, spec, typed, masked, branch)
        state = FillMaskResult(state.text, masked)
        sentence, predictions = _answer(spec.slug, typed, masked)
    except AtlasError as error:
        # What was typed stays in the box, so nothing is lost by the refusal.
        warned(str(error), icon=":material/info:")
        _teach(spec)
        return state
    for note in sentence.notes:
        st.caption(plain(note))
    asked = (spec.slug, sentence.text, sentence.positions)
    if page is not None and not uncovered(page, asked, label(predictions), judge_of(sentence.tokens, predictions)):
        _teach(spec)
        return state
    _refilled(spec, sentence, predictions, accent(branch))
    advice = _bars(sentence, predictions, accent(branch))
    advice.markdown(
        "**Try** clicking a second word that belongs to the first, then take one of the two back.\n\n"
        "**Notice** that every mask is guessed by itself: with both words gone, the two answers need not agree. "
        "All bars share one scale, so a short first bar means that the model is unsure."
    )
    _table(sentence, predictions)
    all_probes(spec, key=f"{key}.all")
    _teach(spec)
    return state


def _samples(key: str) -> None:
    """Ten sentences, one click each; the one that stands in the box is marked."""
    samples = {probe.name: (probe.text,) for probe in PROBES}
    standing = sample_pills("Ten probes", samples, f"{key}.sample", {f"{key}.text": st.session_state[f"{key}.text"]})
    if standing is not None:
        asks = next(p.asks for p in PROBES if p.name == standing)
        st.caption(f"{standing} asks for {asks}.")


def _carry_over(key: str, spec: CheckpointSpec, text: str, masked: tuple[int, ...]) -> tuple[int, ...]:
    """``masked`` after the text, or the way it is cut, has changed: words that are still there stay hidden."""
    tokens = _cut(spec.slug, text)
    now = tuple(token.piece for token in tokens)
    before: tuple[str, ...] | None = st.session_state.get(f"{key}.cut")
    st.session_state[f"{key}.cut"] = now
    if before is None:
        return tuple(i for i in masked if i < len(tokens))
    if before == now:
        return masked
    moved = {
        block.a + i: block.b + i
        for block in SequenceMatcher(None, before, now, autojunk=False).get_matching_blocks()
        for i in range(block.size)
    }
    # A text that shares less than half of its tokens is another sentence.
    if 2 * len(moved) < len(now):
        return ()
    return tuple(sorted(moved[i] for i in masked if i in moved))


def _choose(key: str, spec: CheckpointSpec, text: str, masked: tuple[int, ...], branch: str) -> tuple[int, ...]:
    """The chips; what they return are whole words."""
    tokens = _cut(spec.slug, text)
    numbers = words(tokens)
    fixed = [i for i, token in enumerate(tokens) if token.special]
    mask = str(session.checkpoint(spec.slug).tokenizer.mask_token)
    chosen = {numbers[i] for i in masked if i < len(tokens) and i not in fixed}
    whole = [i for i, number in enumerate(numbers) if number in chosen and i not in fixed]
    return token_chips(
        tokens,
        selected=whole,
        key=f"{key}.chips",
        multi=True,
        accent=branch,
        label="Tokens of the sentence; choose words to hide",
        disabled=fixed,
        held=[i for i in fixed if tokens[i].piece == mask],
        groups=numbers,
    )


def _refilled(spec: CheckpointSpec, sentence: MaskedText, predictions: Sequence[MaskPrediction], colour: str) -> None:
    """The sentence with the best guesses in place, each underlined in the branch's colour."""
    from core.language.fill_mask import refill

    shown = "".join(_part(part, colour) for part in refill(session.checkpoint(spec.slug), sentence, predictions))
    style = "font-size:1.25rem;line-height:1.6;margin:.2rem 0 .4rem;overflow-wrap:anywhere"
    st.html(f'<p dir="auto" style="{style}">{shown}</p>')


def _part(part: Part, colour: str) -> str:
    text = html.escape(part.text)
    if part.position is None:
        return text
    return f'<strong style="border-bottom:3px solid {colour};padding:0 .1em">{text}</strong>'


def _bars(sentence: MaskedText, predictions: Sequence[MaskPrediction], colour: str) -> DeltaGenerator:
    """One picture a mask, side by side on a wide screen, all on one scale; returns the place for words about them."""
    scale = max(p.probabilities[0] for p in predictions)
    pictures = predictions[:_MOST_PICTURES]
    for start in range(0, len(pictures), _IN_A_ROW):
        row = pictures[start : start + _IN_A_ROW]
        columns = st.columns([3, 2] if len(predictions) == 1 else min(_IN_A_ROW, len(predictions)), gap="large")
        for number, (column, prediction) in enumerate(zip(columns, row, strict=False), start + 1):
            with column:
                hidden = sentence.tokens[prediction.position]
                name = f"Mask {number}" if hidden.special else f"Mask {number}, in place of “{hidden.text}”"
                st.caption(plain(f"{name} (token {prediction.position})"))
                chart(
                    guess_bars(prediction.tokens, prediction.probabilities, colour, scale=scale, theme=theme()),
                    key=f"{sentence.text}.{prediction.position}.{number}",
                    alt=bars_alt(prediction.tokens, prediction.probabilities, f"Guesses for mask {number}"),
                )
    if len(predictions) > len(pictures):
        st.caption(f"The first {len(pictures)} of {len(predictions)} masks are drawn; the table has all of them.")
    return columns[1] if len(predictions) == 1 else st.container()


def _table(sentence: MaskedText, predictions: Sequence[MaskPrediction]) -> None:

    rows = [
        {
            "mask": number,
            "token": prediction.position,
            "stood there": ""
            if sentence.tokens[prediction.position].special
            else sentence.tokens[prediction.position].text,
            "rank": rank,
            "guess": guess,
            "id": token_id,
            "probability": chance,
        }
        for number, prediction in enumerate(predictions, 1)
        for rank, (guess, token_id, chance) in enumerate(
            zip(prediction.tokens, prediction.ids, prediction.probabilities, strict=True), 1
        )
    ]
    with st.expander("As a table"):
        data_table(
            rows,
            "guesses",
            alt="Guesses for every mask with their probabilities",
            column_config={"probability": st.column_config.NumberColumn(format="%.4f")},
        )


def _teach(spec: CheckpointSpec) -> None:
    with st.expander("How the guess is made"):
        st.latex(
            r"\begin{gathered} p(w) = \frac{e^{z_w}}{\sum_{v \in V} e^{z_v}} \\"
            r"z_w = e_w^\top g(h_i) + b_w \end{gathered}"
        )
        told(
            "$p(w)$ is the probability of word $w$ at the masked position $i$, $h_i$ the encoder's last vector there, "
            "$g$ the small layer of the masked-word head, $e_w$ the embedding of the word, $b_w$ its bias, $V$ the "
            "vocabulary. Every word of the vocabulary gets a probability; the bars show the largest. A word that is "
            "cut into several pieces becomes several masks, and the pieces are guessed without knowing each other."
        )
        if spec.card and "sentence_head" in spec.card.extra.get("facts", {}):
            st.markdown("This model adds to every score $z_w$ what the sentence as a whole says of the word:")
            st.latex(
                r"\begin{gathered} e_w^\top A\, s \;-\; \gamma_w\, [\,w \in S\,] \\"
                r"\gamma_w = \log\!\left(1 + e^{v^\top e_w + c}\right) \end{gathered}"
            )
            told(
                "$s$ is the published sentence encoder's vector of the sentence without its masks: it knows what the "
                "sentence is about, and draws words of that kind nearer. $\\gamma_w$ is the price of a word that is "
                "among the words $S$ of the sentence already, read from its vector: little for *the*, much for *bread*."
                " $A, v, c$ are learnt. **Try** *Tokyo is the capital of [MASK].* **Notice** that *tokyo*, the word "
                "nearest to the sentence, is not among the guesses."
            )
        noted(
            "Devlin et al. 2018, arXiv:1810.04805. The ten probes: Naveh Porat, Lecture 11 – Pretraining & Transformer "
            "Variants, July 2022; which words count as right is our choice."
        )


@st.cache_data(max_entries=256, ttl=3600.0, show_spinner=False)
def _cut(slug: str, text: str) -> tuple[Token, ...]:
    """The tokens of the text, with the visitor's way of writing masks turned into the model's."""
    from core.language.fill_mask import prepare

    return prepare(session.checkpoint(slug), text).tokens


@st.cache_data(max_entries=256, ttl=3600.0, show_spinner="Guessing")
def _answer(slug: str, text: str, masked: tuple[int, ...]) -> tuple[MaskedText, tuple[MaskPrediction, ...]]:
    from core.language.fill_mask import predict, prepare

    checkpoint = session.checkpoint(slug)
    sentence = prepare(checkpoint, text, masked)
    return sentence, predict(checkpoint, sentence, GUESSES)


def masks_demo(view: DemoView) -> None:
    """Draw the demo."""
    spec, state = view.spec, view.state
    if spec.offers("languages"):
        st.caption("Here every sentence is read as English; French goes beside its translation.")
    text = state.values.get("text")
    result = fill_mask_demo(
        spec,
        text=None if text is None else str(text),
        masked=state.integers("mask"),
        key=state.key("mask"),
        branch=spec.branch,
        page=state,
    )
    state.set(text=result.text, mask=result.masked)


MASKS = Demo(
    "masks",
    masks_demo,
    lambda spec: spec.offers("fills masks"),
    (Carried(name="mask", label="Masked tokens", as_=link.Integers(high=599, most=64)),),
)
