"""The picture in the browser's tab, with how many questions are open."""

from fastapi import APIRouter
from starlette.responses import Response

router = APIRouter(include_in_schema=False)
MOST = 99
FRAME = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64">'
    '<rect width="64" height="64" rx="14" fill="{colour}"/>{inside}</svg>'
)
TICK = '<path d="M18 33l10 10 19-21" fill="none" stroke="#fff" stroke-width="7"/>'
COUNT = (
    '<text x="32" y="44" font-family="sans-serif" font-size="{size}" font-weight="700" fill="#fff" '
    'text-anchor="middle">{count}</text>'
)


@router.get("/icon.svg")
def icon(n: int = 0) -> Response:
    """A tick where nothing is asked."""
    count = f"{MOST}+" if n > MOST else str(n)
    inside = COUNT.format(size=(36, 30, 24)[len(count) - 1], count=count) if n > 0 else TICK
    drawn = FRAME.format(colour="#b3261e" if n > 0 else "#2f6f4f", inside=inside)
    return Response(drawn, media_type="image/svg+xml")
