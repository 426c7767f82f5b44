"""A main that was broken from above (W20): the upstream commit, the question to a person, what each answer means."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from damascus.domain.ids import short

FIXED_BY_HAND = "it is being fixed"
AGAIN = "run its CI again"


@dataclass(frozen=True)
class Breakage:
    """`down` at `sha` is red since `commit` of the repository `up`. No commit: `note` says why none can be named."""

    down: int
    down_name: str
    sha: str
    failed: str
    up: int | None = None
    upstream: str = ""
    commit: str = ""
    subject: str = ""
    files: list[str] = field(default_factory=list)
    tests: list[str] = field(default_factory=list)
    command: str = ""
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def question(broken: Breakage) -> str:
    red = f"{broken.down_name} at {short(broken.sha)} has turned red ({broken.failed}) without a commit of its own"
    if broken.commit:
        return (
            f"{red}: since the commit {short(broken.commit)} of {broken.upstream} ({broken.subject}). "
            "With the one before it is green. What should happen?"
        )
    return f"{red}, and {broken.note}. What should happen?"


def options(broken: Breakage) -> tuple[str, ...]:
    fix = f"fix {broken.down_name}"
    if not broken.commit:
        return (fix, f"coordinate: hold {broken.down_name} until you release it", AGAIN)
    return (
        f"revert {short(broken.commit)} in {broken.upstream}",
        fix,
        f"coordinate: hold {broken.upstream} and {broken.down_name} until you release them",
        AGAIN,
    )


def plain_question(name: str, sha: str, failed: str, waiting: list[str]) -> tuple[str, tuple[str, ...]]:
    """Red by a commit of its own. It is asked once; when main is green again the question closes by itself."""
    wait = f" Stories of {', '.join(waiting)} wait until it is green." if waiting else ""
    return f"main of {name} is red at {sha}: {failed}.{wait} Repair it there, by a story or by hand.", (
        FIXED_BY_HAND,
        AGAIN,
    )


def revert_spec(broken: Breakage) -> str:
    """A whole spec: what to touch is known. Tests that the commit brought may go with it."""
    name, commit = f"revert-{short(broken.commit)}", short(broken.commit)
    body = f"""\
Revert the commit {broken.commit} ({broken.subject}).

It broke {broken.down_name}, which needs this repository: {broken.failed} at {short(broken.sha)}. Undo what that commit
changed and nothing else; what other commits changed since stays.

## TDD Plan

No new test: the tests that were there before the commit are green again.
"""
    command = f"\n## Test Command\n\n```sh\n{broken.command}\n```\n" if broken.command else ""
    return _spec(name, f"Revert {commit}: {broken.subject}", broken, body + command)


def fix_spec(broken: Breakage) -> str:
    """Rough: what to touch is not known, and is asked for in phase spec."""
    since = short(broken.commit or broken.sha)
    cause = f"since {broken.upstream} {broken.commit} ({broken.subject})" if broken.commit else broken.note
    title = f"{broken.down_name} is green again: {broken.failed}"
    front = {"story": f"fix-after-{since}", "title": title, "priority": 0}
    return _front(front) + f"{broken.down_name} at {broken.sha} is red: {broken.failed}, {cause}.\n"


def _spec(name: str, title: str, broken: Breakage, body: str) -> str:
    front: dict[str, Any] = {"story": name, "title": title, "scope": broken.files, "priority": 0, "kind": "refactor"}
    return _front(front | ({"may_remove": broken.tests} if broken.tests else {})) + body


def _front(values: dict[str, Any]) -> str:
    """JSON is YAML: no title can break the front matter."""
    return "---\n" + "".join(f"{key}: {json.dumps(value)}\n" for key, value in values.items()) + "---\n"
