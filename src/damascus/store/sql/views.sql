-- What people see: status, show, events, why. Nothing here writes; the longest two have files of their own.

-- name: view_counts
-- How many of each, every part an index-only count. What waits is the rest of all: no index counts it per project.
SELECT 'all' AS what, count(*) AS n FROM work_items WHERE project_id = %(project)s::bigint
UNION ALL
SELECT 'ready', count(*) FROM work_items WHERE project_id = %(project)s::bigint AND state = 'ready'
UNION ALL
SELECT 'leased', count(*) FROM work_items WHERE project_id = %(project)s::bigint AND state = 'leased'
UNION ALL
SELECT phase, count(*) FROM work_items WHERE project_id = %(project)s::bigint AND state = 'resting' GROUP BY phase
UNION ALL
SELECT 'done today', count(*) FROM work_items WHERE project_id = %(project)s::bigint AND state = 'resting'
   AND phase = 'done' AND updated_at >= %(today)s::timestamptz
UNION ALL
SELECT 'questions', count(*) FROM human_issues WHERE project_id = %(project)s::bigint AND closed_at IS NULL;

-- name: view_ids
SELECT id FROM work_items WHERE project_id = %(project)s::bigint ORDER BY id;

-- name: view_workers
-- Processes that said they began and not that they ended; whether they live is asked elsewhere.
SELECT w.id, w.host, w.pid, w.slots, coalesce(w.confinement, 'unconfined') AS confinement, w.started_at,
       (SELECT count(*) FROM leases l WHERE l.worker_id = w.id) AS busy,
       (SELECT bool_or(l.expires_at > clock_timestamp()) FROM leases l WHERE l.worker_id = w.id) AS renews, w.trouble
  FROM workers w WHERE w.ended_at IS NULL AND w.project_id = %(project)s::bigint ORDER BY w.started_at DESC LIMIT 1000;

-- name: view_events
SELECT n.seq, e.id, e.created_at, e.kind, e.body, i.story_id
  FROM (SELECT * FROM events_outbox
         WHERE project_id = %(project)s::bigint AND (%(item)s::bigint IS NULL OR item_id = %(item)s::bigint)
         ORDER BY id DESC LIMIT %(limit)s::int) e
  LEFT JOIN event_numbers n ON n.event_id = e.id
  LEFT JOIN work_items i ON i.id = e.item_id
 ORDER BY e.id;

-- name: view_last_events
-- The newest event of each kind.
SELECT DISTINCT ON (kind) kind, body, created_at FROM events_outbox WHERE item_id = %(item)s::bigint ORDER BY kind, id DESC;

-- name: view_journal
SELECT run_no, phase, step, key, status, started_at, done_at, input, output FROM journal
 WHERE item_id = %(item)s::bigint AND run_no >= %(run)s::int
 ORDER BY run_no, coalesce(done_at, 'infinity'), started_at;

-- name: view_story_issues
SELECT h.id, h.item_id, h.question, h.options, h.owner, h.answer, h.created_at, h.closed_at, i.spec_path, i.graph,
       i.last_verdict, i.story_id
  FROM human_issues h JOIN work_items i ON i.id = h.item_id
 WHERE h.item_id = %(item)s::bigint ORDER BY h.id;

-- name: view_refined
-- Is the item's spec one that a refiner left, and has a person approved exactly that text?
SELECT EXISTS (SELECT FROM journal j WHERE j.item_id = i.id AND j.step = 'refine' AND j.status = 'done'
                  AND encode(sha256(convert_to(j.output ->> 'text', 'UTF8')), 'hex') = i.spec_hash)
   AND NOT EXISTS (SELECT FROM journal j WHERE j.item_id = i.id AND j.step = 'approved' AND j.key = i.spec_hash)
       AS by_nobody
  FROM work_items i WHERE i.id = %(item)s::bigint;

-- name: view_last_build
-- The run whose work became the candidate: an agent's code, a planner's graph, the files beside a graph.
SELECT max(run_no) AS run FROM journal
 WHERE item_id = %(item)s::bigint AND step IN ('implement', 'write_plan', 'records') AND status = 'done';

-- name: view_landed_since
SELECT story_id FROM work_items
 WHERE project_id = %(project)s::bigint AND state = 'resting' AND phase = 'done' AND updated_at >= %(since)s::timestamptz
 ORDER BY updated_at, id;

-- name: view_ahead
-- How many ready items are claimed before this one.
SELECT count(*) AS n FROM work_items w, work_items me
 WHERE me.id = %(item)s::bigint AND w.project_id = me.project_id AND w.state = 'ready'
   AND (w.deadline_at, w.id) < (me.deadline_at, me.id);

-- name: view_holds
-- The holds that stop an item: of its own repository, or of the one in its chain that it waits for.
SELECT h.reason, h.created_at, coalesce(r.name, '') AS repo, h.repo_id <> i.repo_id AS elsewhere
  FROM work_items i JOIN repo_holds h ON h.repo_id = i.repo_id OR h.repo_id = CASE WHEN i.wait_kind = 'hold' THEN i.wait_key::bigint END
  JOIN repos r ON r.id = h.repo_id
 WHERE i.id = %(item)s::bigint AND h.released_at IS NULL ORDER BY h.id;

-- name: view_repo
-- The repository that an item belongs to, and the one that it waits for.
SELECT i.repo_id, coalesce(r.name, p.name) AS name, r.max_workers, coalesce(u.name, p.name) AS upstream, u.ci_state, u.ci_sha, u.ci_text,
       u.red_since
  FROM work_items i JOIN repos r ON r.id = i.repo_id JOIN projects p ON p.id = i.project_id
  LEFT JOIN repos u ON u.id = CASE WHEN i.wait_kind = 'upstream' THEN i.wait_key::bigint END
 WHERE i.id = %(item)s::bigint;
