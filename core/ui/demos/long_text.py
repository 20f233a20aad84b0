"""Controls and words that the demos of long texts share: which text, how long, and numbers as a person reads them."""

from __future__ import annotations

import streamlit as st

from core import session
from core.checkpoints.spec import Checkpoint
from core.efficiency import samples
from core.efficiency.compare import LongText, token_counter
from core.figures.numbers import short
from core.settings import MAX_TEXT_CHARS
from core.ui.links import PageState
from core.ui.page import sentences
from core.ui.text_box import text_box

LENGTHS = (256, 512, 1024, 2048, 4096)
OWN = "own"
OWN_EXAMPLE = "The capital of France is Paris. Many people visit the tower in [MASK] every summer."


def text_controls(state: PageState, positions: int) -> tuple[str, int]:
    """Which text, and how long a sample is."""
    options = [*samples.SAMPLES, OWN]
    current = OWN if state.text("text") else state.text("sample", options[0])
    chosen = st.selectbox(
        "Text",
        options,
        index=options.index(current),
        key=state.key("sample"),
        width=260,
        format_func=lambda name: samples.SAMPLES.get(name, "Your own text"),
        help="A lighthouse keeper's log that says once what the dog is called, and asks for it once",
    )
    state.set(sample=None if chosen == options[0] else chosen)
    if chosen == OWN:
        return OWN, 0
    state.set(text=None)
    lengths = tuple(n for n in LENGTHS if n <= positions) or (positions,)
    return chosen, choose(state, "Tokens", "tokens", lengths, min(1024, lengths[-1]))


def text_of(state: PageState, checkpoint: Checkpoint, sample: str, length: int) -> str:
    """The text to run: built from a sample, or the visitor's own."""
    if sample != OWN:
        with sentences():
            return samples.build(sample, length, token_counter(checkpoint))
    label = "Your text, with [MASK] in place of a word"
    return text_box(state, "text", label, OWN_EXAMPLE, height=160, max_chars=MAX_TEXT_CHARS)


def clue_position(checkpoint: Checkpoint, long: LongText, text: str, word: str = "") -> int | None:
    """The token at which the sample gives its clue, or a word of it; the special token at the front counts."""
    at = text.find(samples.CLUE)
    position = 1 + token_counter(checkpoint)(text[: at + samples.CLUE.find(word)])
    return position if 0 <= position < len(long.ids) and at >= 0 else None


def choose(state: PageState, label: str, name: str, options: tuple[int, ...], usual: int) -> int:
    """A short menu of numbers; a number from a link that is not on it is put there."""
    raw = state.text(name)
    current = int(raw) if raw.isdigit() else usual
    listed = sorted({*options, current})
    chosen = st.selectbox(
        label, listed, index=listed.index(current), key=state.key(name), width=130, format_func=lambda n: f"{n:,}"
    )
    kept: int | str = str(chosen) if name == "block" else chosen
    state.set(**{name: None if chosen == usual else kept})
    return chosen


def number(state: PageState, label: str, name: str, usual: int, low: int, high: int, about: str, step: int = 1) -> int:
    """A number between two others; one from a link is brought between them."""
    current = min(max(state.number(name, usual), low), high)
    chosen = int(st.number_input(label, low, high, current, step=step, key=state.key(name), help=about, width=170))
    state.set(**{name: None if chosen == usual else chosen})
    return chosen


def progress_in(place: st.delta_generator.DeltaGenerator) -> session.Progress:
    """A bar that tells how far the comparison is; leaving the page or changing a control stops it."""

    def tell(share: float, doing: str) -> None:
        place.progress(share, text=doing)

    return tell


def amount(number: int) -> str:
    """A large count in few digits."""
    return short(number)


def seconds(seconds: float) -> str:
    """A duration in seconds or milliseconds."""
    return f"{seconds:.2f} s" if seconds >= 0.1 else f"{1000 * seconds:.0f} ms"


def megabytes(count: int) -> str:
    """Bytes in megabytes."""
    return f"{count / 1e6:.1f} MB" if count < 1e8 else f"{count / 1e6:,.0f} MB"
