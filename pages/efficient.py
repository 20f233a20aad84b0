"""The efficient branch: a long text through sparse and through full attention of the same model."""

from core.ui.branch import branch_frame, foot, no_model, reading_sections
from core.ui.demos.efficient_demos import efficient_demo
from core.ui.heads.panel import text_heads
from core.ui.links import close_page
from core.ui.page import sentences

view = branch_frame(
    "efficient",
    "Full attention compares every token with every other, so its cost grows with the square of the length. "
    "See what a sparse pattern leaves out, what it saves, and what that changes in an answer.",
)

if view.section in ("demo", "heads") and view.spec is None:
    no_model(view)
elif view.section == "demo":
    with sentences():
        efficient_demo(view.spec, view.state)
elif view.section == "heads":
    text_heads(view)
else:
    reading_sections(view)

foot(view)
close_page(view.state)
