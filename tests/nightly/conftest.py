"""One Chromium for all journeys of the night."""

from tests.browser.conftest import chromium

__all__ = ["chromium"]
