"""Passes of judged runs, by what they were a pass of. Who judges decides what may be kept (evidence/keeping.py)."""

import hashlib
import json
from dataclasses import asdict

from pydantic import ValidationError

from damascus.domain.ports import KeptRuns, RunKey, TestRun
from damascus.domain.storable import clean
from damascus.store.db import Database, jsonb


class KeptEvidence(KeptRuns):
    """Of one repository: what another one's tests said is never taken for this one's."""

    def __init__(self, db: Database, repo: int) -> None:
        self.db, self.repo = db, repo

    def find(self, key: RunKey) -> TestRun | None:
        row = self.db.one("evidence_find", key=self._digest(key), repo=self.repo)
        try:
            return TestRun.model_validate(row["result"]) if row else None
        except ValidationError:  # of a release with another shape
            return None

    def keep(self, key: RunKey, run: TestRun) -> None:
        facts = {name: clean(value) for name, value in asdict(key).items()}
        self.db.do("evidence_keep", key=self._digest(key), repo=self.repo, result=jsonb(run.model_dump()), **facts)

    def _digest(self, key: RunKey) -> str:
        return hashlib.sha256(json.dumps([self.repo, *asdict(key).values()]).encode()).hexdigest()
