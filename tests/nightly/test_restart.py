"""A server that is killed and started anew under its visitors: the view and the address agree."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from playwright.sync_api import BrowserContext, expect

from tests.browser.conftest import app_process, free_port, new_tab, visiting
from tests.browser.test_history import asks, letter, shows


def test_the_first_request_after_a_start_and_the_first_click_after_the_server_was_killed(
    window: BrowserContext, models: Path, tmp_path: Path
) -> None:
    """A copied link opens its view before any page has run. Of two visitors one stays where a click has led."""
    port = free_port()
    with ExitStack() as open_windows:
        tabs = [open_windows.enter_context(new_tab(window)) for _ in range(2)]
        people = [open_windows.enter_context(visiting(tab, f"http://127.0.0.1:{port}")) for tab in tabs]
        with app_process(models, tmp_path, port) as process:
            for backs, person in enumerate(people):
                page = person.arrive("/glossary?q=bert")
                expect(page).to_have_title("Glossary · Transformer Atlas")
                expect(page.get_by_test_id("stSidebarNav").get_by_role("link", name="Encoder-decoder")).to_be_visible()
                asks(page, "bert")
                letter(page, "B")
                shows(page, "B")
                for _ in range(backs):
                    page.go_back()
                    shows(page, "All")
            process.kill()
            process.wait()
        with app_process(models, tmp_path, port):
            for person in people:
                person.page.bring_to_front()
                letter(person.page, "D")
                person.settle()
            for person in people:
                person.forgive("")  # all that the browser said while there was no server
            for backs, person in enumerate(people):
                page = person.page
                page.bring_to_front()
                shows(page, "D")
                asks(page, "bert")
                page.go_back()
                shows(page, "All" if backs else "B")
