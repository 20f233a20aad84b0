"""Positions: five ways in which a Transformer represents them, each as a picture and as similarity by distance."""

from __future__ import annotations

from core.ui.param import Choice
from core.ui.section import Section, View
from core.ui.text_table import TextTable, text_table
from core.ui.vectors import positions_added as added
from core.ui.vectors import positions_in_scores as in_scores
from core.ui.vectors import positions_rotary as rotary

KIND = Choice(
    name="kind",
    label="Kind",
    options={
        "learned": "Learned",
        "sinusoidal": "Sinusoidal",
        "relative": "Relative",
        "rotary": "Rotary",
        "linear": "ALiBi",
    },
    style="row",
    hide_label=True,
    resets=("asked", "term", "level", "head", "width"),
)
_DRAWN = {
    "learned": added.learned,
    "sinusoidal": added.sinusoidal,
    "relative": in_scores.relative,
    "rotary": rotary.rotary,
    "linear": in_scores.alibi,
}
_WAYS = (
    (
        "Learned",
        "added to the embedding",
        "the position",
        "as many as the table has rows",
        "BERT, RoBERTa, GPT-2, BART",
    ),
    (
        "Sinusoidal",
        "added to the embedding",
        "the position",
        "any, in principle",
        "Transformer (2017), CTRL, M2M-100",
    ),
    (
        "Relative",
        "added to the score",
        "the distance, in some the words too",
        "any: large distances share",
        "T5 (a scalar); Transformer-XL, XLNet, DeBERTa (vectors)",
    ),
    ("Rotary", "rotates queries and keys", "the distance, through the words", "any, in principle", "LLaMA, GPT-J"),
    ("ALiBi", "added to the score", "the distance", "any", "none here"),
)


def positions(view: View) -> None:
    """Draw the section.

    Raises:
        AtlasError: what was typed, or the model, does not allow it.
    """
    _DRAWN[KIND.draw(view.state)](view)
    headings = ("Encoding", "Where", "Depends on", "Positions", "Used by")
    text_table(TextTable(headings, _WAYS, "Five kinds of position encodings", (12, 19, 23, 20, 26)))
    view.say("Without")


PLACES = Section(
    "places",
    positions,
    (
        KIND,
        added.ASKED,
        added.PICTURE,
        added.WIDTH,
        added.ORDER,
        in_scores.PASSAGE,
        in_scores.LEVEL,
        in_scores.HEAD,
        in_scores.TERM,
        in_scores.HEADS,
        rotary.BASE,
        rotary.QUERY,
        rotary.KEY,
    ),
)
