"""Compare: every system in one table with its sources, and two trees laid side by side by meaning."""

from core.ui.compare.frame import compare_frame
from core.ui.compare.table import systems_table
from core.ui.compare.trees import two_trees
from core.ui.links import close_page, link_row
from core.ui.page import sentences

view = compare_frame()

with sentences():
    if view.section == "table":
        systems_table(view.state)
    else:
        two_trees(view.state)

link_row(view.state)
close_page(view.state)
