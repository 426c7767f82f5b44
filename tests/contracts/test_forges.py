"""Every forge adapter against the one contract, and what is special to each."""

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from damascus.domain.ids import Sha
from damascus.domain.ports import Forge, Push
from damascus.forges import FORGES
from damascus.forges.local import LocalForge
from damascus.gates.evidence import CleanRunner
from damascus.git.mirror import Mirror, RefMove
from damascus.git.repository import Repository
from tests.user_repository import UserRepository, candidate, counted_git

pytest.register_assert_rewrite("tests.contracts.forge_contract")

from tests.contracts.forge_contract import FENCE, ForgeContract, ForgeWorld  # noqa: E402


class LocalWorld(ForgeWorld):
    """The local forge over a user's repository with main checked out."""

    def __init__(self, folder: Path) -> None:
        self.user = UserRepository.create(folder / "my calc", {"base.py": "1\n"})
        self.mirror = self.user.mirror(folder / "mirror.git")
        self.logs = folder / "logs"
        self.logs.mkdir()
        self.forge = self.another_worker()

    def another_worker(self) -> Forge:
        mirror = Mirror.open(self.mirror.path, str(self.user.top))
        runner = CleanRunner(mirror, self.logs / "checkouts")
        return LocalForge(mirror, Repository.discover(self.user.top), "main", runner, "my calc")

    def commit(self, files: Mapping[str, str], base: Sha | None = None) -> Sha:
        return candidate(self.mirror, base or self.forge.main_tip(), dict(files))

    def main(self) -> Sha:
        return self.user.at("main")

    def person_commits(self, files: Mapping[str, str]) -> Sha:
        return self.user.commit(files)

    def push_without_fence(self, branch: str, commit: Sha, was: Sha) -> None:
        self.mirror.update_refs([RefMove(f"refs/heads/{branch}", commit, was)])


class TestLocal(ForgeContract):
    @pytest.fixture
    def world(self, tmp_path: Path) -> LocalWorld:
        return LocalWorld(tmp_path)

    @pytest.mark.req("F14")
    def test_it_is_registered_and_its_url_can_be_pasted(self, world: LocalWorld) -> None:
        assert FORGES[world.forge.name] is LocalForge
        pull = world.forge.open_pull("feat/S-1", "t", "b", world.pushed("feat/S-1"))
        assert pull.url == f"local://my%20calc/pulls/{pull.number}"

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
            "land": lambda: forge.land(old, head),
        }
        for name, step in steps.items():
            git_calls.write_text("")
            step()
            used[name] = len(git_calls.read_text().splitlines())
        assert used == {"push": 1, "open": 1, "find": 0, "land": 2}

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
