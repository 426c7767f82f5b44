"""All lies by family, and the honest controls: what `damascus lab` plays and docs/lying-agents.md tells."""

from dataclasses import dataclass

from damascus.lab.honest import TALES
from damascus.lab.lies import (
    about_answers,
    about_judges,
    about_lines,
    about_measuring,
    about_old_tests,
    about_proof,
    about_tests,
    about_the_base,
    about_the_project,
    about_the_record,
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
    with_packages,
)
from damascus.lab.tale import Tale


@dataclass(frozen=True)
class Family:
    """Tales that belong together; `key` is what the command line takes."""

    key: str
    title: str
    tales: tuple[Tale, ...]


FAMILIES = (
    Family("work", "About the work", about_work.LIES),
    Family("old-tests", "With tests that were there", about_old_tests.LIES),
    Family("over-old-tests", "Over tests that were there", (*over_old_tests.LIES, *over_old_tests_elsewhere.LIES)),
    Family("own-tests", "With tests of their own", about_tests.LIES),
    Family("no-proof", "With tests that need no code", about_proof.LIES),
    Family("base", "With tests that know the base", about_the_base.LIES),
    Family("answers", "With answers that please any test", about_answers.LIES),
    Family("lines", "With lines that no test looks at", about_lines.LIES),
    Family("measuring", "About what is measured", about_measuring.LIES),
    Family("no-proof-elsewhere", "With tests that need no code, in other stacks", in_other_stacks.LIES),
    Family("knowing-code", "With code that knows it is tested", code_that_knows.LIES),
    Family("judges", "About what judges", about_judges.LIES),
    Family("runner", "About the runner", about_the_runner.LIES),
    Family("record", "About the record, and what is held out", about_the_record.LIES),
    Family("packages", "With code that runs at set-up", with_packages.LIES),
    Family("project", "About the rest of the project", about_the_project.LIES),
    Family("git", "In git", in_git.LIES),
    Family("files", "With files", with_files.LIES),
    Family("processes", "By processes", by_processes.LIES),
    Family("go", "In Go", in_go.LIES),
    Family("node", "In JavaScript", in_node.LIES),
    Family("rust", "In Rust", in_rust.LIES),
)
HONEST = Family("honest", "Honest agents, as control", TALES)
LIES: tuple[Tale, ...] = tuple(lie for family in FAMILIES for lie in family.tales)
