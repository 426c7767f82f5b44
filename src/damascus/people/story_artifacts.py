"""The files that the steps of a story left: which there are, and one of them."""

from dataclasses import dataclass
from typing import Any

from damascus.app import Project
from damascus.domain.errors import NotThere
from damascus.store import artifacts, views
from damascus.store.artifacts import Artifact
from damascus.store.db import Database
from damascus.telling.phrases import one_line


@dataclass(frozen=True)
class ArtifactList:
    """Every version by name, without what it says."""

    story: str
    found: list[dict[str, Any]]


def artifacts_of(db: Database, project: Project, story: str) -> ArtifactList:
    row = views.story_row(db, project.row, story)
    return ArtifactList(row.story_id, db.all("artifact_versions", item=row.id))


def artifact(db: Database, project: Project, story: str, name: str) -> Artifact:
    """The newest version of that name."""
    row = views.story_row(db, project.row, story)
    found = artifacts.latest(db, row.id, name) if "\0" not in name else None
    if found is None:
        raise NotThere(f"{row.story_id} has no artifact {one_line(name)[:200]!r}. See: damascus logs {row.story_id}")
    return found
