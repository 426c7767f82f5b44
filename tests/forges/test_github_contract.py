"""The GitHub adapter against the contract of every forge, on a scripted GitHub with a real repository behind it."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from damascus.domain.config import ForgeConfig
from damascus.domain.errors import DamascusError, TransientError
from damascus.domain.failures import CallRetry
from damascus.domain.ids import Sha
from damascus.domain.ports import CiRun, Forge, Pull, Push, Stale, WantedJobs
from damascus.engine.retried_forge import RetriedForge
from damascus.evidence.runner import CleanRunner
from damascus.forges import ForgeSetup, make_forge
from damascus.forges.github.forge import USER, GithubForge
from damascus.git.mirror import Mirror, RefMove
from damascus.git.remote import Remote
from damascus.git.repository import Repository
from tests.forges.scripted_github import TOKEN, ScriptedGithub, scripted_github
from tests.user_repository import candidate

pytest.register_assert_rewrite("tests.contracts.forge_contract")

from tests.contracts.forge_contract import FENCE, ForgeContract, ForgeWorld  # noqa: E402


class GithubWorld(ForgeWorld):
    """A repository on a scripted GitHub, whose runner takes each job at once."""

    def __init__(self, github: ScriptedGithub, folder: Path) -> None:
        self.github = github
        self.mirror = Mirror.open(folder / "mirror.git", github.url)
        self.forge = self.another_worker()

    def another_worker(self) -> Forge:
        mirror = Mirror.open(self.mirror.path, self.github.url)
        config = ForgeConfig.model_validate({"kind": "github", "url": self.github.url})
        runner, repository = CleanRunner(mirror, mirror.path.parent), Repository.discover(self.github.person.top)
        setup = ForgeSetup(mirror, repository, "main", runner, "repo", config, {"DAMASCUS_FORGE_TOKEN": TOKEN})
        return make_forge("github", setup)

    def commit(self, files: Mapping[str, str], base: Sha | None = None) -> Sha:
        return candidate(self.mirror, base or self.forge.main_tip(), dict(files))

    def main(self) -> Sha:
        return self.github.at("refs/heads/main") or Sha("")

    def note(self, commit: Sha) -> str:
        return self.github.git("notes", "--ref=damascus", "show", commit, check=False)

    def person_commits(self, files: Mapping[str, str]) -> Sha:
        return self.github.person_commits(files)

    def push_without_fence(self, branch: str, commit: Sha, was: Sha) -> None:
        remote = Remote(self.mirror, f"{self.github.url}.git", lambda: TOKEN, USER)
        remote.push([RefMove(f"refs/heads/{branch}", commit, was)])

    def pushed_with_ci(self, branch: str, files: Mapping[str, str], jobs: Mapping[str, str]) -> Sha:
        commit = self.pushed(branch, files)
        self.github.run_workflow(commit, jobs)
        return commit

    def finished_ci(self, commit: Sha) -> CiRun:
        return self.forge.ci(commit, {})

    def status(self, commit: Sha) -> tuple[str, str] | None:
        found = self.github.statuses.get(commit)
        return (found["state"], found["description"]) if found else None


class TestGithub(ForgeContract):
    @pytest.fixture
    def world(self, tmp_path: Path) -> Iterator[GithubWorld]:
        with scripted_github(tmp_path) as github:
            yield GithubWorld(github, tmp_path)

    @pytest.fixture
    def landing(self, world: GithubWorld) -> tuple[Sha, Sha, Pull]:
        """Main, and a candidate with its pull on top of it."""
        old, new = world.forge.main_tip(), world.pushed("feat/S-1")
        return old, new, world.forge.open_pull("feat/S-1", "t", "b", new)

    @pytest.mark.req("D9")
    def test_a_pull_has_head_base_title_body_and_url(self, world: ForgeWorld) -> None:
        """As everywhere, but for the address: GitHub's own page of a pull is below /pull/."""
        assert world.forge.find_pull("feat/S-1") is None
        head = world.pushed("feat/S-1")
        pull = world.forge.open_pull("feat/S-1", "a title", "the spec\n", head)
        assert (pull.head, pull.base, pull.title, pull.body) == ("feat/S-1", "main", "a title", "the spec\n")
        assert (pull.head_sha, pull.state, pull.merged_commit) == (head, "open", None)
        assert pull.url.endswith(f"/example/repo/pull/{pull.number}")
        assert world.another_worker().find_pull("feat/S-1") == pull
        assert world.forge.find_pull("feat/S-10") is None

    # ── landing and closing ───────────────────────────────────────────────────────────────────────────

    @pytest.mark.req("X4")
    def test_a_pull_that_github_marks_late_is_waited_for(
        self, world: GithubWorld, landing: tuple[Sha, Sha, Pull], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        old, new, pull = landing
        monkeypatch.setattr("damascus.forges.github.pulls.LOOKS", (0.01, 0.01))
        world.github.pulls[pull.number]["looks"] = 2
        world.forge.land(old, new)
        world.forge.close_merged(pull, new)
        found = world.forge.find_pull("feat/S-1")
        assert found is not None and (found.state, found.merged_commit, found.comments) == ("merged", new, [])

    @pytest.mark.req("X4", "D20")
    def test_a_pull_that_landed_as_another_commit_is_closed_with_a_word(
        self, world: GithubWorld, landing: tuple[Sha, Sha, Pull]
    ) -> None:
        _, _, pull = landing
        world.person_commits({"theirs.py": "1\n"})
        on_top = world.commit({"story.py": "x = 1\n"})
        world.forge.land(world.forge.main_tip(), on_top)
        for _ in range(2):
            world.another_worker().close_merged(pull, on_top)
        found = world.forge.find_pull("feat/S-1")
        assert found is not None and (found.state, found.merged_commit) == ("merged", on_top)
        assert found.comments == [f"Landed on `main` as {on_top}."]

    @pytest.mark.req("F13", "X4")
    def test_a_protected_main_takes_githubs_own_merge(self, world: GithubWorld, landing: tuple[Sha, Sha, Pull]) -> None:
        old, new, pull = landing
        world.github.protect_main()
        with pytest.raises(DamascusError, match="GH006: Protected branch update failed"):
            world.forge.land(old, new)
        assert world.main() == old
        for _ in range(2):
            world.forge.land(old, new, pull)
        assert world.forge.landed(new)
        assert world.github.git("rev-parse", "main^1", "main^2", "main^{tree}").split() == [
            old, new, world.mirror.tree(new),
        ]  # fmt: skip
        world.forge.close_merged(pull, new)
        found = world.forge.find_pull("feat/S-1")
        assert found is not None and found.state == "merged"

    @pytest.mark.req("F13")
    def test_a_guarded_merge_of_a_pull_that_moved_is_stale(
        self, world: GithubWorld, landing: tuple[Sha, Sha, Pull]
    ) -> None:
        old, new, pull = landing
        world.github.protect_main()
        world.pushed("feat/S-1", {"story.py": "x = 2\n"})
        with pytest.raises(Stale, match="Head branch was modified"):
            world.forge.land(old, new, pull)
        assert world.main() == old

    @pytest.mark.req("F13")
    def test_main_only_ever_goes_forward(self, world: GithubWorld) -> None:
        old, aside = world.forge.main_tip(), world.mirror.commit_tree(world.mirror.tree(world.main()), [], "aside\n")
        with pytest.raises(ValueError, match="only ever goes forward"):
            world.forge.land(old, aside)
        assert world.main() == old

    # ── CI ────────────────────────────────────────────────────────────────────────────────────────────

    @pytest.mark.req("W7")
    def test_failed_jobs_are_run_again_on_the_same_commit(self, world: GithubWorld) -> None:
        marker = world.mirror.path.parent / "second"
        head = world.pushed_with_ci(
            "feat/S-1", {"story.py": "x = 1\n"}, {"flaky": f"test -e {marker} || ! touch {marker}", "solid": "true"}
        )
        run = world.finished_ci(head)
        assert {job.name: job.state for job in run.jobs} == {"flaky": "failure", "solid": "success"}
        assert world.another_worker().rerun(run, ["flaky"])
        again = world.finished_ci(head)
        assert again.green(WantedJobs(("flaky", "solid"))) and again.run_id == run.run_id

    # ── answers that get lost after their effect ──────────────────────────────────────────────────────

    @pytest.mark.req("D20", "T1")
    @pytest.mark.parametrize("tried_again_by_the_engine", [False, True])
    def test_nothing_is_done_twice_when_an_answer_is_lost(
        self, world: GithubWorld, tried_again_by_the_engine: bool
    ) -> None:
        forge = RetriedForge(world.forge, CallRetry(3, 0.01, 0.01)) if tried_again_by_the_engine else world.forge

        def twice(request: str, act: Callable[[], object]) -> None:
            world.github.lose(request)
            if not tried_again_by_the_engine:
                with suppress(TransientError):  # git's own HTTP asks again by itself
                    act()
            act()
            assert not world.github.lost, f"{request} was never asked"

        old, new = world.forge.main_tip(), world.commit({"story.py": "x = 1\n"})
        twice("POST .*/git-receive-pack", lambda: forge.push(Push("feat/S-1", new, FENCE, None, None)))
        twice("POST .*/pulls$", lambda: forge.open_pull("feat/S-1", "t", "b", new))
        pull = forge.open_pull("feat/S-1", "t", "b", new)
        twice("POST .*/comments$", lambda: forge.comment(pull, "receipt-1", "proved"))
        world.github.protect_main()
        twice("PUT .*/merge$", lambda: forge.land(old, new, pull))
        found = forge.find_pull("feat/S-1")
        assert found is not None and (found.number, found.state, found.comments) == (1, "merged", ["proved"])
        assert len(world.github.pulls) == 1 and world.github.git("rev-list", "--count", f"{old}..main") == "2"

    # ── the token ─────────────────────────────────────────────────────────────────────────────────────

    @pytest.mark.req("D9")
    def test_the_token_is_in_no_message_and_no_text_of_ours(
        self, world: GithubWorld, landing: tuple[Sha, Sha, Pull]
    ) -> None:
        wrong = GithubForge.at(world.mirror, world.github.url, lambda: "another-token", "main")
        for act in (wrong.main_tip, lambda: wrong.find_pull("feat/S-1")):
            with pytest.raises(DamascusError) as caught:
                act()
            assert "another-token" not in str(caught.value)
        assert TOKEN not in repr(world.forge) + str(landing)
        config = (world.mirror.path / "config").read_text() + (world.mirror.store / "config").read_text()
        assert TOKEN not in config and "Authorization" not in config
