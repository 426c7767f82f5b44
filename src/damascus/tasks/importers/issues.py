"""Issues of a forge. One whose text is a whole spec is that spec; any other is a rough story of its words."""

import re
from dataclasses import dataclass

from damascus.domain.spec import Spec, read_spec
from damascus.tasks.importers.boxes import lines
from damascus.tasks.importers.paths import paths_in
from damascus.tasks.importers.record import Imported, line, prose
from damascus.tasks.importers.story_specs import ImportSource

FORMAT = "issues"
CRITERIA = re.compile(r"acceptance criteria|requirements|definition of done", re.IGNORECASE)
ITEM = re.compile(r"[ \t]{0,20}(?:[-*+]|\d{1,4}[.)])[ \t]+(?:\[.\][ \t]+)?(\S.*)")
OWN_SOURCE = re.compile(r"^source[ \t]*:", re.MULTILINE)


@dataclass(frozen=True)
class IssueText:
    """What a forge tells of an issue."""

    number: int
    title: str
    body: str = ""
    labels: tuple[str, ...] = ()


def place(url: str) -> str:
    """The repository's address as sources name it."""
    return url.strip().rstrip("/").removesuffix(".git")


def record_of(url: str, issue: IssueText) -> Imported:
    where, key = place(url), str(issue.number)
    spec = _spec(issue.body, str(ImportSource(FORMAT, where, key)))
    if spec is not None:
        told, raw = spec
        return Imported(where, key, str(told.story), told.title, spec=raw)
    body = prose(issue.body)
    labels = f"Labels: {', '.join(line(each, 60) for each in issue.labels)}" if issue.labels else ""
    return Imported(
        file=where,
        key=key,
        name=f"issue-{issue.number}",
        title=line(issue.title, 200) or f"Issue {issue.number}",
        body="\n\n".join(part for part in (body, labels) if part),
        criteria=tuple(_criteria(body)),
        scope=tuple(paths_in(body[:20_000])),
    )


def _spec(body: str, source: str) -> tuple[Spec, bytes] | None:
    """With the line that says where it came from; one that names another source is no spec of its own."""
    text = body.replace("\r\n", "\n").lstrip("\ufeff\n")
    if not text.startswith("---\n") or OWN_SOURCE.search(text.partition("\n---")[0]):
        return None
    raw = text.replace("---\n", f'---\nsource: "{source}"\n', 1).encode("utf-8", errors="replace")
    spec, problems = read_spec(raw, "the issue")
    return (spec, raw) if spec is not None and not problems and not spec.acceptance else None


def _criteria(body: str) -> list[str]:
    """The entries below a heading that promises them, else every box."""
    below = [each for each in lines(body) if not each.level and CRITERIA.search(each.heading)]
    named = [line(found[1]) for each in below if (found := ITEM.fullmatch(each.text))]
    return named or [each.rest for each in lines(body) if each.box is not None]


def closes(spec: Spec, url: str) -> int | None:
    """The issue that is over with this story: one of this very forge."""
    source = ImportSource.of(spec)
    ours = source is not None and source.format == FORMAT and bool(url) and source.file == place(url)
    return int(source.key) if source and ours and source.key.isascii() and source.key.isdigit() else None
