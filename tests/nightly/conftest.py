"""One Chromium for all journeys of the night."""

from tests.browser.conftest import chromium, models, window

__all__ = ["chromium", "models", "window"]
