"""sast: every static security finding of the story, numbered, for whoever reviews it (A13, F3).

The change itself is looked at again, so that a reviewer on any host has all of it; what was found in earlier writes of
the story, as far as this host has their logs, comes after it.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from damascus.domain.ids import Sha
from damascus.domain.storable import clean
from damascus.domain.verdict import Phase
from damascus.engine.run import Run
from damascus.engine.step import Step, StepKind
from damascus.writes.log import FINDINGS
from damascus.writes.sast import findings, has_analyser

MOST_OF_A_LOG = 5_000_000


class SastFinding(BaseModel):
    """`earlier`: in a write that the change does not have any more, or not in this place."""

    n: int = 0
    path: str
    line: int = 0
    rule: str = ""
    message: str = ""
    earlier: bool = False

    @property
    def told(self) -> str:
        when = ", in an earlier write" if self.earlier else ""
        return f"{self.n}. {self.path}:{self.line} {self.rule} {self.message}{when}"


class Scanned(BaseModel):
    """`unread`: changed files that no analyser looks at."""

    findings: list[SastFinding] = Field(default_factory=list)
    unread: list[str] = Field(default_factory=list)


SAST = Step("sast", Phase.REVIEW, StepKind.LOCAL, Scanned, "every security finding of the story, for its reviewer")


def scan(run: Run, base: Sha, head: Sha) -> Scanned:
    """Numbered once: a reviewer that is sent again answers the same list."""
    return run.local(SAST, lambda: _scan(run, base, head), key=head)


def _scan(run: Run, base: Sha, head: Sha) -> Scanned:
    changed = [file.path for file in run.tools.mirror.changed(base, head) if file.status != "D"]
    wanted = run.tools.read_config(base).writes.sast
    looked = [path for path in changed if wanted and has_analyser(path)]
    found = [each for path in looked for each in _of_file(run, head, path)]
    known = {(each.path, each.rule, each.message) for each in found}
    for each in _logged(run.folder.parent):
        if (each.path, each.rule, each.message) not in known:
            known.add((each.path, each.rule, each.message))
            found.append(each)
    numbered = [each.model_copy(update={"n": n}) for n, each in enumerate(found, 1)]
    return Scanned(findings=numbered, unread=[path for path in changed if path not in looked])


def _of_file(run: Run, head: Sha, path: str) -> Iterator[SastFinding]:
    content = run.tools.mirror.read(head, path)
    for found in findings(path, content) if content is not None else []:
        yield _finding({"path": path, **found})


def _logged(story_folder: Path) -> Iterator[SastFinding]:
    """Of every run of the story that left a log here; half a line is none."""
    for log in sorted(story_folder.glob(f"run-*/{FINDINGS}")):
        for line in log.read_bytes()[:MOST_OF_A_LOG].decode("utf-8", errors="replace").splitlines():
            with suppress(ValueError, KeyError, TypeError):
                yield _finding(json.loads(line)).model_copy(update={"earlier": True})


def _finding(told: dict[str, Any]) -> SastFinding:
    path, rule, message = (clean(str(told.get(name, "")), 500) for name in ("path", "rule", "message"))
    return SastFinding(path=path, rule=rule, message=message, line=int(told.get("line") or 0))
