"""What an agent says that it decided or assumed: claims, read from its report whatever that holds, and capped.

DECISIONS.md and ASSUMPTIONS.md show them (docs/task-graph.md).
"""

from pydantic import BaseModel

from damascus.domain.inert_markdown import cut, seen

MOST = 20
"""Of one report: nobody reads more, and no report fills a table."""
LONGEST_TITLE = 120
LONGEST = 1000
LONGEST_ASSUMPTION = 400
FIELDS = ("context", "decision", "trade_off", "pattern")


class AgentDecision(BaseModel):
    """A choice that another author might have made otherwise."""

    title: str
    context: str = ""
    decision: str = ""
    trade_off: str = ""
    pattern: str = ""


def decisions_in(told: object) -> list[AgentDecision]:
    """Each by its title, the first of one title. What has none that anybody could read, or is no object, is none."""
    listed = told[: 10 * MOST] if isinstance(told, list) else []
    found = (_decision(each) for each in listed if isinstance(each, dict))
    return list({one.title: one for one in reversed([each for each in found if each.title])}.values())[::-1][:MOST]


def assumptions_in(told: object) -> list[str]:
    listed = [told] if isinstance(told, str) else told if isinstance(told, list) else []
    lines = (_line(each, LONGEST_ASSUMPTION) for each in listed[: 10 * MOST])
    return list(dict.fromkeys(line for line in lines if line))[:MOST]


def _decision(told: dict[object, object]) -> AgentDecision:
    words = {str(key).lower().replace("-", "_"): value for key, value in list(told.items())[:50]}
    return AgentDecision(
        title=_line(words.get("title"), LONGEST_TITLE), **{name: _line(words.get(name), LONGEST) for name in FIELDS}
    )


def _line(told: object, most: int) -> str:
    """Cut before it is looked through: a text of megabytes costs no more than a long one."""
    return cut(seen(told[: 4 * most]), most) if isinstance(told, str) else ""
