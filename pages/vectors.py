"""Vectors: what a word is to a model, layer by layer; what it is the sum of, and how a model knows its place."""

from core.ui.links import close_page, link_row
from core.ui.page import sentences
from core.ui.vectors.frame import show, vectors_frame
from core.ui.zoo.frame import no_models

view = vectors_frame()

if view is None:
    no_models()
else:
    with sentences():
        show(view)
    link_row(view.state)
    close_page(view.state)
