"""The pictures of a story's pages as files, on any host: a person may sit at another than the one that took them."""

from dataclasses import dataclass
from pathlib import Path

from damascus.app import Project
from damascus.domain.errors import DamascusError
from damascus.gates.visual.comparing import ComparedPicture, compared
from damascus.gates.visual.laying import lay_out
from damascus.gates.visual.needs import can_compare
from damascus.people.acts import Done
from damascus.store import screenshots, views
from damascus.store.db import Database, Row
from damascus.store.screenshots import KeptPictures


@dataclass(frozen=True)
class SavedPictures(Done):
    """By page, where each picture lies."""

    pages: dict[str, dict[str, str]]


def save_pictures(db: Database, project: Project, story: str, folder: Path) -> SavedPictures:
    """What a person was shown last of each page, what was accepted before, and the difference."""
    row = views.story_row(db, project.row, story)
    found = screenshots.shown_in(db, row.id)
    if not found:
        raise DamascusError(f"{row.story_id} has no picture of a page. See: damascus show {row.story_id}")
    pages = {f"{one['page']} at {one['viewport']}": _saved(db, project, row.story_id, one, folder) for one in found}
    lines = [f"{page}: {kind}: {path}" for page, files in pages.items() for kind, path in files.items()]
    return SavedPictures("\n".join(lines), "damascus inbox", pages)


def _saved(db: Database, project: Project, story: str, one: Row, folder: Path) -> dict[str, str]:
    png = bytes(one["png"])
    known = KeptPictures(db, project.row.repo_id).accepted(story, one["page"], one["viewport"])
    others = [each for each in known if each.png != png]
    against = ComparedPicture(against=others[0] if others else None)
    if others and can_compare():
        against = compared(png, others[:1], project.config.visual)
    return lay_out(folder.absolute(), one["page"], one["mark"], png, against)
