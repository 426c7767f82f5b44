-- What the files beside a task graph are made from, and what was written of them.

-- name: stream_last
SELECT last_seq FROM stream;

-- name: task_rows
-- The tasks of a repository, in the order of their graphs.
SELECT i.id, i.story_id, i.title, i.phase, i.claims > 0 AS started, i.graph, i.spec_hash, i.merged_commit, i.change,
       (SELECT h.question FROM human_issues h WHERE h.item_id = i.id AND h.closed_at IS NULL ORDER BY h.id DESC LIMIT 1)
           AS question
  FROM work_items i
 WHERE i.repo_id = %(repo)s::bigint AND i.graph IS NOT NULL ORDER BY i.graph, i.graph_at NULLS LAST, i.id;

-- name: task_specs
SELECT spec_hash, spec_path, spec FROM work_items
 WHERE repo_id = %(repo)s::bigint AND spec_hash = ANY (%(hashes)s::text[]);

-- name: task_landings
-- Oldest first; a task that was built again landed twice.
SELECT e.item_id, e.body ->> 'commit' AS commit, e.created_at AS at
  FROM events_outbox e WHERE e.item_id = ANY (%(items)s::bigint[]) AND e.kind = 'story.landed' ORDER BY e.id;

-- name: task_proofs
-- What judged and built each of these last.
SELECT DISTINCT ON (item_id, step) item_id, step, output FROM journal
 WHERE item_id = ANY (%(items)s::bigint[]) AND step IN ('verify', 'implement', 'commit', 'receipt') AND status = 'done'
 ORDER BY item_id, step, run_no DESC, done_at DESC;

-- name: task_patterns
SELECT item_id, pattern, title FROM pattern_uses
 WHERE item_id = ANY (%(items)s::bigint[]) AND state = 'applied' ORDER BY item_id, pattern;

-- name: full_checkpoints
SELECT body, created_at FROM events_outbox
 WHERE project_id = %(project)s::bigint AND item_id IS NULL AND kind = 'tasks.checkpoint'
   AND body ->> 'repo' = %(repo)s::text ORDER BY id;

-- name: statuses_edited
-- What somebody wrote into a graph lately, the last of each task.
SELECT DISTINCT ON (e.item_id) e.body ->> 'file' AS file, e.body ->> 'task' AS task, e.body ->> 'found' AS found,
       e.body ->> 'status' AS status, e.created_at AS at
  FROM events_outbox e JOIN work_items i ON i.id = e.item_id
 WHERE i.project_id = %(project)s::bigint AND i.graph IS NOT NULL AND e.kind = 'tasks.status_edited'
   AND e.created_at > now() - interval '1 day'
 ORDER BY e.item_id, e.id DESC;

-- name: records_under_way
SELECT story_id FROM work_items
 WHERE repo_id = %(repo)s::bigint AND story_id ~* '^RECORDS-C?[0-9]+$' AND phase NOT IN ('done', 'cancelled')
 ORDER BY id LIMIT 1;

-- name: projections_of
SELECT path, sha256, as_main, part FROM projections WHERE repo_id = %(repo)s::bigint;

-- name: note_projection
INSERT INTO projections (repo_id, path, sha256, as_main, part)
VALUES (%(repo)s::bigint, %(path)s::text, %(sha256)s::text, %(as_main)s::boolean, %(part)s::jsonb)
ON CONFLICT (repo_id, path) DO UPDATE
   SET sha256 = excluded.sha256, as_main = excluded.as_main, part = excluded.part, written_at = now();
