"""Generation: one beginning under every rule, and what rules, beams, caches and drafts do."""

from core.ui.generation.frame import generation_frame, show
from core.ui.links import close_page, link_row
from core.ui.page import sentences
from core.ui.zoo.frame import no_models

view = generation_frame()

if view is None:
    no_models()
else:
    with sentences():
        show(view)
    link_row(view.state)
    close_page(view.state)
