"""Objectives: what each model of the family is asked while it learns, on the visitor's own sentence."""

from core.ui.links import close_page, link_row
from core.ui.objectives.frame import objectives_frame, show
from core.ui.page import sentences

view = objectives_frame()
with sentences():
    show(view)
link_row(view.state)
close_page(view.state)
