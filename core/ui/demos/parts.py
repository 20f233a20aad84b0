"""DeBERTa's demo: an attention score as a sum of three parts, and the hidden word guessed without one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from core import session
from core.checkpoints.spec import CheckpointSpec
from core.figures.predictions import bars_alt, guess_bars
from core.links import parameters as link
from core.ui.chart import chart
from core.ui.data_table import data_table
from core.ui.demos.cover import uncovered, verdict
from core.ui.demos.cover_masks import FIRST, ONE
from core.ui.demos.demo import Demo, DemoView
from core.ui.glossary import noted, told
from core.ui.page import accent, plain, sentences, theme
from core.ui.param import Carried
from core.ui.text_box import text_box

if TYPE_CHECKING:
    from core.attention.architectures.disentangled import Parts, Without
    from core.ui.links import PageState

TEXT = "The dog ran to the [MASK] and the cat slept."
NAMES = {
    "c2c": "Content to content",
    "c2p": "Content to position",
    "p2c": "Position to content",
}


def parts_demo(view: DemoView) -> None:
    """Draw the demo; text, layer, head and the looking token are kept in the page's state."""
    spec, state = view.spec, view.state
    text = text_box(state, "text", "Sentence, perhaps with [MASK] in place of a word", TEXT, key="parts.text")
    masks = 0
    with sentences():
        found = _parts(spec.slug, text)
        masks = len(found.masks)
        layer, head, query = _menus(found, state)
        _maps(found, layer, head, query, state)
        _row(found, layer, head, query)
    with sentences():
        _hidden(spec, text, masks, state)
    _teach()


def _menus(found: Parts, state: PageState) -> tuple[int, int, int]:
    """Layer, head and looking token, from 0."""
    first = found.masks[0] if found.masks else 1
    with st.container(horizontal=True, vertical_alignment="bottom"):
        layer = _menu(state, "Layer", "layer", found.scores.shape[0])
        head = _menu(state, "Head", "head", found.scores.shape[2])
        options = list(range(len(found.tokens)))
        linked = state.number("token", first + 1) - 1
        token = st.selectbox(
            "Token that looks",
            options,
            index=linked if linked in options else first,
            format_func=lambda i: f"{i + 1} {found.tokens[i]}",
            key=state.key(f"parts.token.{len(options)}"),
            width=190,
        )
        query = int(token or 0)
    state.set(token=None if query == first else query + 1)
    return layer, head, query


def _menu(state: PageState, title: str, name: str, count: int) -> int:
    options = list(range(1, count + 1))
    current = state.number(name, 1)
    chosen = int(
        st.selectbox(
            title, options, index=current - 1 if current in options else 0, key=state.key(f"parts.{name}"), width=110
        )
        or 1
    )
    state.set(**{name: None if chosen == 1 else chosen})
    return chosen - 1


def _maps(found: Parts, layer: int, head: int, query: int, state: PageState) -> None:
    """The three parts and their sum, all on one scale of colors."""
    from core.figures.attention import score_map

    parts = found.scores[layer, :, head]
    titles = [f"{title} ({part})" for part, title in NAMES.items()]
    pictures = [*zip(titles, parts, strict=True), ("Their sum, the score itself", parts.sum(axis=0))]
    limit = max(1e-3, max(float(np.abs(values).max()) for _, values in pictures))
    for number, (column, (name, values)) in enumerate(zip(st.columns(4, gap="small"), pictures, strict=True)):
        with column:
            st.markdown(f"**{name}**")
            key = int(values[query].argmax())
            chart(
                score_map(values, found.tokens, query, limit, theme=theme()),
                key=state.key(f"parts.map.{number}"),
                alt=f"{name}: layer {layer + 1}, head {head + 1}, scores of {len(found.tokens)} tokens for each other, "
                f"from {values.min():.2f} to {values.max():.2f}. {found.tokens[query]} scores {found.tokens[key]} "
                "highest. The table below has its row.",
            )
    noted(
        f"Scores before the softmax, rows look and columns are looked at: orange −{limit:.1f}, nought the background, "
        f"blue +{limit:.1f}. The framed row is the token that looks."
    )


def _row(found: Parts, layer: int, head: int, query: int) -> None:
    """The looking token's row as a table, and what to try and notice."""
    parts = found.scores[layer, :, head, query]  # (3, n)
    table, advice = st.columns([2, 1], gap="medium")
    with table:
        data_table(
            [
                {
                    "looked at": f"{i + 1} {token}",
                    "distance": query - i,
                    **{name: float(value) for name, value in zip(NAMES, parts[:, i], strict=True)},
                    "sum": float(parts[:, i].sum()),
                    "weight": float(found.weights[layer, head, query, i]),
                }
                for i, token in enumerate(found.tokens)
            ],
            "parts-of-scores",
            alt=f"The row of {plain(found.tokens[query])}: distance, the three parts, their sum and the weight",
            column_config={
                **{name: st.column_config.NumberColumn(format="%.2f") for name in (*NAMES, "sum")},
                "weight": st.column_config.ProgressColumn(format="%.2f", width="small", min_value=0.0, max_value=1.0),
            },
        )
    with advice:
        told(
            "**Try** the same word twice in one sentence, and compare its two columns.\n\n"
            "**Notice** stripes along the diagonal in the two parts with a position: there a token asks for what "
            "stands at a certain distance. In content to content the two equal words get the same score in the first "
            "layer, wherever they stand."
        )


def _hidden(spec: CheckpointSpec, text: str, masks: int, state: PageState) -> None:
    """The hidden word, which may wait for a guess; the scores above do not tell it."""
    found = _guesses(spec.slug, text)
    whole = found[0]
    st.markdown("**The hidden word, when a part is left out of every score**")

    def judge(guess: str) -> str:
        return verdict(guess, whole.tokens, whole.probabilities)

    if uncovered(state, ("parts", spec.slug, text), ONE if masks == 1 else FIRST, judge):
        _left_out(found, state)


def _left_out(found: tuple[Without, ...], state: PageState) -> None:
    """Guesses for the hidden word of the whole model and without each part."""
    scale = max(guess.probabilities[0] for guess in found)
    for column, guess in zip(st.columns(len(found), gap="medium"), found, strict=True):
        with column:
            title = f"Without {NAMES[guess.part].lower()}" if guess.part else "Whole"
            st.caption(title)
            chart(
                guess_bars(
                    guess.tokens,
                    guess.probabilities,
                    accent("encoder"),
                    scale=scale,
                    theme=theme(),
                ),
                key=state.key(f"parts.without.{guess.part or 'none'}"),
                alt=bars_alt(guess.tokens, guess.probabilities, title),
            )
    told(
        "**Try** a hidden word that its neighbours decide, such as “once upon a [MASK]”, and one that only the topic "
        "decides.\n\n**Notice** that the model was trained with all three parts: what happens without one tells what "
        "it has come to rely on, not what it could have learnt without it."
    )
    with st.expander("The guesses as a table"):
        data_table(
            [
                {"left out": guess.part or "nothing", "rank": rank, "guess": token, "probability": chance}
                for guess in found
                for rank, (token, chance) in enumerate(zip(guess.tokens, guess.probabilities, strict=True), 1)
            ],
            "guesses-without-parts",
            alt="Guesses for the hidden word with their probabilities, whole and without each part",
            column_config={"probability": st.column_config.NumberColumn(format="%.4f")},
        )


def _teach() -> None:
    with st.expander("Formula: three parts of a score"):
        st.latex(
            r"s_{ij} = \frac{1}{\sqrt{3d}} \left( q_i \cdot k_j + q_i \cdot k^r_{\delta(i,j)}"
            r" + q^r_{\delta(i,j)} \cdot k_j \right)"
        )
        st.markdown(
            "- $s_{ij}$: the score of key $j$ for query $i$\n- $q_i, k_j$: query and key of what the tokens are; $d$: "
            "the width of a head\n"
            "- $k^r, q^r$: key and query of a distance, from one table of vectors that all layers share\n"
            "- $\\delta(i,j) = i - j$: how far the key stands to the left of the query\n"
            "- $3d$ under the root, for three sums of $d$ products where plain attention has one\n\n"
            "A fourth part, position to position, is left out: it would be the same for every text. No position is "
            "added to the words themselves. The published model adds each word's absolute place once, before it "
            "guesses hidden words; the model here does not."
        )
        st.caption("He et al. 2020, arXiv:2006.03654.")


@st.cache_resource(max_entries=24, ttl=3600.0, show_spinner="Taking the scores apart")
def _parts(slug: str, text: str) -> Parts:
    from core.attention.architectures.disentangled import parts_of

    return parts_of(session.checkpoint(slug), text)


@st.cache_data(max_entries=128, ttl=3600.0, show_spinner="Guessing without each part")
def _guesses(slug: str, text: str) -> tuple[Without, ...]:
    from core.attention.architectures.disentangled import guesses_without

    return guesses_without(session.checkpoint(slug), text)


PARTS = Demo(
    "parts",
    parts_demo,
    lambda spec: spec.offers("fills masks") and spec.offers("disentangled attention"),
    (
        Carried(name="layer", label="Layer", as_=link.Integer(None, 1, 200)),
        Carried(name="head", label="Head", as_=link.Integer(None, 1, 256)),
        Carried(name="token", label="Token that looks", as_=link.Integer(None, 1, 512)),
    ),
)
