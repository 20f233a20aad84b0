"""The encoder-decoder branch: text in, text out, and where each new token looked in the input."""

from core.ui.branch import branch_frame, foot, no_model, reading_sections
from core.ui.demos.cover import beside
from core.ui.demos.rewrite import rewrite_demo
from core.ui.heads.panel import text_heads
from core.ui.links import close_page
from core.ui.page import sentences

view = branch_frame(
    "encoder-decoder",
    "An encoder reads your text, a decoder writes another and looks back at the first with every token. "
    "Translate or repair a sentence and see where it looked.",
)

if view.section in ("demo", "heads") and view.spec is None:
    no_model(view)
elif view.section == "demo":
    with sentences():
        rewrite_demo(view.spec, view.state)
elif view.section == "heads":
    if beside(view.state, view.spec.slug):
        text_heads(view)
else:
    reading_sections(view)

foot(view)
close_page(view.state)
