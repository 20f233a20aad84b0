"""What a token is before the first layer: the sum of its embeddings, taken apart token by token."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from core import session
from core.attention.tokens import label, short
from core.checkpoints.spec import CheckpointSpec
from core.figures import strips
from core.table import Table
from core.ui.chips import token_chips
from core.ui.export import download_csv
from core.ui.glossary import noted, told
from core.ui.heads.pictures import saved_as
from core.ui.text_table import TextTable, text_table
from core.ui.vectors.frame import VectorsView, model_menu
from core.vectors.sums import KINDS, Sums

if TYPE_CHECKING:
    from core.ui.links import PageState

FIRST = ("The cat drank the milk.", "It was thirsty.")
FRENCH = "Le chat a bu le lait."
NAMES = {"token": "word", "position": "place", "segment": "segment", "language": "language"}
SHOWN = {"share": "Share of the sum", "length": "Length", "cosine": "Cosine with the sum"}
_MEANS = {
    "share": "how much of the sum each part is; a row adds up to 1",
    "length": "the length of each part's vector, and of the sum's",
    "cosine": "how far each part points the way of the sum",
}
_LABEL = 16


def taken_apart(view: VectorsView) -> None:
    """Draw the whole section; reads and writes first, second, number and part.

    Raises:
        AtlasError: what was typed, or the model, does not allow it.
    """
    state = view.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        spec = model_menu(view, first="atlas-bert")
        french = spec.slug == "atlas-xlm"
        first, second = _texts(spec, (FIRST[0], FRENCH if french else FIRST[1]), state)
        number = st.segmented_control(
            "Show",
            list(SHOWN),
            format_func=SHOWN.__getitem__,
            default=state.text("number", "share"),
            required=True,
            key=state.key("number"),
        )
    state.set(number=number)
    with st.spinner("Running the model"):
        found = session.sums(spec.slug, first, second)
    left, right = st.columns([1, 1.25], gap="large")
    with left:
        _grid(found, str(number), spec, state)
    with right:
        _one(found, spec, state)
    told(
        "**Try** *Length* with a sentence that has a word twice, then RoBERTa and GPT-2. **Notice** that such a word "
        "has one vector, wherever it stands: its place, and the text of a pair, are all that tells the two apart "
        "before the first layer. That is all a model knows of order."
    )
    _formula(found)
    _others(view)


def _texts(spec: CheckpointSpec, usual: tuple[str, str], state: PageState) -> tuple[str, str]:
    first = st.text_input(
        "First sentence", state.text("first", usual[0]), max_chars=300, key=state.key("first"), width=300
    )
    second = st.text_input(
        "Second sentence",
        state.text("second", usual[1]),
        max_chars=300,
        key=state.key(f"second.{usual[1]}"),
        width=240,
        help="Read together with the first by models that tell two texts apart; others leave it out",
    )
    state.set(first=None if first == usual[0] else first, second=None if second == usual[1] else second)
    return first, second


def _labels(found: Sums) -> list[str]:
    """Names of the rows: a token, with its number, since one may stand twice."""
    return [f"{short(label(token), _LABEL)} {number}" for number, token in enumerate(found.tokens)]


def _grid(found: Sums, number: str, spec: CheckpointSpec, state: PageState) -> None:
    columns = [NAMES[part] for part in found.parts]
    values = {"share": found.shares, "length": found.lengths, "cosine": found.cosines}[number]
    if number == "length":
        columns.append("sum")
    st.plotly_chart(
        strips.strips(
            values.T,
            _labels(found),
            columns,
            signed=number != "length",
            reach=1.0 if number != "length" else None,
            what=SHOWN[number].lower(),
            row_height=27,
            dark=st.context.theme.type == "dark",
        ),
        key=state.key("sum"),
        config=saved_as(f"atlas-{spec.slug}-sum"),
        alt=f"{SHOWN[number]} of each part, token by token. {_means(found)}",
    )
    st.caption(f"{SHOWN[number]}: {_MEANS[number]}. {_means(found)}")
    download_csv(Table.from_records(_rows(found)), f"{spec.slug}-sum", state.key(f"csv.{spec.slug}-sum"))


def _means(found: Sums) -> str:
    said = [
        f"{NAMES[part]} {100 * share:.0f} %" for part, share in zip(found.parts, found.shares.mean(axis=1), strict=True)
    ]
    return f"On average the sum is {', '.join(said)}."


def _rows(found: Sums) -> list[dict[str, object]]:
    names = list(found.parts)
    rows = []
    for i, token in enumerate(found.tokens):
        row: dict[str, object] = {"token": i, "piece": token.piece}
        for p, name in enumerate(names):
            row |= {
                f"{name} length": f"{found.lengths[p, i]:.5f}",
                f"{name} share": f"{found.shares[p, i]:.5f}",
                f"{name} cosine": f"{found.cosines[p, i]:.5f}",
            }
        rows.append({**row, "sum length": f"{found.lengths[-1, i]:.5f}"})
    return rows


def _one(found: Sums, spec: CheckpointSpec, state: PageState) -> None:
    """One token as its numbers."""
    wanted = state.number("part", 2) - 1
    usual = min(1, len(found.tokens) - 1)
    picked = token_chips(
        found.tokens,
        selected=(wanted if wanted < len(found.tokens) else usual,),
        key=state.key(f"part.{spec.slug}"),
        accent=spec.branch,
        label="Tokens",
        clearable=False,
    )
    at = picked[0] if picked else usual
    state.set(part=None if at == usual else at + 1)
    dark = st.context.theme.type == "dark"
    width = found.total.shape[1]
    ticks = [str(i + 1) for i in range(width)]
    vectors = np.stack([*(part[at] for part in found.parts.values()), found.total[at]])
    names = [*(NAMES[part] for part in found.parts), "sum"]
    if len(found.parts) == 1:
        vectors, names = vectors[:1], names[:1]
    st.plotly_chart(
        strips.strips(
            vectors,
            names,
            ticks,
            signed=True,
            digits=None,
            what="",
            row_height=34,
            dark=dark,
            across=f"the {width} numbers of token {at}",
        ),
        key=state.key("strip"),
        config=saved_as(f"atlas-{spec.slug}-parts"),
        alt=f"The {width} numbers of each part of token {at}, and their sum: blue above zero, orange below.",
    )
    for name, values in found.after.items():
        said = "after the norm" if name == "norm" else f"after the projection to {values.shape[1]} numbers"
        st.plotly_chart(
            strips.strips(
                values[at][None],
                [name],
                [str(i + 1) for i in range(values.shape[1])],
                signed=True,
                digits=None,
                row_height=34,
                dark=dark,
                across=said,
            ),
            key=state.key(f"strip.{name}"),
            config=saved_as(f"atlas-{spec.slug}-{name}"),
            alt=f"The numbers of token {at} {said}.",
        )
    st.caption("Every number is a column: blue above zero, orange below, on one scale for all rows of a picture.")


def _formula(found: Sums) -> None:
    total = " + ".join(found.formulas.values())
    st.latex(rf"X_t = {total}")
    if "norm" in found.after:
        st.latex(r"h^{(0)}_t = \beta + \gamma \odot \frac{X_t - \mu}{\sqrt{\sigma^2 + \epsilon}}")
    st.latex(r"\mathrm{share}(A) = A \cdot X \,/\, \|X\|^2, \qquad \textstyle\sum_A \mathrm{share}(A) = 1")
    letters = {
        "token": "$E[w_t]$ the row of the vocabulary's entry at place $t$",
        "position": "$P[t]$ the row of the place",
        "segment": "$G[s_t]$ the row of the text $s_t$, first or second",
        "language": "$L[\\ell_t]$ the row of the language",
    }
    told(
        f"{'; '.join(letters[part] for part in found.parts)}. $\\mu$, $\\sigma^2$ are the mean and variance of the "
        "numbers of $X_t$, $\\gamma$ and $\\beta$ what the norm has learned, $\\epsilon$ a small "
        "number under its root, $h^{(0)}_t$ what the first layer reads, $A$ any of the parts. The share is the "
        "length of a part's shadow on the sum. What is shown are the model's own numbers, taken from its modules."
    )
    noted(
        "Devlin et al., BERT (2018, [arXiv 1810.04805](https://arxiv.org/abs/1810.04805)): the input is the sum of "
        "token, segment and position embeddings. *Read: the paper's own text, in a stored copy.*"
    )


def _others(view: VectorsView) -> None:
    st.markdown("**What other models add up**")
    rows = []
    for kind in KINDS:
        names = ", ".join(_name(view, slug) for slug in kind.slugs)
        after = " + ".join(kind.after) or "nothing"
        rows.append((names, " + ".join(NAMES[part] for part in kind.parts), after, kind.told))
    text_table(TextTable(("Live models", "Sum", "Then", ""), rows, "What each model adds up", (26, 18, 14, 42)))


def _name(view: VectorsView, slug: str) -> str:
    known = view.specs.get(slug)
    return slug if known is None else known.name.removeprefix("Atlas ").partition(" with ")[0]
