"""A browser without a screen: it enters by the one-time link, asks for pages, and reads them as a person would."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

from fastapi.testclient import TestClient

from damascus.web.options import Options
from damascus.web.site import make_site
from tests.yard import Yard

PORT = 8420


@dataclass
class Read(HTMLParser):
    """A page: its words, its tables (what each is called, its rows of cells), where its links lead, every tag."""

    status: int = 200
    html: str = ""
    words: list[str] = field(default_factory=list)
    tables: list[tuple[str, list[list[str]]]] = field(default_factory=list)
    links: dict[str, str] = field(default_factory=dict)
    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self._cell: list[str] | None = None
        self._link: tuple[str, list[str]] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "table":
            self.tables.append((str(dict(attrs).get("aria-label", "")), []))
        elif tag == "tr":
            self.tables[-1][1].append([])
        elif tag in ("td", "th"):
            self._cell = []
        elif tag == "a":
            self._link = (str(dict(attrs).get("href")), [])

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th") and self._cell is not None:
            self.tables[-1][1][-1].append(" ".join(" ".join(self._cell).split()))
            self._cell = None
        elif tag == "a" and self._link is not None:
            self.links[" ".join("".join(self._link[1]).split())] = self._link[0]
            self._link = None

    def handle_data(self, data: str) -> None:
        self.words.append(data)
        if self._cell is not None:
            self._cell.append(data)
        if self._link is not None:
            self._link[1].append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def column(self, heading: str) -> list[str]:
        """The cells below a heading, of the first table that has it."""
        rows = next(rows for _, rows in self.tables if heading in rows[0])
        return [row[rows[0].index(heading)] for row in rows[1:]]

    def table(self, name: str) -> dict[str, list[str]]:
        """The rows of the table of that name, by their first cell."""
        return {row[0]: row for called, rows in self.tables if called == name for row in rows[1:]}

    def has_inline_script_or_style(self) -> bool:
        """What the content security policy would refuse."""
        bad = [tag for tag, attrs in self.tags if "style" in attrs or any(name.startswith("on") for name in attrs)]
        return bool(bad) or any(tag == "script" and not attrs.get("src") for tag, attrs in self.tags)


class Browser:
    """Known to the window of a yard."""

    def __init__(self, yard: Yard, *, read_only: bool = False) -> None:
        site = make_site(yard.app, yard.project, Options(port=PORT, read_only=read_only))
        self.client = TestClient(site, base_url=f"http://127.0.0.1:{PORT}", raise_server_exceptions=True)
        self.client.get(f"/enter/{site.state.window.sessions.link()}")

    def page(self, path: str) -> Read:
        answer = self.client.get(path, follow_redirects=False)
        found = Read(answer.status_code, answer.text)
        found.feed(answer.text)
        assert not found.has_inline_script_or_style(), path
        return found
