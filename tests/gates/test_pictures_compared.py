"""Two pictures, pixel by pixel: what may differ, what is masked, and pictures that were made to hurt who reads them."""

import io
import re
import struct
import zlib
from datetime import UTC, datetime

import pytest
from PIL import Image

from damascus.domain.config import VisualConfig
from damascus.domain.ports import AcceptedPicture
from damascus.gates.visual.comparing import ComparedPicture, compared

pytestmark = pytest.mark.req("A6.2")
SIZE = (100, 100)
AT = datetime(2026, 1, 2, tzinfo=UTC)


def png(*dots: tuple[int, int, tuple[int, int, int]], size: tuple[int, int] = SIZE) -> bytes:
    """A page with a border, and single pixels."""
    image = Image.new("RGB", size, "white")
    image.putpixel((0, 0), (0, 0, 0))
    for x, y, colour in dots:
        image.putpixel((x, y), colour)
    target = io.BytesIO()
    image.save(target, "PNG")
    return target.getvalue()


def accepted(data: bytes, story: str = "S-0") -> AcceptedPicture:
    return AcceptedPicture(data, story, "ann", AT, "Chrome/1")


def look(new: bytes, *old: bytes, **keys: object) -> ComparedPicture:
    return compared(new, [accepted(data, f"S-{n}") for n, data in enumerate(old)], VisualConfig(**keys))  # type: ignore[arg-type]


SPOT = png((50, 50, (255, 0, 0)))
PALER = png((50, 50, (250, 0, 0)))


def test_one_pixel_counts_unless_the_threshold_says_otherwise() -> None:
    assert look(png(), png()).same
    found = look(SPOT, png())
    assert not found.same and (found.differing, found.pixels) == (1, 10_000)
    assert look(SPOT, png(), threshold=0.0001).same
    assert not look(SPOT, png(), threshold=0.00009).same


def test_a_channel_may_be_off_by_the_tolerance_and_no_more() -> None:
    assert not look(PALER, SPOT).same
    assert look(PALER, SPOT, tolerance=5).same and not look(PALER, SPOT, tolerance=4).same


@pytest.mark.parametrize(("mask", "same"), [("50,50,1,1", True), ("0, 0, 51, 51", True), ("0,0,50,51", False),
                                            ("51,50,9,9", False), ("50,50,0,9", False)])  # fmt: skip
def test_what_a_rectangle_covers_is_not_compared(mask: str, same: bool) -> None:
    assert look(SPOT, png(), masks=[mask]).same is same


def test_what_only_one_of_both_has_differs() -> None:
    longer = png(size=(100, 110))
    for new, old in ((longer, png()), (png(), longer)):
        found = look(new, old)
        assert (found.differing, found.pixels) == (1000, 11_000)
        with Image.open(io.BytesIO(found.difference)) as drawn:
            assert drawn.size == (100, 110) and drawn.getpixel((5, 105)) == (220, 0, 40)


def test_any_accepted_picture_will_do_and_the_first_is_shown_where_none_does() -> None:
    found = look(SPOT, png(), SPOT)
    assert found.same and found.against == accepted(SPOT, "S-1")
    other = look(png((1, 1, (0, 0, 0))), png(), SPOT)
    assert not other.same and other.against == accepted(png(), "S-0")


def test_a_blank_page_is_no_picture() -> None:
    plain = io.BytesIO()
    Image.new("RGB", SIZE, "white").save(plain, "PNG")
    for old in ([], [png()]):
        assert "it is blank" in look(plain.getvalue(), *old).problem


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def bomb(width: int, height: int) -> bytes:
    """Small, and huge once it is decoded."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = zlib.compress(b"\0" * 50_000_000, 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


@pytest.mark.parametrize(("data", "why"), [
    (bomb(60_000, 60_000), "more than a picture may|no picture that can be read"),
    (bomb(9_000, 9_000), "it has 9000x9000 pixels, more than a picture may"),
    (b"\x89PNG\r\n\x1a\n" + b"\xff" * 999, "no picture that can be read"),
    (b"GIF89a" + b"\0" * 99, "no picture that can be read"),
    (png()[:-40], "no picture that can be read"),
])  # fmt: skip
def test_a_picture_that_was_made_to_hurt_is_refused_and_the_next_one_is_read(data: bytes, why: str) -> None:
    assert re.search(why, look(data, png()).problem)
    assert look(png(), png()).same
