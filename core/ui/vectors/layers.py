"""How contextual each layer is: several models over held-out sentences, or over the visitor's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from core import session
from core.checkpoints.spec import CheckpointSpec
from core.errors import AtlasError
from core.figures import depth
from core.figures.curves import mixed
from core.figures.vectors import ink
from core.table import Table
from core.ui.export import download_csv
from core.ui.glossary import noted, told
from core.ui.heads.pictures import saved_as
from core.ui.notices import informed
from core.ui.page import accent, plain
from core.ui.text_table import TextTable, text_table
from core.ui.vectors.frame import VectorsView
from core.ui.vectors.sentences import asked, boxes_of_text, sentences_box
from core.vectors import kept
from core.vectors.contextual import Layer
from core.vectors.texts import COUNT

if TYPE_CHECKING:
    from core.ui.links import PageState

MEASURES = {
    "self": ("Self-similarity", "mean cosine between a word's vectors in different sentences"),
    "intra": ("Within a sentence", "mean cosine between a sentence's words and their mean"),
    "explained": ("Explained by one direction", "share of a word's vectors that one direction stands for"),
    "strangers": ("Any two words", "mean cosine between two words of two sentences"),
}
_RAW = {"self": "self_similarity", "intra": "intra", "explained": "explained", "strangers": "strangers"}
_ADJUSTED = {"self": "self_adjusted", "intra": "intra_adjusted", "explained": "explained_adjusted"}
USUAL = ("minilm", "atlas-bert", "atlas-roberta", "atlas-albert", "atlas-gpt-2")
MOST = 8
_SHADES = (0.0, 0.35, 0.6)
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
OWN_FEWEST = 2
"""Sentences that a word must stand in where a visitor has written them."""


def contextual_layers(view: VectorsView) -> None:
    """Draw the whole section; reads and writes over, measure, less, models, text and of.

    Raises:
        AtlasError: what was typed does not allow it.
    """
    state = view.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        over = st.segmented_control(
            "Sentences",
            ["kept", "own"],
            default=state.text("over", "kept"),
            required=True,
            key=state.key("over"),
            format_func=lambda one: f"{COUNT} held out" if one == "kept" else "your own",
            help="Measured at the desk over all English sentences that come with the Atlas and that no model was "
            "trained on; or live, over yours",
        )
        measure = st.selectbox(
            "Measure",
            list(MEASURES),
            index=list(MEASURES).index(state.text("measure", "self")),
            format_func=lambda one: MEASURES[one][0],
            key=state.key("measure"),
            width=260,
        )
        less = measure != "strangers" and st.toggle(
            "less what strangers share",
            state.text("less", "yes") == "yes",
            key=state.key("less"),
            help="Takes off what the layer gives for words of different sentences, since in some layers all vectors "
            "point one way",
        )
    state.set(over=over, measure=measure)
    if measure != "strangers":
        state.set(less=None if less else "no")
    chosen = _models(view, over == "kept")
    if not chosen:
        informed("No model is chosen. Choose one or more under “Models”.")
        return
    found = _kept(chosen) if over == "kept" else _own(view, chosen)
    if found:
        _drawn(found, measure, less, state)
    told(_NOTICE[measure])
    if over == "kept" and found:
        _words(found, state)
    _how()


_NOTICE = {
    "self": "**Try** switching the correction off. **Notice** that the encoders' lines fall: the more of a sentence a "
    "layer has mixed in, the less a word's vectors have in common. GPT-2's falls at once and rises again: in its first "
    "layers any two words are nearly as alike as two of a kind, and without the correction it seems to mix in nothing.",
    "intra": "**Notice** that words of one sentence draw nearer to each other on the way up in MiniLM and, from its "
    "first layer on, in GPT-2: each layer gives them more of the same surroundings. Less what strangers share, the "
    "encoders that were trained here go the other way.",
    "explained": "**Notice** how much of a word one fixed vector could stand for. It is the most that a static table "
    "could do for this layer; 1 would mean that context changes the length of a vector and nothing else.",
    "strangers": "**Notice** the height of some middle layers: any two words have a high cosine there, because all "
    "vectors share a direction. A cosine of 0.8 means nothing before one knows this number.",
}


def _models(view: VectorsView, measured: bool) -> list[CheckpointSpec]:
    offered = [slug for slug in view.specs if not measured or slug in kept.slugs()]
    usual = [slug for slug in USUAL if slug in offered] or offered[:MOST]
    wanted = view.state.words("models")
    start = usual if wanted is None else [slug for slug in wanted if slug in offered]
    chosen = st.multiselect(
        "Models",
        offered,
        default=start[:MOST],
        format_func=lambda slug: view.specs[slug].name,
        max_selections=MOST,
        key=view.state.key(f"models.{measured}"),
    )
    view.state.set(models=None if chosen == usual else tuple(chosen))
    return [view.specs[slug] for slug in chosen]


Found = dict[str, tuple[CheckpointSpec, tuple[Layer, ...]]]


def _kept(chosen: Sequence[CheckpointSpec]) -> Found:
    return {spec.slug: (spec, kept.layers(spec.slug)) for spec in chosen}


def _own(view: VectorsView, chosen: Sequence[CheckpointSpec]) -> Found:
    boxes_of_text(view.state)
    sentences_box(view.state, st.container(), 200)
    typed = asked(view.state)
    found: Found = {}
    counted: tuple[tuple[str, int], ...] = ()
    for spec in chosen:
        try:
            with st.spinner("Reading the sentences"):
                measured = session.contextual(spec.slug, typed.text, OWN_FEWEST)
        except AtlasError as error:
            if len(chosen) == 1:
                raise
            st.caption(plain(f"{spec.name} is left out: {error}"))
            continue
        found[spec.slug] = (spec, measured.layers)
        counted = measured.words
    if found and counted:
        said = ", ".join(f"{word} ({count})" for word, count in counted[:12])
        st.caption(
            plain(
                f"{len(counted)} words stand in {OWN_FEWEST} of your sentences or more and are counted: {said}"
                f"{' and others' if len(counted) > 12 else ''}. A few sentences give rough numbers."
            )
        )
    elif found:
        st.caption("No word stands in two of your sentences, so nothing can be said of how words change.")
    return found


def _value(layer: Layer, measure: str, less: bool) -> float | None:
    found: float | None = getattr(layer, _ADJUSTED[measure] if less else _RAW[measure])
    return found


def _drawn(found: Found, measure: str, less: bool, state: PageState) -> None:
    dark = st.context.theme.type == "dark"
    before: dict[str, int] = {}
    lines = []
    for number, (spec, layers) in enumerate(found.values()):
        shade = _SHADES[before.get(spec.branch, 0) % len(_SHADES)]
        before[spec.branch] = before.get(spec.branch, 0) + 1
        values = [_value(layer, measure, less) for layer in layers]
        colour = mixed(accent(spec.branch), ink(dark), shade)
        lines.append(depth.Line(spec.name, list(range(len(values))), values, colour, _DASHES[number % len(_DASHES)]))
    ticks = ["emb.", *(str(i) for i in range(1, max(len(line.values) for line in lines)))]
    title, means = MEASURES[measure]
    st.plotly_chart(
        depth.curves(lines, title.lower(), ticks, dark=dark, height=420),
        key=state.key("contextual"),
        config=saved_as("atlas-contextual"),
        alt=depth.alt(lines, title, ticks),
    )
    noted(f"{title}: {means}{', less what strangers share' if less else ''}. emb. is what the first layer reads.")
    with st.expander("The numbers"):
        rows = [
            (
                line.name,
                *("" if v is None else f"{v:.3f}" for v in line.values),
                *[""] * (len(ticks) - len(line.values)),
            )
            for line in lines
        ]
        share = (100 - 28) // len(ticks)
        text_table(
            TextTable(("Model", *ticks), rows, title, (28, *[share] * len(ticks)), tuple(range(1, len(ticks) + 1)))
        )
        download_csv(Table.from_records(_rows(found)), "contextual", state.key("csv.contextual"))


def _rows(found: Found) -> list[dict[str, object]]:
    return [
        {"model": slug, "layer": number}
        | {name.lower(): getattr(layer, _RAW[key]) for key, (name, _) in MEASURES.items()}
        | {f"{MEASURES[key][0].lower()}, adjusted": getattr(layer, field) for key, field in _ADJUSTED.items()}
        for slug, (_, layers) in found.items()
        for number, layer in enumerate(layers)
    ]


def _words(found: Found, state: PageState) -> None:
    st.markdown("**Which words change most**")
    slugs = [slug for slug in found if kept.words(slug)]
    wanted = state.text("of", slugs[0])
    slug = st.selectbox(
        "Of",
        slugs,
        index=slugs.index(wanted if wanted in slugs else slugs[0]),
        format_func=lambda one: found[one][0].name,
        key=state.key(f"of.{'.'.join(slugs)}"),
        width=300,
        label_visibility="collapsed",
    )
    state.set(of=None if slug == slugs[0] else slug)
    every = sorted(kept.words(slug), key=lambda word: word[2][-1])
    ends = [("change most", every[:10]), ("change least", every[-10:][::-1])]
    rows = [(what, ", ".join(f"{word} {values[-1]:.2f}" for word, _, values in words)) for what, words in ends]
    text_table(TextTable(("Words that", "after the last layer, with their self-similarity"), rows, "Words", (22, 78)))
    told(
        f"Of {len(every)} words that stand in five sentences or more. The paper found stopwords among those that "
        "change most, though they have no senses to choose from: what changes them is the company they keep. See "
        "whether that holds here, model by model."
    )
    download_csv(
        Table.from_records(
            [
                {"model": slug, "word": word, "sentences": count} | {f"layer {i}": v for i, v in enumerate(values)}
                for word, count, values in kept.words(slug)
            ]
        ),
        f"{slug}-words",
        state.key(f"csv.{slug}-words"),
    )


def _how() -> None:
    with st.expander("How it is measured"):
        st.latex(r"\mathrm{SelfSim} = \frac{1}{n(n-1)} \sum_{i \ne j} \cos(h_i, h_j)")
        told(
            "$h_i$ and $h_j$ are vectors of one word in $n$ sentences, after one layer. 1: context changes nothing. "
            "Its mean is over all words that stand in five sentences or more (two, in your own)."
        )
        st.latex(r"\mathrm{IntraSim}(s) = \frac{1}{|s|} \sum_{i \in s} \cos(\bar h_s, h_i)")
        told("$\\bar h_s$ is the mean of the vectors of the words of sentence $s$.")
        st.latex(r"\mathrm{MEV} = \frac{\sigma_1^2}{\sum_k \sigma_k^2}")
        told(
            "$\\sigma_k$ are the singular values of the matrix whose rows are the $h_i$ of one word: what one "
            "direction can stand for at most. The published script of the paper's author centres the rows first; here "
            "they are as they are, so that a word that never changes has 1."
        )
        st.latex(r"\mathrm{strangers} = \mathop{\mathrm{mean}}_{s \ne t} \cos(h_i, h_j), \quad i \in s,\ j \in t")
        told(
            "Two words of two sentences $s$ and $t$. The first two measures are taken less this number, the third less "
            "what as many words of different sentences give (twenty drawings)."
        )
        st.caption(
            "Ethayarajh, How Contextual are Contextualized Word Representations? (2019, "
            "[arXiv 1909.00512](https://arxiv.org/abs/1909.00512)). *Read: the abstract, the authors' script "
            "analyze.py, and notes on the paper by others; the definitions follow these, its figures were not taken "
            "over.* Its models were ELMo, BERT and GPT-2 in their published sizes over other sentences; those here are "
            "small."
        )
