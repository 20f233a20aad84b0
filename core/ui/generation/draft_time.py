"""How long a text takes with a draft and without, on this machine, by turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st

from core import session
from core.checkpoints.spec import Checkpoint
from core.language.types import Decoding
from core.table import Table
from core.ui.export import download_csv
from core.ui.generation.frame import GenerationView
from core.ui.generation.writing import forget, remember

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from core.language.decoding.draft import Drafted

TURNS = 5


def time_both(
    view: GenerationView,
    key: tuple[object, ...],
    prompt: Sequence[int],
    models: tuple[Checkpoint, Checkpoint],
    found: Drafted,
    button: DeltaGenerator,
) -> None:
    """Both ways by turns, on request: a few seconds of computing."""
    state = view.state
    asked, known = state.key("draft.time"), session.seconds.get(key)
    if known is None and st.session_state.get(asked) != key:
        button.button(
            "Time it on this machine",
            key=state.key("draft.timer"),
            icon=":material/timer:",
            on_click=remember,
            args=(asked, key),
            help=f"Writes the text {TURNS} times with the draft and without, by turns",
        )
        st.caption("Passes are not time. How long both ways take on this machine is not measured yet.")
        return
    if known is None:
        button.button("Stop", key=state.key("draft.timer"), icon=":material/stop:", on_click=forget, args=(asked,))
        bar = st.empty()

        def tell(share: float, doing: str) -> None:
            bar.progress(share, doing)

        session.seconds_of(key, lambda: _by_turns(key, prompt, models, len(found.ids), tell), tell)
        bar.empty()
        known = session.seconds.get(key)
        assert known is not None
    button.empty()
    _told_times(known, found, key)
    alone, both, small = known
    download_csv(
        Table.from_records(
            [
                {"way": way, "seconds": took, "turns": TURNS}
                for way, took in (("plain", alone), ("with the draft", both), ("the draft alone", small))
            ]
        ),
        "draft-times",
        state.key("draft.time.csv"),
    )


def _told_times(known: tuple[float, ...], found: Drafted, key: tuple[object, ...]) -> None:
    """Both times, and what the formula would have expected from the draft's own."""
    from core.language.decoding.draft import speed_up

    alone, both, small = known
    ahead = settings_of(key)[1]
    faster = both < alone
    st.markdown(
        f"On this machine plain decoding took **{1000 * alone:.0f} ms** and decoding with the draft "
        f"**{1000 * both:.0f} ms**, {max(alone / both, both / alone):.1f} times as {'fast' if faster else 'long'}; "
        f"medians of {TURNS} turns."
    )
    cost = small / alone
    gain = speed_up(found.rate, ahead, cost) if found.rate is not None else None
    said = f"The draft alone took {1000 * small:.0f} ms for as many tokens, so a pass of it costs c = {cost:.2f}."
    if gain is not None:
        said += f" With the α of this text the formula expects {gain:.2f} times the speed."
    if not faster:
        said += (
            " What is missing goes into starting every draft anew, which for models this small takes longer than the "
            "passes that are saved. It pays where a pass of the large model is long."
        )
    st.caption(said)


def _by_turns(
    key: tuple[object, ...],
    prompt: Sequence[int],
    models: tuple[Checkpoint, Checkpoint],
    tokens: int,
    tell: Callable[[float, str], None],
) -> tuple[float, ...]:
    from core.language.decoding import draft
    from core.language.speed import WARM_UP, by_turns

    length, ahead, heat, seed, common = settings_of(key)
    large, small = models
    runs = (
        lambda: draft.plain(large, prompt, length, heat, seed, common),
        lambda: draft.drafted(large, small, prompt, length, ahead=ahead, temperature=heat, seed=seed, common=common),
        lambda: draft.plain(small, prompt, tokens, heat, seed, replace(common, stop=())),
    )
    done = 0

    def step() -> None:
        nonlocal done
        done += 1
        tell(min(1.0, done / (3 * (WARM_UP + TURNS))), f"Turn {(done + 2) // 3} of {WARM_UP + TURNS}")

    return by_turns(runs, TURNS, told=step)


def settings_of(key: tuple[object, ...]) -> tuple[int, int, float | None, int, Decoding]:
    """Length, tokens a draft, temperature, seed, and a decoding with penalties and stops, with which a key ends."""
    length, ahead, heat, seed, common = key[-5:]
    assert isinstance(length, int)
    assert isinstance(ahead, int)
    assert heat is None or isinstance(heat, float)
    assert isinstance(seed, int)
    assert isinstance(common, Decoding)
    return length, ahead, heat, seed, common
