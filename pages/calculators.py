"""Calculators: what a network holds, and what training and running it takes."""

from core.ui.calculators.frame import calculators_frame, show
from core.ui.links import close_page, link_row
from core.ui.page import sentences

view = calculators_frame()

with sentences():
    show(view)
link_row(view.state)
close_page(view.state)
