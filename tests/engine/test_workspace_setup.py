"""[workspace] setup, copy and env, in the agent's workspace and in the clean checkout where it is judged."""

from pathlib import Path

import pytest

from tests.engine.shell_stories import Watched, config, shell_story
from tests.yard import Yard


def tried(name: str) -> dict[str, object]:
    """Its test wants what the set-up made, the copied file and the variable."""
    wants = f"""# REQ-001
test "$(sh {name}.sh)" = "hello {name}" || exit 1
test "$(cat deps/installed)" = "from setup" || exit 2
test "$(cat .env.test)" = "TOKEN=local" || exit 3
test ${{#SHOP_TOKEN}} = 12 || exit 4
test "$(cat tracked.txt)" = "tracked" || exit 5
"""
    return {"write": {f"{name}.sh": f"echo hello {name}\n", f"tests/test_{name}.sh": wants}}


@pytest.mark.req("D4", "D7")
def test_every_checkout_is_set_up_once_per_lock_file(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = "mkdir deps; echo 'from setup' > deps/installed; date +%s%N > deps/when; echo changed > tracked.txt"
    settings = f'[workspace]\nsetup = "{command}"\ncopy = [".env.test", "tracked.txt"]\nenv = ["SHOP_TOKEN"]\n'
    monkeypatch.setenv("SHOP_TOKEN", "s3cr3t-value")
    files = {"tracked.txt": "tracked\n", "requirements.txt": "a==1\n", ".gitignore": "deps/\n.env.test\n"}
    yard = Yard(tmp_path, database_url, files=files, config=config(settings))
    yard.write({".env.test": "TOKEN=local\n"})

    yard.add(shell_story("one"), shell_story("two"))
    agent = Watched(yard, {name: [tried(name)] for name in ("one", "two", "three")})
    yard.work(agent)
    assert [yard.item(name)["phase"] for name in ("one", "two")] == ["done", "done"], yard.questions()
    assert len({there["deps/when"] for _, _, there in agent.given}) == 1, "once per state of the lock files"
    for _, _, there in agent.given:
        assert (there["deps/installed"], there[".env.test"]) == (b"from setup\n", b"TOKEN=local\n")
        assert there["tracked.txt"] == b"tracked\n", "a tracked file is never overwritten"

    yard.commit({"requirements.txt": "a==2\n"}, "newer")
    yard.add(shell_story("three"))
    yard.work(agent)
    assert yard.item("three")["phase"] == "done"
    assert len({there["deps/when"] for _, _, there in agent.given}) == 2
    assert yard.on_main("deps/installed") is None and yard.on_main(".env.test") is None
    assert yard.on_main("tracked.txt") == "tracked"


@pytest.mark.req("D4", "D6")
def test_what_set_up_made_and_nobody_ignores_is_no_story_s_work(tmp_path: Path, database_url: str) -> None:
    command = "mkdir deps; echo 'from setup' > deps/installed; echo '{}' > package-lock.json"
    settings = f'[workspace]\nsetup = "{command}"\ncopy = [".env.test"]\n'
    yard = Yard(tmp_path, database_url, files={"README": "x\n"}, config=config(settings))
    yard.write({".env.test": "TOKEN=local\n"})
    yard.add(shell_story("one"), shell_story("two"))
    needs = "# REQ-001\ntest -f deps/installed && test -f package-lock.json && sh {}.sh | grep hello\n"
    honest = {"write": {"one.sh": "echo hello one\n", "tests/test_one.sh": needs.format("one")}}
    files = {"two.sh": "echo hello two\n", "tests/test_two.sh": needs.format("two"), "package-lock.json": "{1}\n"}
    yard.work(Watched(yard, {"one": [honest], "two": [{"write": files}]}))
    assert yard.item("one")["phase"] == "done", yard.questions()
    assert yard.on_main("package-lock.json") is None and yard.on_main(".env.test") is None
    assert yard.item("two")["last_verdict"] == "scope_violation", "an agent that changes it is told so"


@pytest.mark.req("D4")
def test_the_values_of_passed_on_variables_stand_in_no_log(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "s3cr3t-value")
    yard = Yard(tmp_path, database_url, files={"README": "x\n"}, config=config('[workspace]\nenv = ["SHOP_TOKEN"]\n'))
    yard.add(shell_story("one"), budget=1)
    leaks = {
        "write": {
            "one.sh": "echo bye\n",
            "tests/test_one.sh": '# REQ-001\necho "token is $SHOP_TOKEN"\nsh one.sh\nexit 1\n',
        }
    }
    yard.work(Watched(yard, {"one": [leaks]}))
    item = yard.item("one")
    assert item["last_verdict"] == "tests_failed" and "token is" in item["last_feedback"]["test_output"]
    assert "s3cr3t-value" not in str(item["last_feedback"])
    logs = [path for path in (yard.project.folder / "runs").rglob("*") if path.is_file()]
    assert logs and [path.name for path in logs if b"s3cr3t-value" in path.read_bytes()] == []
    stored = yard.query("SELECT j::text AS row FROM journal j UNION ALL SELECT e::text FROM events_outbox e")
    assert [row for row in stored if "s3cr3t-value" in row["row"]] == []


@pytest.mark.req("D4")
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ('setup = "echo no luck; exit 3"', "set-up command of [workspace] failed (exit 3)"),
        ('copy = ["missing.env"]', "names missing.env, no file"),
    ],
)
def test_a_set_up_that_fails_is_a_question_and_costs_nothing(
    tmp_path: Path, database_url: str, settings: str, said: str
) -> None:
    yard = Yard(tmp_path, database_url, files={"README": "x\n"}, config=config(f"[workspace]\n{settings}\n"))
    yard.add(shell_story("one"))
    agent = Watched(yard, {"one": [tried("one")]})
    yard.work(agent)
    item = yard.item("one")
    assert (item["phase"], item["attempts"], agent.given) == ("blocked", 0, [])
    assert said in yard.questions()[0]
