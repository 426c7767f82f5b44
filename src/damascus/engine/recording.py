"""A story of kind `records`: queued by `damascus tasks commit`, and with each full checkpoint where [tasks] commit says
so (engine/steps/records.py makes it)."""

import json
from collections.abc import Sequence

from damascus.domain.config import Config
from damascus.domain.spec import parse_spec
from damascus.store import queueing
from damascus.store.db import Database
from damascus.store.projects import ProjectRow
from damascus.store.queueing import NewStory, Queued

TEXT = """\
---
story: {story}
title: {title}
kind: records
scope: {scope}
---

Damascus makes these files from its own facts. No agent is sent.

## TDD Plan

No code is changed.

## Test Command

```sh
true
```
"""


def queue_records(
    db: Database, project: ProjectRow, config: Config, name: str, paths: Sequence[str], *, title: str
) -> Queued:
    """Once: a story of that name that is there already stays as it is."""
    raw = TEXT.format(story=name, title=json.dumps(title), scope=json.dumps(list(paths))).encode()
    story = NewStory(parse_spec(raw, name), raw, f"specs/{name}.md")
    prefix, budget = config.project.branch_prefix, config.limits.budget_cycles
    [queued] = queueing.add(db, project, [story], prefix, budget, keep_unchanged=True)
    return queued
