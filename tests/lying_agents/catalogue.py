"""All lying agents, in the order of docs/lying-agents.md."""

from tests.lying_agents import (
    about_judges,
    about_old_tests,
    about_tests,
    about_work,
    by_processes,
    in_git,
    in_go,
    in_node,
    in_rust,
    with_files,
)
from tests.lying_agents.tale import Tale

CHAPTERS: dict[str, tuple[Tale, ...]] = {
    "About the work": about_work.LIES,
    "With tests that were there": about_old_tests.LIES,
    "With tests of their own": about_tests.LIES,
    "About what judges": about_judges.LIES,
    "In git": in_git.LIES,
    "With files": with_files.LIES,
    "By processes": by_processes.LIES,
    "In Go": in_go.LIES,
    "In JavaScript": in_node.LIES,
    "In Rust": in_rust.LIES,
}
LIES: tuple[Tale, ...] = tuple(lie for lies in CHAPTERS.values() for lie in lies)
