"""The encoder branch: what each encoder was trained to do, its heads, and the trees."""

from core.ui.branch import branch_frame, foot, no_model, reading_sections
from core.ui.demos.encoder_demos import encoder_demo
from core.ui.heads.panel import text_heads
from core.ui.links import close_page

view = branch_frame(
    "encoder",
    "An encoder reads the whole sentence at once, left and right, and turns every word into a vector that knows its "
    "neighbours. Hide a word and see what the model expects in its place.",
)

if view.section in ("demo", "heads") and view.spec is None:
    no_model(view)
elif view.section == "demo":
    encoder_demo(view)
elif view.section == "heads":
    text_heads(view)
else:
    reading_sections(view)

foot(view)
close_page(view.state)
