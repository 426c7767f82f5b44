"""All lying agents, in the order of docs/lying-agents.md."""

from tests.lying_agents import about_judges, about_tests, about_work, by_processes, in_git, with_files
from tests.lying_agents.lie import Lie

CHAPTERS: dict[str, tuple[Lie, ...]] = {
    "About the work": about_work.LIES,
    "With tests": about_tests.LIES,
    "About what judges": about_judges.LIES,
    "In git": in_git.LIES,
    "With files": with_files.LIES,
    "By processes": by_processes.LIES,
}
LIES: tuple[Lie, ...] = tuple(lie for lies in CHAPTERS.values() for lie in lies)
