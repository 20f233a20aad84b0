"""The server around the pages: what it answers beside them, and what it does as it starts.

Modules of ours are imported where they are used: the server answers sooner without them.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from threading import Thread
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import streamlit as st
from starlette.middleware import Middleware
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from core.ui.server.access import Secured, prefix, setting
from core.ui.server.measures import metrics
from core.ui.server.page import Styled
from core.ui.server.readiness import health, load_default_models, ready
from core.ui.streamlit_internals import bound_messages, bound_uploads

if TYPE_CHECKING:
    from starlette.requests import Request

PAGE_MB = 250
"""Megabytes of a message to a browser: more than any page that the settings allow has."""
NOBODY = 10
"""Seconds without a visitor, after which a server imports everything."""
PICTURE = 2
"""Seconds from the end of the first run until its picture stands in the browser, at most."""
MIDDLEWARE = [Middleware(Secured), Middleware(Styled)]


def moved(request: Request) -> Response:
    """Where the page of an old link is today, with its query."""
    from core.links import current

    page, query = current(request.url.path.rsplit("/", 1)[1], dict(request.query_params))
    return RedirectResponse(f"{page}?{urlencode(query)}")


def routes() -> list[Route]:
    """The routes for operators and those of pages that are part of another one today, with and without
    ``server.baseUrlPath``: a proxy adds it, a probe need not know it."""
    from core.links import former_pages

    bases = {"", f"/{prefix()}" if prefix() else ""}
    answers = {"health": health, "ready": ready, "metrics": metrics} | dict.fromkeys(former_pages(), moved)
    return [Route(f"{base}/{path}", answer) for base in bases for path, answer in answers.items()]


@asynccontextmanager
async def lifespan(app: st.App) -> AsyncIterator[None]:
    """What begins once the server has read Streamlit's settings, before it answers."""
    bound_messages(PAGE_MB)
    Thread(target=prepare, daemon=True).start()
    yield


def prepare() -> None:
    """Do in the background what the first visitor would wait for: what draws Home while the browser reads its own
    scripts, and once its picture stands, for which no model runs, what the other pages need."""
    from core import interpreter
    from core.lazy import import_drawing, import_models

    follow_settings()
    import_module("core.ui.home")
    import_drawing()
    if setting("warm") != "on" and interpreter.settled.wait(NOBODY):
        time.sleep(PICTURE)
    import_models()
    load_default_models()


def follow_settings() -> None:
    """Bound what visitors upload, and write to the log what is wrong with the settings and with the host's
    folders of models; the pages say it, too."""
    from core.checkpoints import refused
    from core.errors import SettingUnusable
    from core.settings import settings
    from core.ui.crowd import open_tabs

    try:
        chosen = settings()
        bound_uploads(max(chosen.max_upload_kb, chosen.max_corpus_kb), chosen.upload_bytes, open_tabs)
        mistakes = [folder.reason for folder in refused()]
    except SettingUnusable as error:
        mistakes = [str(error)]
    for sentence in mistakes:
        logging.getLogger("atlas").warning(sentence)
