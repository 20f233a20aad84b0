"""The decoder branch: write token by token, see every alternative, step back and choose another."""

from core.ui.branch import branch_frame, foot, no_model, reading_sections
from core.ui.demos.cover import beside
from core.ui.demos.decoder_demos import decoder_demo
from core.ui.demos.decoding import decoding_of
from core.ui.heads.generated import generated_heads
from core.ui.heads.panel import text_heads
from core.ui.links import close_page
from core.ui.page import sentences

view = branch_frame(
    "decoder",
    "A decoder reads from left to right and predicts the next token, again and again. Watch it choose, see what it "
    "might have chosen, and send it another way.",
)
state = view.state

if view.section in ("demo", "heads") and view.spec is None:
    no_model(view)
elif view.section == "demo":
    decoder_demo(view.spec, state)
elif view.section == "heads" and view.spec.offers("two streams"):
    text_heads(view)
elif view.section == "heads":
    if beside(state, view.spec.slug):
        with sentences():
            generated_heads(view.spec, state, decoding_of(state))
else:
    reading_sections(view)

foot(view)
close_page(state)
