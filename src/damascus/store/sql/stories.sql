-- Stories as rows: queued, found, counted.

-- name: add_item
-- With the event that tells of it. Its id is taken before (new_item_ids): who depends on it can be sent without waiting.
WITH added AS (INSERT INTO work_items (id, project_id, project, repo_id, story_id, title, phase, state, priority, deadline_at, depends_on,
    file_scope, spans, spec, spec_hash, spec_path, acceptance, rough, branch, budget_cycles, graph, graph_at)
OVERRIDING SYSTEM VALUE VALUES (%(id)s::bigint, %(project_id)s::bigint, %(project)s::text, %(repo_id)s::bigint, %(story_id)s::text, %(title)s::text, %(phase)s::text,
    'ready', %(priority)s::smallint, now() + %(slack)s::interval, %(depends_on)s::bigint[], %(file_scope)s::text[],
    %(spans)s::scope_span[], %(spec)s::bytea, %(spec_hash)s::text, %(spec_path)s::text, %(acceptance)s::bytea, %(rough)s::bool,
    %(branch)s::text, %(budget)s::int, %(graph)s::text, %(graph_at)s::int)
RETURNING id)
SELECT id, write_events(%(project_id)s::bigint, id, %(events)s::jsonb) FROM added;

-- name: new_item_ids
SELECT nextval(pg_get_serial_sequence('work_items', 'id')) AS id FROM generate_series(1, %(count)s::int);

-- name: replace_item
UPDATE work_items SET title = %(title)s::text, phase = %(phase)s::text, state = 'ready', priority = %(priority)s::smallint,
    ready_at = now(), deadline_at = now() + %(slack)s::interval, depends_on = %(depends_on)s::bigint[],
    file_scope = %(file_scope)s::text[], spans = %(spans)s::scope_span[], spec = %(spec)s::bytea,
    spec_hash = %(spec_hash)s::text, spec_path = %(spec_path)s::text, acceptance = %(acceptance)s::bytea,
    rough = %(rough)s::bool, budget_cycles = %(budget)s::int, run_no = run_no + 1, fence = fence + 1, attempts = 0,
    failure_signature = NULL, failure_streak = 0, series_since = NULL, series_count = 0, series_ended = true,
    last_verdict = NULL, last_feedback = NULL, resume_phase = NULL, wait_kind = NULL, wait_key = NULL, not_before = NULL,
    rescues = 0, change = CASE WHEN phase = 'blocked' AND change ? 'original' THEN change END, graph = %(graph)s::text, graph_at = %(graph_at)s::int, updated_at = now()
 WHERE id = %(id)s::bigint AND phase IN ('blocked', 'cancelled')
RETURNING id;

-- name: change_unbegun
-- A story that nobody has ever claimed becomes another one in place. It is looked at anew: what it waited for may be gone.
UPDATE work_items SET title = %(title)s::text, phase = %(phase)s::text, state = 'ready', priority = %(priority)s::smallint,
    depends_on = %(depends_on)s::bigint[], file_scope = %(file_scope)s::text[], spans = %(spans)s::scope_span[],
    spec = %(spec)s::bytea, spec_hash = %(spec_hash)s::text, spec_path = %(spec_path)s::text, acceptance = %(acceptance)s::bytea,
    rough = %(rough)s::bool, budget_cycles = %(budget)s::int, fence = fence + 1, wait_kind = NULL, wait_key = NULL,
    not_before = NULL, graph = %(graph)s::text, graph_at = %(graph_at)s::int, updated_at = now()
 WHERE id = %(id)s::bigint AND claims = 0 AND phase IN ('spec', 'build')
RETURNING id;

-- name: rank_items
-- When each is due, of those that nobody has claimed.
UPDATE work_items w SET deadline_at = w.ready_at + n.slack
  FROM unnest(%(ids)s::bigint[], %(slacks)s::interval[]) n (id, slack)
 WHERE w.id = n.id AND w.claims = 0 AND w.phase IN ('spec', 'build') AND w.deadline_at <> w.ready_at + n.slack;

-- name: stories_by_name
SELECT i.id, i.story_id, i.phase, i.state, i.claims, i.graph, i.depends_on, i.spec_hash,
       encode(sha256(i.acceptance), 'hex') AS acceptance_hash,
       (SELECT e.body ->> 'spec' FROM events_outbox e
         WHERE e.item_id = i.id AND e.kind IN ('story.added', 'story.replaced') ORDER BY e.id DESC LIMIT 1) AS added_hash
  FROM work_items i
 WHERE i.project_id = %(project)s::bigint AND lower(i.story_id) = ANY (%(names)s::text[]);

-- name: imported_stories
-- Those whose front matter names a source; `claims`: how often a worker took it up.
SELECT i.id, i.story_id, i.phase, i.claims, i.spec, i.spec_path, i.repo_id, i.merged_commit,
       (SELECT e.body ->> 'spec' FROM events_outbox e
         WHERE e.item_id = i.id AND e.kind IN ('story.added', 'story.replaced') ORDER BY e.id DESC LIMIT 1) AS added_hash
  FROM work_items i
 WHERE i.project_id = %(project)s::bigint AND position('\x0a736f757263653a20'::bytea IN i.spec) > 0
 ORDER BY i.id;

-- name: database_clock
SELECT now() AS now;

-- name: landed_imports
-- Done since `since`, imported, and not told of yet that their boxes are ticked.
SELECT i.id, i.story_id, i.spec, i.merged_commit
  FROM work_items i
 WHERE i.repo_id = %(repo)s::bigint AND i.phase = 'done' AND i.updated_at >= %(since)s::timestamptz
   AND position('\x0a736f757263653a20'::bytea IN i.spec) > 0
   AND NOT EXISTS (SELECT 1 FROM events_outbox e WHERE e.item_id = i.id AND e.kind = 'source.ticked')
 ORDER BY i.id;

-- name: depends_on_itself
WITH RECURSIVE up(id) AS (
    SELECT unnest(depends_on) FROM work_items WHERE id = %(id)s::bigint
    UNION SELECT unnest(w.depends_on) FROM work_items w JOIN up ON w.id = up.id)
SELECT 1 AS found FROM up WHERE id = %(id)s::bigint LIMIT 1;

-- name: items_by_id
-- What rows.item reads. A milestone counts once its line was published.
SELECT i.*, CASE WHEN w.line IS NOT NULL THEN w.milestone END AS milestone
  FROM work_items i LEFT JOIN worker_records w ON w.item_id = i.id WHERE i.id = ANY (%(ids)s::bigint[]);

-- name: story
SELECT * FROM work_items WHERE project_id = %(project)s::bigint AND lower(story_id) = lower(%(story)s::text);

-- name: story_for_update
SELECT * FROM work_items WHERE project_id = %(project)s::bigint AND lower(story_id) = lower(%(story)s::text) FOR NO KEY UPDATE;

-- name: story_names
SELECT story_id FROM work_items WHERE project_id = %(project)s::bigint ORDER BY id;

-- name: repo_of_story
SELECT repo_id FROM work_items WHERE project_id = %(project)s::bigint AND lower(story_id) = lower(%(story)s::text);

-- name: stories_touched
SELECT DISTINCT i.story_id FROM active_scopes a JOIN work_items i ON i.id = a.item_id, unnest(%(points)s::text[]) p
 WHERE a.item_id <> %(item)s::bigint AND a.span @> p ORDER BY i.story_id;

-- name: blocked_stories
SELECT story_id FROM work_items
 WHERE project_id = %(project)s::bigint AND phase = 'blocked'
   AND (%(verdict)s::text = '' OR last_verdict = %(verdict)s::text) ORDER BY priority, id;

-- name: finished_stories
SELECT story_id, uuid, phase, base_commit, run_no, fence FROM work_items
 WHERE repo_id = %(repo)s::bigint AND phase IN ('done', 'cancelled')
   AND updated_at < now() - make_interval(secs => %(seconds)s::float8)
 ORDER BY updated_at DESC LIMIT 1000;

-- name: done_stories
SELECT i.id, i.story_id, i.merged_commit,
       EXISTS (SELECT 1 FROM events_outbox e WHERE e.item_id = i.id AND e.kind = 'story.not_on_main') AS alarmed,
       EXISTS (SELECT 1 FROM human_issues h WHERE h.item_id = i.id AND h.closed_at IS NULL) AS asked,
       EXISTS (SELECT 1 FROM events_outbox e WHERE e.item_id = i.id AND e.kind = 'story.reverted') AS reverted
  FROM work_items i WHERE i.repo_id = %(repo)s::bigint AND i.phase = 'done'
   AND (i.story_id = ANY (%(names)s::text[]) OR i.merged_commit = ANY (%(commits)s::text[]));

-- name: done_since
-- What became done since then, and those that are named.
SELECT story_id, merged_commit FROM work_items
 WHERE project_id = %(project)s::bigint AND repo_id = %(repo)s::bigint AND state = 'resting' AND phase = 'done'
   AND merged_commit IS NOT NULL AND updated_at >= coalesce(%(since)s::timestamptz, '-infinity')
UNION
SELECT story_id, merged_commit FROM work_items
 WHERE project_id = %(project)s::bigint AND repo_id = %(repo)s::bigint AND state = 'resting' AND phase = 'done'
   AND merged_commit IS NOT NULL AND lower(story_id) = ANY (%(names)s::text[]);

-- name: count_done
SELECT count(*) AS n FROM work_items WHERE project_id = %(project)s::bigint AND state = 'resting' AND phase = 'done';

-- name: count_by_phase
SELECT phase, count(*) AS n FROM work_items WHERE project_id = %(project)s::bigint GROUP BY phase;

-- name: story_phases
SELECT story_id, phase FROM work_items WHERE project_id = %(project)s::bigint ORDER BY id;
