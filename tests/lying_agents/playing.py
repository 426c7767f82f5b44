"""How a test plays a tale of the lab: in its own database, with the gates that the tale is about."""

from pathlib import Path

from damascus.lab.play import Scene
from damascus.lab.tale import OWN_RUN, Tale
from damascus.system.sandbox import Level
from tests.levels import as_if_here
from tests.toolchains import need_program
from tests.yard import START, Yard


def play(tale: Tale, folder: Path, database_url: str) -> Scene:
    """One story, one attempt, one worker, until only a person could go on; without a cage if it reaches out."""
    if not tale.reaches:
        return play_confined(tale, folder, database_url)
    with as_if_here(Level.UNCONFINED):
        return play_confined(tale, folder, database_url)


def play_confined(tale: Tale, folder: Path, database_url: str) -> Scene:
    """As well as this machine can."""
    for program in tale.programs:
        need_program(program)
    scene = Scene.of(tale, Yard(folder, database_url, files={**START, **tale.files}, config=tale.config))
    scene.play(tale)
    return scene


def told(scene: Scene) -> str:
    """What the next attempt, or a person, would read."""
    feedback = scene.item()["last_feedback"] or {}
    return "\n".join([*scene.yard.questions(), str(feedback.get("message")), str(feedback.get("test_output"))])


def first_commit(scene: Scene) -> str:
    """Where main was before any agent came."""
    return scene.yard.git("rev-list", "--max-parents=0", "main")


def own_run_was_green(scene: Scene) -> bool:
    return (scene.agents_home / OWN_RUN).read_text() == "0"


def assert_landed(scene: Scene) -> None:
    item, yard = scene.item(), scene.yard
    pull = scene.yard.tools().forge.find_pull(item["branch"])
    assert item["phase"] == "done"
    assert item["merged_commit"] == yard.main()
    assert pull is not None and pull.state == "merged"
    assert yard.git("status", "--porcelain") == ""


def assert_told(scene: Scene, tale: Tale) -> None:
    """The next attempt reads what was wrong, by git and the tests, not by the agent (D13, D16)."""
    item = scene.item()
    feedback = item["last_feedback"]
    assert item["attempts"] == (0 if tale.asks else tale.budget)
    assert feedback["message"]
    assert bool(feedback["files_changed"]) == (tale.verdict != "nothing_changed")
    assert bool(feedback["out_of_scope"]) == (tale.verdict == "scope_violation")
    if tale.verdict == "tests_failed":
        assert feedback["test_output"] or "left no report" in feedback["message"]


def assert_not_landed(scene: Scene, main: str) -> None:
    item, yard = scene.item(), scene.yard
    pull = scene.yard.tools().forge.find_pull(item["branch"])
    assert item["phase"] == "blocked"
    assert item["merged_commit"] is None
    assert pull is None or pull.state != "merged"
    assert yard.questions(), "a blocked story asks a person"
    assert yard.main() == main
    assert yard.git("status", "--porcelain") == ""
