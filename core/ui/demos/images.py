"""CLIP on drawn shapes: the similarity matrix of images and captions, zero-shot classes, and what a prompt changes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from core import session
from core.checkpoints.spec import Measure, read_card
from core.figures.bars import Series, bars
from core.figures.labels import label, percent
from core.figures.predictions import bars_alt, prediction_bars
from core.figures.vectors import pair_matrix, pair_words
from core.table import Table
from core.ui.demos.cover import choice, uncovered
from core.ui.page import accent, theme
from core.ui.panel import Panel
from core.ui.param import Choice, Integer, Seed, Text
from core.ui.section import Section, View
from core.vectors import image_text
from core.vectors.image_text import COLORS, SHAPES, SIZES, Scene

COUNT = 6
_CLASSES: dict[str, tuple[str, Sequence[str], str]] = {
    "shape": ("Shape", SHAPES, "a picture of a {}"),
    "color": ("Color", tuple(COLORS), "a {} shape"),
    "size": ("Size", tuple(SIZES), "a picture of a {} shape"),
    "own": ("Own words", ("red circle", "red square", "blue circle", "blue square"), "a {}"),
}
"""By link name: the label, the classes, and a prompt like the captions of the training."""
CLASSES = Choice(name="classes", label="Classes", options={name: row[0] for name, row in _CLASSES.items()}, style="row")
OWN = Text(name="own", label="Classes, separated by commas", default=", ".join(_CLASSES["own"][1]), most=200)
PROMPT = Text(name="prompt", label="Prompt with {}", default=_CLASSES["shape"][2], most=120)
IMAGE = Integer(name="image", label="Image", default=3, low=1, high=COUNT, style="menu", width=110)
_KINDS: dict[str, image_text.SceneKind] = {"seen": "seen", "new": "held out"}
PAIRS = Choice(name="pairs", label="Color-shape pairs", options={"seen": "Named", "new": "Never named"}, style="row")
SEED = Seed(again="Draw others")


@session.cached()
def _drawn(pairs: str, seed: int) -> tuple[list[Scene], NDArray[np.uint8]]:
    """New images, one of each shape."""
    return image_text.one_of_each_shape(_KINDS[pairs], seed)


@session.cached("running-the-model")
def _cosines(pairs: str, seed: int, captions: tuple[str, ...]) -> NDArray[np.float64]:
    """(captions, images) cosines."""
    clip, images = image_text.model(), _drawn(pairs, seed)[1]
    cosines = image_text.vectors_of_texts(clip, captions) @ image_text.vectors_of_images(clip, images).T
    return np.asarray(cosines, dtype=np.float64)


@session.cached("running-the-model")
def _chances(pairs: str, seed: int, image: int, classes: tuple[str, ...], prompt: str) -> list[float]:
    chances = image_text.zero_shot(image_text.model(), _drawn(pairs, seed)[1][image : image + 1], classes, [prompt])
    return [float(chance) for chance in chances[0]]


def draw_images(view: View) -> None:
    """Draw the section.

    Raises:
        AtlasError: a prompt or a class cannot be read.
    """
    state, words = view.state, view.words
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = CLASSES.draw(state)
        prompt = PROMPT.with_(default=_CLASSES[kind][2]).draw(state, tag=kind)
        pairs = PAIRS.draw(state)
        seed = SEED.button(state)
    scenes, images = _drawn(pairs, seed)
    captions = tuple(scene.caption("a {size} {color} {shape}") for scene in scenes)
    left, right = st.columns([1.25, 1], gap="large")
    with left:
        cosines, diagonal = _cosines(pairs, seed, captions), np.eye(COUNT, dtype=bool)
        columns = [str(number) for number in range(1, COUNT + 1)]
        Panel(
            "similarity",
            words.label("similarity"),
            pair_matrix(cosines, captions, columns, diagonal, cosines=True, images=images, theme=theme()),
            pair_words(cosines, diagonal, words.label("similarity")),
            Table(
                ("caption", *(f"image {number}" for number in columns)),
                tuple((caption, *map(float, row)) for caption, row in zip(captions, cosines, strict=True)),
            ),
            note=words.part("Matrix"),
            heading=True,
            width=380,
        ).draw(state)
    with right:
        st.subheader(words.label("zero-shot"), anchor=False)
        names = tuple(_CLASSES[kind][1])
        if kind == "own":
            names = tuple(name.strip() for name in OWN.draw(state).split(","))
        with st.container(horizontal=True, vertical_alignment="bottom"):
            picture = st.empty()
            image = IMAGE.draw(state) - 1
        picture.image(images[image], width=120, alt=captions[image])
        _zero_shot(view, names, _chances(pairs, seed, image, names, prompt), (pairs, seed, image, prompt))
    view.try_and_notice()
    card = read_card(image_text.FOLDER / "card.toml")
    _accuracy(view, card.measures)
    view.how_it_works(steps=f"{card.steps:,}")


def _zero_shot(view: View, names: Sequence[str], chances: Sequence[float], question: tuple[object, ...]) -> None:
    title = view.words.label("zero-shot")
    shown = uncovered(
        view.state,
        ("images", *question, *names),
        view.words.label("guess"),
        lambda guess: choice(guess, names, chances),
        choices=names,
    )
    if shown:
        figure = prediction_bars(names, chances, accent("encoder"), scale=1.0, theme=theme())
        rows = tuple(zip(names, chances, strict=True))
        Panel("zero-shot", title, figure, bars_alt(names, chances, title), Table(("class", "probability"), rows)).draw(
            view.state
        )


def _accuracy(view: View, measures: Sequence[Measure]) -> None:
    """Draw the card's accuracies by prompt, and the baselines."""
    values: dict[str, dict[str, float]] = {}
    for measure in measures:
        values.setdefault("never named" if "held out" in measure.on else "named", {})[measure.name] = measure.value
    prompts = [*image_text.PROMPTS, "mean of the prompts"]
    shares = {name: [by_prompt[prompt] / 100 for prompt in prompts] for name, by_prompt in sorted(values.items())}
    series = [
        Series(name, of_prompts, color, hatch, texts=[percent(share) for share in of_prompts])
        for (name, of_prompts), color, hatch in zip(shares.items(), theme().categorical, ("", "/"), strict=False)
    ]
    texts = [prompt.replace("{}", "red circle") for prompt in prompts]
    rows = tuple(zip(texts, *shares.values(), strict=True))
    Panel(
        "prompts",
        view.words.label("prompts"),
        bars([label(text) for text in texts], series, theme(), end=1.25, height=300),
        "; ".join(f"{prompt}: {percent(many)}, {percent(single)}" for prompt, many, single in rows),
        Table(("prompt", *(f"pairs {name}" for name in shares)), rows),
        note=view.words.part(
            "Baselines",
            chance=values["never named"]["chance"],
            seen=f"{values['named']['nearest color and nearest pixels']:.0f}",
            new=f"{values['never named']['nearest color and nearest pixels']:.0f}",
        ),
        heading=True,
    ).draw(view.state)


IMAGES = Section("images", draw_images, (CLASSES, OWN, PROMPT, PAIRS, IMAGE, SEED), folder="demos")
