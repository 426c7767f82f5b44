"""What the engine relies on in any forge. A new adapter subclasses ForgeContract and gives it a `world`.

Fencing, one pull per branch and guarded landing are what keeps a killed or sleeping worker from doing harm, so each
is tried with a rival at work, and the fence also with a control: without it the zombie wins.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from damascus.domain.ids import Sha
from damascus.domain.ports import CiRun, Forge, ProofState, PullProof, Push, RemoteRefs, Stale, WantedJobs

FENCE = "refs/damascus/fence/6f1c1c1e-0000-4000-8000-000000000001"
NOBODY = Sha("0123456789012345678901234567890123456789")
KEY = "proof-6f1c1c1e-0000-4000-8000-000000000001"


def proof(commit: Sha, text: str = "proved", state: ProofState = ProofState.PENDING, **more: Any) -> PullProof:
    return PullProof(KEY, text, commit, state, f"{text.partition(',')[0]}: {state}", **more)


class ForgeWorld(ABC):
    """A forge with a project on it, and the ways to act past it."""

    forge: Forge

    @abstractmethod
    def another_worker(self) -> Forge:
        """The same forge as another process sees it."""

    @abstractmethod
    def commit(self, files: Mapping[str, str], base: Sha | None = None) -> Sha:
        """A candidate, on main's tip if no base is given; the forge has it once it is pushed."""

    @abstractmethod
    def main(self) -> Sha:
        """Main, looked at past the forge."""

    @abstractmethod
    def person_commits(self, files: Mapping[str, str]) -> Sha:
        """Somebody else moves main."""

    @abstractmethod
    def push_without_fence(self, branch: str, commit: Sha, was: Sha) -> None:
        """The control: what a worker with no fence would do."""

    @abstractmethod
    def note(self, commit: Sha) -> str:
        """The note of ours on a commit, looked at past the forge; "" if there is none."""

    def pushed(self, branch: str, files: Mapping[str, str] | None = None, fence_ref: str = FENCE) -> Sha:
        commit = self.commit(files or {"story.py": "x = 1\n"})
        was = self.forge.remote_refs(branch, fence_ref)
        self.forge.push(Push(branch, commit, fence_ref, was.branch, was.fence))
        return commit

    @abstractmethod
    def pushed_with_ci(self, branch: str, files: Mapping[str, str], jobs: Mapping[str, str]) -> Sha:
        """A pushed candidate whose CI jobs are these commands."""

    @abstractmethod
    def status(self, commit: Sha) -> tuple[str, str] | None:
        """State and sentence of our status on a commit, looked at past the forge."""

    @abstractmethod
    def finished_ci(self, commit: Sha) -> CiRun:
        """What the forge tells of this commit's jobs once there is nothing to wait for."""


class ForgeContract:
    """Inherit and provide the fixture `world`."""

    # ── main ──────────────────────────────────────────────────────────────────────────────────────────

    @pytest.mark.req("X4")
    def test_main_tip_follows_a_persons_commit(self, world: ForgeWorld) -> None:
        assert world.forge.main_tip() == world.main()
        moved = world.person_commits({"theirs.py": "1\n"})
        assert world.forge.main_tip() == moved

    @pytest.mark.req("F13", "X4")
    def test_land_moves_main_to_exactly_the_commit(self, world: ForgeWorld) -> None:
        old, new = world.forge.main_tip(), world.pushed("feat/S-1")
        assert not world.forge.landed(new)
        world.forge.land(old, new)
        assert world.main() == new == world.forge.main_tip()
        assert world.forge.landed(new) and world.forge.landed(old)

    @pytest.mark.req("D20")
    def test_land_a_second_time_does_nothing(self, world: ForgeWorld) -> None:
        old, new = world.forge.main_tip(), world.pushed("feat/S-1")
        world.forge.land(old, new)
        world.forge.land(old, new)
        on_top = world.person_commits({"theirs.py": "1\n"})
        world.another_worker().land(old, new)
        assert world.main() == on_top

    @pytest.mark.req("F8.1", "D20")
    def test_a_landed_commit_gets_its_note_once_and_in_the_place_of_another(self, world: ForgeWorld) -> None:
        old, new = world.forge.main_tip(), world.pushed("feat/S-1")
        world.forge.land(old, new)
        assert world.note(new) == ""
        world.forge.annotate(old, b"the first\n")
        for worker in (world.forge, world.another_worker()):
            worker.annotate(new, b"proved\n")
        assert (world.note(old), world.note(new)) == ("the first", "proved")
        world.another_worker().annotate(new, b"proved anew\n")
        assert (world.note(old), world.note(new), world.main()) == ("the first", "proved anew", new)

    @pytest.mark.req("F8.1", "D20")
    def test_notes_at_once_are_all_kept(self, world: ForgeWorld) -> None:
        tip = world.forge.main_tip()
        commits = [world.commit({"story.py": f"x = {n}\n"}, tip) for n in range(3)]
        for n, commit in enumerate(commits):
            world.forge.push(Push(f"feat/S-{n}", commit, f"{FENCE[:-1]}{n}", None, None))
        forges = [world.another_worker() for _ in commits]
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(lambda n: forges[n].annotate(commits[n], f"note {n}\n".encode()), range(3)))
        assert [world.note(commit) for commit in commits] == ["note 0", "note 1", "note 2"]

    @pytest.mark.req("F13")
    def test_land_on_a_main_that_moved_is_stale(self, world: ForgeWorld) -> None:
        old, new = world.forge.main_tip(), world.pushed("feat/S-1")
        moved = world.person_commits({"theirs.py": "1\n"})
        with pytest.raises(Stale):
            world.forge.land(old, new)
        assert world.main() == moved and not world.forge.landed(new)

    @pytest.mark.req("X11")
    def test_a_pushed_commit_can_be_had_by_any_worker(self, world: ForgeWorld) -> None:
        commit = world.pushed("feat/S-1")
        for worker in (world.forge, world.another_worker()):
            assert worker.have(commit) and worker.have(world.main())
            assert not worker.have(NOBODY)

    @pytest.mark.req("X4")
    def test_a_commit_that_nobody_knows_has_not_landed(self, world: ForgeWorld) -> None:
        assert not world.forge.landed(NOBODY)

    # ── push and fence ────────────────────────────────────────────────────────────────────────────────

    @pytest.mark.req("D9", "F13")
    def test_push_moves_branch_and_fence_together(self, world: ForgeWorld) -> None:
        assert world.forge.remote_refs("feat/S-1", FENCE) == RemoteRefs(None, None)
        first = world.pushed("feat/S-1")
        assert world.forge.remote_refs("feat/S-1", FENCE) == RemoteRefs(first, first)
        second = world.pushed("feat/S-1", {"story.py": "x = 2\n"})
        assert world.another_worker().remote_refs("feat/S-1", FENCE) == RemoteRefs(second, second)

    @pytest.mark.req("D20")
    def test_a_push_that_is_there_already_is_found(self, world: ForgeWorld) -> None:
        """Killed between the push and its record: the next one pushes the same with what it knew."""
        commit = world.pushed("feat/S-1")
        world.another_worker().push(Push("feat/S-1", commit, FENCE, None, None))
        assert world.forge.remote_refs("feat/S-1", FENCE) == RemoteRefs(commit, commit)

    @pytest.mark.req("F13")
    def test_a_branch_that_is_not_what_it_was_is_not_overwritten(self, world: ForgeWorld) -> None:
        first, rival = world.pushed("feat/S-1"), world.commit({"rival.py": "1\n"})
        for was in (None, rival):
            with pytest.raises(Stale):
                world.forge.push(Push("feat/S-1", rival, FENCE, was, first))
        assert world.forge.remote_refs("feat/S-1", FENCE) == RemoteRefs(first, first)

    @pytest.mark.req("F13")
    def test_a_fence_that_is_not_what_it_was_keeps_the_branch_too(self, world: ForgeWorld) -> None:
        first, rival = world.pushed("feat/S-1"), world.commit({"rival.py": "1\n"})
        for was in (None, rival):
            with pytest.raises(Stale):
                world.forge.push(Push("feat/S-1", rival, FENCE, first, was))
        assert world.forge.remote_refs("feat/S-1", FENCE) == RemoteRefs(first, first)

    @pytest.mark.req("D20", "F13")
    @pytest.mark.parametrize("pushed_before", [True, False])
    def test_a_zombie_inside_its_push_loses_once_the_heir_has_planted(
        self, world: ForgeWorld, pushed_before: bool
    ) -> None:
        """⚑ a fence moved only by pushes lets the zombie win"""
        was = RemoteRefs(*[world.pushed("feat/S-1")] * 2) if pushed_before else RemoteRefs(None, None)
        late = Push("feat/S-1", world.commit({"zombie.py": "1\n"}), FENCE, was.branch, was.fence)
        heir = world.another_worker()
        planted = heir.plant_fence(FENCE, was.fence, 2)
        with pytest.raises(Stale):
            world.forge.push(late)
        assert heir.remote_refs("feat/S-1", FENCE) == RemoteRefs(was.branch, planted)
        better = world.commit({"heir.py": "1\n"})
        heir.push(Push("feat/S-1", better, FENCE, was.branch, planted))
        with pytest.raises(Stale):
            world.forge.push(late)
        assert heir.remote_refs("feat/S-1", FENCE) == RemoteRefs(better, better)

    @pytest.mark.req("D20")
    def test_control_without_the_fence_the_zombie_would_win(self, world: ForgeWorld) -> None:
        first, zombie = world.pushed("feat/S-1"), world.commit({"zombie.py": "1\n"})
        world.another_worker().plant_fence(FENCE, first, 2)
        world.push_without_fence("feat/S-1", zombie, first)
        assert world.forge.remote_refs("feat/S-1", FENCE).branch == zombie

    @pytest.mark.req("D20")
    def test_of_two_heirs_one_plants(self, world: ForgeWorld) -> None:
        planted = world.forge.plant_fence(FENCE, None, 2)
        for was in (None, NOBODY):
            with pytest.raises(Stale):
                world.another_worker().plant_fence(FENCE, was, 3)
        assert world.forge.remote_refs("feat/S-1", FENCE) == RemoteRefs(None, planted)
        assert world.forge.plant_fence(FENCE, planted, 3) != planted

    # ── pulls ─────────────────────────────────────────────────────────────────────────────────────────

    @pytest.mark.req("D9")
    def test_a_pull_has_head_base_title_body_and_url(self, world: ForgeWorld) -> None:
        assert world.forge.find_pull("feat/S-1") is None
        head = world.pushed("feat/S-1")
        pull = world.forge.open_pull("feat/S-1", "a title", "the spec\n", head)
        assert (pull.head, pull.base, pull.title, pull.body) == ("feat/S-1", "main", "a title", "the spec\n")
        assert (pull.head_sha, pull.state, pull.merged_commit) == (head, "open", None)
        assert pull.number > 0 and pull.url.endswith(f"/pulls/{pull.number}")
        assert world.another_worker().find_pull("feat/S-1") == pull
        assert world.forge.find_pull("feat/S-10") is None

    @pytest.mark.req("D9", "D20")
    def test_open_twice_is_one_pull_that_tells_the_newest(self, world: ForgeWorld) -> None:
        first = world.forge.open_pull("feat/S-1", "t", "b", world.pushed("feat/S-1"))
        head = world.pushed("feat/S-1", {"story.py": "x = 2\n"})
        found = world.forge.find_pull("feat/S-1")
        assert found is not None and found.head_sha == head
        again = world.another_worker().open_pull("feat/S-1", "t2", "b2", head)
        assert (again.number, again.title, again.body, again.head_sha) == (first.number, "t2", "b2", head)
        assert world.forge.find_pull("feat/S-1") == again

    @pytest.mark.req("D20")
    def test_eight_at_once_open_one(self, world: ForgeWorld) -> None:
        head = world.pushed("feat/S-1")
        forges = [world.another_worker() for _ in range(8)]
        with ThreadPoolExecutor(8) as pool:
            pulls = list(pool.map(lambda forge: forge.open_pull("feat/S-1", "t", "b", head), forges))
        assert {pull.number for pull in pulls} == {pulls[0].number}
        other = world.forge.open_pull("feat/S-2", "t", "b", world.pushed("feat/S-2", fence_ref=FENCE + "2"))
        assert other.number == pulls[0].number + 1

    @pytest.mark.req("D20")
    def test_eight_branches_at_once_get_eight_numbers(self, world: ForgeWorld) -> None:
        branches = [f"feat/S-{n}" for n in range(8)]
        heads = [world.pushed(branch, fence_ref=f"{FENCE}-{branch[-1]}") for branch in branches]
        forges = [world.another_worker() for _ in range(8)]
        with ThreadPoolExecutor(8) as pool:
            pulls = list(pool.map(lambda n: forges[n].open_pull(branches[n], "t", "b", heads[n]), range(8)))
        assert len({pull.number for pull in pulls}) == 8
        assert [world.forge.find_pull(branch) for branch in branches] == pulls

    @pytest.mark.req("D9")
    def test_no_pull_for_a_branch_that_was_not_pushed(self, world: ForgeWorld) -> None:
        with pytest.raises(LookupError):
            world.forge.open_pull("feat/S-1", "t", "b", world.main())
        assert world.forge.find_pull("feat/S-1") is None

    @pytest.mark.req("D18")
    def test_the_diff_is_against_where_the_branch_left_main(self, world: ForgeWorld) -> None:
        head = world.pushed("feat/S-1", {"story.py": "x = 1\n", "base.py": "changed\n"})
        pull = world.forge.open_pull("feat/S-1", "t", "b", head)
        world.person_commits({"theirs.py": "1\n"})
        world.forge.main_tip()
        assert {(file.path, file.status) for file in world.forge.diff(pull)} == {("story.py", "A"), ("base.py", "M")}

    @pytest.mark.req("D20")
    def test_a_comment_is_written_once_by_its_key(self, world: ForgeWorld) -> None:
        pull = world.forge.open_pull("feat/S-1", "t", "b", world.pushed("feat/S-1"))
        for key, text in (("receipt-1", "proved"), ("receipt-1", "proved"), ("ci-1", "green\nall")):
            world.another_worker().comment(pull, key, text)
        found = world.forge.find_pull("feat/S-1")
        assert found is not None and len(found.comments) == 2
        assert "proved" in found.comments[0] and "green\nall" in found.comments[1]

    @pytest.mark.req("D20")
    def test_comments_at_once_are_all_kept(self, world: ForgeWorld) -> None:
        pull = world.forge.open_pull("feat/S-1", "t", "b", world.pushed("feat/S-1"))
        forges = [world.another_worker() for _ in range(6)]
        with ThreadPoolExecutor(6) as pool:
            list(pool.map(lambda n: forges[n].comment(pull, f"key-{n}", f"text {n}"), range(6)))
        found = world.forge.find_pull("feat/S-1")
        assert found is not None and len(found.comments) == 6

    # ── the proof ─────────────────────────────────────────────────────────────────────────────────────

    @pytest.mark.req("X16")
    def test_the_proof_is_one_comment_edited_in_place_and_a_status_on_its_commit(self, world: ForgeWorld) -> None:
        head = world.pushed("feat/S-1")
        pull = world.forge.open_pull("feat/S-1", "t", "b", head)
        world.forge.comment(pull, "other", "a word of somebody")
        assert world.status(head) is None
        assert world.forge.tell(pull, proof(head)) == []
        assert world.status(head) == ("pending", "proved: pending")
        told = proof(head, "proved, and green\n\n| a | b |\n", ProofState.SUCCESS)
        assert world.another_worker().tell(pull, told) == []
        found = world.forge.find_pull("feat/S-1")
        assert found is not None and [text.strip() for text in found.comments] == [
            "a word of somebody", "proved, and green\n\n| a | b |",
        ]  # fmt: skip
        assert world.status(head) == ("success", "proved: success")

    @pytest.mark.req("X16", "D20")
    def test_the_proof_told_again_finds_its_comment(self, world: ForgeWorld) -> None:
        """Killed between the comment and its record: the next worker tells the same."""
        head = world.pushed("feat/S-1")
        pull = world.forge.open_pull("feat/S-1", "t", "b", head)
        for worker in (world.forge, world.another_worker(), world.another_worker()):
            worker.tell(pull, proof(head))
        found = world.forge.find_pull("feat/S-1")
        assert found is not None and [text.strip() for text in found.comments] == ["proved"]

    @pytest.mark.req("X16", "D20")
    def test_six_at_once_tell_one_proof(self, world: ForgeWorld) -> None:
        head = world.pushed("feat/S-1")
        pull = world.forge.open_pull("feat/S-1", "t", "b", head)
        forges = [world.another_worker() for _ in range(6)]
        with ThreadPoolExecutor(6) as pool:
            list(pool.map(lambda n: forges[n].tell(pull, proof(head, f"proved {n}")), range(6)))
        world.forge.tell(pull, proof(head, "proved at last"))
        found = world.forge.find_pull("feat/S-1")
        assert found is not None and [text.strip() for text in found.comments] == ["proved at last"]

    @pytest.mark.req("X16", "W1")
    def test_our_status_is_no_job_of_ci(self, world: ForgeWorld) -> None:
        head = world.pushed_with_ci("feat/S-1", {"story.py": "x = 1\n"}, {"test": "true"})
        pull = world.forge.open_pull("feat/S-1", "t", "b", head)
        world.forge.tell(pull, proof(head, state=ProofState.FAILURE))
        run = world.finished_ci(head)
        assert [job.name for job in run.jobs] == ["test"] and run.green(WantedJobs(("test",)))
        bare = world.pushed("feat/S-1", {"more.py": "1\n"})
        world.forge.tell(pull, proof(bare))
        assert not world.forge.ci(bare, {}).jobs

    @pytest.mark.req("X16", "X4")
    def test_a_pull_that_says_as_what_it_landed_needs_no_second_comment(self, world: ForgeWorld) -> None:
        old, new = world.forge.main_tip(), world.pushed("feat/S-1")
        pull = world.forge.open_pull("feat/S-1", "t", "b", new)
        world.forge.land(old, new)
        world.forge.tell(pull, proof(new, "landed", ProofState.SUCCESS, landed=new))
        world.forge.close_merged(pull, new)
        found = world.forge.find_pull("feat/S-1")
        assert found is not None and [text.strip() for text in found.comments] == ["landed"]
        assert (found.state, found.merged_commit) == ("merged", new)

    @pytest.mark.req("X4", "D20")
    def test_close_merged_once_and_found_after(self, world: ForgeWorld) -> None:
        old, new = world.forge.main_tip(), world.pushed("feat/S-1")
        pull = world.forge.open_pull("feat/S-1", "t", "b", new)
        world.forge.land(old, new)
        world.forge.close_merged(pull, new)
        world.another_worker().close_merged(pull, new)
        found = world.forge.find_pull("feat/S-1")
        assert found is not None
        assert (found.number, found.state, found.merged_commit) == (pull.number, "merged", new)

    @pytest.mark.req("D9")
    def test_after_a_merge_the_next_pull_is_a_new_one(self, world: ForgeWorld) -> None:
        old, new = world.forge.main_tip(), world.pushed("feat/S-1")
        first = world.forge.open_pull("feat/S-1", "t", "b", new)
        world.forge.land(old, new)
        world.forge.close_merged(first, new)
        second = world.forge.open_pull("feat/S-1", "t", "b", world.pushed("feat/S-1", {"more.py": "1\n"}))
        assert (second.number, second.state) == (first.number + 1, "open")
        assert world.forge.find_pull("feat/S-1") == second
        world.forge.comment(first, "late", "a word on the old one")
        assert world.forge.find_pull("feat/S-1") == second

    # ── the queue's branches ──────────────────────────────────────────────────────────────────────────

    @pytest.mark.req("W16")
    def test_a_branch_of_the_queue_is_made_moved_and_deleted_only_from_what_it_was(self, world: ForgeWorld) -> None:
        first, second = world.commit({"a.py": "1\n"}), world.commit({"b.py": "1\n"})
        world.forge.move("mq/main/1", first, None)
        for new, was in ((second, None), (second, NOBODY), (None, second)):
            with pytest.raises(Stale):
                world.another_worker().move("mq/main/1", new, was)
        assert world.forge.remote_refs("mq/main/1", FENCE).branch == first
        for worker in (world.forge, world.another_worker()):
            worker.move("mq/main/1", second, first)
        assert world.another_worker().remote_refs("mq/main/1", FENCE).branch == second
        for worker in (world.forge, world.another_worker()):
            worker.move("mq/main/1", None, second)
        assert world.forge.remote_refs("mq/main/1", FENCE).branch is None

    # ── CI ────────────────────────────────────────────────────────────────────────────────────────────

    @pytest.mark.req("W1")
    def test_each_job_has_its_state_on_the_pushed_commit(self, world: ForgeWorld) -> None:
        jobs = {"test": "grep -q 'x = 1' story.py", "lint": "echo it is ugly >&2; exit 3"}
        head = world.pushed_with_ci("feat/S-1", {"story.py": "x = 1\n"}, jobs)
        run = world.finished_ci(head)
        assert run.sha == head and run.run_id == world.forge.run_id(head) != "" and run.finished
        assert {job.name: job.state for job in run.jobs} == {"test": "success", "lint": "failure"}
        assert not run.green(WantedJobs(("test",)))  # lint is shown and red, though nobody named it
        assert run.green(WantedJobs(("test",), frozenset({"lint"})))
        assert not run.green(WantedJobs(("test", "absent"), frozenset({"lint"})))

    @pytest.mark.req("W5")
    def test_the_log_of_a_failed_job_can_be_had(self, world: ForgeWorld) -> None:
        head = world.pushed_with_ci("feat/S-1", {"story.py": "x = 1\n"}, {"lint": "echo 'it is ugly' >&2; exit 3"})
        run = world.finished_ci(head)
        assert "it is ugly" in world.another_worker().ci_log(run, run.jobs[0])
        assert world.forge.ci_log(run, run.jobs[0].model_copy(update={"log": "", "id": ""})) == ""

    @pytest.mark.req("W1")
    def test_ci_sees_the_pushed_commit_and_no_other(self, world: ForgeWorld) -> None:
        jobs = {"test": "grep -q 'x = 2' story.py"}
        red = world.pushed_with_ci("feat/S-1", {"story.py": "x = 1\n"}, jobs)
        assert not world.finished_ci(red).green(WantedJobs(("test",)))
        green = world.pushed_with_ci("feat/S-1", {"story.py": "x = 2\n"}, jobs)
        assert world.finished_ci(green).green(WantedJobs(("test",)))
        assert not world.finished_ci(red).green(WantedJobs(("test",)))

    @pytest.mark.req("W1")
    def test_a_run_with_no_jobs_or_without_the_required_one_is_not_green(self, world: ForgeWorld) -> None:
        nothing = world.forge.ci(world.pushed("feat/S-1"), {})
        assert not nothing.jobs and not nothing.finished
        assert not nothing.green(WantedJobs(("test",))) and not nothing.green(WantedJobs(()))
        head = world.pushed_with_ci("feat/S-1", {"story.py": "x = 1\n"}, {"other": "true"})
        assert not world.finished_ci(head).green(WantedJobs(("test",)))

    @pytest.mark.req("W1")
    def test_ci_is_known_by_full_sha_of_a_pushed_commit(self, world: ForgeWorld) -> None:
        head = world.pushed("feat/S-1")
        with pytest.raises(ValueError, match="full commit id"):
            world.forge.ci(Sha(head[:12]), {})
        with pytest.raises(LookupError):
            world.forge.ci(NOBODY, {})
