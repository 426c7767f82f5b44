-- Made by `python -m damascus.store.dump` from store/migrations/. Read it; change the migrations.

CREATE TYPE public.scope_span AS RANGE (
    subtype = text,
    multirange_type_name = public.scope_span_multirange,
    collation = pg_catalog."C"
);

CREATE FUNCTION public.assert_fence(p_item bigint, p_fence bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM 1 FROM leases WHERE item_id = p_item AND fence = p_fence FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'item % is no longer held with fence %', p_item, p_fence USING ERRCODE = 'DM001';
    END IF;
END $$;

CREATE FUNCTION public.chain_of(p_repo bigint) RETURNS TABLE(repo_id bigint, above boolean)
    LANGUAGE sql STABLE
    AS $$
    WITH RECURSIVE ups(id) AS (
        SELECT e.up FROM repo_edges e WHERE e.down = p_repo
        UNION SELECT e.up FROM repo_edges e JOIN ups ON e.down = ups.id),
    downs(id) AS (
        SELECT e.down FROM repo_edges e WHERE e.up = p_repo
        UNION SELECT e.down FROM repo_edges e JOIN downs ON e.up = downs.id)
    SELECT id, true FROM ups UNION ALL SELECT id, false FROM downs
$$;

CREATE FUNCTION public.claim_items(p_project bigint, p_worker text, p_count integer, p_lease interval, p_look integer) RETURNS TABLE(item_id bigint, looked integer)
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION public.claim_within(p_low integer, p_high integer, p_project bigint, p_worker text, p_count integer, p_lease interval, p_look integer) RETURNS TABLE(item_id bigint, looked integer)
    LANGUAGE plpgsql
    AS $$
BEGIN
    -- usually nothing newer is there: one look at an index tells
    IF (SELECT max(version) FROM schema_migrations) BETWEEN p_low AND p_high OR schema_fits(p_low, p_high) THEN
        RETURN QUERY SELECT c.item_id, c.looked FROM claim_items(p_project, p_worker, p_count, p_lease, p_look) c;
    ELSE
        RETURN QUERY SELECT NULL::bigint, -1;
    END IF;
END $$;

CREATE FUNCTION public.fenced_dones(p_item bigint, p_fence bigint, p_run integer, p_phase text, p_project bigint, p_dones jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM assert_fence(p_item, p_fence);
    PERFORM write_dones(p_item, p_fence, p_run, p_phase, p_project, p_dones);
END $$;

CREATE FUNCTION public.free_repo(p_item bigint, p_repo bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    DELETE FROM repo_locks WHERE item_id = p_item;
    PERFORM wake('chain', p_item::text, 2147483647);
    PERFORM wake('repo_full', p_repo::text, 1);
END $$;

CREATE FUNCTION public.free_scope(p_item bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION public.graph_changed(p_project bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    DELETE FROM repo_locks WHERE repo_id IN (SELECT r.id FROM repos r WHERE r.project_id = p_project);
    PERFORM lock_begun(p_project);
    UPDATE work_items SET state = 'ready', wait_kind = NULL, wait_key = NULL, not_before = NULL
     WHERE project_id = p_project AND state = 'waiting' AND wait_kind IN ('chain', 'repo_full', 'upstream');
    UPDATE repos r SET ci_state = 'pending' WHERE r.project_id = p_project AND r.ci_state IS NULL AND r.ci_sha IS NULL
       AND EXISTS (SELECT 1 FROM repo_edges e WHERE r.id IN (e.up, e.down));
    UPDATE repos r SET ci_state = NULL, ci_sha = NULL, red_since = NULL WHERE r.project_id = p_project AND r.ci_sha IS NOT NULL
       AND NOT EXISTS (SELECT 1 FROM repo_edges e WHERE r.id IN (e.up, e.down));
END $$;

CREATE FUNCTION public.hold_repo(p_project bigint, p_repo bigint, p_reason text) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    made bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('damascus claim', p_project));
    INSERT INTO repo_holds (repo_id, reason) VALUES (p_repo, p_reason) RETURNING id INTO made;
    WITH taken AS (
        DELETE FROM leases l USING work_items i WHERE i.id = l.item_id
           AND (i.repo_id = p_repo OR i.repo_id IN (SELECT c.repo_id FROM chain_of(p_repo) c)) RETURNING l.item_id)
    UPDATE work_items SET state = 'waiting', wait_kind = 'hold', wait_key = p_repo::text, fence = fence + 1,
           updated_at = now()
     WHERE id IN (SELECT item_id FROM taken);
    INSERT INTO events_outbox (project_id, kind, body)
        VALUES (p_project, 'repo.held', jsonb_build_object('repo', p_repo, 'hold', made, 'reason', p_reason));
    RETURN made;
END $$;

CREATE FUNCTION public.keeps_promises(p_phase text, p_state text, p_wait_kind text, p_resume_phase text, p_merged_commit text, p_pr_url text, p_budget_cycles integer, p_priority smallint) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE
    AS $$
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

CREATE TABLE public.work_items (
    id bigint NOT NULL,
    uuid uuid DEFAULT gen_random_uuid() NOT NULL,
    project_id bigint NOT NULL,
    project text NOT NULL,
    repo_id bigint NOT NULL,
    story_id text NOT NULL,
    title text NOT NULL,
    phase text NOT NULL,
    state text NOT NULL,
    priority smallint DEFAULT 2 NOT NULL,
    ready_at timestamp with time zone DEFAULT now() NOT NULL,
    deadline_at timestamp with time zone DEFAULT now() NOT NULL,
    wait_kind text,
    wait_key text,
    not_before timestamp with time zone,
    depends_on bigint[] DEFAULT '{}'::bigint[] NOT NULL,
    file_scope text[] DEFAULT '{}'::text[] NOT NULL,
    spans public.scope_span[] DEFAULT '{}'::public.scope_span[] NOT NULL,
    spec bytea NOT NULL,
    spec_hash text NOT NULL,
    spec_path text NOT NULL,
    acceptance bytea,
    rough boolean DEFAULT false NOT NULL,
    branch text NOT NULL,
    base_commit text,
    candidate text,
    pr_url text,
    merged_commit text,
    run_no integer DEFAULT 1 NOT NULL,
    fence bigint DEFAULT 0 NOT NULL,
    claims integer DEFAULT 0 NOT NULL,
    rescues integer DEFAULT 0 NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    budget_cycles integer DEFAULT 5 NOT NULL,
    last_verdict text,
    last_feedback jsonb,
    failure_signature text,
    failure_streak integer DEFAULT 0 NOT NULL,
    series_since timestamp with time zone,
    series_count integer DEFAULT 0 NOT NULL,
    series_ended boolean DEFAULT false NOT NULL,
    resume_phase text,
    answers text[] DEFAULT '{}'::text[] NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    first_attempted_at timestamp with time zone,
    CONSTRAINT keeps_promises CHECK (public.keeps_promises(phase, state, wait_kind, resume_phase, merged_commit, pr_url, budget_cycles, priority))
)
WITH (fillfactor='85');

CREATE FUNCTION public.in_the_way(p_item public.work_items, p_above bigint[], p_chain bigint[], p_mine bigint[], p_only bigint) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    found bigint;
    overdue boolean := p_item.deadline_at <= now();
BEGIN
    SELECT l.item_id INTO found FROM repo_locks l
     WHERE (l.repo_id = p_item.repo_id AND NOT l.works OR l.repo_id = ANY (p_chain) AND l.works)
       AND l.item_id <> p_item.id AND (p_only IS NULL OR l.item_id = p_only)
     ORDER BY l.item_id LIMIT 1;
    IF found IS NULL THEN  -- those that lock_begun could not give a lock: they began beside each other, before there was an edge
        SELECT w.id INTO found FROM active_scopes a JOIN work_items w ON w.id = a.item_id
         WHERE w.repo_id = ANY (p_chain) AND w.state IN ('leased', 'waiting') AND (p_only IS NULL OR w.id = p_only)
           AND coalesce(w.wait_kind, '') NOT IN ('chain', 'upstream', 'repo_full')
         ORDER BY w.id LIMIT 1;
    END IF;
    IF found IS NULL AND p_above IS NOT NULL THEN
        SELECT w.id INTO found FROM work_items w
         WHERE w.project_id = p_item.project_id AND w.state = 'ready' AND w.phase <> 'spec' AND w.repo_id = ANY (p_above)
           AND (p_mine IS NULL OR w.repo_id = ANY (p_mine)) AND (w.deadline_at <= p_item.deadline_at OR NOT overdue)
           AND (p_only IS NULL OR w.id = p_only)
         ORDER BY w.deadline_at, w.id LIMIT 1;
    END IF;
    IF found IS NULL THEN
        SELECT w.id INTO found FROM work_items w
         WHERE w.state = 'waiting' AND w.wait_kind = 'chain' AND w.repo_id = ANY (p_chain)
           AND w.deadline_at < p_item.deadline_at AND w.deadline_at < now() - interval '30 minutes'
           AND (p_only IS NULL OR w.id = p_only)
         ORDER BY w.deadline_at, w.id LIMIT 1;
    END IF;
    RETURN found;
END $$;

CREATE FUNCTION public.judge_repo(p_repo bigint, p_sha text, p_with jsonb, p_state text, p_text text) RETURNS text
    LANGUAGE plpgsql
    AS $$
DECLARE
    r repos;
BEGIN
    SELECT * INTO r FROM repos WHERE id = p_repo;
    PERFORM pg_advisory_xact_lock(hashtextextended('damascus claim', r.project_id));
    SELECT * INTO r FROM repos WHERE id = p_repo FOR NO KEY UPDATE;
    UPDATE repos SET main_sha = p_sha WHERE id = p_repo AND main_sha IS DISTINCT FROM p_sha;
    UPDATE repos SET ci_state = p_state, ci_sha = p_sha, ci_with = p_with, ci_text = p_text,
           green_sha = CASE WHEN p_state = 'green' THEN p_sha ELSE green_sha END,
           green_with = CASE WHEN p_state = 'green' THEN p_with ELSE green_with END,
           red_since = CASE WHEN p_state = 'red' THEN coalesce(red_since, now()) WHEN p_state = 'pending' THEN red_since END
     WHERE id = p_repo;
    IF p_state IS NULL OR p_state = 'green' THEN
        PERFORM wake('upstream', p_repo::text, 2147483647);
    END IF;
    RETURN CASE WHEN p_state = 'red' AND r.red_since IS NULL THEN 'red'
                WHEN coalesce(p_state, 'green') = 'green' AND r.red_since IS NOT NULL THEN 'green' END;
END $$;

CREATE FUNCTION public.keep_first_attempt() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    NEW.first_attempted_at := coalesce(OLD.first_attempted_at, now());
    RETURN NEW;
END $$;

CREATE FUNCTION public.leave_queue(p_item bigint, p_landed boolean) RETURNS void
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION public.lock_begun(p_project bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM free_repo(w.id, w.repo_id) FROM work_items w
     WHERE w.project_id = p_project AND w.id IN (
               SELECT l.item_id FROM repo_locks l
                WHERE NOT EXISTS (SELECT 1 FROM active_scopes a WHERE a.item_id = l.item_id));
    INSERT INTO repo_locks (item_id, repo_id, works)
    SELECT w.id, l.repo_id, l.works
      FROM (SELECT DISTINCT a.item_id FROM active_scopes a
             WHERE NOT EXISTS (SELECT 1 FROM repo_locks k WHERE k.item_id = a.item_id AND k.works)) a
      JOIN work_items w ON w.id = a.item_id
     CROSS JOIN LATERAL (SELECT w.repo_id, true AS works UNION ALL SELECT c.repo_id, false FROM chain_of(w.repo_id) c) l
     WHERE w.project_id = p_project AND w.state IN ('leased', 'waiting')
       AND coalesce(w.wait_kind, '') NOT IN ('chain', 'upstream', 'repo_full')
     ORDER BY w.deadline_at, w.id, l.works DESC
    ON CONFLICT DO NOTHING;
END $$;

CREATE FUNCTION public.main_moved() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE repos SET ci_state = 'pending' WHERE ci_state <> 'pending'
       AND (id = NEW.id OR id IN (SELECT c.repo_id FROM chain_of(NEW.id) c WHERE NOT c.above));
    RETURN NULL;
END $$;

CREATE FUNCTION public.park_for_scope(p_item public.work_items, p_blocker bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION public.publish_events(p_most integer) RETURNS integer
    LANGUAGE plpgsql
    AS $$
DECLARE
    s stream;
    newest bigint;
    writing text[];
    reached bigint;
    last_id bigint;
    n integer;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('damascus stream', 0)) THEN
        RETURN 0;
    END IF;
    SELECT * INTO s FROM stream;
    SELECT CASE WHEN is_called THEN last_value ELSE 0 END INTO newest FROM events_outbox_id_seq;
    IF newest = s.settled THEN
        RETURN 0;
    END IF;
    writing := ARRAY (SELECT l.virtualtransaction FROM pg_locks l
                       WHERE l.locktype = 'relation' AND l.relation = 'events_outbox'::regclass
                         AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
                         AND l.mode = 'RowExclusiveLock');
    reached := CASE WHEN cardinality(writing) = 0 THEN newest WHEN s.writers && writing THEN s.settled ELSE s.mark END;
    WITH numbered AS (
        INSERT INTO event_numbers (seq, event_id)
        SELECT s.last_seq + row_number() OVER (ORDER BY found.id), found.id
          FROM (SELECT e.id FROM events_outbox e
                 WHERE e.id > s.settled AND (SELECT k.seq FROM event_numbers k WHERE k.event_id = e.id) IS NULL
                 ORDER BY e.id LIMIT p_most) found
        RETURNING event_id)
    SELECT count(*), max(event_id) INTO n, last_id FROM numbered;
    IF n = p_most THEN  -- there may be more behind it
        reached := least(reached, last_id);
    END IF;
    IF n > 0 OR reached > s.settled OR NOT s.writers && writing THEN
        UPDATE stream SET last_seq = s.last_seq + n, settled = greatest(reached, s.settled),
               mark = CASE WHEN s.writers && writing THEN s.mark ELSE newest END,
               writers = CASE WHEN s.writers && writing THEN s.writers ELSE writing END;
    END IF;
    IF n > 0 THEN
        NOTIFY damascus_events;
    END IF;
    RETURN n;
END $$;

CREATE FUNCTION public.queue_changed(p_repo bigint, p_target text) RETURNS void
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION public.queue_mark(p_item bigint, p_commit text, p_state text) RETURNS void
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION public.queue_put(p_repo bigint, p_target text, p_item bigint, p_base text, p_commit text, p_state text, p_most integer) RETURNS text
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION public.refuse_first_attempt_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION 'first_attempted_at of item % is never overwritten', OLD.id;
END $$;

CREATE FUNCTION public.release_landing(p_item bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM leave_queue(p_item, false);
END $$;

CREATE FUNCTION public.release_repo(p_project bigint, p_repo bigint) RETURNS integer
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION public.repo_blocker(p_item public.work_items, p_mine bigint[], OUT kind text, OUT key text) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    above bigint[];
    chain bigint[];
    blocker bigint;
    most integer;
BEGIN
    SELECT array_agg(c.repo_id) FILTER (WHERE c.above), array_agg(c.repo_id) INTO above, chain FROM chain_of(p_item.repo_id) c;
    SELECT 'upstream', r.id INTO kind, key FROM repos r
     WHERE r.id = ANY (above) AND (r.ci_state = 'pending' OR r.red_since IS NOT NULL) ORDER BY r.id LIMIT 1;
    IF kind IS NOT NULL OR EXISTS (SELECT 1 FROM repo_locks l WHERE l.item_id = p_item.id AND l.works) THEN
        RETURN;
    END IF;
    WHILE chain IS NOT NULL LOOP
        blocker := in_the_way(p_item, above, chain, p_mine, NULL);
        EXIT WHEN blocker IS NULL;
        PERFORM 1 FROM work_items w WHERE w.id = blocker FOR SHARE;
        IF in_the_way(p_item, above, chain, p_mine, blocker) = blocker THEN
            kind := 'chain';
            key := blocker;
            RETURN;
        END IF;
    END LOOP;
    SELECT r.max_workers INTO most FROM repos r WHERE r.id = p_item.repo_id;
    IF most > 0 AND (SELECT count(*) FROM repo_locks l WHERE l.repo_id = p_item.repo_id AND l.works) >= most THEN
        PERFORM 1 FROM work_items w WHERE w.id IN (
            SELECT l.item_id FROM repo_locks l WHERE l.repo_id = p_item.repo_id AND l.works) ORDER BY w.id FOR SHARE;
        IF (SELECT count(*) FROM repo_locks l WHERE l.repo_id = p_item.repo_id AND l.works) >= most THEN
            kind := 'repo_full';
            key := p_item.repo_id;
        END IF;
    END IF;
END $$;

CREATE FUNCTION public.rescue_item(p_item bigint, p_fence bigint, p_limit integer, p_why text) RETURNS text
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION public.same_scope(p_spans public.scope_span[]) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    AS $$
BEGIN
    RETURN md5(p_spans::text);
END $$;

CREATE FUNCTION public.schema_fits(p_low integer, p_high integer) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    SELECT max(version) >= p_low AND bool_and(version <= p_high OR coalesce(readable_by, version) <= p_high)
      FROM schema_migrations
$$;

CREATE FUNCTION public.scope_blocker(p_item public.work_items) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION public.settle_item(p_item bigint, p_fence bigint, p jsonb, p_spec bytea, p_spans public.scope_span[]) RETURNS SETOF public.work_items
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION public.stepped_aside(p_item public.work_items) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM repo_locks l WHERE l.item_id = p_item.id) THEN
        PERFORM wake('chain', p_item.id::text, 2147483647);
    END IF;
    PERFORM wake('repo_full', p_item.repo_id::text, 1)
      FROM repos r WHERE r.id = p_item.repo_id AND r.max_workers > 0
       AND (SELECT count(*) FROM repo_locks l WHERE l.repo_id = r.id AND l.works) < r.max_workers;
END $$;

CREATE FUNCTION public.wait_in_queue(p_repo bigint, p_target text, p_item bigint, p_version bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    now_at bigint;
BEGIN
    SELECT version INTO now_at FROM queues WHERE repo_id = p_repo AND target = p_target FOR UPDATE;
    IF now_at IS DISTINCT FROM p_version THEN
        UPDATE work_items SET state = 'ready', wait_kind = NULL, wait_key = NULL, not_before = NULL WHERE id = p_item;
    END IF;
END $$;

CREATE FUNCTION public.wake(p_kind text, p_key text, p_limit integer) RETURNS integer
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION public.write_dones(p_item bigint, p_fence bigint, p_run integer, p_phase text, p_project bigint, p_dones jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION public.write_events(p_project bigint, p_item bigint, p_events jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    FOR n IN 0 .. jsonb_array_length(p_events) - 1 LOOP
        INSERT INTO events_outbox (project_id, item_id, kind, body)
            VALUES (p_project, p_item, p_events -> n ->> 0, p_events -> n -> 1);
    END LOOP;
END $$;

CREATE TABLE public.active_scopes (
    item_id bigint NOT NULL,
    span public.scope_span NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='50');

CREATE TABLE public.budget_raises (
    project_id bigint NOT NULL,
    item_id bigint DEFAULT 0 NOT NULL,
    unit text NOT NULL,
    amount bigint NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT budget_raises_amount_check CHECK ((amount > 0)),
    CONSTRAINT budget_raises_unit_check CHECK ((unit = ANY (ARRAY['tokens'::text, 'dollars'::text])))
);

CREATE TABLE public.events_outbox (
    id bigint NOT NULL,
    project_id bigint NOT NULL,
    item_id bigint,
    kind text NOT NULL,
    body jsonb DEFAULT '{}'::jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE public.human_issues (
    id bigint NOT NULL,
    project_id bigint NOT NULL,
    item_id bigint,
    question text NOT NULL,
    options text[] DEFAULT '{}'::text[] NOT NULL,
    owner text DEFAULT 'you'::text NOT NULL,
    answer text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    closed_at timestamp with time zone,
    kind text DEFAULT 'question'::text NOT NULL,
    about jsonb,
    CONSTRAINT human_issues_kind_check CHECK ((kind = ANY (ARRAY['question'::text, 'write'::text])))
);

CREATE TABLE public.journal (
    item_id bigint NOT NULL,
    run_no integer NOT NULL,
    phase text NOT NULL,
    step text NOT NULL,
    key text DEFAULT ''::text NOT NULL,
    status text NOT NULL,
    fence bigint NOT NULL,
    input jsonb DEFAULT '{}'::jsonb NOT NULL,
    output jsonb,
    started_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    done_at timestamp with time zone,
    CONSTRAINT journal_status_check CHECK ((status = ANY (ARRAY['intent'::text, 'done'::text])))
);

CREATE TABLE public.repos (
    id bigint NOT NULL,
    project_id bigint NOT NULL,
    path text NOT NULL,
    main_branch text NOT NULL,
    main_sha text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    forge_kind text,
    forge_url text,
    forge_token_env text,
    uuid uuid DEFAULT gen_random_uuid() NOT NULL,
    name text,
    joined boolean DEFAULT false NOT NULL,
    max_workers integer DEFAULT 0 NOT NULL,
    ci_state text,
    ci_sha text,
    ci_with jsonb DEFAULT '{}'::jsonb NOT NULL,
    ci_text text,
    green_sha text,
    green_with jsonb DEFAULT '{}'::jsonb NOT NULL,
    red_since timestamp with time zone,
    CONSTRAINT repos_ci_state_check CHECK ((ci_state = ANY (ARRAY['pending'::text, 'green'::text, 'red'::text]))),
    CONSTRAINT repos_max_workers_check CHECK ((max_workers >= 0))
);

CREATE VIEW public.checkpoints AS
 SELECT e.id,
    e.created_at,
    e.item_id,
    i.project,
    i.story_id AS component_id,
    r.path AS repo,
    ( SELECT (c.body ->> 'worker'::text)
           FROM public.events_outbox c
          WHERE ((c.item_id = e.item_id) AND (c.kind = 'item.claimed'::text) AND (c.id <= e.id))
          ORDER BY c.id DESC
         LIMIT 1) AS worker_id,
    ( SELECT (m.body ->> 'milestone'::text)
           FROM public.events_outbox m
          WHERE ((m.item_id = e.item_id) AND (m.kind = 'milestone.changed'::text) AND (m.id <= e.id))
          ORDER BY m.id DESC
         LIMIT 1) AS milestone,
    e.kind AS trigger,
    i.run_no,
    ( SELECT COALESCE(jsonb_agg((j.output -> 'commit'::text)) FILTER (WHERE (j.output ? 'commit'::text)), '[]'::jsonb) AS "coalesce"
           FROM public.journal j
          WHERE ((j.item_id = e.item_id) AND (j.status = 'done'::text) AND (j.done_at <= e.created_at))) AS commits,
    ( SELECT COALESCE(jsonb_agg(j.output), '[]'::jsonb) AS "coalesce"
           FROM public.journal j
          WHERE ((j.item_id = e.item_id) AND (j.step = 'ci'::text) AND (j.status = 'done'::text) AND (j.done_at <= e.created_at))) AS ci_runs,
    ( SELECT COALESCE(jsonb_agg(DISTINCT f.value), '[]'::jsonb) AS "coalesce"
           FROM public.journal j,
            LATERAL jsonb_array_elements(COALESCE((j.output -> 'files_changed'::text), '[]'::jsonb)) f(value)
          WHERE ((j.item_id = e.item_id) AND (j.status = 'done'::text) AND (j.done_at <= e.created_at))) AS files,
    COALESCE((e.body ->> 'line'::text), e.kind) AS summary,
    ( SELECT COALESCE(jsonb_agg(h.question), '[]'::jsonb) AS "coalesce"
           FROM public.human_issues h
          WHERE ((h.item_id = e.item_id) AND (h.closed_at IS NULL))) AS blockers,
    ( SELECT COALESCE(jsonb_agg(h.answer), '[]'::jsonb) AS "coalesce"
           FROM public.human_issues h
          WHERE ((h.item_id = e.item_id) AND (h.answer IS NOT NULL))) AS decisions
   FROM ((public.events_outbox e
     JOIN public.work_items i ON ((i.id = e.item_id)))
     JOIN public.repos r ON ((r.id = i.repo_id)))
  WHERE (e.kind = ANY (ARRAY['milestone.changed'::text, 'build.pushed'::text, 'ci.finished'::text, 'checkpoint.taken'::text]));

CREATE TABLE public.event_numbers (
    seq bigint NOT NULL,
    event_id bigint NOT NULL
);

ALTER TABLE public.events_outbox ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.events_outbox_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.flaky_tests (
    project_id bigint NOT NULL,
    repo_id bigint NOT NULL,
    job text NOT NULL,
    test text NOT NULL,
    first_seen timestamp with time zone DEFAULT now() NOT NULL,
    last_seen timestamp with time zone DEFAULT now() NOT NULL,
    times integer DEFAULT 1 NOT NULL,
    last_sha text NOT NULL
);

ALTER TABLE public.human_issues ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.human_issues_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.leases (
    item_id bigint NOT NULL,
    fence bigint NOT NULL,
    worker_id text NOT NULL,
    acquired_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    expires_at timestamp with time zone NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='50');

CREATE TABLE public.projects (
    id bigint NOT NULL,
    uuid uuid NOT NULL,
    name text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE public.projects ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.projects_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.queue (
    only_one boolean DEFAULT true NOT NULL,
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT queue_only_one_check CHECK (only_one)
);

CREATE TABLE public.queue_entries (
    item_id bigint NOT NULL,
    repo_id bigint NOT NULL,
    target text NOT NULL,
    pos bigint NOT NULL,
    base text NOT NULL,
    commit text NOT NULL,
    state text NOT NULL,
    entered_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT queue_entries_state_check CHECK ((state = ANY (ARRAY['testing'::text, 'green'::text, 'red'::text])))
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='50');

ALTER TABLE public.queue_entries ALTER COLUMN pos ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.queue_entries_pos_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.queues (
    repo_id bigint NOT NULL,
    target text NOT NULL,
    width integer DEFAULT 4 NOT NULL,
    most integer DEFAULT 1 NOT NULL,
    version bigint DEFAULT 0 NOT NULL,
    CONSTRAINT queues_width_check CHECK ((width >= 1))
)
WITH (fillfactor='50');

CREATE TABLE public.repo_edges (
    up bigint NOT NULL,
    down bigint NOT NULL,
    CONSTRAINT repo_edges_check CHECK ((up <> down))
);

CREATE TABLE public.repo_holds (
    id bigint NOT NULL,
    repo_id bigint NOT NULL,
    reason text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    released_at timestamp with time zone
);

ALTER TABLE public.repo_holds ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.repo_holds_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.repo_locks (
    item_id bigint NOT NULL,
    repo_id bigint NOT NULL,
    works boolean NOT NULL,
    line box GENERATED ALWAYS AS (
CASE
    WHEN works THEN box(point(((((repo_id)::numeric * 4294967296.0) + (item_id)::numeric))::double precision, (((repo_id)::numeric * 4294967296.0))::double precision), point(((((repo_id)::numeric * 4294967296.0) + (item_id)::numeric))::double precision, ((((repo_id)::numeric * 4294967296.0) + 4294967295.0))::double precision))
    ELSE box(point((((repo_id)::numeric * 4294967296.0))::double precision, ((((repo_id)::numeric * 4294967296.0) + (item_id)::numeric))::double precision), point(((((repo_id)::numeric * 4294967296.0) + 4294967295.0))::double precision, ((((repo_id)::numeric * 4294967296.0) + (item_id)::numeric))::double precision))
END) STORED NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='50');

ALTER TABLE public.repos ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.repos_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.schema_migrations (
    version integer NOT NULL,
    name text NOT NULL,
    sha256 text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL,
    readable_by integer
);

CREATE TABLE public.scope_barriers (
    item_id bigint NOT NULL,
    deadline_at timestamp with time zone NOT NULL,
    span public.scope_span NOT NULL
);

CREATE TABLE public.spending (
    project_id bigint NOT NULL,
    item_id bigint NOT NULL,
    run_no integer NOT NULL,
    step text NOT NULL,
    key text DEFAULT ''::text NOT NULL,
    fence bigint NOT NULL,
    role text NOT NULL,
    model text NOT NULL,
    reserved_tokens bigint DEFAULT 0 NOT NULL,
    reserved_microdollars bigint DEFAULT 0 NOT NULL,
    input_tokens bigint DEFAULT 0 NOT NULL,
    output_tokens bigint DEFAULT 0 NOT NULL,
    cached_tokens bigint DEFAULT 0 NOT NULL,
    tokens bigint GENERATED ALWAYS AS (((input_tokens + output_tokens) + cached_tokens)) STORED NOT NULL,
    turns integer DEFAULT 0 NOT NULL,
    microdollars bigint,
    state text DEFAULT 'reserved'::text NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT spending_reserved_microdollars_check CHECK ((reserved_microdollars >= 0)),
    CONSTRAINT spending_reserved_tokens_check CHECK ((reserved_tokens >= 0)),
    CONSTRAINT spending_state_check CHECK ((state = ANY (ARRAY['reserved'::text, 'settled'::text])))
)
WITH (fillfactor='80');

CREATE TABLE public.stream (
    only_one boolean DEFAULT true NOT NULL,
    last_seq bigint DEFAULT 0 NOT NULL,
    settled bigint DEFAULT 0 NOT NULL,
    mark bigint DEFAULT 0 NOT NULL,
    writers text[] DEFAULT '{}'::text[] NOT NULL,
    CONSTRAINT stream_only_one_check CHECK (only_one)
);

ALTER TABLE public.work_items ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.work_items_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.worker_records (
    item_id bigint NOT NULL,
    worker_id text NOT NULL,
    milestone text DEFAULT 'WORKING'::text NOT NULL,
    step text,
    substate text,
    progress jsonb DEFAULT '{}'::jsonb NOT NULL,
    line text,
    since timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
)
WITH (fillfactor='50');

CREATE TABLE public.workers (
    id text NOT NULL,
    project_id bigint,
    host text NOT NULL,
    pid integer NOT NULL,
    slots integer NOT NULL,
    started_at timestamp with time zone DEFAULT now() NOT NULL,
    ended_at timestamp with time zone,
    confinement text,
    repos bigint[]
);

ALTER TABLE ONLY public.budget_raises
    ADD CONSTRAINT budget_raises_pkey PRIMARY KEY (project_id, item_id, unit);

ALTER TABLE ONLY public.event_numbers
    ADD CONSTRAINT event_numbers_event_id_key UNIQUE (event_id);

ALTER TABLE ONLY public.event_numbers
    ADD CONSTRAINT event_numbers_pkey PRIMARY KEY (seq);

ALTER TABLE ONLY public.events_outbox
    ADD CONSTRAINT events_outbox_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.flaky_tests
    ADD CONSTRAINT flaky_tests_pkey PRIMARY KEY (repo_id, job, test);

ALTER TABLE ONLY public.human_issues
    ADD CONSTRAINT human_issues_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.journal
    ADD CONSTRAINT journal_pkey PRIMARY KEY (item_id, run_no, step, key);

ALTER TABLE ONLY public.leases
    ADD CONSTRAINT leases_pkey PRIMARY KEY (item_id);

ALTER TABLE ONLY public.repo_locks
    ADD CONSTRAINT never_two_repositories_of_one_chain EXCLUDE USING gist (line WITH &&);

ALTER TABLE ONLY public.projects
    ADD CONSTRAINT projects_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.projects
    ADD CONSTRAINT projects_uuid_key UNIQUE (uuid);

ALTER TABLE ONLY public.queue_entries
    ADD CONSTRAINT queue_entries_pkey PRIMARY KEY (item_id);

ALTER TABLE ONLY public.queue
    ADD CONSTRAINT queue_pkey PRIMARY KEY (only_one);

ALTER TABLE ONLY public.queues
    ADD CONSTRAINT queues_pkey PRIMARY KEY (repo_id, target);

ALTER TABLE ONLY public.repo_edges
    ADD CONSTRAINT repo_edges_pkey PRIMARY KEY (up, down);

ALTER TABLE ONLY public.repo_holds
    ADD CONSTRAINT repo_holds_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.repo_locks
    ADD CONSTRAINT repo_locks_pkey PRIMARY KEY (item_id, repo_id);

ALTER TABLE ONLY public.repos
    ADD CONSTRAINT repos_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.repos
    ADD CONSTRAINT repos_project_id_path_key UNIQUE (project_id, path);

ALTER TABLE ONLY public.repos
    ADD CONSTRAINT repos_uuid_key UNIQUE (uuid);

ALTER TABLE ONLY public.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (version);

ALTER TABLE ONLY public.spending
    ADD CONSTRAINT spending_pkey PRIMARY KEY (item_id, run_no, step, key, fence);

ALTER TABLE ONLY public.stream
    ADD CONSTRAINT stream_pkey PRIMARY KEY (only_one);

ALTER TABLE ONLY public.active_scopes
    ADD CONSTRAINT two_stories_never_touch_the_same_files EXCLUDE USING gist (span WITH &&);

ALTER TABLE ONLY public.work_items
    ADD CONSTRAINT work_items_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.worker_records
    ADD CONSTRAINT worker_records_pkey PRIMARY KEY (item_id);

ALTER TABLE ONLY public.workers
    ADD CONSTRAINT workers_pkey PRIMARY KEY (id);

CREATE INDEX active_scopes_item ON public.active_scopes USING btree (item_id);

CREATE INDEX events_of_item ON public.events_outbox USING btree (item_id, id);

CREATE INDEX flaky_tests_of_project ON public.flaky_tests USING btree (project_id, last_seen);

CREATE INDEX human_issues_open ON public.human_issues USING btree (project_id, id) WHERE (closed_at IS NULL);

CREATE INDEX queue_entries_line ON public.queue_entries USING btree (repo_id, target, pos);

CREATE INDEX repo_holds_open ON public.repo_holds USING btree (repo_id) WHERE (released_at IS NULL);

CREATE INDEX repo_locks_repo ON public.repo_locks USING btree (repo_id, works);

CREATE UNIQUE INDEX repos_forge_url ON public.repos USING btree (forge_url);

CREATE UNIQUE INDEX repos_name ON public.repos USING btree (project_id, lower(name));

CREATE INDEX scope_barriers_item ON public.scope_barriers USING btree (item_id);

CREATE INDEX spending_of_project ON public.spending USING btree (project_id) INCLUDE (tokens, microdollars, model);

CREATE INDEX spending_reserved ON public.spending USING btree (project_id) WHERE (state = 'reserved'::text);

CREATE INDEX work_items_due ON public.work_items USING btree (project_id, not_before) WHERE ((state = 'waiting'::text) AND (not_before IS NOT NULL));

CREATE INDEX work_items_moving ON public.work_items USING btree (project_id) WHERE (state = 'leased'::text);

CREATE INDEX work_items_ready ON public.work_items USING btree (project_id, deadline_at, id) WHERE (state = 'ready'::text);

CREATE INDEX work_items_resting ON public.work_items USING btree (project_id, phase, updated_at) WHERE (state = 'resting'::text);

CREATE UNIQUE INDEX work_items_story ON public.work_items USING btree (project_id, lower(story_id));

CREATE INDEX work_items_wait ON public.work_items USING btree (wait_kind, wait_key, deadline_at, id) WHERE (state = 'waiting'::text);

CREATE TRIGGER first_attempt BEFORE UPDATE OF claims ON public.work_items FOR EACH ROW WHEN ((new.claims > old.claims)) EXECUTE FUNCTION public.keep_first_attempt();

CREATE TRIGGER first_attempt_stays BEFORE UPDATE OF first_attempted_at ON public.work_items FOR EACH ROW WHEN (((old.first_attempted_at IS NOT NULL) AND (new.first_attempted_at IS DISTINCT FROM old.first_attempted_at))) EXECUTE FUNCTION public.refuse_first_attempt_change();

CREATE TRIGGER main_moved AFTER UPDATE OF main_sha ON public.repos FOR EACH ROW WHEN (((new.ci_state IS NOT NULL) AND (new.main_sha IS DISTINCT FROM old.main_sha))) EXECUTE FUNCTION public.main_moved();

ALTER TABLE ONLY public.flaky_tests
    ADD CONSTRAINT flaky_tests_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id);

ALTER TABLE ONLY public.flaky_tests
    ADD CONSTRAINT flaky_tests_repo_id_fkey FOREIGN KEY (repo_id) REFERENCES public.repos(id);

ALTER TABLE ONLY public.human_issues
    ADD CONSTRAINT human_issues_item_id_fkey FOREIGN KEY (item_id) REFERENCES public.work_items(id);

ALTER TABLE ONLY public.human_issues
    ADD CONSTRAINT human_issues_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id);

ALTER TABLE ONLY public.repo_edges
    ADD CONSTRAINT repo_edges_down_fkey FOREIGN KEY (down) REFERENCES public.repos(id);

ALTER TABLE ONLY public.repo_edges
    ADD CONSTRAINT repo_edges_up_fkey FOREIGN KEY (up) REFERENCES public.repos(id);

ALTER TABLE ONLY public.repo_holds
    ADD CONSTRAINT repo_holds_repo_id_fkey FOREIGN KEY (repo_id) REFERENCES public.repos(id);

ALTER TABLE ONLY public.repos
    ADD CONSTRAINT repos_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id);

ALTER TABLE ONLY public.scope_barriers
    ADD CONSTRAINT scope_barriers_item_id_fkey FOREIGN KEY (item_id) REFERENCES public.work_items(id);

ALTER TABLE ONLY public.work_items
    ADD CONSTRAINT work_items_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id);

ALTER TABLE ONLY public.work_items
    ADD CONSTRAINT work_items_repo_id_fkey FOREIGN KEY (repo_id) REFERENCES public.repos(id);

ALTER TABLE ONLY public.workers
    ADD CONSTRAINT workers_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id);
