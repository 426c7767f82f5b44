"""What the design learnt from experiments (its sentences marked ⚑), and the tests that keep it learnt."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Flag:
    """`section` and the words of the sentence, then the tests, by their ids, that fail when it is forgotten."""

    section: int
    sentence: str
    tests: tuple[str, ...]


LIES = "tests/lying_agents/test_lying_agents.py::test_a_lie_does_not_land"
HONEST = "tests/lying_agents/test_honest_agents.py::test_an_honest_agent_lands"

FLAGS = (
    Flag(
        1,
        "Gates and tests run only on a clean checkout of the exact commit: an ignored .pyc turns a red test green",
        (
            f"{LIES}[hides-a-pyc]",
            f"{LIES}[keeps-its-code-out-of-git]",
            "tests/gates/test_clean_runner.py::test_an_ignored_pyc_of_the_workspace_is_not_in_a_clean_checkout",
        ),
    ),
    Flag(
        3,
        "the fence grows at every command of a person that changes a leased item, which also deletes the lease",
        (
            "tests/store/test_leases.py::test_a_persons_command_shuts_the_worker_out",
            "tests/store/test_leases.py::test_a_cancel_that_comes_too_late_says_so",
            "tests/crash/test_commands.py::test_cancel_shuts_the_worker_out",
        ),
    ),
    Flag(
        3,
        "share locks deadlock with the worker's own second transaction",
        ("tests/store/test_leases.py::test_two_transactions_of_one_item_do_not_deadlock",),
    ),
    Flag(
        3,
        "database downtime or a closed laptop must not end healthy work",
        (
            "tests/store/test_leases.py::test_an_expired_lease_that_nobody_took_is_renewed",
            "tests/crash/test_database_lost.py::test_an_outage_longer_than_a_lease_ends_no_healthy_work",
        ),
    ),
    Flag(
        3,
        "busy is never empty",
        ("tests/store/test_claimers.py::test_64_claimers_never_overlap_and_are_never_told_empty_while_work_is_ready",),
    ),
    Flag(
        3,
        "a fixed window starves behind 250 parked stories",
        ("tests/store/test_claims.py::test_250_parked_stories_do_not_hide_a_free_one",),
    ),
    Flag(
        3,
        "keyed by attempt, rework returns the old result",
        ("tests/store/test_settling.py::test_the_journal_is_kept_by_run",),
    ),
    Flag(
        3,
        "snapshot-xmin readers stall behind any open transaction of the cluster",
        (
            "tests/rules/test_flags.py::test_nothing_follows_the_event_stream_by_snapshot",
            "tests/store/test_stream.py::test_open_transactions_stall_nobody",
        ),
    ),
    Flag(
        3,
        "twelve rescues in a row inside one step block; three would block innocent stories",
        (
            "tests/store/test_leases.py::test_twelve_rescues_in_a_row_inside_one_step_block",
            "tests/crash/test_rescues.py::test_twelve_rescues_in_a_row_inside_one_step_block_with_a_question",
        ),
    ),
    Flag(
        3,
        "the socket's path has at most 107 bytes",
        ("tests/store/test_embedded.py::test_a_home_far_down_has_a_short_socket",),
    ),
    Flag(
        3,
        "a 5 s regex stops the heartbeat: agents' content is scanned in another process",
        ("tests/gates/test_gate_secrets.py::test_a_scan_that_takes_too_long_has_not_passed_and_the_next_one_works",),
    ),
    Flag(
        4,
        "--mirror with prune deletes our refs",
        (
            "tests/git/test_mirror.py::test_fetch_with_prune_never_deletes_our_refs",
            "tests/git/test_mirror.py::test_a_mirror_fetch_would_delete_them",
        ),
    ),
    Flag(4, "of two fetches at once half fail", ("tests/git/test_mirror.py::test_fetches_at_once_all_succeed",)),
    Flag(
        4,
        "with linked worktrees an agent that rewrites .git runs code as the worker, or deletes the mirror's objects",
        (
            f"{LIES}[replaces-git]",
            "tests/git/test_workspaces_anew.py::test_a_replaced_git_dir_runs_nothing",
            "tests/git/test_workspaces_anew.py::test_deleting_its_own_objects_does_not_hurt_the_mirror",
        ),
    ),
    Flag(
        4,
        "a kept symlink is written through",
        (
            f"{LIES}[writes-through-a-link-of-the-last-attempt]",
            "tests/git/test_workspaces_anew.py::test_nothing_is_written_through_a_kept_link",
        ),
    ),
    Flag(
        4,
        "a claim that finds a push intent of an older fence first plants its own; else the zombie wins",
        ("tests/crash/test_zombies.py::test_a_zombie_inside_its_push",),
    ),
    Flag(
        4,
        "never update-ref on a checked-out branch, never updateInstead",
        (
            "tests/git/test_landing.py::test_the_users_other_edits_stay",
            "tests/git/test_landing.py::test_an_edit_in_the_way_is_named_and_kept",
        ),
    ),
    Flag(
        5,
        "--die-with-parent follows the thread",
        (
            "tests/system/test_die_with_parent.py::test_a_step_outlives_the_thread_that_started_the_first_one",
            "tests/system/test_die_with_parent.py::test_control_a_child_of_a_thread_that_ends_dies_with_it",
        ),
    ),
    Flag(
        5,
        "a setsid child survives killpg",
        (
            f"{LIES}[leaves-a-process-that-changes-files-later]",
            f"{HONEST}[leaves-a-daemon]",
            "tests/system/test_process_left_behind.py::test_what_is_left_behind_ends_with_the_step",
            "tests/system/test_process_left_behind.py::test_leftovers_of_a_dead_worker_end_by_identity",
        ),
    ),
    Flag(
        6,
        "unittest exits 0 with no tests and with all skipped",
        (
            f"{LIES}[prints-a-summary]",
            "tests/gates/test_clean_runner.py::test_unittest_that_exits_0_with_nothing_run_is_not_green",
        ),
    ),
)
"""In the design's order."""
