"""An act that was meant for a story as a page showed it: where the story has moved since, nothing is done."""

from damascus.app import App, Project
from damascus.domain.errors import DamascusError
from damascus.store import views
from damascus.telling import now, offers
from damascus.telling.phrases import between


class MovedMeanwhile(DamascusError):
    """What was seen is not what is."""


def refuse_moved(app: App, project: Project, story: str, expected: str) -> None:
    """`expected` is what `telling.offers.expects` said when the page was made; "" expects nothing."""
    row = views.story_row(app.database, project.row, story)
    if not expected or offers.expects(row) == expected:
        return
    was = expected.partition(" ")[0]
    since = between(row.updated_at, row.read_at)
    raise MovedMeanwhile(
        f"{row.story_id} has moved since the page was made: it was in {was}, and is in {row.phase} now "
        f"({now.now(row)}, changed {since} ago). Nothing was done. Look at it again before you decide."
    )


def refuse_other_phase(app: App, project: Project, story: str, seen: str | None) -> None:
    """`seen` is the phase that a program saw; None: it does not matter to it."""
    row = views.story_row(app.database, project.row, story)
    if seen is not None and row.phase != seen:
        raise MovedMeanwhile(
            f"{row.story_id} was in phase {seen} when you looked and is in {row.phase} now. Nothing was done. "
            f"Look again: damascus why {row.story_id}"
        )
