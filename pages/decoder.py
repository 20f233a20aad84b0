"""The decoder branch: write token by token, see every alternative, step back and choose another."""

from core.ui.branch import branch_frame, foot, no_model, reading_sections
from core.ui.decoding import decoding_of
from core.ui.generate import generate_demo
from core.ui.generated_heads import generated_heads
from core.ui.links import close_page
from core.ui.page import sentences

view = branch_frame(
    "decoder",
    "A decoder reads from left to right and predicts the next token, again and again. Watch it choose, see what it "
    "might have chosen, and send it another way.",
)
state = view.state
decoding = decoding_of(state)

if view.section in ("demo", "heads") and view.spec is None:
    no_model(view)
elif view.section == "demo":
    with sentences():
        result = generate_demo(
            view.spec,
            text=state.values.get("text"),
            decoding=decoding,
            forced=state.integers("forced"),
            step=state.number("step") or None,
            key=state.key("generate"),
        )
        state.set(
            text=result.text,
            forced=result.forced,
            step=result.step,
            strategy=result.decoding.strategy,
            temperature=result.decoding.temperature,
            top_k=result.decoding.top_k,
            top_p=result.decoding.top_p,
            beams=result.decoding.beams,
            length=result.decoding.max_new_tokens,
            seed=result.decoding.seed,
        )
elif view.section == "heads":
    with sentences():
        generated_heads(view.spec, state, decoding)
else:
    reading_sections(view)

foot(view)
close_page(state)
