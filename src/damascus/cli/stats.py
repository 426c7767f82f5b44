"""damascus stats: lead time, tries, verdicts, files, cost (D21)."""

from typing import Annotated, Any

import typer

from damascus.cli.opened import opened
from damascus.cli.say import as_json as print_json
from damascus.cli.say import next_step, say, wrapped


def stats(as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False) -> None:
    """Lead time, tries per story, verdicts, files most touched, flaky tests, cost.

    \b
    Example:  damascus stats --json
    """
    from damascus.store.stats import stats as read

    db, project = opened()
    found = read(db, project.row)
    if as_json:
        print_json(found)
        return
    for name, value in _lines(found):
        say(f"{name:<12} {wrapped(value, ' ' * 13).lstrip()}")
    next_step("damascus status --all")


def _lines(found: dict[str, Any]) -> list[tuple[str, str]]:
    from damascus.cli.words import plural

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
        ("cost", _cost(found["cost"])),
    ]


def _flaky(row: dict[str, Any]) -> str:
    """A test that failed and passed on one commit; where the log named none, the job."""
    from damascus.cli.words import plural

    times = plural(row["times"], "time")
    return f"{row['test']} (job {row['job']}, {times})" if row["test"] else f"job {row['job']} ({times})"


def _cost(cost: dict[str, Any]) -> str:
    from damascus.cli.costs import published

    return published(cost)


def _times(seconds: dict[str, float | None]) -> str:
    from damascus.cli.words import duration

    if seconds["median"] is None or seconds["p90"] is None:
        return "none yet"
    return f"median {duration(seconds['median'])}, p90 {duration(seconds['p90'])}"
