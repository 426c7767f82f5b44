-- What a story's row must always keep as one call, and fewer statements in a claim and a settle.
-- readable by: 7

-- PostgreSQL reads every CHECK of a table anew from its text for each statement that writes to it, and a story's row is
-- written several times in each phase. Each promise keeps its name.

CREATE FUNCTION keeps_promises(p_phase text, p_state text, p_wait_kind text, p_resume_phase text, p_merged_commit text,
                               p_pr_url text, p_budget_cycles integer, p_priority smallint) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    broken text := CASE
        WHEN (p_phase = 'blocked') <> (p_resume_phase IS NOT NULL) THEN 'blocked_resumes_somewhere'
        WHEN p_phase = 'done' AND p_merged_commit IS NULL THEN 'done_means_landed'
        WHEN (p_state = 'resting') <> (p_phase IN ('done', 'blocked', 'stale', 'cancelled')) THEN 'resting_phases'
        WHEN p_phase IN ('review', 'merge', 'done') AND p_pr_url IS NULL THEN 'review_needs_a_pull'
        WHEN (p_state = 'waiting') <> (p_wait_kind IS NOT NULL) THEN 'waiting_names_its_reason'
        WHEN p_phase NOT IN ('spec', 'build', 'review', 'merge', 'done', 'blocked', 'stale', 'cancelled')
            THEN 'work_items_phase_check'
        WHEN p_state NOT IN ('ready', 'leased', 'waiting', 'resting') THEN 'work_items_state_check'
        WHEN p_budget_cycles <= 0 THEN 'work_items_budget_cycles_check'
        WHEN p_priority NOT BETWEEN 0 AND 3 THEN 'work_items_priority_check'
    END;
BEGIN
    IF broken IS NOT NULL THEN
        RAISE check_violation USING
            MESSAGE = format('new row for relation "work_items" violates check constraint "%s"', broken),
            TABLE = 'work_items', CONSTRAINT = broken;
    END IF;
    RETURN true;
END $$;

ALTER TABLE work_items
    DROP CONSTRAINT blocked_resumes_somewhere,
    DROP CONSTRAINT done_means_landed,
    DROP CONSTRAINT resting_phases,
    DROP CONSTRAINT review_needs_a_pull,
    DROP CONSTRAINT waiting_names_its_reason,
    DROP CONSTRAINT work_items_phase_check,
    DROP CONSTRAINT work_items_state_check,
    DROP CONSTRAINT work_items_budget_cycles_check,
    DROP CONSTRAINT work_items_priority_check,
    ADD CONSTRAINT keeps_promises CHECK (
        keeps_promises(phase, state, wait_kind, resume_phase, merged_commit, pr_url, budget_cycles, priority));

-- Frees a story's files and wakes whoever waited for them. Of stories that want exactly the same files one
-- stands in line for the blocker ('scope') and the others behind it ('behind'), so freeing a file that
-- 100,000 stories want wakes one, not all.
CREATE OR REPLACE FUNCTION free_scope(p_item bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    c work_items;
    look record;  -- behind the row's lock: whoever begins to wait for its files has locked it before
BEGIN
    SELECT * INTO c FROM work_items w WHERE w.id = p_item FOR NO KEY UPDATE;
    SELECT EXISTS (SELECT 1 FROM repos r WHERE r.project_id = c.project_id AND (r.joined OR r.max_workers > 0)) AS graph,
           EXISTS (SELECT 1 FROM scope_barriers b WHERE b.item_id = p_item) AS barred,
           EXISTS (SELECT 1 FROM work_items w
                    WHERE w.state = 'waiting' AND w.wait_kind = 'scope' AND w.wait_key = p_item::text) AS wanted,
           EXISTS (SELECT 1 FROM work_items w
                    WHERE w.state = 'waiting' AND w.wait_kind = 'behind' AND w.wait_key = same_scope(c.spans)) AS behind
      INTO look;
    DELETE FROM active_scopes WHERE item_id = p_item;
    IF look.barred THEN
        DELETE FROM scope_barriers WHERE item_id = p_item;
    END IF;
    IF look.wanted THEN
        PERFORM wake('scope', p_item::text, 2147483647);
    END IF;
    IF look.behind THEN
        PERFORM wake('behind', same_scope(c.spans), 1);
    END IF;
    IF look.graph THEN
        PERFORM free_repo(p_item, c.repo_id);
    END IF;
END $$;

-- Claims up to p_count items for one worker under the project's lock, which is waited for: busy is never empty.
-- Rows in deadline order; what can't start is parked and leaves the ready index, and may wake another: passes go on until one
-- finds nothing. p_look bounds one transaction's work; the caller asks again while `looked` reaches it.
CREATE OR REPLACE FUNCTION claim_items(p_project bigint, p_worker text, p_count integer, p_lease interval, p_look integer)
RETURNS TABLE (item_id bigint, looked integer) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    c work_items;
    blocker bigint;
    free boolean;  -- nobody else has its files
    held_by record;
    seen integer := 0;
    before integer;
    taken bigint[] := '{}';  -- in the order in which they were chosen
    chosen bigint[];  -- of one pass
    held boolean;  -- a hold takes the lock that we hold, so one look is enough
    barred boolean;  -- a barrier is planted by a claim, under the same lock, or by this one
    graph boolean;  -- several repositories or a bound on one; what makes it so takes the lock as well
    mine bigint[];  -- the repositories that the worker has; NULL: every one
    moment timestamptz := clock_timestamp();  -- a variable, so that the index can be used with it
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('damascus claim', p_project));
    SELECT EXISTS (SELECT 1 FROM repo_holds h WHERE h.released_at IS NULL), EXISTS (SELECT 1 FROM scope_barriers),
           EXISTS (SELECT 1 FROM repos r WHERE r.project_id = p_project AND (r.joined OR r.max_workers > 0))
      INTO held, barred, graph;
    IF graph THEN
        SELECT w.repos INTO mine FROM workers w WHERE w.id = p_worker;
        PERFORM lock_begun(p_project);
    END IF;
    UPDATE work_items SET state = 'ready', wait_kind = NULL, wait_key = NULL, not_before = NULL
     WHERE id IN (SELECT id FROM work_items WHERE project_id = p_project AND state = 'waiting'
                     AND not_before <= moment
                   ORDER BY not_before LIMIT 100 FOR NO KEY UPDATE SKIP LOCKED);
    WHILE cardinality(taken) < p_count AND seen < p_look LOOP
        before := seen;
        chosen := '{}';
        FOR c IN SELECT * FROM work_items w WHERE w.project_id = p_project AND w.state = 'ready'
                    AND (mine IS NULL OR w.repo_id = ANY (mine))
                  ORDER BY w.deadline_at, w.id LIMIT p_count - cardinality(taken) FOR NO KEY UPDATE SKIP LOCKED
        LOOP
            seen := seen + 1;
            IF held THEN
                SELECT h.repo_id INTO blocker FROM repo_holds h WHERE h.released_at IS NULL
                   AND (h.repo_id = c.repo_id OR graph AND h.repo_id IN (SELECT k.repo_id FROM chain_of(c.repo_id) k))
                 ORDER BY h.id LIMIT 1;
                IF blocker IS NOT NULL THEN
                    UPDATE work_items SET state = 'waiting', wait_kind = 'hold', wait_key = blocker::text WHERE id = c.id;
                    PERFORM wake('behind', same_scope(c.spans), 1);
                    IF graph THEN
                        PERFORM stepped_aside(c);
                    END IF;
                    CONTINUE;
                END IF;
            END IF;
            IF cardinality(c.depends_on) > 0 THEN
                SELECT d.id INTO blocker FROM work_items d WHERE d.id = ANY (c.depends_on) AND d.phase <> 'done'
                 ORDER BY d.id LIMIT 1 FOR SHARE;
                IF blocker IS NOT NULL THEN
                    UPDATE work_items SET state = 'waiting', wait_kind = 'dependency', wait_key = blocker::text WHERE id = c.id;
                    PERFORM wake('behind', same_scope(c.spans), 1);
                    IF graph THEN
                        PERFORM stepped_aside(c);
                    END IF;
                    CONTINUE;
                END IF;
            END IF;
            IF graph AND c.phase <> 'spec' THEN  -- a spec is refined without touching the repository
                SELECT * INTO held_by FROM repo_blocker(c, mine);
                IF held_by.kind = 'upstream' THEN  -- it lets go of its repository: what cures the upstream one must get in
                    UPDATE work_items SET state = 'waiting', wait_kind = 'upstream', wait_key = held_by.key WHERE id = c.id;
                    PERFORM free_repo(c.id, c.repo_id);
                ELSIF held_by.kind = 'chain' THEN
                    UPDATE work_items SET state = 'waiting', wait_kind = 'chain', wait_key = held_by.key WHERE id = c.id;
                    PERFORM stepped_aside(c);
                ELSIF held_by.kind = 'repo_full' THEN
                    UPDATE work_items SET state = 'waiting', wait_kind = 'repo_full', wait_key = held_by.key WHERE id = c.id;
                    PERFORM stepped_aside(c);
                END IF;
                IF held_by.kind IS NOT NULL THEN
                    PERFORM wake('behind', same_scope(c.spans), 1);
                    CONTINUE;
                END IF;
            END IF;
            IF c.claims = 0 OR NOT EXISTS (SELECT 1 FROM active_scopes a WHERE a.item_id = c.id) THEN
                free := false;
                IF NOT barred THEN
                    INSERT INTO active_scopes (item_id, span) SELECT c.id, s FROM unnest(c.spans) s
                     WHERE NOT EXISTS (SELECT 1 FROM unnest(c.spans) t JOIN active_scopes a ON a.span && t
                                        WHERE a.item_id <> c.id);
                    free := FOUND;
                END IF;
                IF NOT free THEN
                    blocker := scope_blocker(c);  -- looks again, behind the locks of who may be freeing it
                    IF blocker IS NOT NULL THEN
                        PERFORM park_for_scope(c, blocker);
                        barred := true;
                        IF graph THEN
                            PERFORM stepped_aside(c);
                        END IF;
                        CONTINUE;
                    END IF;
                    INSERT INTO active_scopes (item_id, span) SELECT c.id, s FROM unnest(c.spans) s;
                    IF barred THEN
                        DELETE FROM scope_barriers WHERE item_id = c.id;
                    END IF;
                END IF;
            END IF;
            IF graph AND c.phase <> 'spec' AND NOT EXISTS (SELECT 1 FROM repo_locks l WHERE l.item_id = c.id AND l.works) THEN
                INSERT INTO repo_locks (item_id, repo_id, works)
                SELECT c.id, c.repo_id, true UNION ALL SELECT c.id, k.repo_id, false FROM chain_of(c.repo_id) k
                ON CONFLICT (item_id, repo_id) DO NOTHING;
            END IF;
            chosen := chosen || c.id;
        END LOOP;
        EXIT WHEN seen = before;
        taken := taken || chosen;
        WITH leased AS (
            UPDATE work_items w SET state = 'leased', fence = w.fence + 1, claims = w.claims + 1, updated_at = now(),
                   base_commit = CASE WHEN w.phase = 'build' AND NOT EXISTS (
                                          SELECT 1 FROM journal j WHERE j.item_id = w.id AND j.run_no = w.run_no)
                                      THEN coalesce((SELECT r.main_sha FROM repos r WHERE r.id = w.repo_id), w.base_commit)
                                      ELSE w.base_commit END
             WHERE w.id = ANY (chosen) RETURNING w.id, w.fence, w.phase, w.run_no),
        l AS (INSERT INTO leases (item_id, fence, worker_id, expires_at)
              SELECT id, fence, p_worker, clock_timestamp() + p_lease FROM leased),
        r AS (INSERT INTO worker_records (item_id, worker_id) SELECT id, p_worker FROM leased
              ON CONFLICT (item_id) DO UPDATE SET worker_id = excluded.worker_id, updated_at = now())
        INSERT INTO events_outbox (project_id, item_id, kind, body)
        SELECT p_project, id, 'item.claimed',
               jsonb_build_object('worker', p_worker, 'fence', fence, 'phase', phase, 'run', run_no)
          FROM leased ORDER BY array_position(chosen, id);
    END LOOP;
    looked := seen;
    FOREACH item_id IN ARRAY taken LOOP
        RETURN NEXT;
    END LOOP;
    item_id := NULL;
    RETURN NEXT;
END $$;

CREATE OR REPLACE FUNCTION settle_item(p_item bigint, p_fence bigint, p jsonb, p_spec bytea, p_spans scope_span[])
RETURNS SETOF work_items LANGUAGE plpgsql AS $$
DECLARE
    c work_items;
    look record;  -- behind the row's lock: whoever begins to wait for it has locked it before
    keep boolean := (p ->> 'keep')::boolean;
    frees boolean := (p ->> 'frees_scope')::boolean;
    asked jsonb := p -> 'question';
BEGIN
    IF keep THEN
        PERFORM assert_fence(p_item, p_fence);
    ELSE  -- who leaves gives its lease back: that is the check as well
        DELETE FROM leases WHERE item_id = p_item AND fence = p_fence;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'item % is no longer held with fence %', p_item, p_fence USING ERRCODE = 'DM001';
        END IF;
    END IF;
    IF p -> 'dones' <> '[]' THEN
        INSERT INTO journal (item_id, run_no, phase, step, key, status, fence, input, output, started_at, done_at)
        SELECT p_item, (p ->> 'run_no')::integer, p ->> 'from', d ->> 'step', d ->> 'key', 'done', p_fence, d -> 'input',
               d -> 'output', clock_timestamp() - make_interval(secs => (d ->> 'ago')::float8), clock_timestamp()
          FROM jsonb_array_elements(p -> 'dones') d
        ON CONFLICT (item_id, run_no, step, key)
        DO UPDATE SET status = 'done', output = excluded.output, done_at = excluded.done_at, fence = excluded.fence
         WHERE journal.status = 'intent';
    END IF;
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
    IF frees THEN
        PERFORM free_scope(p_item);
    END IF;
    SELECT EXISTS (SELECT 1 FROM repos r WHERE r.id = c.repo_id AND r.main_sha IS DISTINCT FROM c.merged_commit) AS moved,
           EXISTS (SELECT 1 FROM work_items w
                    WHERE w.state = 'waiting' AND w.wait_kind = 'dependency' AND w.wait_key = p_item::text) AS needed,
           EXISTS (SELECT 1 FROM queue_entries q WHERE q.item_id = p_item) AS queued INTO look;
    IF c.phase = 'done' THEN
        IF look.moved THEN
            UPDATE repos SET main_sha = c.merged_commit WHERE id = c.repo_id AND main_sha IS DISTINCT FROM c.merged_commit;
        END IF;
        IF look.needed THEN
            PERFORM wake('dependency', p_item::text, 2147483647);
        END IF;
    END IF;
    IF NOT (p ->> 'keep_place')::boolean THEN
        IF look.queued THEN
            PERFORM leave_queue(p_item, false);
        END IF;
    ELSIF p ->> 'queue_green' IS NOT NULL THEN
        PERFORM queue_mark(p_item, p ->> 'queue_green', 'green');
    END IF;
    IF c.wait_kind = 'landing' THEN
        PERFORM wait_in_queue(c.repo_id, split_part(c.wait_key, ' ', 2), p_item, (p ->> 'queue_version')::bigint);
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
    INSERT INTO events_outbox (project_id, item_id, kind, body)
    SELECT c.project_id, p_item, e.value ->> 0, e.value -> 1
      FROM jsonb_array_elements(p -> 'events') WITH ORDINALITY e (value, n) ORDER BY e.n;
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
