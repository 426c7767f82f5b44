"""Stories in profile `full`, told as what each role does in turn; code and tests are shell scripts."""

from typing import Any

from damascus.domain.security_domains import SecurityDomain
from damascus.engine.flow.commit import COMMIT
from damascus.engine.step import Step
from tests.engine.shell_stories import config, good, shell_story
from tests.yard import Yard

FULL = config('[flow]\nprofile = "full"\n')
ELEVEN = [
    "build/clarification_questions.md", "build/code_critique.md", "build/doc_updates.md", "build/fix_summary.md",
    "build/impl_changes_summary.md", "build/mutation_report.md", "build/self_review.md",
    "build/subtask_context_manifest.json", "build/test_changes_summary.md", "build/test_critique.md",
    "build/build_receipt.json",
]  # fmt: skip
SCOPE = ["one.sh", "tests/test_one.sh", "docs/one.md"]
TEST = good("one")["write"]["tests/test_one.sh"]
CODE = "echo hello one\n"


def full_story(name: str = "one", **parts: Any) -> str:
    return shell_story(name, **{"scope": [f"{name}.sh", f"tests/test_{name}.sh", f"docs/{name}.md"], **parts})


def turn(role: str, **does: Any) -> dict[str, Any]:
    return {"only_role": role, **does}


def verified(role: str, **more: Any) -> dict[str, Any]:
    return turn(role, report={"status": "VERIFIED", "summary": "each requirement has a test that can fail", **more})


def unverified(role: str, *concerns: Any, helps: bool = True, **more: Any) -> dict[str, Any]:
    told = {"status": "UNVERIFIED", "can_further_iteration_help": helps, "concerns": list(concerns), **more}
    return turn(role, report=told)


def secure(**more: Any) -> dict[str, Any]:
    """A security review that has a word on every domain, and on no finding."""
    return verified("security-reviewer", **{"domains": dict.fromkeys(SecurityDomain, "looked at"), **more})


def author(role: str, files: dict[str, str], **told: Any) -> dict[str, Any]:
    return turn(role, write=files, report={"changed": [f"{role} did it"], "weak": ["a"], "open": ["b"], **told})


def story_of(**turns: Any) -> dict[str, list[dict[str, Any]]]:
    """Every role's turns; those that are not named do what is right at once."""
    right = {
        "context-loader": turn("context-loader", report={"summary": "one.sh prints"}),
        "clarifier": turn("clarifier", report={"summary": "It is assumed that hello is lower case."}),
        "test-author": author("test-author", {"tests/test_one.sh": TEST}),
        "test-critic": verified("test-critic"),
        "code-implementer": author("code-implementer", {"one.sh": CODE}),
        "code-critic": verified("code-critic"),
        "fixer": author("fixer", {"one.sh": CODE}),
        "doc-writer": author("doc-writer", {"docs/one.md": "says hello\n"}),
        "self-reviewer": verified("self-reviewer"),
        "security-reviewer": secure(),
    }
    given = {name.replace("_", "-"): each for name, each in turns.items()}
    listed = []
    for role, usual in right.items():
        own = given.get(role, usual)
        listed += own if isinstance(own, list) else [own]
    return {"one": listed}


def committed(yard: Yard, path: str) -> str:
    """A file of the commit that the flow came to, whatever is made of it afterwards."""
    found = yard.project.mirror.read(journal(yard, COMMIT)[-1].commit, path)
    assert found is not None
    return found.decode()


def journal(yard: Yard, step: Step[Any]) -> list[Any]:
    rows = yard.query("SELECT output FROM journal WHERE step = %s AND status = 'done' ORDER BY done_at", step.name)
    return [step.parse(row["output"]) for row in rows]
