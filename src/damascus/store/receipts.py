"""A story's receipt, and beside it all evidence of its last attempt, both read from the journal."""

from collections.abc import Iterator
from typing import Any

from damascus.domain.errors import NotThere
from damascus.domain.events import EventKind
from damascus.domain.pictures import Picture
from damascus.domain.receipt import BuildReceipt
from damascus.domain.requirement_lines import RequirementLines
from damascus.domain.survivors import MutationScore, Survivor, partial
from damascus.domain.verdict import Phase
from damascus.store import artifacts, journal, views
from damascus.store.db import Database, Row
from damascus.store.equivalents import equivalents
from damascus.store.projects import ProjectRow
from damascus.store.screenshots import accepted_in

RECEIPT = "receipt"
RECEIPT_FILE = "build/build_receipt.json"
JUDGED = ("red", "verify", "review")
UNCONFINED = "unconfined"


def latest_receipt(db: Database, item: int) -> BuildReceipt | None:
    """The receipt of the newest commit that the gates passed, as the step wrote it."""
    found = journal.latest(db, item, RECEIPT)
    return BuildReceipt.model_validate(found) if found is not None else None


def newest_receipt(db: Database, item: int) -> BuildReceipt | None:
    """As the run folder has it: also of a run that ended before its commit was proved."""
    found = artifacts.latest(db, item, RECEIPT_FILE)
    return BuildReceipt.model_validate_json(found.content) if found is not None else None


def evidence(db: Database, project: ProjectRow, story: str) -> dict[str, Any]:
    """Everything from the run whose agent made the candidate, to the landing."""
    row = views.story_row(db, project, story)
    found = db.one("view_last_build", item=row.id)
    if found is None or found["run"] is None:
        raise NotThere(
            f"{row.story_id} has no evidence yet: no agent has finished work on it. See: damascus why {row.story_id}"
        )
    steps = [step for step in views.journal(db, row.id, found["run"]) if step["status"] == "done"]
    whole = views.whole_row(db, project, story)
    gates = list(_gates(steps))
    return {
        "story_id": row.story_id,
        "title": row.title,
        "project": row.project,
        "phase": row.phase,
        "verdict": row.last_verdict,
        "attempts": row.attempts,
        "tries": row.tries,
        "spec": {"path": whole["spec_path"], "sha256": whole["spec_hash"]},
        "base_commit": row.base_commit,
        "candidate": whole["candidate"],
        "merged_commit": row.merged_commit,
        "pr_url": row.pr_url,
        "red_tests": _tests(gates, "red_tests"),
        "green_tests": _tests([gate for gate in gates if gate["step"] != "red"], "green_tests"),
        "covers": _covers(gates),
        "gates": gates,
        "mutants": _mutants(db, row.id, gates),
        "pictures": _pictures(db, row.id, gates),
        "ci": _last(steps, "ci"),
        "approval": _approval(steps),
        "landing": _landing(db, row.id, steps),
        "confinement": (confinement := _confinement(steps)),
        "unverified": sorted({*_unverified(gates, row.phase, confinement), *_waved_through(steps), *_spec(db, row.id)}),
        "steps": [_step(step) for step in steps if step["step"] != RECEIPT],
    }


def _gates(steps: list[Row]) -> Iterator[dict[str, Any]]:
    for step in steps:
        if step["step"] in JUDGED and isinstance(step["output"], dict):
            for result in step["output"].get("results", []):
                yield {"step": step["step"], "commit": step["output"].get("commit"), **result}


def _mutants(db: Database, item: int, gates: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Of changed lines (depth `full`): the score, who lives, by whose word that is right, and which requirement is
    PARTIAL by the others."""
    last = next((gate for gate in reversed(gates) if gate.get("score")), None)
    if last is None:
        return None
    accepted = equivalents(db, item)
    alive = [Survivor.model_validate(one) for one in last.get("survivors", [])]
    return {
        "score": last["score"],
        "told": MutationScore.model_validate(last["score"]).told,
        "survivors": [one.model_dump() for one in alive if one.mark not in accepted],
        "equivalent": [
            {**one.model_dump(), "a person's word": accepted[one.mark].words, "at": accepted[one.mark].at}
            for one in alive
            if one.mark in accepted
        ],
        "partial": partial(one for one in alive if one.mark not in accepted),
    }


def _pictures(db: Database, item: int, gates: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of pages: by whose word each looks right. A machine only ever says that it looks the same."""
    last = next((gate for gate in reversed(gates) if gate.get("pictures")), None)
    if last is None:
        return []
    given = accepted_in(db, item)
    found = []
    for one in map(Picture.model_validate, last["pictures"]):
        word = given.get(one.mark)
        if word is not None:
            said = f"a person accepted it: {word['accepted_by']}, {word['accepted_at']:%Y-%m-%d}"
        elif one.asks:
            said = "no person has accepted it"
        else:
            said = f"{one.differing:,} of {one.pixels:,} pixels differ from what {one.accepted}"
        found.append({**one.model_dump(exclude={"accepted", "files"}), "rests on": said})
    return found


def _tests(gates: list[dict[str, Any]], key: str) -> list[str]:
    return sorted({test for gate in gates for test in gate.get(key, [])})


def _covers(gates: list[dict[str, Any]]) -> dict[str, list[dict[str, str]]]:
    """By requirement the changed lines that its tests have to do with, and how that is known; of each gate the last
    answer counts."""
    last = {gate["gate"]: gate.get("lines", []) for gate in gates}
    found: dict[str, list[dict[str, str]]] = {}
    for one in (RequirementLines.model_validate(each) for lines in last.values() for each in lines):
        found.setdefault(one.requirement, []).append({"lines": one.told, "by": one.by.value})
    return found


def _last(steps: list[Row], name: str) -> Any:
    return next((step["output"] for step in reversed(steps) if step["step"] == name), None)


def _landing(db: Database, item: int, steps: list[Row]) -> dict[str, Any] | None:
    landed = views.last_events(db, item).get(EventKind.STORY_LANDED)
    step = _last(steps, "land")
    if landed is None:
        return step if isinstance(step, dict) else None
    return {**(step if isinstance(step, dict) else {}), **landed["body"], "at": landed["created_at"]}


def _approval(steps: list[Row]) -> dict[str, Any] | None:
    """Whose word it landed by, and when that was given; before the landing, the last word there is."""
    landed: dict[str, Any] = next((step["input"] for step in reversed(steps) if step["step"] == "land"), {})
    said = next((step for step in reversed(steps) if step["step"] == "approved_change"), None)
    if found := landed.get("approval"):
        return dict(found)
    return {**said["output"], "at": said["done_at"].isoformat()} if said else None


def _confinement(steps: list[Row]) -> dict[str, str]:
    """How each step was confined that ran something an agent could have written, and the agent itself."""
    shown = (*JUDGED, "implement")
    outputs = {step["step"]: step["output"] for step in steps if isinstance(step["output"], dict)}
    return {name: outputs[name].get("confinement", UNCONFINED) for name in outputs if name in shown}


def _unverified(gates: list[dict[str, Any]], phase: str, confinement: dict[str, str]) -> list[str]:
    """By name. What a later step proved of the same gate is proved: only each gate's last answer counts."""
    last = {gate["gate"]: gate for gate in gates}
    names = {name for gate in last.values() for name in gate.get("unverified", [])}
    if phase != Phase.DONE:
        names.add("landing: not on main")
    unconfined = {f"confinement: {step} ran unconfined" for step, level in confinement.items() if level == UNCONFINED}
    return sorted(names | unconfined)


def _spec(db: Database, item: int) -> list[str]:
    """A spec that an agent completed and no person has seen ([agent] refiner_approval)."""
    found = db.one("view_refined", item=item)
    return ["the spec: refined by an agent, approved by nobody"] if found and found["by_nobody"] else []


def _waved_through(steps: list[Row]) -> list[str]:
    """Optional CI jobs that were no success."""
    ci = _last(steps, "ci")
    return list(ci.get("unverified", [])) if isinstance(ci, dict) else []


def _step(step: Row) -> dict[str, Any]:
    """What the gates said is told once, above."""
    output = step["output"]
    if isinstance(output, dict):
        output = {key: value for key, value in output.items() if key != "results"}
    kept = ("run_no", "phase", "step", "key", "started_at", "done_at")
    return {**{key: step[key] for key in kept}, "output": output}
