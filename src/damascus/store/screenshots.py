"""Pictures of pages: kept where no agent can write, known to every host, in every back-up."""

from damascus.domain.errors import DamascusError
from damascus.domain.ports import AcceptedPicture, Pictures, ShownPicture
from damascus.store.db import Connection, Database, Row, sql

MOST = 20
"""Accepted pictures of one page in stories that are not over; the newest of them."""


class KeptPictures(Pictures):
    """Of one repository."""

    def __init__(self, db: Database, repo: int) -> None:
        self.db, self.repo = db, repo

    def accepted(self, story: str, page: str, viewport: str) -> list[AcceptedPicture]:
        where = {"repo": self.repo, "story": story, "page": page, "viewport": viewport}
        rows = self.db.all("screenshots_accepted", most=MOST, **where)
        return [
            AcceptedPicture(
                bytes(row["png"]), row["story_id"], row["accepted_by"], row["accepted_at"], row["browser"]
            )
            for row in rows
        ]  # fmt: skip

    def show(self, story: str, picture: ShownPicture) -> None:
        self.db.do("screenshot_show", repo=self.repo, story=story, **vars(picture))


def accepted_in(db: Database, item: int) -> dict[str, Row]:
    """By mark: what a person accepted in a story, who, and when."""
    return {row["mark"]: row for row in db.all("screenshots_of", item=item)}


def shown_in(db: Database, item: int) -> list[Row]:
    """The last picture of each page that a person was shown in a story."""
    return db.all("screenshots_shown", item=item)


def accept(c: Connection, item: int, marks: list[str], by: str) -> list[str]:
    """The pages, once each picture that was shown is accepted."""
    rows = c.execute(sql("accept_screenshots"), {"item": item, "marks": marks, "by": by}).fetchall()
    if {row["mark"] for row in rows} != set(marks) or not marks:
        raise DamascusError("those pictures are not there any more. See what is asked now: damascus inbox")
    return sorted({row["page"] for row in rows})
