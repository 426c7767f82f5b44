"""Templates to pages. Whatever a template prints is escaped, and has neither escape codes nor unseen characters."""

from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse

from damascus.domain.ids import short
from damascus.domain.money import in_dollars
from damascus.people.standing import Strip, standing
from damascus.system.masking import own_keys, without_secrets
from damascus.telling import offers
from damascus.telling.phrases import between, plain

if TYPE_CHECKING:
    from damascus.web.looking import Look

UNKNOWN = "unknown"
PAGES = (
    ("/", "Now"),
    ("/inbox", "Inbox"),
    ("/stories", "Stories"),
    ("/queue", "Queue"),
    ("/graph", "Graph"),
    ("/fleet", "Fleet"),
    ("/ledger", "Ledger"),
    ("/events", "Events"),
    ("/config", "Config"),
)


@cache
def environment() -> Environment:
    made = Environment(
        loader=PackageLoader("damascus.web"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printed,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {"pages": PAGES, "offers": offers.offers, "expects": offers.expects}
    made.globals |= {"project_offers": offers.of_project}
    made.filters |= {"ago": ago, "moment": moment, "money": money, "sha": sha, "visible": visible}
    return made


def _printed(value: object) -> object:
    """Every value of every template: what is unknown says so, text is made harmless."""
    if value is None:
        return UNKNOWN
    return plain(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def render(
    template: str, look: "Look", status: int = 200, strip: Strip | None = None, **values: Any
) -> HTMLResponse:
    """The page for this look; `template` is of web/templates. `strip`, for who has asked for it already."""
    known = {"look": look, "strip": strip or standing(look.app, look.project), "read_at": datetime.now(UTC)}
    return HTMLResponse(environment().get_template(template).render(**known, **values), status)


def ago(moment: datetime | None, suffix: str = " ago") -> Markup:
    """`3 min ago`, with the time itself in UTC beneath it."""
    if moment is None:
        return Markup(UNKNOWN)
    told = f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    words = between(moment, datetime.now(UTC)) + suffix
    return Markup('<time datetime="{}" title="{}">{}</time>').format(moment.astimezone(UTC).isoformat(), told, words)


def moment(at: datetime | None) -> Markup:
    """The local time, with its day where that is not today; beneath it the time in UTC."""
    if at is None:
        return Markup(UNKNOWN)
    local = at.astimezone()
    words = f"{local:%H:%M:%S}" if local.date() == datetime.now().astimezone().date() else f"{local:%Y-%m-%d %H:%M:%S}"
    told = f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    return Markup('<time datetime="{}" title="{}">{}</time>').format(at.astimezone(UTC).isoformat(), told, words)


def money(microdollars: int | None) -> str:
    return UNKNOWN if microdollars is None else in_dollars(microdollars)


def sha(commit: str | None) -> str:
    return short(commit) if commit else "–"


def visible(text: object) -> str:
    """What an agent, a test or git wrote: harmless, and without the keys that this process knows."""
    return without_secrets(plain(text), own_keys())
