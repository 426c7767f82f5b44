-- The merge queue: who is in it is tested on top of those ahead, and lands in order. It replaces the landing lease: the first
-- in line is the only one that may move main.

DROP FUNCTION take_landing(bigint, text, bigint);
DROP FUNCTION wait_for_landing(bigint, text, bigint);
DROP TABLE landings;

-- One queue per repository and target. `width` is how many are tested at once: one more with each landing, half with each that
-- is sent back, never more than `most`, as the last who came in knows it. `version` grows with every change, so that who decides to wait is told what it missed.
CREATE TABLE queues (
    repo_id bigint NOT NULL,
    target text NOT NULL,
    width integer NOT NULL DEFAULT 4 CHECK (width >= 1),
    most integer NOT NULL DEFAULT 1,
    version bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (repo_id, target)
) WITH (fillfactor = 50);

-- `commit` is exactly what main will be, `base` what it sits on: main, or the commit of the nearest one ahead that is not red.
CREATE TABLE queue_entries (
    item_id bigint PRIMARY KEY,
    repo_id bigint NOT NULL,
    target text NOT NULL,
    pos bigint GENERATED ALWAYS AS IDENTITY,
    base text NOT NULL,
    commit text NOT NULL,
    state text NOT NULL CHECK (state IN ('testing', 'green', 'red')),
    entered_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 50);
CREATE INDEX queue_entries_line ON queue_entries (repo_id, target, pos);

-- Something changed: those in line look again, and where there is room the first who wait for a place come in.
CREATE FUNCTION queue_changed(p_repo bigint, p_target text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    room integer;
BEGIN
    UPDATE queues SET version = version + 1 WHERE repo_id = p_repo AND target = p_target
    RETURNING least(width, most) - (SELECT count(*) FROM queue_entries e WHERE e.repo_id = p_repo AND e.target = p_target) INTO room;
    UPDATE work_items SET state = 'ready', wait_kind = NULL, wait_key = NULL, not_before = NULL
     WHERE id IN (SELECT w.id FROM work_items w JOIN queue_entries e ON e.item_id = w.id
                   WHERE e.repo_id = p_repo AND e.target = p_target AND w.state = 'waiting' AND w.wait_kind = 'landing'
                     FOR NO KEY UPDATE OF w);
    IF room > 0 THEN
        UPDATE work_items SET state = 'ready', wait_kind = NULL, wait_key = NULL, not_before = NULL
         WHERE id IN (SELECT w.id FROM work_items w WHERE w.state = 'waiting' AND w.wait_kind = 'landing'
                         AND w.wait_key = p_repo || ' ' || p_target
                       ORDER BY w.deadline_at, w.id LIMIT room FOR NO KEY UPDATE);
    END IF;
END $$;

-- Takes a place at the end for a commit that sits on the last one ahead, or puts another commit in the place that the item has.
-- 'full': no place; 'moved': somebody else is ahead now, so the commit sits on the wrong one.
CREATE FUNCTION queue_put(p_repo bigint, p_target text, p_item bigint, p_base text, p_commit text, p_state text, p_most integer)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    places integer;
    mine bigint;
    ahead text;
BEGIN
    INSERT INTO queues (repo_id, target) VALUES (p_repo, p_target) ON CONFLICT DO NOTHING;
    UPDATE queues SET most = p_most WHERE repo_id = p_repo AND target = p_target RETURNING least(width, most) INTO places;
    SELECT pos INTO mine FROM queue_entries WHERE item_id = p_item;
    SELECT commit INTO ahead FROM queue_entries
     WHERE repo_id = p_repo AND target = p_target AND state <> 'red' AND pos < coalesce(mine, 9223372036854775807)
     ORDER BY pos DESC LIMIT 1;
    IF mine IS NULL AND (SELECT count(*) FROM queue_entries WHERE repo_id = p_repo AND target = p_target) >= places THEN
        RETURN 'full';
    END IF;
    IF ahead <> p_base THEN
        RETURN 'moved';
    END IF;
    IF mine IS NULL THEN
        INSERT INTO queue_entries (item_id, repo_id, target, base, commit, state)
            VALUES (p_item, p_repo, p_target, p_base, p_commit, p_state);
    ELSE
        UPDATE queue_entries SET base = p_base, commit = p_commit, state = p_state WHERE item_id = p_item;
    END IF;
    PERFORM queue_changed(p_repo, p_target);
    RETURN 'in';
END $$;

-- What the tests of exactly this commit said.
CREATE FUNCTION queue_mark(p_item bigint, p_commit text, p_state text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    q record;
BEGIN
    SELECT repo_id, target INTO q FROM queue_entries WHERE item_id = p_item AND commit = p_commit AND state <> p_state;
    IF FOUND THEN
        PERFORM 1 FROM queues WHERE repo_id = q.repo_id AND target = q.target FOR UPDATE;
        UPDATE queue_entries SET state = p_state WHERE item_id = p_item AND commit = p_commit;
        PERFORM queue_changed(q.repo_id, q.target);
    END IF;
END $$;

-- The item leaves the queue. Landed: one more may be tested at once; red: half as many.
CREATE FUNCTION leave_queue(p_item bigint, p_landed boolean) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    e queue_entries;
BEGIN
    SELECT * INTO e FROM queue_entries WHERE item_id = p_item;
    IF FOUND THEN
        UPDATE queues SET width = CASE WHEN p_landed THEN greatest(least(width + 1, most), width)
                                       WHEN e.state = 'red' THEN greatest(width / 2, 1) ELSE width END
         WHERE repo_id = e.repo_id AND target = e.target;
        DELETE FROM queue_entries WHERE item_id = p_item;
        PERFORM queue_changed(e.repo_id, e.target);
    END IF;
END $$;

CREATE OR REPLACE FUNCTION release_landing(p_item bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM leave_queue(p_item, false);
END $$;

-- Who waits for its turn looked at the queue some time ago: if it changed meanwhile, there is nothing to wait for.
CREATE FUNCTION wait_in_queue(p_repo bigint, p_target text, p_item bigint, p_version bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    now_at bigint;
BEGIN
    SELECT version INTO now_at FROM queues WHERE repo_id = p_repo AND target = p_target FOR UPDATE;
    IF now_at IS DISTINCT FROM p_version THEN
        UPDATE work_items SET state = 'ready', wait_kind = NULL, wait_key = NULL, not_before = NULL WHERE id = p_item;
    END IF;
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
    IF NOT (p ->> 'keep_place')::boolean THEN
        IF EXISTS (SELECT 1 FROM queue_entries WHERE item_id = p_item) THEN
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
