"""Results that papers printed: questions with their pictures, and every figure with its source."""

from core.ui.links import close_page, link_row
from core.ui.page import sentences
from core.ui.results.all import all_figures
from core.ui.results.frame import results_frame
from core.ui.results.question import question_panel

view = results_frame()

with sentences():
    if view.section == "questions":
        question_panel(view)
    else:
        all_figures(view)

link_row(view.state)
close_page(view.state)
