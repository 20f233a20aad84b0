"""Whether the server can answer, for load balancers.

``/health`` returns 200 while the server accepts browsers. ``/ready`` returns 200 once the models of the default views
are loaded, which ``ATLAS_WARM=on`` does at the start; a load balancer then routes nobody to a replica that still loads
them, that lacks one, or whose settings are invalid.
"""

from __future__ import annotations

import logging
from threading import Event
from typing import TYPE_CHECKING

from starlette.responses import PlainTextResponse, Response

from core.ui.streamlit_internals import accepts_browsers

if TYPE_CHECKING:
    from starlette.requests import Request

warm = Event()
"""Set once the models of the default views are loaded, or once that has failed."""
troubles: list[str] = []
"""Why the default views do not work, for the operator: no visitor's text is in it."""


async def health(request: Request) -> Response:
    """200 while the server takes browsers, else 503."""
    return PlainTextResponse("ok") if await accepts_browsers() else PlainTextResponse("unavailable", 503)


async def ready(request: Request) -> Response:
    """200 once the server can answer without loading a default view's model first, else 503 and why."""
    if not warm.is_set():
        return PlainTextResponse("models are loading", 503)
    return PlainTextResponse("\n".join(troubles), 503) if troubles else PlainTextResponse("ready")


def load_default_models() -> None:
    """Load the models of the default views if ``ATLAS_WARM=on``; then ``/ready`` answers 200."""
    from core import checkpoints
    from core.errors import AtlasError, SettingUnusable
    from core.settings import settings

    troubles.clear()
    try:
        slugs = dict.fromkeys(
            slug for section in ("home", "transformer-beside", "fine-tuning") for slug in checkpoints.first(section)
        )
        for slug in slugs if settings().warm == "on" else ():
            try:
                checkpoints.load(slug)
            except AtlasError as error:
                troubles.append(str(error))
    except SettingUnusable as error:  # no page works
        troubles.append(str(error))
    finally:
        for trouble in troubles:
            logging.getLogger("atlas").warning(trouble)
        warm.set()
