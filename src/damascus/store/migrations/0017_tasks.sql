-- The application builder: what invalidated a task, who owns which file, what halts, what was decided, what was written out.
-- readable by: 9

-- ── a task that is not valid any more ─────────────────────────────────────────────────────────────────
-- why, by, at; regression: whether main's tests said so; commit and spec as they were; approved_by and tests once a person
-- let it go on
ALTER TABLE work_items ADD COLUMN change jsonb;
ALTER TABLE work_items
    ADD CONSTRAINT stale_names_its_change CHECK (phase <> 'stale' OR change IS NOT NULL);
COMMENT ON CONSTRAINT stale_names_its_change ON work_items IS 'A stale story says what made it invalid, and since when.';
ALTER TABLE work_items
    ADD CONSTRAINT done_has_no_change CHECK (phase <> 'done' OR change IS NULL);
COMMENT ON CONSTRAINT done_has_no_change ON work_items IS 'A done story is as its spec says: a change is over once it is built.';

-- ── which task graph a story is a task of, and its place there ────────────────────────────────────────
-- what its spec says too; here so that the tasks of a graph can be found without reading every spec
ALTER TABLE work_items ADD COLUMN graph text;
ALTER TABLE work_items ADD COLUMN graph_at integer;
CREATE INDEX work_items_of_graph ON work_items (project_id, graph_at, id) WHERE graph IS NOT NULL;

-- ── who owns which file: what each landed story changed, by git's word ────────────────────────────────
CREATE TABLE file_owners (
    repo_id bigint NOT NULL REFERENCES repos (id),
    path text NOT NULL,
    item_id bigint NOT NULL REFERENCES work_items (id),
    PRIMARY KEY (repo_id, path, item_id)
);
CREATE INDEX file_owners_of_item ON file_owners (item_id);
-- what landed before this table was there
INSERT INTO file_owners (repo_id, path, item_id)
SELECT w.repo_id, f.path, w.id FROM work_items w, jsonb_array_elements_text(w.last_feedback -> 'files_changed') f (path)
 WHERE w.phase = 'done' AND jsonb_typeof(w.last_feedback -> 'files_changed') = 'array'
ON CONFLICT DO NOTHING;

-- the main up to which the tests of who owns what were looked at; NULL: not yet
ALTER TABLE repos ADD COLUMN impact_sha text;

-- ── holds say whose they are ──────────────────────────────────────────────────────────────────────────
ALTER TABLE repo_holds ADD COLUMN halt text;
ALTER TABLE repo_holds ADD CONSTRAINT repo_holds_halt_check CHECK (halt IN ('root', 'blocked', 'secret', 'stale', 'ship'));
COMMENT ON CONSTRAINT repo_holds_halt_check ON repo_holds IS
$$root: root rights are needed
blocked: five attempts in a row were blocked, over all tasks
secret: a required secret is missing
stale: a STALE task needs a person's word
ship: SHIP was declared$$;

-- attempts in a row that ended blocked: the last events of these kinds tell (store/halts.py)
CREATE INDEX events_of_ends ON events_outbox (project_id, id) WHERE kind IN (
    'blocked.exhausted', 'blocked.loop', 'blocked.transient', 'blocked.permission', 'blocked.budget', 'blocked.question',
    'blocked.main_red', 'blocked.ci_failed', 'blocked.tests_weakened', 'blocked.spec_ambiguous', 'blocked.spec_wrong',
    'blocked.worker_crash', 'story.landed', 'builder.resumed');

-- a task whose contract names a variable that is not set waits for it
ALTER TABLE work_items DROP CONSTRAINT work_items_wait_kind_check;
ALTER TABLE work_items ADD CONSTRAINT work_items_wait_kind_check CHECK (wait_kind IN (
    'scope', 'behind', 'dependency', 'landing', 'hold', 'chain', 'upstream', 'repo_full', 'agent', 'backoff', 'dirty',
    'ci', 'mirror', 'budget', 'secret'));
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
budget: the project's budget, which steps that run have reserved
secret: a variable that its test contract names and nobody has set$$;

CREATE TABLE ships (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id bigint NOT NULL REFERENCES projects (id),
    declared_by text NOT NULL,
    note text NOT NULL DEFAULT '',
    declared_at timestamptz NOT NULL DEFAULT now(),
    -- computed when main was verified; NULL as long as that goes on
    verdict text,
    receipt jsonb,
    undone_by text,
    undone_at timestamptz,
    CONSTRAINT ships_verdict_check CHECK (verdict IN ('SHIP', 'CONDITIONAL', 'NO-SHIP')),
    CONSTRAINT ships_verdict_has_its_receipt CHECK ((verdict IS NULL) = (receipt IS NULL)),
    CONSTRAINT ships_undone_by_somebody CHECK ((undone_at IS NULL) = (undone_by IS NULL))
);
CREATE UNIQUE INDEX ships_one_at_a_time ON ships (project_id) WHERE undone_at IS NULL;
COMMENT ON CONSTRAINT ships_verdict_check ON ships IS
$$SHIP: every task is DONE and all that was verified is green
CONDITIONAL: something is UNVERIFIED by name, or only MVP
NO-SHIP: something is red or not done$$;
COMMENT ON CONSTRAINT ships_verdict_has_its_receipt ON ships IS 'A verdict is computed: the receipt says from what.';
COMMENT ON CONSTRAINT ships_undone_by_somebody ON ships IS 'Taking SHIP back is a person''s act.';

-- ── what agents decided, assumed and used ─────────────────────────────────────────────────────────────
CREATE TABLE decisions (
    project_id bigint NOT NULL REFERENCES projects (id),
    number integer NOT NULL,
    item_id bigint NOT NULL REFERENCES work_items (id),
    made_at timestamptz NOT NULL DEFAULT now(),
    title text NOT NULL,
    context text NOT NULL DEFAULT '',
    decision text NOT NULL DEFAULT '',
    trade_off text NOT NULL DEFAULT '',
    pattern text NOT NULL DEFAULT '',
    -- once a person made it a pattern of the library
    accepted_by text,
    PRIMARY KEY (project_id, number),
    CONSTRAINT decisions_from_one CHECK (number >= 1),
    UNIQUE (item_id, title)
);
COMMENT ON CONSTRAINT decisions_from_one ON decisions IS 'Decisions are counted from one, as DECISIONS.md shows them.';

CREATE TABLE assumptions (
    project_id bigint NOT NULL REFERENCES projects (id),
    number integer NOT NULL,
    item_id bigint NOT NULL REFERENCES work_items (id),
    made_at timestamptz NOT NULL DEFAULT now(),
    assumption text NOT NULL,
    PRIMARY KEY (project_id, number),
    CONSTRAINT assumptions_from_one CHECK (number >= 1),
    UNIQUE (item_id, assumption)
);
COMMENT ON CONSTRAINT assumptions_from_one ON assumptions IS 'Assumptions are counted from one, as ASSUMPTIONS.md shows them.';

CREATE TABLE pattern_uses (
    item_id bigint NOT NULL REFERENCES work_items (id),
    pattern text NOT NULL,
    title text NOT NULL DEFAULT '',
    state text NOT NULL,
    PRIMARY KEY (item_id, pattern),
    CONSTRAINT pattern_uses_state_check CHECK (state IN ('offered', 'applied'))
);
COMMENT ON CONSTRAINT pattern_uses_state_check ON pattern_uses IS
$$offered: the agent was told of it
applied: the agent said that it used it, and its diff shows it$$;

-- ── what was written into a person's folder: bytes that are ours as long as they are these ────────────
CREATE TABLE projections (
    repo_id bigint NOT NULL REFERENCES repos (id),
    path text NOT NULL,
    -- of the whole file, and whether it is main's but for our part: then no byte of it is a person's alone
    sha256 text NOT NULL,
    as_main boolean NOT NULL DEFAULT false,
    -- what our part said: statuses by task, or the hash of what stands between our marks
    part jsonb NOT NULL DEFAULT '{}',
    written_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (repo_id, path)
);

ALTER TABLE events_outbox DROP CONSTRAINT events_outbox_kind_check;
ALTER TABLE events_outbox ADD CONSTRAINT events_outbox_kind_check CHECK (kind IN (
    'story.added', 'story.replaced', 'item.claimed', 'item.rescued', 'item.released', 'item.waits', 'run.resumed',
    'run.restarted', 'agent.started', 'agent.warned', 'agent.extended', 'agent.finished', 'build.committed',
    'build.pushed', 'build.pr_opened', 'ci.finished', 'ci.again', 'ci.mirrored', 'test.flaky', 'checkpoint.taken',
    'milestone.changed', 'phase.transitioned', 'phase.transient_retry', 'attempt.rejected', 'blocked.exhausted',
    'blocked.loop', 'blocked.transient', 'blocked.permission', 'blocked.budget', 'blocked.approval',
    'blocked.question', 'blocked.main_red', 'blocked.ci_failed', 'blocked.tests_weakened', 'blocked.spec_ambiguous',
    'blocked.spec_wrong', 'blocked.worker_crash', 'story.landed', 'story.not_on_main', 'story.reverted', 'story.cancelled', 'story.retried',
    'story.spec_approved', 'story.approved', 'story.sent_back', 'story.resumed', 'story.handed_over', 'budget.raised',
    'issue.opened', 'issue.answered', 'repo.held', 'repo.released', 'repo.red', 'repo.green', 'story.stale', 'story.reapproved',
    'story.change_undone', 'builder.halted', 'builder.resumed', 'ship.declared', 'ship.verified', 'ship.undone', 'regression.found',
    'decision.recorded', 'patterns.matched', 'pattern.accepted', 'tasks.status_edited', 'tasks.checkpoint',
    'source.ticked')) NOT VALID;
COMMENT ON CONSTRAINT events_outbox_kind_check ON events_outbox IS 'domain/events.py says what each one tells.';
