"""The timeline: the family over the years, by branch or by size, played; one line of descent; the same as a table."""

from core.ui.links import close_page, link_row
from core.ui.timeline.beside import line_of_descent, notice, same_as_table
from core.ui.timeline.frame import family_over_time, timeline_frame

view = timeline_frame()
if view.shown:
    view = family_over_time(view)
    notice(view)
    line_of_descent(view)
    same_as_table(view)
link_row(view.state)
close_page(view.state)
