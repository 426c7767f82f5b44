-- Several repositories in one project, in a graph of dependencies (W13, W20). Code of an older schema would carry a story of one
-- repository with the tools of another, so none may work with this one.

-- `uuid` is what the repository's git config remembers: a moved folder is found again. `joined`: not the project's first.
-- `ci_state` tells of main's tip `ci_sha` together with the upstream tips `ci_with`; NULL: it has no CI that could tell.
-- `green_sha`, `green_with`: the last of these that was green. `red_since` stays while a fix is being tested.
ALTER TABLE repos
    ADD COLUMN uuid uuid NOT NULL DEFAULT gen_random_uuid() UNIQUE,
    ADD COLUMN name text,
    ADD COLUMN joined boolean NOT NULL DEFAULT false,
    ADD COLUMN max_workers integer NOT NULL DEFAULT 0 CHECK (max_workers >= 0),
    ADD COLUMN ci_state text CHECK (ci_state IN ('pending', 'green', 'red')),
    ADD COLUMN ci_sha text,
    ADD COLUMN ci_with jsonb NOT NULL DEFAULT '{}',
    ADD COLUMN ci_text text,
    ADD COLUMN green_sha text,
    ADD COLUMN green_with jsonb NOT NULL DEFAULT '{}',
    ADD COLUMN red_since timestamptz;
UPDATE repos r SET name = p.name FROM projects p WHERE p.id = r.project_id;
CREATE UNIQUE INDEX repos_name ON repos (project_id, lower(name));

-- The repositories that a worker has on its host; NULL: every one of the project.
ALTER TABLE workers ADD COLUMN repos bigint[];

-- What an answer acts on, where the question is about no single story.
ALTER TABLE human_issues ADD COLUMN about jsonb;

-- Who works in a repository, and whom that keeps out of which others. In the square of a repository a worker is an upright line
-- at its own place and who keeps others out a level one: upright lines never meet, level ones neither, and each upright one
-- meets each level one. So the index refuses two repositories of one chain, lets siblings pass, and needs no extension.
CREATE TABLE repo_locks (
    item_id bigint NOT NULL,
    repo_id bigint NOT NULL,
    works boolean NOT NULL,
    line box NOT NULL GENERATED ALWAYS AS (
        CASE WHEN works
             THEN box(point(repo_id * 4294967296.0 + item_id, repo_id * 4294967296.0),
                      point(repo_id * 4294967296.0 + item_id, repo_id * 4294967296.0 + 4294967295.0))
             ELSE box(point(repo_id * 4294967296.0, repo_id * 4294967296.0 + item_id),
                      point(repo_id * 4294967296.0 + 4294967295.0, repo_id * 4294967296.0 + item_id)) END) STORED,
    PRIMARY KEY (item_id, repo_id),
    CONSTRAINT never_two_repositories_of_one_chain EXCLUDE USING gist (line WITH &&)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 50);
CREATE INDEX repo_locks_repo ON repo_locks (repo_id, works);

-- Every repository that this one depends on (`above`) or that depends on it, through however many others.
CREATE FUNCTION chain_of(p_repo bigint) RETURNS TABLE (repo_id bigint, above boolean) LANGUAGE sql STABLE AS $$
    WITH RECURSIVE ups(id) AS (
        SELECT e.up FROM repo_edges e WHERE e.down = p_repo
        UNION SELECT e.up FROM repo_edges e JOIN ups ON e.down = ups.id),
    downs(id) AS (
        SELECT e.down FROM repo_edges e WHERE e.up = p_repo
        UNION SELECT e.down FROM repo_edges e JOIN downs ON e.up = downs.id)
    SELECT id, true FROM ups UNION ALL SELECT id, false FROM downs
$$;

-- Main moved: until CI has told of it, neither this repository nor what depends on it is known to be green.
CREATE FUNCTION main_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE repos SET ci_state = 'pending' WHERE ci_state <> 'pending'
       AND (id = NEW.id OR id IN (SELECT c.repo_id FROM chain_of(NEW.id) c WHERE NOT c.above));
    RETURN NULL;
END $$;
CREATE TRIGGER main_moved AFTER UPDATE OF main_sha ON repos
    FOR EACH ROW WHEN (NEW.ci_state IS NOT NULL AND NEW.main_sha IS DISTINCT FROM OLD.main_sha)
    EXECUTE FUNCTION main_moved();

-- The item lets go of its repository: who was kept out looks again, and one who waits for a place.
CREATE FUNCTION free_repo(p_item bigint, p_repo bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM repo_locks WHERE item_id = p_item;
    PERFORM wake('chain', p_item::text, 2147483647);
    PERFORM wake('repo_full', p_repo::text, 1);
END $$;

-- Frees a story's files and wakes whoever waited for them. Of stories that want exactly the same files one
-- stands in line for the blocker ('scope') and the others behind it ('behind'), so freeing a file that
-- 100,000 stories want wakes one, not all.
CREATE OR REPLACE FUNCTION free_scope(p_item bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    wanted record;
BEGIN
    SELECT w.spans, w.repo_id, EXISTS (SELECT 1 FROM repos r
                                        WHERE r.project_id = w.project_id AND (r.joined OR r.max_workers > 0)) AS graph
      INTO wanted FROM work_items w WHERE w.id = p_item FOR NO KEY UPDATE OF w;
    DELETE FROM active_scopes WHERE item_id = p_item;
    DELETE FROM scope_barriers WHERE item_id = p_item;
    IF EXISTS (SELECT 1 FROM work_items WHERE state = 'waiting' AND wait_kind = 'scope' AND wait_key = p_item::text) THEN
        PERFORM wake('scope', p_item::text, 2147483647);
    END IF;
    IF EXISTS (SELECT 1 FROM work_items WHERE state = 'waiting' AND wait_kind = 'behind'
                  AND wait_key = same_scope(wanted.spans)) THEN
        PERFORM wake('behind', same_scope(wanted.spans), 1);
    END IF;
    IF wanted.graph THEN
        PERFORM free_repo(p_item, wanted.repo_id);
    END IF;
END $$;

-- Those at work that have no lock yet: they began before the graph was what it is. And those that have one and are not at work
-- any more: they ended while it became so. Only under the claim's lock.
CREATE FUNCTION lock_begun(p_project bigint) RETURNS void LANGUAGE plpgsql AS $$
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

-- Why an item can't start in its repository: a kind of wait and its key. No kind: it can.
-- 1. An upstream repository is not green: nothing that depends on it starts or goes on.
-- 2. A story works in a repository of its chain, above or below.
-- 3. Roots first: a story that is ready above goes before it, unless this one is overdue and has the earlier deadline.
-- 4. A story of its chain that waits and is long overdue: nobody with a later deadline slips in before it.
-- 5. As many stories as [repo] max_workers allows work in the repository.
-- Whoever is in the way is share-locked and looked at again, so that no settle in flight wakes before the item waits.
CREATE FUNCTION repo_blocker(p_item work_items, p_mine bigint[], OUT kind text, OUT key text) LANGUAGE plpgsql AS $$
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

-- A story of the chain that an item must wait for; p_only: is it this one?
CREATE FUNCTION in_the_way(p_item work_items, p_above bigint[], p_chain bigint[], p_mine bigint[], p_only bigint)
RETURNS bigint LANGUAGE plpgsql AS $$
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

-- A row was parked in a project with a graph: who stepped back for it looks again, and one who waits for the place it wanted.
CREATE FUNCTION stepped_aside(p_item work_items) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM repo_locks l WHERE l.item_id = p_item.id) THEN
        PERFORM wake('chain', p_item.id::text, 2147483647);
    END IF;
    PERFORM wake('repo_full', p_item.repo_id::text, 1)
      FROM repos r WHERE r.id = p_item.repo_id AND r.max_workers > 0
       AND (SELECT count(*) FROM repo_locks l WHERE l.repo_id = r.id AND l.works) < r.max_workers;
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
                SELECT a.item_id INTO blocker FROM unnest(c.spans) s JOIN active_scopes a ON a.span && s
                 WHERE a.item_id <> c.id LIMIT 1;
                IF blocker IS NOT NULL OR barred THEN
                    blocker := scope_blocker(c);  -- looks again, behind the locks of who may be freeing it
                END IF;
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

-- A person stops a repository and its chain: nothing of them starts, and who works there is shut out by the fence. Under the
-- project's claim lock, so that no claim slips in between.
CREATE OR REPLACE FUNCTION hold_repo(p_project bigint, p_repo bigint, p_reason text) RETURNS bigint LANGUAGE plpgsql AS $$
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

-- The graph has changed: locks are made anew, and whoever waited because of the old one looks again. Under the claim's lock.
-- A repository that is now part of a chain is not known to be green; of one that is no more, CI is not asked.
CREATE FUNCTION graph_changed(p_project bigint) RETURNS void LANGUAGE plpgsql AS $$
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

-- What CI says of main's tip with these upstream tips: green, red, pending, or NULL where there is no CI that could tell.
-- Returns what is new: 'red' (it was not), 'green' (it was red), or NULL. Under the claim's lock, so that no one who begins to
-- wait at this moment is forgotten.
CREATE FUNCTION judge_repo(p_repo bigint, p_sha text, p_with jsonb, p_state text, p_text text) RETURNS text LANGUAGE plpgsql AS $$
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
