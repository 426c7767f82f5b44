"""All lying agents, in the order of docs/lying-agents.md."""

from tests.lying_agents import (
    about_judges,
    about_old_tests,
    about_proof,
    about_tests,
    about_the_project,
    about_the_runner,
    about_work,
    by_processes,
    code_that_knows,
    in_git,
    in_go,
    in_node,
    in_other_stacks,
    in_rust,
    over_old_tests,
    over_old_tests_elsewhere,
    with_files,
)
from tests.lying_agents.tale import Tale

CHAPTERS: dict[str, tuple[Tale, ...]] = {
    "About the work": about_work.LIES,
    "With tests that were there": about_old_tests.LIES,
    "Over tests that were there": (*over_old_tests.LIES, *over_old_tests_elsewhere.LIES),
    "With tests of their own": about_tests.LIES,
    "With tests that need no code": about_proof.LIES,
    "With tests that need no code, in other stacks": in_other_stacks.LIES,
    "With code that knows it is tested": code_that_knows.LIES,
    "About what judges": about_judges.LIES,
    "About the runner": about_the_runner.LIES,
    "About the rest of the project": about_the_project.LIES,
    "In git": in_git.LIES,
    "With files": with_files.LIES,
    "By processes": by_processes.LIES,
    "In Go": in_go.LIES,
    "In JavaScript": in_node.LIES,
    "In Rust": in_rust.LIES,
}
LIES: tuple[Tale, ...] = tuple(lie for lies in CHAPTERS.values() for lie in lies)
