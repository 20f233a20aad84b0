"""SVG pictures of attention: cells by hand, hostile tokens stay text, an own PNG that another library reads."""

from __future__ import annotations

import base64
import io
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from core.attention.combine import difference, part
from core.attention.trace import AttentionMap
from core.attention.views.svg import all_svg, head_svg
from core.errors import OutOfRange
from core.theme import LIGHT

SPACE = "{http://www.w3.org/2000/svg}"
NASTY = (
    "</text><script>alert(1)</script>",
    '"/><image href="https://example.com/x"/>',
    "]]>",
    "&#60;b&#62;",
    "\u202egnp.exe",
    "a\x00b\x1b",
    "\ud800",
    "\uffff",
    "<!ENTITY x SYSTEM 'file:///etc/passwd'>",
)


def square(weights: list[list[float]], names: tuple[str, ...], allowed: object = None) -> AttentionMap:
    array = np.array(weights, dtype=np.float32)[None, None]
    return AttentionMap("encoder", names, names, array, allowed)  # type: ignore[arg-type]


def cells(root: ElementTree.Element) -> list[tuple[float, float, str]]:
    return [
        (float(rect.attrib["x"]), float(rect.attrib["y"]), rect.attrib["fill"])
        for rect in root.iter(f"{SPACE}rect")
        if rect.attrib.get("width") == "21"
    ]


def test_a_cell_has_the_color_and_position_of_its_weight() -> None:
    allowed = np.array([[[[True, False], [True, True]]]])
    root = ElementTree.fromstring(head_svg(square([[1, 0], [0, 1]], ("a", "b"), allowed), 0, 0))
    found = cells(root)
    assert len(found) == 3  # what was not computed is ground
    (x, y, full), (below_x, below_y, nothing), (right_x, _, also_full) = found
    assert (below_x, below_y, right_x) == pytest.approx((x, y + 22, x + 22), abs=0.01)
    assert full == also_full != nothing == LIGHT.ground.lower()
    assert LIGHT.unseen in {rect.attrib["fill"] for rect in root.iter(f"{SPACE}rect")}
    texts = [text.text for text in root.iter(f"{SPACE}text")]
    assert texts[1:5] == ["a", "b", "a", "b"]
    assert texts[-3:] == ["0", "1.00", "weight"]


@pytest.mark.parametrize("token", NASTY)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_hostile_tokens_and_titles_stay_text(token: str, theme: object) -> None:
    made = head_svg(square([[0.5, 0.5], [0, 1]], (token, "b")), 0, 0, theme=theme, title=token)  # type: ignore[arg-type]
    root = ElementTree.fromstring(made.encode())
    tags = {"svg", "title", "desc", "rect", "text", "image"}
    assert {element.tag.removeprefix(SPACE) for element in root.iter()} == tags
    addresses = {
        value for e in root.iter() for name, value in e.attrib.items() if name.startswith("on") or "href" in name
    }
    assert all(address.startswith("data:image/png;base64,") for address in addresses)
    assert "<!" not in made.removeprefix("<?xml")
    whole = ElementTree.fromstring(all_svg(square([[0.5, 0.5], [0, 1]], (token, "b")), title=token).encode())
    assert {element.tag.removeprefix(SPACE) for element in whole.iter()} == tags


def test_a_long_token_is_cut_and_no_address_is_named() -> None:
    made = head_svg(square([[1.0]], ("x" * 10_000,)), 0, 0)
    assert len(made) < 10_000
    assert re.findall(r"https?://[^\"]*", made) == ["http://www.w3.org/2000/svg"]


def test_many_cells_are_one_image_that_another_library_reads() -> None:
    n = 70
    weights = np.eye(n, dtype=np.float32)[None, None]
    names = tuple(f"t{i}" for i in range(n))
    found = AttentionMap("decoder", names, names, weights, np.tri(n, dtype=np.bool_)[None, None])
    root = ElementTree.fromstring(head_svg(found, 0, 0))
    image, _ = root.iter(f"{SPACE}image")  # the cells, then the scale
    data = image.attrib["href"].removeprefix("data:image/png;base64,")
    picture = np.asarray(Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB"))
    assert picture.shape == (n, n, 3)
    assert tuple(picture[1, 0]) == tuple(bytes.fromhex(LIGHT.ground[1:]))
    assert tuple(picture[0, 1]) == tuple(bytes.fromhex(LIGHT.unseen[1:]))
    assert picture[5, 5].max() < 90  # the full weight is dark on a light page
    assert len([text for text in root.iter(f"{SPACE}text") if text.text in names]) == 2 * n


def test_all_heads_have_a_picture_each() -> None:
    weights = np.random.default_rng(0).dirichlet(np.ones(3), (2, 4, 3)).astype(np.float32)
    found = AttentionMap("encoder", ("a", "b", "c"), ("a", "b", "c"), weights)
    root = ElementTree.fromstring(all_svg(found, theme="dark"))
    assert len(list(root.iter(f"{SPACE}image"))) == 8
    with pytest.raises(OutOfRange, match="There is no layer 3"):
        head_svg(found, 2, 0)


def test_a_difference_has_zero_at_the_background() -> None:
    found = square([[1, 0], [0, 1]], ("a", "b"))
    root = ElementTree.fromstring(head_svg(difference(part(found), part(found)), 0, 0))
    assert {fill for _, _, fill in cells(root)} == {LIGHT.ground.lower()}
    other = square([[0, 1], [0, 1]], ("a", "b"))
    root = ElementTree.fromstring(head_svg(difference(part(found), part(other)), 0, 0))
    up, down, *rest = [fill for _, _, fill in cells(root)]
    assert up != down
    assert set(rest) == {LIGHT.ground.lower()}
    assert [text.text for text in root.iter(f"{SPACE}text")][-3:] == ["−1.00", "+1.00", "difference"]
