"""The steps of a story's runs in words: how long each took, what it came to, what its agent notes."""

from damascus.domain.ids import short
from damascus.store.db import Row
from damascus.telling.phrases import between, plural


def took(step: Row) -> str:
    return between(step["started_at"], step["done_at"]) if step["done_at"] else "not done"


def came_to(step: Row) -> str:
    """The part of a step's result that a person looks for."""
    out = step["output"] if isinstance(step["output"], dict) else {}
    if "results" in out:
        found = [f["message"] for result in out["results"] for f in result.get("findings", [])]
        return found[0] if found else "passed: " + ", ".join(result["gate"] for result in out["results"])
    if "jobs" in out:
        return ", ".join(f"{job['name']} {job['state']}" for job in out["jobs"])
    if out.get("conflicting_files"):
        return "conflict in " + ", ".join(out["conflicting_files"])
    if "files_changed" in out:
        files = plural(len(out["files_changed"]), "file")
        return f"exit {out.get('exit_code')}, {files}, commit {short(out.get('commit'))}"
    for key in ("message", "url", "problem", "commit", "base", "head"):
        if out.get(key):
            value = str(out[key])
            return short(value) if key in ("commit", "base", "head") else value
    return ""


def concerns(steps: list[Row]) -> list[str]:
    """What the last agent says of its own work that a person should know: claims, never evidence."""
    told = [s["output"] for s in steps if s["step"] == "implement" and isinstance(s["output"], dict)]
    return [str(each) for each in told[-1].get("concerns", [])] if told else []
