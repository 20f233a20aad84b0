"""What a visitor's link says comes back in notices as words, and never as a link of ours."""

from __future__ import annotations

from urllib.parse import quote

from playwright.sync_api import expect

from tests.browser.conftest import Visitor

ADDRESSES = (
    "www.login.example/pay",
    "(HTTPS://login.example/?a=b&c=d)",
    "`mailto:a.b+c@login.example*x*`",
)


def test_an_address_in_a_link_of_the_app_is_quoted_and_leads_nowhere(visitor: Visitor) -> None:
    for typed in ADDRESSES:
        page = visitor.open(f"/encoder?model={quote(typed, safe='')}")
        notice = page.get_by_test_id("stAlert").filter(has_text=f"“{typed}”")
        expect(notice.first).to_be_visible()
        assert page.locator("a[href*='login.example' i]").count() == 0, typed
