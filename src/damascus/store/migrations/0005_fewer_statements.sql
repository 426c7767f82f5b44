-- The same claim and the same settle with fewer statements: a claim leases all that it chose at once, a settle writes
-- its steps and its events (of the steps first, in order) with one statement each.

-- Claims up to p_count items for one worker under the project's lock, which is waited for: busy is never empty.
-- Rows in deadline order; what can't start is parked and leaves the ready index, and may wake another: passes go on until one
-- finds nothing. p_look bounds one transaction's work; the caller asks again while `looked` reaches it.
CREATE OR REPLACE FUNCTION claim_items(p_project bigint, p_worker text, p_count integer, p_lease interval, p_look integer)
RETURNS TABLE (item_id bigint, looked integer) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    c work_items;
    blocker bigint;
    seen integer := 0;
    before integer;
    taken bigint[] := '{}';  -- in the order in which they were chosen
    chosen bigint[];  -- of one pass
    held boolean;  -- a hold takes the lock that we hold, so one look is enough
    barred boolean;  -- a barrier is planted by a claim, under the same lock, or by this one
    moment timestamptz := clock_timestamp();  -- a variable, so that the index can be used with it
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('damascus claim', p_project));
    held := EXISTS (SELECT 1 FROM repo_holds h WHERE h.released_at IS NULL);
    barred := EXISTS (SELECT 1 FROM scope_barriers);
    UPDATE work_items SET state = 'ready', wait_kind = NULL, wait_key = NULL, not_before = NULL
     WHERE id IN (SELECT id FROM work_items WHERE project_id = p_project AND state = 'waiting'
                     AND not_before <= moment
                   ORDER BY not_before LIMIT 100 FOR NO KEY UPDATE SKIP LOCKED);
    WHILE cardinality(taken) < p_count AND seen < p_look LOOP
        before := seen;
        chosen := '{}';
        FOR c IN SELECT * FROM work_items w WHERE w.project_id = p_project AND w.state = 'ready'
                  ORDER BY w.deadline_at, w.id LIMIT p_count - cardinality(taken) FOR NO KEY UPDATE SKIP LOCKED
        LOOP
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
            IF c.claims = 0 OR NOT EXISTS (SELECT 1 FROM active_scopes a WHERE a.item_id = c.id) THEN
                SELECT a.item_id INTO blocker FROM unnest(c.spans) s JOIN active_scopes a ON a.span && s
                 WHERE a.item_id <> c.id LIMIT 1;
                IF blocker IS NOT NULL OR barred THEN
                    blocker := scope_blocker(c);  -- looks again, behind the locks of who may be freeing it
                END IF;
                IF blocker IS NOT NULL THEN
                    PERFORM park_for_scope(c, blocker);
                    barred := true;
                    CONTINUE;
                END IF;
                INSERT INTO active_scopes (item_id, span) SELECT c.id, s FROM unnest(c.spans) s;
                IF barred THEN
                    DELETE FROM scope_barriers WHERE item_id = c.id;
                END IF;
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

-- One transition, in one round trip: fence check, journal, row, lease, scope, landing, worker record, events, question.
-- p has the columns as policy.decide made them; bytes and spans come apart, jsonb has no place for them.
CREATE OR REPLACE FUNCTION settle_item(p_item bigint, p_fence bigint, p jsonb, p_spec bytea, p_spans scope_span[])
RETURNS SETOF work_items LANGUAGE plpgsql AS $$
DECLARE
    c work_items;
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
    IF c.phase = 'done' THEN
        UPDATE repos SET main_sha = c.merged_commit WHERE id = c.repo_id AND main_sha IS DISTINCT FROM c.merged_commit;
        IF EXISTS (SELECT 1 FROM work_items WHERE state = 'waiting' AND wait_kind = 'dependency' AND wait_key = p_item::text) THEN
            PERFORM wake('dependency', p_item::text, 2147483647);
        END IF;
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
