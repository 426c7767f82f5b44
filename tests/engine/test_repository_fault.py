"""A fault of the place: one question for the project, in plain words, and every story goes on once it is mended."""

import shutil
import threading
from pathlib import Path

import pytest

from damascus.engine import repository_fault
from tests.engine.shell_stories import FILES, Watched, config, good, shell_story
from tests.waiting import eventually
from tests.yard import Yard

NAMES = ("one", "two", "three")


@pytest.fixture
def yard(tmp_path: Path, database_url: str) -> Yard:
    yard = Yard(tmp_path, database_url, files=FILES, config=config())
    yard.add(*(shell_story(name) for name in NAMES))
    return yard


def agent(yard: Yard) -> Watched:
    return Watched(yard, {name: [good(name)] for name in NAMES})


def delete_main(yard: Yard) -> str:
    tip = yard.main()
    yard.git("checkout", "-q", "-b", "aside")
    yard.git("branch", "-q", "-D", "main")
    return f"branch -q main {tip}"


def break_toml(yard: Yard) -> str:
    tip = yard.main()
    yard.commit({"damascus.toml": "[gates\n"}, "oops")
    return f"reset -q --hard {tip}"


def bad_key(yard: Yard) -> str:
    tip = yard.main()
    yard.commit({"damascus.toml": config("[queue]\nwindows = 2\n")}, "oops")
    return f"reset -q --hard {tip}"


def bad_value(yard: Yard) -> str:
    tip = yard.main()
    yard.commit({"damascus.toml": config('[queue]\nwindow = "two"\n')}, "oops")
    return f"reset -q --hard {tip}"


@pytest.mark.req("D15", "X4", "F9")
@pytest.mark.parametrize(
    "harm, word",
    [
        (delete_main, "has no branch main"),
        (break_toml, "damascus.toml"),
        (bad_key, "the unknown key 'queue.windows'"),
        (bad_value, "queue.window: input should be a valid integer"),
    ],
)
def test_one_question_for_all_and_all_go_on(yard: Yard, harm: object, word: str) -> None:
    worker = yard.worker(agent(yard), slots=3)
    mend = harm(yard)  # type: ignore[operator]
    thread = threading.Thread(target=worker.run, args=(lambda: None,))
    thread.start()
    try:
        eventually(lambda: all(yard.item(name)["wait_kind"] == "backoff" for name in NAMES))
        [question] = yard.questions()
        assert word in question and "Every story waits" in question
        assert "Error" not in question and "Traceback" not in question
        assert [yard.item(name)["attempts"] for name in NAMES] == [0, 0, 0]
        yard.git(*mend.split())
        thread.join(timeout=120)
        assert not thread.is_alive()
    finally:
        worker.stop()
        thread.join()
    assert [yard.item(name)["phase"] for name in NAMES] == ["done"] * 3
    repository_fault.look_after(yard.tools())
    assert yard.questions() == []


@pytest.mark.req("D15")
@pytest.mark.parametrize("step", ["prepare", "implement", "verify", "push", "land"])
def test_a_mirror_that_is_deleted_under_a_story_is_made_anew(yard: Yard, step: str) -> None:
    done: list[str] = []

    def harm(at: str, when: str) -> None:
        if at == step and when.startswith("before") and not done:
            done.append(at)
            shutil.rmtree(yard.project.mirror.path)

    yard.work(agent(yard), slots=2, boundary=harm)
    assert done and [yard.item(name)["phase"] for name in NAMES] == ["done"] * 3, yard.questions()
    assert yard.questions() == []
    assert [yard.item(name)["attempts"] for name in NAMES] == [0, 0, 0]
