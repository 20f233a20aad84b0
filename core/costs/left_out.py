"""What is not computed for a size, in sentences: a table that lacks a row says why it does."""

from __future__ import annotations

from core import catalogue
from core.anatomy.sizes import size_of
from core.costs.keep import shape_of
from core.costs.recurrent import word_work
from core.costs.towers import towers


def left_out(slug: str, size: str | None = None) -> str:
    """What the costs of a size lack and why; empty where nothing is missing."""
    shape = shape_of(slug, size)
    if shape is not None and shape.main.heads:
        return "" if shape.stack("decoder") else "There is no key-value cache: an encoder reads the whole text at once."
    if shape is not None:
        return (
            "In place of keys and values, each layer keeps "
            f"{shape.main.constant:,} numbers of the text before, however long it is."
        )
    if towers(slug, size):
        return "There is no key-value cache: both towers read all they are given at once."
    if word_work(slug, size):
        return "There is no key-value cache: an LSTM hands on a state of one size, however long the text."
    return "Activations, cache and operations are not computed: the network is of a kind that the formulas lack."


def no_editor(slug: str, size: str | None = None) -> str:
    """Why the parameters of a size cannot be edited; empty where they can."""
    if size_of(slug, size).architecture == "TransformerXLModel":
        name = f"{catalogue.get(slug).name} {size_of(slug, size).name}"
        return (
            f"{name} cuts its vocabulary into bins with scores of their own, and the editor sets up one table of "
            "words. Its memory, its cache and what its training costs can be computed; choose another size to edit."
        )
    return no_stack(slug, size)


def no_stack(slug: str, size: str | None = None) -> str:
    """Why a calculator that sets up one stack of attention layers cannot take a size; empty where it can."""
    shape = shape_of(slug, size)
    if shape is not None and shape.main.heads:
        return ""
    name = f"{catalogue.get(slug).name} {size_of(slug, size).name}"
    if towers(slug, size):
        return (
            f"{name} is two stacks of attention layers side by side, one for texts and one for images, and the "
            "calculators set up one network. Its facts say what each tower costs. Choose another system here."
        )
    return (
        f"{name} has no layers of attention, so these formulas do not hold for it. Its facts say what can be computed. "
        "Choose another system here."
    )
