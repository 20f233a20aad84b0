"""Tokenisers: how a text becomes pieces, what each kind loses, how one learns, and what a vocabulary costs."""

from core.ui.links import close_page, link_row
from core.ui.page import sentences
from core.ui.tokenizers.frame import show, tokenizers_frame

view = tokenizers_frame()
with sentences():
    show(view)
link_row(view.state)
close_page(view.state)
