"""DECISIONS.md, ASSUMPTIONS.md and FILE_OWNERSHIP_MAP.md as text (A9). All words of agents in them are made inert."""

from collections.abc import Mapping, Sequence
from typing import Any

from damascus.domain.inert_markdown import filed

LONG = 1000
SHORT = 120


def decisions_file(rows: Sequence[Mapping[str, Any]]) -> str:
    return "\n".join(["# Decisions\n", *(_decision(row) for row in rows)]) if rows else "# Decisions\n\nNone yet.\n"


def _decision(row: Mapping[str, Any]) -> str:
    lines = [
        f"## DECISION-{row['number']:03d}: {filed(row['title'], SHORT)}",
        f"Date: {row['made_at']:%Y-%m-%d}",
        f"Task: {row['task']}",
        f"Context: {filed(row['context'], LONG)}".rstrip(),
        f"Decision: {filed(row['decision'], LONG)}".rstrip(),
        f"Trade-off: {filed(row['trade_off'], LONG)}".rstrip(),
        f"Pattern: {filed(row['pattern'], SHORT) or 'none'}",
    ]
    return "\n".join(lines) + "\n"


def assumptions_file(rows: Sequence[Mapping[str, Any]]) -> str:
    told = [f"- A-{row['number']:03d} ({row['task']}): {filed(row['assumption'], LONG)}" for row in rows]
    return "\n".join(["# Assumptions\n", *(told or ["None yet."])]) + "\n"


def ownership_file(owners: Sequence[tuple[str, Sequence[str]]]) -> str:
    """What each landed task changed, by git's word."""
    lines = ["# File ownership\n", "| File | Owning Task(s) |", "|---|---|"]
    lines += [f"| {filed(path, LONG)} | {', '.join(stories)} |" for path, stories in owners]
    return "\n".join(lines) + "\n"
