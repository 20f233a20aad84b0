"""Which demos a model of the efficient branch has, by how its attention is made cheap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.checkpoints.spec import CheckpointSpec
from core.ui.demos.buckets import hashing_demo, reading_demo
from core.ui.demos.decoder_demos import text_demo
from core.ui.demos.demo_menu import chosen_demo
from core.ui.demos.sparse import sparse_demo
from core.ui.demos.window import window_demo
from core.ui.page import sentences

if TYPE_CHECKING:
    from core.ui.links import PageState

HASHING = {"hashing": "Buckets of a text", "reading": "What more reading helps", "text": "Byte by byte"}
"""The demos of a Reformer, the one that it opens with first."""


def efficient_demo(spec: CheckpointSpec, state: PageState) -> None:
    """The demo of the chosen model; where it has several, a choice above them."""
    if spec.offers("window"):
        window_demo(spec, state)
    elif spec.offers("hashing"):
        _hashing(spec, state)
    elif spec.offers("continues"):  # a state instead of attention: there is a text to write and no pattern to compare
        text_demo(spec, state, branch="efficient")
    else:
        sparse_demo(spec, state)


def _hashing(spec: CheckpointSpec, state: PageState) -> None:
    demo = chosen_demo(spec, tuple(HASHING), HASHING, "What to see", state)
    with sentences():
        if demo == "text":
            text_demo(spec, state, branch="efficient")
        elif demo == "reading":
            reading_demo(spec, state)
        else:
            hashing_demo(spec, state)
