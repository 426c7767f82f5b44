"""All lying agents, in the order of docs/lying-agents.md."""

from tests.lying_agents import about_judges, about_tests, about_work
from tests.lying_agents.lie import Lie

CHAPTERS: dict[str, tuple[Lie, ...]] = {
    "About the work": about_work.LIES,
    "With tests": about_tests.LIES,
    "About what judges": about_judges.LIES,
}
LIES: tuple[Lie, ...] = tuple(lie for lies in CHAPTERS.values() for lie in lies)
