"""Lead time, tries, verdicts, files and cost in words (D21)."""

from typing import Any

from damascus.telling import costs
from damascus.telling.phrases import duration, plural


def lines(found: dict[str, Any]) -> list[tuple[str, str]]:
    """A name and what is told of it, each."""
    landed = found["landed"]
    tries = [f"{plural(stories, 'story', 'stories')} in {n}" for n, stories in found["tries"].items()]
    verdicts = [f"{name} {n}" for name, n in found["verdicts"].items()]
    files = [f"{row['path']} ({plural(row['commits'], 'commit')})" for row in found["files"]]
    return [
        ("landed", plural(landed, "story", "stories")),
        ("lead time", _times(found["lead_seconds"]) + ", from queued to on main"),
        ("work time", _times(found["work_seconds"]) + ", from first claim to on main"),
        ("tries", ", ".join(tries) or "none yet"),
        ("verdicts", ", ".join(verdicts) or "none yet"),
        ("files", ", ".join(files) or "none yet"),
        ("flaky", ", ".join(_flaky(row) for row in found["flaky"]) or "none seen"),
        ("cost", costs.published(found["cost"])),
    ]


def _flaky(row: dict[str, Any]) -> str:
    """A test that failed and passed on one commit; where the log named none, the job."""
    times = plural(row["times"], "time")
    return f"{row['test']} (job {row['job']}, {times})" if row["test"] else f"job {row['job']} ({times})"


def _times(seconds: dict[str, float | None]) -> str:
    if seconds["median"] is None or seconds["p90"] is None:
        return "none yet"
    return f"median {duration(seconds['median'])}, p90 {duration(seconds['p90'])}"
