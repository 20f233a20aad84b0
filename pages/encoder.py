"""The encoder branch: hide words and let a model guess them, look at its heads, walk the trees."""

from core.ui.branch import branch_frame, foot, no_model, reading_sections
from core.ui.fill_mask import fill_mask_demo
from core.ui.heads import text_heads
from core.ui.links import close_page
from core.ui.page import sentences

view = branch_frame(
    "encoder",
    "An encoder reads the whole sentence at once, left and right, and turns every word into a vector that knows its "
    "neighbours. Hide a word and see what the model expects in its place.",
)
state = view.state

if view.section in ("demo", "heads") and view.spec is None:
    no_model(view)
elif view.section == "demo":
    with sentences():
        masked = state.integers("mask")
        result = fill_mask_demo(view.spec, text=state.values.get("text"), masked=masked, key=state.key("mask"))
        state.set(text=result.text, mask=result.masked)
elif view.section == "heads":
    text_heads(view)
else:
    reading_sections(view)

foot(view)
close_page(state)
