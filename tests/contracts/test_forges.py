"""Every forge adapter against the one contract, and what is special to each."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from damascus.domain.config import ForgeConfig
from damascus.domain.failures import CallRetry
from damascus.domain.ids import Sha, sha
from damascus.domain.ports import CiRun, Forge, Job, Push, WantedJobs
from damascus.engine.retried_forge import RetriedForge
from damascus.evidence.runner import CleanRunner
from damascus.forges import ForgeSetup, make_forge
from damascus.forges.local.forge import LocalForge
from damascus.git.mirror import Mirror, RefMove
from damascus.git.notes import NOTES
from damascus.git.remote import Remote
from damascus.git.repository import Repository
from damascus.trial_forge.server import GiteaServer
from tests.real_forge import plant
from tests.user_repository import UserRepository, candidate, counted_git
from tests.waiting import eventually

pytest.register_assert_rewrite("tests.contracts.forge_contract")

from tests.contracts.forge_contract import FENCE, NOBODY, ForgeContract, ForgeWorld, proof  # noqa: E402


def note_in(folder: Path, commit: Sha) -> str:
    """By git itself, in whichever way it finds it."""
    shown = ["git", "notes", f"--ref={NOTES}", "show", commit]
    return subprocess.run(shown, cwd=folder, capture_output=True, text=True, check=False).stdout.strip()


class LocalWorld(ForgeWorld):
    """The local forge over a user's repository with main checked out."""

    def __init__(self, folder: Path) -> None:
        self.user = UserRepository.create(folder / "my calc", {"base.py": "1\n"})
        self.mirror = self.user.mirror(folder / "mirror.git")
        self.logs = folder / "logs"
        self.logs.mkdir()
        self.jobs: dict[Sha, dict[str, Job]] = {}
        self.forge = self.another_worker()

    def another_worker(self) -> Forge:
        mirror = Mirror.open(self.mirror.path, str(self.user.top))
        runner = CleanRunner(mirror, self.logs / "checkouts")
        repository = Repository.discover(self.user.top)
        return make_forge(
            "local", ForgeSetup(mirror, repository, "main", runner, "my calc", ForgeConfig.model_validate({}))
        )

    def commit(self, files: Mapping[str, str], base: Sha | None = None) -> Sha:
        return candidate(self.mirror, base or self.forge.main_tip(), dict(files))

    def main(self) -> Sha:
        return self.user.at("main")

    def note(self, commit: Sha) -> str:
        return note_in(self.user.top, commit)

    def person_commits(self, files: Mapping[str, str]) -> Sha:
        return self.user.commit(files)

    def push_without_fence(self, branch: str, commit: Sha, was: Sha) -> None:
        self.mirror.update_refs([RefMove(f"refs/heads/{branch}", commit, was)])

    def pushed_with_ci(self, branch: str, files: Mapping[str, str], jobs: Mapping[str, str]) -> Sha:
        commit = self.pushed(branch, files)
        self.jobs[commit] = {name: self.job(command, label=name) for name, command in jobs.items()}
        return commit

    def finished_ci(self, commit: Sha) -> CiRun:
        return self.forge.ci(commit, self.jobs[commit])

    def status(self, commit: Sha) -> tuple[str, str] | None:
        """In the newest file of a pull."""
        refs = self.mirror.git.out("for-each-ref", "--format=%(refname)", "refs/damascus/pulls/").split()
        records = [json.loads(self.mirror.git.out("cat-file", "blob", ref)) for ref in refs]
        found = [record["statuses"][commit] for record in records if commit in record["statuses"]]
        return (found[-1]["state"], found[-1]["line"]) if found else None

    def job(self, command: str, timeout: float = 30.0, label: str = "ci") -> Job:
        return Job(tree=NOBODY, command=command, timeout=timeout, label=label, log=self.logs / f"{label}.log")


class TestLocal(ForgeContract):
    @pytest.fixture
    def world(self, tmp_path: Path) -> LocalWorld:
        return LocalWorld(tmp_path)

    @pytest.mark.req("F14")
    def test_it_is_registered_and_its_url_can_be_pasted(self, world: LocalWorld) -> None:
        assert isinstance(world.forge, LocalForge) and world.forge.name == "local" and world.forge.runs_ci
        pull = world.forge.open_pull("feat/S-1", "t", "b", world.pushed("feat/S-1"))
        assert pull.url == f"local://my%20calc/pulls/{pull.number}"

    @pytest.mark.req("D15", "X4")
    def test_main_is_found_though_the_mirror_was_deleted_after_a_landing(self, world: LocalWorld) -> None:
        old, new = world.forge.main_tip(), world.pushed("feat/S-1")
        world.forge.land(old, new)
        shutil.rmtree(world.mirror.path)
        assert world.forge.main_tip() == new and world.mirror.main("main") == new

    @pytest.mark.req("W1", "X1")
    def test_tests_that_a_job_skipped_are_listed(self, world: LocalWorld) -> None:
        test = "import pytest\n\n@pytest.mark.skip\ndef test_slow():\n    assert 0\n\ndef test_fast():\n    assert 1\n"
        job = {"test": f"{sys.executable} -m pytest -q -p no:cacheprovider test_it.py"}
        [told] = world.finished_ci(world.pushed_with_ci("feat/S-1", {"test_it.py": test}, job)).jobs
        assert told.state == "success" and told.skipped == ["test_it.py::test_slow"]

    @pytest.mark.req("F13", "F14")
    def test_the_users_repository_receives_main_only_and_origin_nothing(
        self, world: LocalWorld, tmp_path: Path
    ) -> None:
        subprocess.run(["git", "clone", "-q", "--bare", world.user.top, tmp_path / "origin.git"], check=True)
        world.user.git("remote", "add", "origin", str(tmp_path / "origin.git"))
        world.user.git("fetch", "-q", "origin")
        origin = UserRepository(tmp_path / "origin.git")
        before, there = world.user.refs(), origin.refs()
        old, new = world.forge.main_tip(), world.pushed("feat/S-1")
        pull = world.forge.open_pull("feat/S-1", "t", "b", new)
        world.forge.comment(pull, "k", "text")
        world.forge.land(old, new)
        world.forge.close_merged(pull, new)
        assert world.user.refs() == before | {"refs/heads/main": new}
        assert origin.refs() == there and not (world.user.top / ".git/FETCH_HEAD").read_text().count("mirror.git")
        assert world.user.status() == ""

    @pytest.fixture
    def git_calls(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        return counted_git(tmp_path, monkeypatch)

    def test_main_is_fetched_only_if_it_moved(self, world: LocalWorld, git_calls: Path) -> None:
        forge = world.another_worker()
        git_calls.write_text("")
        forge.main_tip()
        assert git_calls.read_text() == ""
        world.user.commit({"theirs.py": "1\n"})
        forge.main_tip()
        assert "fetch" in git_calls.read_text()

    def test_few_git_processes(self, world: LocalWorld, git_calls: Path) -> None:
        """Push, propose and land are in the serial section of everything."""
        old, head = world.forge.main_tip(), world.commit({"story.py": "1\n"})
        forge = world.another_worker()
        used = {}
        steps: dict[str, Callable[[], object]] = {
            "push": lambda: forge.push(Push("feat/S-1", head, FENCE, None, None)),
            "open": lambda: forge.open_pull("feat/S-1", "t", "b", head),
            "find": lambda: forge.find_pull("feat/S-1"),
            "tell": lambda: forge.tell(forge.open_pull("feat/S-1", "t", "b", head), proof(head)),
            "land": lambda: forge.land(old, head),
        }
        for name, step in steps.items():
            git_calls.write_text("")
            step()
            used[name] = len(git_calls.read_text().splitlines())
        assert used == {"push": 0, "open": 0, "find": 0, "tell": 0, "land": 2}

    def test_packed_refs_are_read_too(self, world: LocalWorld) -> None:
        pull = world.forge.open_pull("feat/S-1", "t", "b", world.pushed("feat/S-1"))
        world.mirror.gc()
        world.user.git("pack-refs", "--all")
        assert world.forge.find_pull("feat/S-1") == pull
        assert world.forge.main_tip() == world.main()
        assert world.pushed("feat/S-1", {"more.py": "1\n"}) == world.forge.remote_refs("feat/S-1", FENCE).fence
        again = world.forge.open_pull("feat/S-1", "t", "b", Sha(pull.head_sha))
        assert again.number == pull.number and again.head_sha != pull.head_sha

    @pytest.mark.req("D20")
    def test_a_pull_whose_transaction_was_killed_half_way_is_adopted(self, world: LocalWorld) -> None:
        """Git moves the refs of a transaction one after the other: a kill can leave some."""
        head = world.pushed("feat/S-1")
        first = world.forge.open_pull("feat/S-1", "t", "b", head)
        world.mirror.git.run("update-ref", "-d", "refs/damascus/pull-of/feat/S-1")
        world.mirror.git.run("update-ref", "-d", "refs/damascus/last-pull")
        other = world.forge.open_pull("feat/S-2", "t", "b", world.pushed("feat/S-2", fence_ref=FENCE + "2"))
        assert other.number == first.number + 1
        world.mirror.git.run("update-ref", "-d", "refs/damascus/last-pull")
        assert world.forge.open_pull("feat/S-1", "t", "b", head).number == first.number
        found = world.forge.find_pull("feat/S-1")
        assert found is not None and found.number == first.number

    @pytest.mark.req("D20")
    def test_a_comment_whose_transaction_was_killed_half_way_is_finished(self, world: LocalWorld) -> None:
        pull = world.forge.open_pull("feat/S-1", "t", "b", world.pushed("feat/S-1"))
        before = world.mirror.resolve("refs/damascus/pull-of/feat/S-1")
        world.forge.comment(pull, "k", "text")
        world.mirror.git.run("update-ref", "refs/damascus/pull-of/feat/S-1", str(before))
        world.another_worker().comment(pull, "k", "text")
        found = world.forge.find_pull("feat/S-1")
        assert found is not None and found.comments == ["text"]

    @pytest.mark.req("W1")
    def test_a_job_past_its_time_has_failed(self, world: LocalWorld) -> None:
        job = world.job("cat /dev/zero > /dev/null", timeout=0.3)
        run = world.forge.ci(world.pushed("feat/S-1"), {"test": job})
        assert run.jobs[0].state == "failure" and not run.green(WantedJobs(("test",)))

    @pytest.mark.req("W1")
    def test_ci_of_a_commit_with_jobs_is_known_by_full_sha_too(self, world: LocalWorld) -> None:
        head = world.pushed("feat/S-1")
        with pytest.raises(ValueError, match="full commit id"):
            world.forge.ci(Sha(head[:12]), {"test": world.job("true")})


CHECKOUT = """\
git init -q .
git fetch -q --depth 1 "${{ github.server_url }}/${{ github.repository }}" "${{ github.sha }}"
git checkout -q FETCH_HEAD
"""


class GiteaWorld(ForgeWorld):
    """A repository of its own on a running Gitea, whose runner takes the jobs."""

    def __init__(self, server: GiteaServer, folder: Path) -> None:
        self.server = server
        self.planted = plant(server, folder, {"base.py": "1\n"})
        self.mirror = Mirror.open(folder / "mirror.git", self.planted.url)
        self.bare = self._forge(self.mirror)
        self.forge = self.another_worker()

    def _forge(self, mirror: Mirror) -> Forge:
        config = ForgeConfig.model_validate({"kind": "gitea", "url": self.planted.url})
        environ = {"DAMASCUS_FORGE_TOKEN": self.server.token}
        runner = CleanRunner(mirror, mirror.path.parent / "checkouts")
        repository = Repository.discover(self.planted.folder)
        return make_forge("gitea", ForgeSetup(mirror, repository, "main", runner, "calc", config, environ))

    def another_worker(self) -> Forge:
        """As the engine has it: a loaded Gitea on sqlite answers 500 now and then."""
        return RetriedForge(self._forge(Mirror.open(self.mirror.path, self.planted.url)), CallRetry(5, 0.1, 1.0))

    def commit(self, files: Mapping[str, str], base: Sha | None = None) -> Sha:
        return candidate(self.mirror, base or self.forge.main_tip(), dict(files))

    def note(self, commit: Sha) -> str:
        if self.planted.git("ls-remote", "origin", NOTES):
            self.planted.git("fetch", "-q", "origin", f"+{NOTES}:{NOTES}")
        return note_in(self.planted.folder, commit)

    def main(self) -> Sha:
        return sha(self.planted.git("ls-remote", "origin", "refs/heads/main").split("\t")[0])

    def person_commits(self, files: Mapping[str, str]) -> Sha:
        self.planted.git("fetch", "-q", "origin", "main")
        self.planted.git("reset", "-q", "--hard", "FETCH_HEAD")
        self.planted.commit(files)
        self.planted.git("push", "-q", "origin", "HEAD:refs/heads/main")
        return sha(self.planted.tip)

    def push_without_fence(self, branch: str, commit: Sha, was: Sha) -> None:
        remote = Remote(self.mirror, f"{self.planted.url}.git", lambda: self.server.token)
        remote.push([RefMove(f"refs/heads/{branch}", commit, was)])

    def pushed_with_ci(self, branch: str, files: Mapping[str, str], jobs: Mapping[str, str]) -> Sha:
        return self.pushed(branch, {**files, ".gitea/workflows/ci.yml": workflow(jobs)})

    def finished_ci(self, commit: Sha) -> CiRun:
        def told() -> CiRun | None:
            run = self.forge.ci(commit, {})
            return run if run.finished else None

        found = eventually(told, 60, "CI")
        assert found is not None
        return found

    def status(self, commit: Sha) -> tuple[str, str] | None:
        path = f"/repos/{self.planted.full_name}/commits/{commit}/status"
        rows = self.server.api("GET", path).json()["statuses"] or []
        found = [row for row in rows if row["context"] == "damascus"]
        return (found[0]["status"], found[0]["description"]) if found else None


def workflow(jobs: Mapping[str, str], on: object = "push") -> str:
    """JSON is YAML, too."""
    told = {
        name: {"runs-on": "ubuntu-latest", "steps": [{"run": f"{CHECKOUT}{command}\n"}]}
        for name, command in jobs.items()
    }
    return json.dumps({"on": on, "jobs": told})


class TestGitea(ForgeContract):
    @pytest.fixture
    def world(self, real_gitea: GiteaServer, tmp_path: Path) -> GiteaWorld:
        return GiteaWorld(real_gitea, tmp_path)


class TestOlderGitea(ForgeContract):
    @pytest.fixture
    def world(self, older_gitea: GiteaServer, tmp_path: Path) -> GiteaWorld:
        return GiteaWorld(older_gitea, tmp_path)
