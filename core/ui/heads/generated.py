"""Attention heads over a prompt and the decoder's generation, the same as in the demo."""

from __future__ import annotations

from core import session
from core.attention.architectures.layout import refuse
from core.attention.capture import capture_ids
from core.attention.heads import reach
from core.attention.trace import AttentionMap
from core.checkpoints.spec import CheckpointSpec
from core.content import content
from core.language.types import Decoding
from core.ui.data_table import data_table
from core.ui.demos.decoding import STRATEGIES
from core.ui.demos.generate import DEFAULT_TEXT, generated
from core.ui.heads.panel import heads_panel
from core.ui.heads.text import TEXT
from core.ui.links import PageState
from core.ui.page import plain
from core.ui.section import View

PROMPT = TEXT.with_(label="Prompt", default=DEFAULT_TEXT, resets=("forced", "step"), sentence="plain")
"""Tokens chosen by hand belong to the text in which they were chosen."""


def generated_heads(spec: CheckpointSpec, state: PageState, decoding: Decoding) -> None:
    """Draw the section; reads and writes text, layer, head and view."""
    model = session.checkpoint(spec.slug).model
    refuse(model.config.model_type)
    words = View(state, content("attention", "heads"))
    typed = PROMPT.with_(help=words.words.label("prompt")).draw(state)
    prompt, ids = generated(spec.slug, typed, decoding, state.integers("forced"))
    words.note(
        "Prompt and chosen path" if state.integers("forced") else "Prompt and continuation",
        prompt=len(prompt),
        count=len(ids),
        model=plain(spec.name),
        strategy=STRATEGIES[decoding.strategy].lower(),
    )
    trace = session.computed("", capture_ids, spec.slug, (*prompt, *ids[:-1]))  # the model did not read the last token
    heads_panel(trace, state, spec.branch)
    kinds = getattr(model.config, "attention_layers", None)
    if kinds and trace.decoder is not None:
        _local(trace.decoder, tuple(kinds), int(model.config.window_size), words)


def _local(attention_map: AttentionMap, kinds: tuple[str, ...], window: int, words: View) -> None:
    """Draw how far back each layer of a model with local layers attends, counted in the map above."""
    words.say("Local layers", before=window - 1)
    data_table(
        [
            {"layer": i, "kind": kind, "attends back at most (tokens)": far}
            for i, (kind, far) in enumerate(zip(kinds, reach(attention_map.weights), strict=True), start=1)
        ],
        "local-layers",
        alt=words.words.label("local"),
    )
    if len(attention_map.key_tokens) <= window:
        words.note("Within one window", count=len(attention_map.key_tokens), window=window)
    words.note("Local layers: source")
