-- The database holds the invariants: foreign keys wherever a row names another, and every rule of a story's row under its
-- own name. From here on a migration changes tables, constraints and data alone; functions stand in store/functions/.
-- readable by: 9

-- Which text of each function was applied last, and by which release (store/function_files.py).
CREATE TABLE schema_functions (
    name text PRIMARY KEY,
    sha256 text NOT NULL,
    release text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);

-- ── what a story's row must always keep ───────────────────────────────────────────────────────────────

ALTER TABLE work_items
    DROP CONSTRAINT keeps_promises,
    ADD CONSTRAINT waiting_names_its_reason CHECK ((state = 'waiting') = (wait_kind IS NOT NULL)),
    ADD CONSTRAINT resting_phases CHECK ((state = 'resting') = (phase IN ('done', 'blocked', 'stale', 'cancelled'))),
    ADD CONSTRAINT review_needs_a_pull CHECK (phase NOT IN ('review', 'merge', 'done') OR pr_url IS NOT NULL),
    ADD CONSTRAINT done_means_landed CHECK (phase <> 'done' OR merged_commit IS NOT NULL),
    ADD CONSTRAINT blocked_resumes_somewhere CHECK ((phase = 'blocked') = (resume_phase IS NOT NULL)),
    ADD CONSTRAINT work_items_phase_check
        CHECK (phase IN ('spec', 'build', 'review', 'merge', 'done', 'blocked', 'stale', 'cancelled')),
    ADD CONSTRAINT work_items_state_check CHECK (state IN ('ready', 'leased', 'waiting', 'resting')),
    ADD CONSTRAINT work_items_budget_cycles_check CHECK (budget_cycles > 0),
    ADD CONSTRAINT work_items_priority_check CHECK (priority BETWEEN 0 AND 3),
    ADD CONSTRAINT work_items_resume_phase_check CHECK (resume_phase IN ('spec', 'build', 'review', 'merge')),
    ADD CONSTRAINT work_items_wait_kind_check CHECK (wait_kind IN (
        'scope', 'behind', 'dependency', 'landing', 'hold', 'chain', 'upstream', 'repo_full', 'agent', 'backoff', 'dirty',
        'ci', 'mirror', 'budget')),
    ADD CONSTRAINT work_items_uuid_key UNIQUE (uuid);
DROP FUNCTION keeps_promises(text, text, text, text, text, text, integer, smallint);
DROP FUNCTION release_landing(bigint);

COMMENT ON CONSTRAINT waiting_names_its_reason ON work_items IS 'Who waits says for what, and nobody else does.';
COMMENT ON CONSTRAINT resting_phases ON work_items IS 'A story rests in exactly the phases in which no worker has anything to do.';
COMMENT ON CONSTRAINT review_needs_a_pull ON work_items IS 'Nothing is reviewed or landed without a pull request.';
COMMENT ON CONSTRAINT done_means_landed ON work_items IS 'A done story names its commit on main.';
COMMENT ON CONSTRAINT blocked_resumes_somewhere ON work_items IS 'A blocked story knows the phase in which it goes on.';
COMMENT ON CONSTRAINT work_items_budget_cycles_check ON work_items IS 'A story has at least one attempt.';
COMMENT ON CONSTRAINT work_items_priority_check ON work_items IS '0 is the most urgent, 3 the least.';
COMMENT ON CONSTRAINT work_items_phase_check ON work_items IS
$$spec: a rough spec is being refined
build: from the first test to an open pull request with green CI
review: another agent, or a person, judges the change
merge: it waits for its turn and lands
done: it is on main
blocked: only a person can say how it goes on
stale: a change of its spec made a done story invalid
cancelled: a person ended it$$;
COMMENT ON CONSTRAINT work_items_resume_phase_check ON work_items IS 'A blocked story goes on in a phase that workers carry.';
COMMENT ON CONSTRAINT work_items_state_check ON work_items IS
$$ready: any worker may claim it
leased: a worker has it
waiting: for (wait_kind, wait_key), or until not_before
resting: done, blocked, stale or cancelled$$;
COMMENT ON CONSTRAINT work_items_wait_kind_check ON work_items IS
$$scope: a file that another story holds
behind: another waiting story that wants exactly the same files
dependency: a story of depends_on
landing: a place in the merge queue, or its turn there
hold: a hold on the repository, or on one of its chain
chain: a story that is worked, or goes first, in a repository of its chain
upstream: main of a repository that its own one needs is not known to be green
repo_full: a place in its repository
agent: agents that can work
backoff: the clock, after trouble outside the story
dirty: a file of a person with changes that landing would overwrite
ci: CI on a forge
mirror: the mirror job on main, after landing
budget: the project's budget, which steps that run have reserved$$;

-- ── the words of the other tables ─────────────────────────────────────────────────────────────────────

ALTER TABLE worker_records ADD CONSTRAINT worker_records_milestone_check
    CHECK (milestone IN ('WORKING', 'PUSHED_TO_CI', 'FIXING_CI', 'DONE', 'BLOCKED', 'TERMINATED'));
ALTER TABLE journal ADD CONSTRAINT journal_phase_check CHECK (phase IN ('spec', 'build', 'review', 'merge'));

-- NOT VALID: history keeps the words of its time; whatever is written from now on is checked.
ALTER TABLE events_outbox ADD CONSTRAINT events_outbox_kind_check CHECK (kind IN (
    'story.added', 'story.replaced', 'item.claimed', 'item.rescued', 'item.released', 'item.waits', 'run.resumed',
    'run.restarted', 'agent.started', 'agent.warned', 'agent.extended', 'agent.finished', 'build.committed',
    'build.pushed', 'build.pr_opened', 'ci.finished', 'ci.again', 'ci.mirrored', 'test.flaky', 'checkpoint.taken',
    'milestone.changed', 'phase.transitioned', 'phase.transient_retry', 'attempt.rejected', 'blocked.exhausted',
    'blocked.loop', 'blocked.transient', 'blocked.permission', 'blocked.budget', 'blocked.approval',
    'blocked.question', 'blocked.main_red', 'blocked.ci_failed', 'blocked.tests_weakened', 'blocked.spec_ambiguous',
    'blocked.spec_wrong', 'blocked.worker_crash', 'story.landed', 'story.not_on_main', 'story.reverted', 'story.cancelled', 'story.retried',
    'story.spec_approved', 'story.approved', 'story.sent_back', 'story.resumed', 'story.handed_over', 'budget.raised',
    'issue.opened', 'issue.answered', 'repo.held', 'repo.released', 'repo.red', 'repo.green')) NOT VALID;

COMMENT ON CONSTRAINT worker_records_milestone_check ON worker_records IS
$$WORKING: an agent or a gate is at work
PUSHED_TO_CI: the branch is on its forge and CI has it
FIXING_CI: CI was red and is being repaired
DONE: the story landed
BLOCKED: a person is asked
TERMINATED: the story was cancelled$$;
COMMENT ON CONSTRAINT journal_phase_check ON journal IS 'Only a phase that workers carry has steps.';
COMMENT ON CONSTRAINT journal_status_check ON journal IS
$$intent: the step was begun; whether its effect took place must be looked up
done: its result is recorded and never changes$$;
COMMENT ON CONSTRAINT events_outbox_kind_check ON events_outbox IS 'domain/event.py says what each one tells.';
COMMENT ON CONSTRAINT queue_entries_state_check ON queue_entries IS
$$testing: its tests run, or are about to
green: its tests passed on exactly this commit
red: its tests failed; it leaves, and nobody is built on top of it$$;
COMMENT ON CONSTRAINT human_issues_kind_check ON human_issues IS
$$question: holds its story until it is answered
write: about one write of an agent that waits for the answer; the story stays leased$$;
COMMENT ON CONSTRAINT spending_state_check ON spending IS
$$reserved: the agent may still be at work; counts as long as its lease holds
settled: what was used is final$$;
COMMENT ON CONSTRAINT budget_raises_unit_check ON budget_raises IS
$$tokens: the amount is in tokens
dollars: the amount is in millionths of a dollar$$;
COMMENT ON CONSTRAINT repos_ci_state_check ON repos IS
$$pending: CI has not told of main's tip yet
green: CI passed there
red: CI failed there$$;

COMMENT ON CONSTRAINT repos_max_workers_check ON repos IS '0: as many as there are slots.';
COMMENT ON CONSTRAINT repo_edges_check ON repo_edges IS 'No repository needs itself.';
COMMENT ON CONSTRAINT queues_width_check ON queues IS 'At least one story is tested at a time.';
COMMENT ON CONSTRAINT spending_reserved_tokens_check ON spending IS '0: no limit.';
COMMENT ON CONSTRAINT spending_reserved_microdollars_check ON spending IS '0: no limit.';
COMMENT ON CONSTRAINT budget_raises_amount_check ON budget_raises IS 'A budget is raised, never taken away.';
COMMENT ON CONSTRAINT queue_only_one_check ON queue IS 'One database is one queue.';
COMMENT ON CONSTRAINT stream_only_one_check ON stream IS 'There is one stream.';

-- ── foreign keys ──────────────────────────────────────────────────────────────────────────────────────

-- No rule for deletion anywhere: a story, its history and its project are never deleted, and the database refuses to. What is
-- let go of (a lease, files, a place in the queue) is deleted by itself, and nothing refers to it.

ALTER TABLE leases ADD CONSTRAINT leases_item_id_fkey FOREIGN KEY (item_id) REFERENCES work_items (id);
ALTER TABLE active_scopes ADD CONSTRAINT active_scopes_item_id_fkey FOREIGN KEY (item_id) REFERENCES work_items (id);
ALTER TABLE worker_records ADD CONSTRAINT worker_records_item_id_fkey FOREIGN KEY (item_id) REFERENCES work_items (id);
ALTER TABLE journal ADD CONSTRAINT journal_item_id_fkey FOREIGN KEY (item_id) REFERENCES work_items (id);
ALTER TABLE events_outbox
    ADD CONSTRAINT events_outbox_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects (id),
    ADD CONSTRAINT events_outbox_item_id_fkey FOREIGN KEY (item_id) REFERENCES work_items (id);
ALTER TABLE event_numbers ADD CONSTRAINT event_numbers_event_id_fkey FOREIGN KEY (event_id) REFERENCES events_outbox (id);
ALTER TABLE queues ADD CONSTRAINT queues_repo_id_fkey FOREIGN KEY (repo_id) REFERENCES repos (id);
ALTER TABLE queue_entries
    ADD CONSTRAINT queue_entries_item_id_fkey FOREIGN KEY (item_id) REFERENCES work_items (id),
    ADD CONSTRAINT queue_entries_queue_fkey FOREIGN KEY (repo_id, target) REFERENCES queues (repo_id, target);
ALTER TABLE repo_locks
    ADD CONSTRAINT repo_locks_item_id_fkey FOREIGN KEY (item_id) REFERENCES work_items (id),
    ADD CONSTRAINT repo_locks_repo_id_fkey FOREIGN KEY (repo_id) REFERENCES repos (id);
ALTER TABLE spending
    ADD CONSTRAINT spending_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects (id),
    ADD CONSTRAINT spending_item_id_fkey FOREIGN KEY (item_id) REFERENCES work_items (id);
-- item_id 0 stands for the whole project, so it has none
ALTER TABLE budget_raises ADD CONSTRAINT budget_raises_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects (id);
