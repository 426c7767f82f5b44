-- The durable core. Text, not enums, where a later release may add a word; CHECKs hold the invariants.

CREATE TYPE scope_span AS RANGE (subtype = text, collation = "C");

-- One row: which queue this database is. A repository remembers it and refuses a second one.
CREATE TABLE queue (
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    created_at timestamptz NOT NULL DEFAULT now()
);
INSERT INTO queue DEFAULT VALUES;

CREATE TABLE projects (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uuid uuid NOT NULL UNIQUE,
    name text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE repos (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id bigint NOT NULL REFERENCES projects (id),
    path text NOT NULL,
    main_branch text NOT NULL,
    main_sha text,
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (project_id, path)
);

-- repo `down` depends on repo `up`.
CREATE TABLE repo_edges (
    up bigint NOT NULL REFERENCES repos (id),
    down bigint NOT NULL REFERENCES repos (id),
    PRIMARY KEY (up, down),
    CHECK (up <> down)
);

CREATE TABLE repo_holds (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    repo_id bigint NOT NULL REFERENCES repos (id),
    reason text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    released_at timestamptz
);
CREATE INDEX repo_holds_open ON repo_holds (repo_id) WHERE released_at IS NULL;

CREATE TABLE work_items (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uuid uuid NOT NULL DEFAULT gen_random_uuid(),
    project_id bigint NOT NULL REFERENCES projects (id),
    project text NOT NULL,
    repo_id bigint NOT NULL REFERENCES repos (id),
    story_id text NOT NULL,
    title text NOT NULL,
    phase text NOT NULL
        CHECK (phase IN ('spec', 'build', 'review', 'merge', 'done', 'blocked', 'stale', 'cancelled')),
    -- ready: may be claimed · leased: a worker has it · waiting: for (wait_kind, wait_key) or not_before · resting
    state text NOT NULL CHECK (state IN ('ready', 'leased', 'waiting', 'resting')),
    priority smallint NOT NULL DEFAULT 2 CHECK (priority BETWEEN 0 AND 3),
    ready_at timestamptz NOT NULL DEFAULT now(),
    -- ready_at + slack(priority): earliest deadline first, so nothing starves and one index serves the claim
    deadline_at timestamptz NOT NULL DEFAULT now(),
    wait_kind text,
    wait_key text,
    not_before timestamptz,
    depends_on bigint[] NOT NULL DEFAULT '{}',
    file_scope text[] NOT NULL DEFAULT '{}',
    spans scope_span[] NOT NULL DEFAULT '{}',
    spec bytea NOT NULL,
    spec_hash text NOT NULL,
    spec_path text NOT NULL,
    acceptance bytea,
    rough boolean NOT NULL DEFAULT false,
    branch text NOT NULL,
    base_commit text,
    candidate text,
    pr_url text,
    merged_commit text,
    run_no integer NOT NULL DEFAULT 1,
    fence bigint NOT NULL DEFAULT 0,
    claims integer NOT NULL DEFAULT 0,
    rescues integer NOT NULL DEFAULT 0,
    attempts integer NOT NULL DEFAULT 0,
    budget_cycles integer NOT NULL DEFAULT 5 CHECK (budget_cycles > 0),
    last_verdict text,
    last_feedback jsonb,
    failure_signature text,
    failure_streak integer NOT NULL DEFAULT 0,
    series_since timestamptz,
    series_count integer NOT NULL DEFAULT 0,
    series_ended boolean NOT NULL DEFAULT false,
    resume_phase text,
    answers text[] NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT waiting_names_its_reason CHECK ((state = 'waiting') = (wait_kind IS NOT NULL)),
    CONSTRAINT resting_phases CHECK ((state = 'resting') = (phase IN ('done', 'blocked', 'stale', 'cancelled'))),
    CONSTRAINT review_needs_a_pull CHECK (phase NOT IN ('review', 'merge', 'done') OR pr_url IS NOT NULL),
    CONSTRAINT done_means_landed CHECK (phase <> 'done' OR merged_commit IS NOT NULL),
    CONSTRAINT blocked_resumes_somewhere CHECK ((phase = 'blocked') = (resume_phase IS NOT NULL))
) WITH (fillfactor = 85);
CREATE UNIQUE INDEX work_items_story ON work_items (project_id, lower(story_id));
CREATE INDEX work_items_ready ON work_items (project_id, deadline_at, id) WHERE state = 'ready';
CREATE INDEX work_items_due ON work_items (project_id, not_before) WHERE state = 'waiting' AND not_before IS NOT NULL;
CREATE INDEX work_items_wait ON work_items (wait_kind, wait_key, deadline_at, id) WHERE state = 'waiting';
CREATE INDEX work_items_resting ON work_items (project_id, phase, updated_at) WHERE state = 'resting';
CREATE INDEX work_items_moving ON work_items (project_id) WHERE state = 'leased';

-- Items are never deleted, so the hot tables that name one do without a foreign key: each costs a row lock a write.

-- A lease is one worker's right to act. No index on expires_at on purpose: heartbeats stay HOT updates.
CREATE TABLE leases (
    item_id bigint PRIMARY KEY,
    fence bigint NOT NULL,
    worker_id text NOT NULL,
    acquired_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 50);

-- A scope is the story's right to its files, from its first claim until it is done, blocked or cancelled.
CREATE TABLE active_scopes (
    item_id bigint NOT NULL,
    span scope_span NOT NULL,
    CONSTRAINT two_stories_never_touch_the_same_files EXCLUDE USING gist (span WITH &&)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 50);
CREATE INDEX active_scopes_item ON active_scopes (item_id);

-- An overdue story that keeps being overtaken reserves its scope: nobody with a later deadline slips in.
CREATE TABLE scope_barriers (
    item_id bigint NOT NULL REFERENCES work_items (id),
    deadline_at timestamptz NOT NULL,
    span scope_span NOT NULL
);
CREATE INDEX scope_barriers_item ON scope_barriers (item_id);

-- One landing lease per repository and target; handed to the next in line by the settle that frees it.
CREATE TABLE landings (
    repo_id bigint NOT NULL REFERENCES repos (id),
    target text NOT NULL,
    item_id bigint REFERENCES work_items (id),
    since timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (repo_id, target)
);

CREATE TABLE journal (
    item_id bigint NOT NULL,
    run_no integer NOT NULL,
    phase text NOT NULL,
    step text NOT NULL,
    key text NOT NULL DEFAULT '',
    status text NOT NULL CHECK (status IN ('intent', 'done')),
    fence bigint NOT NULL,
    input jsonb NOT NULL DEFAULT '{}',
    output jsonb,
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    done_at timestamptz,
    PRIMARY KEY (item_id, run_no, step, key)
);

CREATE TABLE events_outbox (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id bigint NOT NULL,
    item_id bigint,
    kind text NOT NULL,
    body jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX events_of_item ON events_outbox (item_id, id);

CREATE TABLE human_issues (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id bigint NOT NULL REFERENCES projects (id),
    item_id bigint REFERENCES work_items (id),
    question text NOT NULL,
    options text[] NOT NULL DEFAULT '{}',
    owner text NOT NULL DEFAULT 'you',
    answer text,
    created_at timestamptz NOT NULL DEFAULT now(),
    closed_at timestamptz
);
CREATE INDEX human_issues_open ON human_issues (project_id, id) WHERE closed_at IS NULL;

-- The processes that claim items.
CREATE TABLE workers (
    id text PRIMARY KEY,
    project_id bigint REFERENCES projects (id),
    host text NOT NULL,
    pid integer NOT NULL,
    slots integer NOT NULL,
    started_at timestamptz NOT NULL DEFAULT now(),
    ended_at timestamptz
);

-- Who works on an item and how far it is; kept while the item waits for CI (W5, W14).
CREATE TABLE worker_records (
    item_id bigint PRIMARY KEY,
    worker_id text NOT NULL,
    milestone text NOT NULL DEFAULT 'WORKING',
    step text,
    substate text,
    progress jsonb NOT NULL DEFAULT '{}',
    line text,
    since timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

-- ── functions ─────────────────────────────────────────────────────────────────────────────────────────

-- First statement of every worker transaction. The fence alone is safety: an expired lease that nobody took
-- still holds. NO KEY UPDATE, because share locks deadlock with the worker's own second transaction.
CREATE FUNCTION assert_fence(p_item bigint, p_fence bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM leases WHERE item_id = p_item AND fence = p_fence FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'item % is no longer held with fence %', p_item, p_fence USING ERRCODE = 'DM001';
    END IF;
END $$;

CREATE FUNCTION wake(p_kind text, p_key text, p_limit integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    woken integer;
BEGIN
    UPDATE work_items SET state = 'ready', wait_kind = NULL, wait_key = NULL, not_before = NULL
     WHERE id IN (SELECT id FROM work_items
                   WHERE state = 'waiting' AND wait_kind = p_kind AND wait_key = p_key
                   ORDER BY deadline_at, id LIMIT p_limit FOR NO KEY UPDATE);
    GET DIAGNOSTICS woken = ROW_COUNT;
    RETURN woken;
END $$;

CREATE FUNCTION same_scope(p_spans scope_span[]) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN md5(p_spans::text);
END $$;

-- Frees a story's files and wakes whoever waited for them. Of stories that want exactly the same files one
-- stands in line for the blocker ('scope') and the others behind it ('behind'), so freeing a file that
-- 100,000 stories want wakes one, not all.
CREATE FUNCTION free_scope(p_item bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    wanted scope_span[];
BEGIN
    SELECT spans INTO wanted FROM work_items WHERE id = p_item FOR NO KEY UPDATE;
    DELETE FROM active_scopes WHERE item_id = p_item;
    DELETE FROM scope_barriers WHERE item_id = p_item;
    IF EXISTS (SELECT 1 FROM work_items WHERE state = 'waiting' AND wait_kind = 'scope' AND wait_key = p_item::text) THEN
        PERFORM wake('scope', p_item::text, 2147483647);
    END IF;
    IF EXISTS (SELECT 1 FROM work_items WHERE state = 'waiting' AND wait_kind = 'behind'
                  AND wait_key = same_scope(wanted)) THEN
        PERFORM wake('behind', same_scope(wanted), 1);
    END IF;
END $$;

-- Parks a claimed-for row behind a blocker; the blocker's row is share-locked by the caller, so a settle that
-- frees it either was seen or will see this row: no wake-up is lost.
CREATE FUNCTION park_for_scope(p_item work_items, p_blocker bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    first_in_line record;
    grp text := same_scope(p_item.spans);
BEGIN
    SELECT w.id, w.deadline_at, w.wait_key INTO first_in_line FROM work_items w
     WHERE w.state = 'waiting' AND w.wait_kind = 'scope' AND w.project_id = p_item.project_id
       AND w.spans = p_item.spans AND w.wait_key = p_blocker::text
     ORDER BY w.deadline_at, w.id LIMIT 1 FOR NO KEY UPDATE;
    IF FOUND AND first_in_line.deadline_at <= p_item.deadline_at THEN
        UPDATE work_items SET state = 'waiting', wait_kind = 'behind', wait_key = grp WHERE id = p_item.id;
        RETURN;
    END IF;
    IF FOUND THEN
        UPDATE work_items SET wait_kind = 'behind', wait_key = grp WHERE id = first_in_line.id;
    END IF;
    UPDATE work_items SET state = 'waiting', wait_kind = 'scope', wait_key = p_blocker::text WHERE id = p_item.id;
    IF p_item.deadline_at < now() - interval '30 minutes'
       AND NOT EXISTS (SELECT 1 FROM scope_barriers b WHERE b.item_id = p_item.id) THEN
        INSERT INTO scope_barriers SELECT p_item.id, p_item.deadline_at, s FROM unnest(p_item.spans) s;
    END IF;
END $$;

-- Who holds a file that this item wants? NULL: nobody. Waits for a settle in flight of the blocker.
CREATE FUNCTION scope_blocker(p_item work_items) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    blocker bigint;
BEGIN
    LOOP
        SELECT a.item_id INTO blocker FROM unnest(p_item.spans) s JOIN active_scopes a ON a.span && s
         WHERE a.item_id <> p_item.id LIMIT 1;
        IF blocker IS NULL THEN
            SELECT b.item_id INTO blocker FROM unnest(p_item.spans) s JOIN scope_barriers b ON b.span && s
             WHERE b.item_id <> p_item.id AND b.deadline_at < p_item.deadline_at LIMIT 1;
        END IF;
        IF blocker IS NULL THEN
            RETURN NULL;
        END IF;
        PERFORM 1 FROM work_items WHERE id = blocker FOR SHARE;
        IF EXISTS (SELECT 1 FROM active_scopes WHERE item_id = blocker)
           OR EXISTS (SELECT 1 FROM scope_barriers WHERE item_id = blocker) THEN
            RETURN blocker;
        END IF;
    END LOOP;
END $$;

-- Claims up to p_count items for one worker under the project's lock, which is waited for: busy is never empty.
-- Rows in deadline order; what can't start is parked and leaves the ready index. p_look bounds one
-- transaction's work; the caller asks again while `looked` reaches it.
CREATE FUNCTION claim_items(p_project bigint, p_worker text, p_count integer, p_lease interval, p_look integer)
RETURNS TABLE (item_id bigint, looked integer) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    c work_items;
    blocker bigint;
    got integer := 0;
    seen integer := 0;
    held boolean;  -- a hold takes the lock that we hold, so one look is enough
    moment timestamptz := clock_timestamp();  -- a variable, so that the index can be used with it
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('damascus claim', p_project));
    held := EXISTS (SELECT 1 FROM repo_holds h WHERE h.released_at IS NULL);
    UPDATE work_items SET state = 'ready', wait_kind = NULL, wait_key = NULL, not_before = NULL
     WHERE id IN (SELECT id FROM work_items WHERE project_id = p_project AND state = 'waiting'
                     AND not_before <= moment
                   ORDER BY not_before LIMIT 100 FOR NO KEY UPDATE SKIP LOCKED);
    WHILE got < p_count AND seen < p_look LOOP
        SELECT * INTO c FROM work_items w WHERE w.project_id = p_project AND w.state = 'ready'
         ORDER BY w.deadline_at, w.id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED;
        EXIT WHEN NOT FOUND;
        seen := seen + 1;
        IF held AND EXISTS (SELECT 1 FROM repo_holds h WHERE h.repo_id = c.repo_id AND h.released_at IS NULL) THEN
            UPDATE work_items SET state = 'waiting', wait_kind = 'hold', wait_key = c.repo_id::text WHERE id = c.id;
            PERFORM wake('behind', same_scope(c.spans), 1);
            CONTINUE;
        END IF;
        IF cardinality(c.depends_on) > 0 THEN
            SELECT d.id INTO blocker FROM work_items d WHERE d.id = ANY (c.depends_on) AND d.phase <> 'done'
             ORDER BY d.id LIMIT 1 FOR SHARE;
            IF blocker IS NOT NULL THEN
                UPDATE work_items SET state = 'waiting', wait_kind = 'dependency', wait_key = blocker::text WHERE id = c.id;
                PERFORM wake('behind', same_scope(c.spans), 1);
                CONTINUE;
            END IF;
        END IF;
        IF NOT EXISTS (SELECT 1 FROM active_scopes a WHERE a.item_id = c.id) THEN
            blocker := scope_blocker(c);
            IF blocker IS NOT NULL THEN
                PERFORM park_for_scope(c, blocker);
                CONTINUE;
            END IF;
            INSERT INTO active_scopes (item_id, span) SELECT c.id, s FROM unnest(c.spans) s;
            DELETE FROM scope_barriers WHERE item_id = c.id;
        END IF;
        UPDATE work_items w SET state = 'leased', fence = w.fence + 1, claims = w.claims + 1, updated_at = now(),
               base_commit = CASE WHEN w.phase = 'build' AND NOT EXISTS (
                                      SELECT 1 FROM journal j WHERE j.item_id = w.id AND j.run_no = w.run_no)
                                  THEN coalesce((SELECT r.main_sha FROM repos r WHERE r.id = w.repo_id), w.base_commit)
                                  ELSE w.base_commit END
         WHERE w.id = c.id RETURNING w.* INTO c;
        INSERT INTO leases (item_id, fence, worker_id, expires_at)
            VALUES (c.id, c.fence, p_worker, clock_timestamp() + p_lease);
        INSERT INTO worker_records (item_id, worker_id) VALUES (c.id, p_worker)
            ON CONFLICT (item_id) DO UPDATE SET worker_id = excluded.worker_id, updated_at = now();
        INSERT INTO events_outbox (project_id, item_id, kind, body)
            VALUES (c.project_id, c.id, 'item.claimed',
                    jsonb_build_object('worker', p_worker, 'fence', c.fence, 'phase', c.phase, 'run', c.run_no));
        got := got + 1;
        item_id := c.id;
        looked := seen;
        RETURN NEXT;
    END LOOP;
    item_id := NULL;
    looked := seen;
    RETURN NEXT;
END $$;

-- Takes items from workers that are gone: the fence grows, so what the old one still does is refused.
CREATE FUNCTION rescue_item(p_item bigint, p_fence bigint, p_limit integer, p_why text)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    c work_items;
    held text;
    asked text;
BEGIN
    DELETE FROM leases WHERE item_id = p_item AND fence = p_fence RETURNING worker_id INTO held;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    UPDATE work_items SET fence = fence + 1, rescues = rescues + 1, state = 'ready', updated_at = now()
     WHERE id = p_item RETURNING * INTO c;
    INSERT INTO events_outbox (project_id, item_id, kind, body)
        VALUES (c.project_id, c.id, 'item.rescued',
                jsonb_build_object('worker', held, 'why', p_why, 'rescues', c.rescues, 'fence', c.fence));
    IF c.rescues >= p_limit THEN
        UPDATE work_items SET phase = 'blocked', state = 'resting', last_verdict = 'worker_crash',
               resume_phase = CASE WHEN c.phase = 'spec' THEN 'spec' ELSE 'build' END, run_no = run_no + 1
         WHERE id = p_item;
        PERFORM free_scope(p_item);
        PERFORM release_landing(p_item);
        DELETE FROM worker_records WHERE item_id = p_item;
        asked := format('%s took its worker down %s times in a row in the same step. What should happen?',
                        c.story_id, c.rescues);
        INSERT INTO events_outbox (project_id, item_id, kind, body)
            VALUES (c.project_id, c.id, 'blocked.worker_crash', jsonb_build_object('rescues', c.rescues)),
                   (c.project_id, c.id, 'phase.transitioned', jsonb_build_object('from', c.phase, 'to', 'blocked')),
                   (c.project_id, c.id, 'issue.opened', jsonb_build_object('question', asked));
        INSERT INTO human_issues (project_id, item_id, question, options)
            VALUES (c.project_id, c.id, asked,
                    ARRAY['retry with a new budget', 'edit the spec and add it again', 'cancel the story']);
        RETURN 'blocked';
    END IF;
    RETURN 'ready';
END $$;

-- A person stops a repository: nothing of it starts, and who works on it is shut out by the fence. Under the
-- project's claim lock, so that no claim slips in between.
CREATE FUNCTION hold_repo(p_project bigint, p_repo bigint, p_reason text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    made bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('damascus claim', p_project));
    INSERT INTO repo_holds (repo_id, reason) VALUES (p_repo, p_reason) RETURNING id INTO made;
    WITH taken AS (
        DELETE FROM leases l USING work_items i WHERE i.id = l.item_id AND i.repo_id = p_repo RETURNING l.item_id)
    UPDATE work_items SET state = 'waiting', wait_kind = 'hold', wait_key = p_repo::text, fence = fence + 1,
           updated_at = now()
     WHERE id IN (SELECT item_id FROM taken);
    INSERT INTO events_outbox (project_id, kind, body)
        VALUES (p_project, 'repo.held', jsonb_build_object('repo', p_repo, 'hold', made, 'reason', p_reason));
    RETURN made;
END $$;

-- Ends every hold of a repository and wakes who waited for that; how many holds there were.
CREATE FUNCTION release_repo(p_project bigint, p_repo bigint) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    ended integer;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('damascus claim', p_project));
    UPDATE repo_holds SET released_at = now() WHERE repo_id = p_repo AND released_at IS NULL;
    GET DIAGNOSTICS ended = ROW_COUNT;
    IF ended > 0 THEN
        PERFORM wake('hold', p_repo::text, 2147483647);
        INSERT INTO events_outbox (project_id, kind, body)
            VALUES (p_project, 'repo.released', jsonb_build_object('repo', p_repo));
    END IF;
    RETURN ended;
END $$;

-- Takes the landing lease for an item, or returns false.
CREATE FUNCTION take_landing(p_repo bigint, p_target text, p_item bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO landings (repo_id, target) VALUES (p_repo, p_target) ON CONFLICT DO NOTHING;
    UPDATE landings SET item_id = p_item, since = now()
     WHERE repo_id = p_repo AND target = p_target AND (item_id IS NULL OR item_id = p_item);
    RETURN FOUND;
END $$;

-- Frees the landing lease of an item and hands it to the first in line, which becomes ready. A row that a claim
-- looks at (FOR SHARE) is waited for: skipping it would leave it waiting for nobody.
CREATE FUNCTION release_landing(p_item bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    l record;
    heir bigint;
BEGIN
    FOR l IN SELECT repo_id, target FROM landings WHERE item_id = p_item FOR UPDATE LOOP
        UPDATE work_items SET state = 'ready', wait_kind = NULL, wait_key = NULL, not_before = NULL
         WHERE id = (SELECT id FROM work_items WHERE state = 'waiting' AND wait_kind = 'landing'
                        AND wait_key = l.repo_id || ' ' || l.target
                      ORDER BY deadline_at, id LIMIT 1 FOR NO KEY UPDATE)
         RETURNING id INTO heir;
        UPDATE landings SET item_id = heir, since = now() WHERE repo_id = l.repo_id AND target = l.target;
    END LOOP;
END $$;

-- A story that wants to land while another holds the lease: unless it was freed meanwhile, it waits.
CREATE FUNCTION wait_for_landing(p_repo bigint, p_target text, p_item bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    holder bigint;
BEGIN
    SELECT item_id INTO holder FROM landings WHERE repo_id = p_repo AND target = p_target FOR UPDATE;
    IF holder IS NULL THEN
        UPDATE landings SET item_id = p_item, since = now() WHERE repo_id = p_repo AND target = p_target;
        UPDATE work_items SET state = 'ready', wait_kind = NULL, wait_key = NULL WHERE id = p_item;
    END IF;
END $$;

-- Finished steps and the events that tell of them, first writer wins. p_dones: [{step, key, input, output, ago, events}].
CREATE FUNCTION write_dones(p_item bigint, p_fence bigint, p_run integer, p_phase text, p_project bigint, p_dones jsonb)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    d jsonb;
BEGIN
    FOR d IN SELECT e FROM jsonb_array_elements(p_dones) e LOOP
        INSERT INTO journal (item_id, run_no, phase, step, key, status, fence, input, output, started_at, done_at)
        VALUES (p_item, p_run, p_phase, d ->> 'step', d ->> 'key', 'done', p_fence, d -> 'input', d -> 'output',
                clock_timestamp() - make_interval(secs => (d ->> 'ago')::float8), clock_timestamp())
        ON CONFLICT (item_id, run_no, step, key)
        DO UPDATE SET status = 'done', output = excluded.output, done_at = excluded.done_at, fence = excluded.fence
         WHERE journal.status = 'intent';
        PERFORM write_events(p_project, p_item, d -> 'events');
    END LOOP;
    IF p_dones <> '[]' THEN  -- rescues are counted in a row inside one step
        UPDATE work_items SET rescues = 0 WHERE id = p_item AND fence = p_fence AND rescues > 0;
    END IF;
END $$;

-- p_events: [[kind, body], …]
CREATE FUNCTION write_events(p_project bigint, p_item bigint, p_events jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    FOR n IN 0 .. jsonb_array_length(p_events) - 1 LOOP
        INSERT INTO events_outbox (project_id, item_id, kind, body)
            VALUES (p_project, p_item, p_events -> n ->> 0, p_events -> n -> 1);
    END LOOP;
END $$;

-- The fenced form, in one round trip: what a worker writes when an effect is done.
CREATE FUNCTION fenced_dones(p_item bigint, p_fence bigint, p_run integer, p_phase text, p_project bigint, p_dones jsonb)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM assert_fence(p_item, p_fence);
    PERFORM write_dones(p_item, p_fence, p_run, p_phase, p_project, p_dones);
END $$;

-- One transition, in one round trip: fence check, journal, row, lease, scope, landing, worker record, events, question.
-- p has the columns as policy.decide made them; bytes and spans come apart, jsonb has no place for them.
CREATE FUNCTION settle_item(p_item bigint, p_fence bigint, p jsonb, p_spec bytea, p_spans scope_span[])
RETURNS SETOF work_items LANGUAGE plpgsql AS $$
DECLARE
    c work_items;
    keep boolean := (p ->> 'keep')::boolean;
    frees boolean := (p ->> 'frees_scope')::boolean;
    asked jsonb := p -> 'question';
BEGIN
    PERFORM assert_fence(p_item, p_fence);
    PERFORM write_dones(p_item, p_fence, (p ->> 'run_no')::integer, p ->> 'from', (p ->> 'project')::bigint, p -> 'dones');
    IF p_spans IS NOT NULL THEN
        PERFORM free_scope(p_item);
    END IF;
    UPDATE work_items SET
        phase = p ->> 'phase', state = CASE WHEN keep THEN 'leased' ELSE p ->> 'state' END,
        attempts = (p ->> 'attempts')::integer, last_verdict = p ->> 'verdict',
        last_feedback = nullif(p -> 'feedback', 'null'),
        failure_signature = p ->> 'signature', failure_streak = (p ->> 'streak')::integer,
        series_since = (p ->> 'series_since')::timestamptz, series_count = (p ->> 'series_count')::integer,
        series_ended = (p ->> 'series_ended')::boolean,
        wait_kind = p ->> 'wait_kind', wait_key = p ->> 'wait_key', not_before = (p ->> 'not_before')::timestamptz,
        resume_phase = p ->> 'resume', run_no = run_no + (p ->> 'new_run')::integer, rescues = 0,
        base_commit = coalesce(p ->> 'base_commit', base_commit), candidate = coalesce(p ->> 'candidate', candidate),
        pr_url = coalesce(p ->> 'pr_url', pr_url), merged_commit = coalesce(p ->> 'merged_commit', merged_commit),
        spec = coalesce(p_spec, spec), spec_hash = coalesce(p ->> 'spec_hash', spec_hash),
        file_scope = CASE WHEN p_spans IS NULL THEN file_scope
                          ELSE ARRAY (SELECT jsonb_array_elements_text(p -> 'file_scope')) END,
        spans = coalesce(p_spans, spans), rough = coalesce((p ->> 'rough')::boolean, rough), updated_at = now()
     WHERE id = p_item AND fence = p_fence RETURNING * INTO c;
    IF NOT keep THEN
        DELETE FROM leases WHERE item_id = p_item AND fence = p_fence;
    END IF;
    IF frees THEN
        PERFORM free_scope(p_item);
    END IF;
    IF c.phase = 'done' THEN
        UPDATE repos SET main_sha = c.merged_commit WHERE id = c.repo_id AND main_sha IS DISTINCT FROM c.merged_commit;
        PERFORM wake('dependency', p_item::text, 2147483647);
    END IF;
    IF NOT (p ->> 'keep_landing')::boolean THEN
        PERFORM release_landing(p_item);
    END IF;
    IF c.wait_kind = 'landing' THEN
        PERFORM wait_for_landing(c.repo_id, split_part(c.wait_key, ' ', 2), p_item);
    END IF;
    IF frees OR (p ->> 'ends_record')::boolean THEN
        DELETE FROM worker_records WHERE item_id = p_item;
    ELSE
        UPDATE worker_records SET step = coalesce(p -> 'record' ->> 'step', step), line = coalesce(p -> 'record' ->> 'line', line),
               milestone = coalesce(p -> 'record' ->> 'milestone', milestone),
               progress = progress || coalesce(nullif(p -> 'record' -> 'progress', 'null'), '{}'),
               since = CASE WHEN p -> 'record' ->> 'milestone' IS NULL THEN since ELSE now() END, updated_at = now()
         WHERE item_id = p_item;
    END IF;
    PERFORM write_events(c.project_id, p_item, p -> 'events');
    IF asked <> 'null' THEN
        INSERT INTO human_issues (project_id, item_id, question, options, owner)
            VALUES (c.project_id, p_item, asked ->> 'question',
                    ARRAY (SELECT jsonb_array_elements_text(asked -> 'options')), asked ->> 'owner');
        PERFORM write_events(c.project_id, p_item,
                             jsonb_build_array(jsonb_build_array('issue.opened', jsonb_build_object('question', asked -> 'question'))));
    END IF;
    IF keep THEN  -- only who goes on needs the row
        RETURN NEXT c;
    END IF;
END $$;

-- W15: what another worker needs to go on, at every milestone, push, CI result and every five minutes.
CREATE VIEW checkpoints AS
SELECT e.id, e.created_at, e.item_id, i.project, i.story_id AS component_id, r.path AS repo,
       (SELECT c.body ->> 'worker' FROM events_outbox c
         WHERE c.item_id = e.item_id AND c.kind = 'item.claimed' AND c.id <= e.id ORDER BY c.id DESC LIMIT 1) AS worker_id,
       (SELECT m.body ->> 'milestone' FROM events_outbox m
         WHERE m.item_id = e.item_id AND m.kind = 'milestone.changed' AND m.id <= e.id ORDER BY m.id DESC LIMIT 1) AS milestone,
       e.kind AS trigger, i.run_no,
       (SELECT coalesce(jsonb_agg(j.output -> 'commit') FILTER (WHERE j.output ? 'commit'), '[]')
          FROM journal j WHERE j.item_id = e.item_id AND j.status = 'done' AND j.done_at <= e.created_at) AS commits,
       (SELECT coalesce(jsonb_agg(j.output), '[]')
          FROM journal j WHERE j.item_id = e.item_id AND j.step = 'ci' AND j.status = 'done' AND j.done_at <= e.created_at) AS ci_runs,
       (SELECT coalesce(jsonb_agg(DISTINCT f), '[]')
          FROM journal j, jsonb_array_elements(coalesce(j.output -> 'files_changed', '[]')) f
         WHERE j.item_id = e.item_id AND j.status = 'done' AND j.done_at <= e.created_at) AS files,
       coalesce(e.body ->> 'line', e.kind) AS summary,
       (SELECT coalesce(jsonb_agg(h.question), '[]') FROM human_issues h
         WHERE h.item_id = e.item_id AND h.closed_at IS NULL) AS blockers,
       (SELECT coalesce(jsonb_agg(h.answer), '[]') FROM human_issues h
         WHERE h.item_id = e.item_id AND h.answer IS NOT NULL) AS decisions
  FROM events_outbox e
  JOIN work_items i ON i.id = e.item_id
  JOIN repos r ON r.id = i.repo_id
 WHERE e.kind IN ('milestone.changed', 'build.pushed', 'ci.finished', 'checkpoint.taken');
