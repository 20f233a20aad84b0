"""From a module of a tree to what it does: the same step inside a block of the system's live model."""

from __future__ import annotations

from core import checkpoints
from core.attention.inside.modules import step_of
from core.catalogue.schema import System
from core.checkpoints.spec import CheckpointSpec
from core.ui.links import page_link
from core.ui.page import plain


def inside_link(system: System, layer: int | None, size: str, node: str) -> None:
    """A link to the step that shows what the module at ``node`` gives, where a model of the system runs here.

    Args:
        layer: from 1, the one that is meant where the node stands for several.
    """
    spec = _live(system)
    shown = None if spec is None else step_of(spec, node, size, None if layer is None else layer - 1)
    if spec is None or shown is None:
        return
    query = {"tab": "block", "model": spec.slug, "step": shown.slug}
    if spec.offers("rewrites"):
        query["side"] = shown.side
    if shown.layer is not None:
        query["layer"] = str(shown.layer + 1)
    where = "the last layer" if shown.layer is None else f"layer {shown.layer + 1}"
    page_link("attention", plain(f"See it at work: {where} of {spec.name}"), query, icon=":material/play_circle:")


def _live(system: System) -> CheckpointSpec | None:
    """The live model of this very system, its record's own choice first."""
    ready = [spec for spec in checkpoints.for_system(system.slug) if spec.ready]
    return min(ready, key=lambda spec: spec.slug != system.live.checkpoint, default=None)
