-- One transition, in one round trip: fence check, journal, row, lease, scope, queue, worker record, events, question.
-- p -> 'columns' are columns of work_items by name, exactly those that change: a new column needs nothing here. Bytes and spans
-- come apart, jsonb has no place for them. Where only usual ones change, the statement is planned once for a connection; one
-- with another column is planned anew.
CREATE OR REPLACE FUNCTION settle_item(p_item bigint, p_fence bigint, p jsonb, p_spec bytea, p_spans scope_span[])
RETURNS SETOF work_items LANGUAGE plpgsql AS $$
DECLARE
    c work_items;
    look record;  -- behind the row's lock: whoever begins to wait for it has locked it before
    keep boolean := (p ->> 'keep')::boolean;
    frees boolean := (p ->> 'frees_scope')::boolean;
    asked jsonb := p -> 'question';
    assigned text;
    usual CONSTANT text[] := ARRAY[  -- all that nearly every transition sets
        'phase', 'state', 'wait_kind', 'wait_key', 'not_before', 'resume_phase', 'run_no', 'rescues', 'attempts', 'last_verdict',
        'last_feedback', 'failure_signature', 'failure_streak', 'series_since', 'series_count', 'series_ended', 'base_commit',
        'candidate', 'pr_url', 'merged_commit'];
BEGIN
    IF NOT p ? 'columns' THEN
        p := p || jsonb_build_object('columns', columns_of_12(p));
    END IF;
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
    IF (p -> 'columns') - usual = '{}' THEN
        UPDATE work_items w
           SET (phase, state, wait_kind, wait_key, not_before, resume_phase, run_no, rescues, attempts, last_verdict,
                last_feedback, failure_signature, failure_streak, series_since, series_count, series_ended, base_commit,
                candidate, pr_url, merged_commit)
             = (SELECT n.phase, n.state, n.wait_kind, n.wait_key, n.not_before, n.resume_phase, n.run_no, n.rescues, n.attempts,
                       n.last_verdict, n.last_feedback, n.failure_signature, n.failure_streak, n.series_since, n.series_count,
                       n.series_ended, n.base_commit, n.candidate, n.pr_url, n.merged_commit
                  FROM jsonb_populate_record(w, p -> 'columns') n),
               spec = coalesce(p_spec, w.spec), spans = coalesce(p_spans, w.spans), updated_at = now(),
               change = CASE WHEN p -> 'columns' ->> 'phase' = 'done' THEN NULL ELSE w.change END  -- it is built
         WHERE w.id = p_item AND w.fence = p_fence RETURNING w.* INTO c;
    ELSE
        SELECT string_agg(format('%I = n.%I', name, name), ', ') INTO assigned FROM jsonb_object_keys(p -> 'columns') name;
        EXECUTE format('UPDATE work_items w SET %s, spec = coalesce($1, w.spec), spans = coalesce($2, w.spans), updated_at = now(),
                               change = CASE WHEN n.phase = ''done'' THEN NULL ELSE w.change END
                          FROM jsonb_populate_record(NULL::work_items, $3) n WHERE w.id = $4 AND w.fence = $5 RETURNING w.*', assigned)
           INTO c USING p_spec, p_spans, p -> 'columns', p_item, p_fence;
    END IF;
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
        IF c.last_feedback -> 'files_changed' <> '[]' THEN  -- what it landed is its own from now on, by git's word
            INSERT INTO file_owners (repo_id, path, item_id)
            SELECT c.repo_id, f, p_item FROM jsonb_array_elements_text(c.last_feedback -> 'files_changed') f ON CONFLICT DO NOTHING;
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
