"""Attention: which tokens look at which, in every live model, and what that looking does."""

from core.ui.attention.frame import attention_frame, show
from core.ui.attention.recipe import recipe_row
from core.ui.links import close_page, link_row
from core.ui.page import sentences
from core.ui.picker import no_models

view = attention_frame()

if view is None:
    no_models()
else:
    with sentences():
        show(view)
    recipe_row(view)
    link_row(view.state)
    close_page(view.state)
