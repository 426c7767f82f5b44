"""`[visual] masks`: a rectangle (`x,y,width,height`) or a CSS selector. What they hide is compared by nobody."""

import re
from collections.abc import Iterable

RECTANGLE = re.compile(r"(\d{1,5}),\s*(\d{1,5}),\s*(\d{1,5}),\s*(\d{1,5})")
Rectangle = tuple[int, ...]


def selectors(masks: Iterable[str]) -> list[str]:
    return [mask for mask in masks if not RECTANGLE.fullmatch(mask.strip())]


def rectangles(masks: Iterable[str]) -> list[Rectangle]:
    found = (RECTANGLE.fullmatch(mask.strip()) for mask in masks)
    return [tuple(map(int, match.groups())) for match in found if match]
