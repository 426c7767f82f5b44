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
