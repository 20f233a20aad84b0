"""One Chromium for all journeys of the night."""

from tests.browser.conftest import chromium, models, server, tabs, traveller, warm, window

__all__ = ["chromium", "models", "server", "tabs", "traveller", "warm", "window"]
