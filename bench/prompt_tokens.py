"""What our own words cost an agent before it has read a line of the story, in estimated tokens (domain/tokens.py)."""

from bench.table import Result
from damascus.domain.roles import Role
from damascus.domain.tokens import count
from damascus.engine.agent_step.briefs import ADDENDUM, RULES, words


def measure() -> list[Result]:
    tasks = {role: count(words(role)) for role in Role}
    longest = max(tasks, key=tasks.__getitem__)
    note = "estimate, above a real byte-pair encoding by a tenth to a fifth"
    return [
        _row("spawn prompt, rules, tokens", count(words(RULES)), 100, note),
        _row("spawn prompt, longest task, tokens", tasks[longest], 200, f"{longest}; {note}"),
        _row("CI addendum, tokens", count(words(ADDENDUM)), 150, note),
    ]


def _row(name: str, tokens: int, limit: int, note: str) -> Result:
    return Result(name, float(tokens), f"≤ {limit}", tokens <= limit, note)
