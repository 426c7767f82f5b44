"""Two pictures, compared pixel by pixel, for another process: JSON in, JSON out.

A page decides what its picture holds, so its size is looked at before a pixel of it is decoded.
"""

import base64
import io
from typing import Any

from PIL import Image, ImageChops, ImageDraw, UnidentifiedImageError

MOST_PIXELS = 40_000_000
RED = (220, 0, 40)
PALE = 0.75
"""How much of the page is taken away around what differs, so that this can be seen."""


def compare_pictures(
    new: str, old: str | None, masks: list[list[int]], tolerance: int, *, draw: bool = True
) -> dict[str, Any]:
    """How many of how many pixels differ, and a picture of where. `old` None: there is nothing to compare with."""
    try:
        after, before = _opened(new), _opened(old) if old is not None else None
    except NoPicture as err:
        return {"problem": str(err)}
    found: dict[str, Any] = {"blank": _blank(after), "width": after.width, "height": after.height}
    if before is None:
        return found
    differing = _differing(_masked(before, masks), _masked(after, masks), tolerance)
    count = differing.histogram()[255]
    found |= {"differing": count, "pixels": differing.width * differing.height}
    return found | ({"difference": _drawn(after, differing)} if count and draw else {})


class NoPicture(Exception):
    """Why, as the end of a sentence."""


def _opened(packed: str) -> Image.Image:
    try:
        image = Image.open(io.BytesIO(base64.b64decode(packed)), formats=["PNG"])
        if image.width * image.height > MOST_PIXELS:
            raise NoPicture(f"it has {image.width}x{image.height} pixels, more than a picture may")
        return image.convert("RGB")
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, SyntaxError) as err:
        raise NoPicture("it is no picture that can be read") from err


def _blank(image: Image.Image) -> bool:
    return all(low == high for low, high in image.getextrema())  # type: ignore[misc]


def _masked(image: Image.Image, masks: list[list[int]]) -> Image.Image:
    copy = image.copy()
    pencil = ImageDraw.Draw(copy)
    for x, y, width, height in masks:
        if width and height:
            pencil.rectangle((x, y, x + width - 1, y + height - 1), fill=0)
    return copy


def _differing(before: Image.Image, after: Image.Image, tolerance: int) -> Image.Image:
    """255 where they differ, 0 where not; what only one of both has differs."""
    size = max(before.width, after.width), max(before.height, after.height)
    both = min(before.width, after.width), min(before.height, after.height)
    red, green, blue = ImageChops.difference(before.crop((0, 0, *both)), after.crop((0, 0, *both))).split()
    most = ImageChops.lighter(ImageChops.lighter(red, green), blue)
    whole = Image.new("L", size, 255)
    whole.paste(most.point([255 if off > tolerance else 0 for off in range(256)]), (0, 0))
    return whole


def _drawn(after: Image.Image, differing: Image.Image) -> str:
    page = Image.new("RGB", differing.size, "white")
    page.paste(after.convert("L").convert("RGB"), (0, 0))
    page = Image.blend(page, Image.new("RGB", page.size, "white"), PALE)
    page.paste(RED, (0, 0), differing)
    target = io.BytesIO()
    page.save(target, "PNG", compress_level=6)
    return base64.b64encode(target.getvalue()).decode()
