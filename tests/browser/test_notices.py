"""What a visitor's link says comes back in notices as words, and never as a link of ours."""

from __future__ import annotations

from urllib.parse import urlencode

from playwright.sync_api import expect

from tests.browser.conftest import Visitor

ADDRESSES = (
    "www.login.example/pay",
    "(HTTPS://login.example/?a=b&c=d)",
    "`mailto:a.b+c@login.example*x*`",
)


def test_an_address_in_a_link_of_the_app_is_quoted_and_leads_nowhere(visitor: Visitor) -> None:
    page = visitor.open("/encoder?" + urlencode(dict(zip(("model", "system", "tab"), ADDRESSES, strict=True))))
    for typed in ADDRESSES:
        expect(page.get_by_test_id("stAlert").filter(has_text=f"“{typed}”").first).to_be_visible()
    assert page.locator("a[href*='login.example' i]").count() == 0
