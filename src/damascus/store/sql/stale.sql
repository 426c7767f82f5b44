-- Done stories that are not valid any more (store/stale.py), and what halts the builder.

-- name: mark_stale
-- Its files stay its own until a person has decided: who has not begun waits for them, whatever its deadline.
WITH gone AS (DELETE FROM scope_barriers WHERE item_id = %(id)s::bigint),
item AS (UPDATE work_items SET phase = 'stale', state = 'resting', fence = fence + 1, change = %(change)s::jsonb, updated_at = now()
          WHERE id = %(id)s::bigint RETURNING id, spans)
INSERT INTO scope_barriers (item_id, deadline_at, span) SELECT id, '-infinity', s FROM item, unnest(spans) s;

-- name: undo_stale
UPDATE work_items SET phase = 'done', fence = fence + 1, change = NULL, updated_at = now() WHERE id = %(id)s::bigint;

-- name: wake_dependents
SELECT wake('dependency', %(item)s::text, 2147483647);

-- name: reapprove
-- A person lets it be built anew: from the spec on, in a new run, from main as it is, with a new budget. What is on main stays there.
UPDATE work_items SET title = %(title)s::text, phase = 'spec', state = 'ready', priority = %(priority)s::smallint,
    ready_at = now(), deadline_at = now() + %(slack)s::interval, depends_on = %(depends_on)s::bigint[],
    file_scope = %(file_scope)s::text[], spans = %(spans)s::scope_span[], spec = %(spec)s::bytea,
    spec_hash = %(spec_hash)s::text, spec_path = %(spec_path)s::text, acceptance = %(acceptance)s::bytea, rough = %(rough)s::bool,
    run_no = run_no + 1, fence = fence + 1, attempts = 0, failure_signature = NULL, failure_streak = 0, series_since = NULL,
    series_count = 0, series_ended = true, rescues = 0, last_verdict = NULL, last_feedback = NULL, candidate = NULL, pr_url = NULL,
    change = %(change)s::jsonb || jsonb_build_object('approved_run', run_no + 1, 'original', jsonb_build_object(
        'title', title, 'priority', priority, 'depends_on', depends_on, 'file_scope', file_scope, 'spans', spans::text,
        'spec', encode(spec, 'base64'), 'spec_hash', spec_hash, 'spec_path', spec_path,
        'acceptance', encode(acceptance, 'base64'), 'rough', rough, 'candidate', candidate, 'pr_url', pr_url)),
    updated_at = now()
 WHERE id = %(id)s::bigint;

-- name: take_back_rebuild
-- Nothing of it is on main but what was there before: it is that again, by the spec that it was built by.
UPDATE work_items i SET phase = 'done', state = 'resting', fence = i.fence + 1, resume_phase = NULL, wait_kind = NULL, wait_key = NULL,
    not_before = NULL, attempts = 0, failure_signature = NULL, failure_streak = 0, series_since = NULL, series_count = 0,
    series_ended = true, rescues = 0, last_verdict = NULL, last_feedback = NULL, merged_commit = w.change ->> 'commit', change = NULL,
    title = o.title, priority = o.priority, depends_on = o.depends_on, file_scope = o.file_scope, spans = o.spans::scope_span[],
    spec = decode(o.spec, 'base64'), spec_hash = o.spec_hash, spec_path = o.spec_path,
    acceptance = decode(o.acceptance, 'base64'), rough = o.rough, candidate = o.candidate, pr_url = o.pr_url, updated_at = now()
  FROM work_items w, jsonb_to_record(w.change -> 'original') AS o (title text, priority smallint, depends_on bigint[],
       file_scope text[], spans text, spec text, spec_hash text, spec_path text, acceptance text, rough bool, candidate text, pr_url text)
 WHERE w.id = %(id)s::bigint AND i.id = w.id;

-- name: stale_left
SELECT count(*) AS n FROM work_items WHERE project_id = %(project)s::bigint AND state = 'resting' AND phase = 'stale';

-- name: dependents
-- Every story that depends on these, through however many others; those that name one first.
WITH RECURSIVE down(id) AS (
    SELECT w.id FROM work_items w WHERE w.depends_on && %(ids)s::bigint[]
    UNION SELECT w.id FROM work_items w JOIN down ON w.depends_on @> ARRAY[down.id])
SELECT i.id, i.story_id, i.title, i.phase, i.state, i.claims, i.depends_on && %(ids)s::bigint[] AS direct
  FROM down JOIN work_items i ON i.id = down.id
 WHERE i.id <> ALL (%(ids)s::bigint[]) ORDER BY direct DESC, i.id;

-- name: sharers
-- Stories that are not finished and may write a file of these.
SELECT DISTINCT i.id, i.story_id, i.phase, i.state, i.claims FROM work_items o, unnest(o.spans) s, work_items i, unnest(i.spans) t
 WHERE o.id = ANY (%(ids)s::bigint[]) AND i.project_id = o.project_id AND i.id <> ALL (%(ids)s::bigint[])
   AND i.phase IN ('spec', 'build', 'review', 'merge', 'blocked') AND s && t ORDER BY i.id;

-- name: owned_files
SELECT DISTINCT path FROM file_owners WHERE item_id = ANY (%(ids)s::bigint[]) ORDER BY path;

-- name: halt_project
SELECT halt_project(%(project)s::bigint, %(halt)s::text, %(reason)s::text, %(item)s::bigint) AS news;

-- name: end_halt
SELECT end_halt(%(project)s::bigint, %(halt)s::text, %(by)s::text) AS news;

-- name: last_ends
-- How attempts ended last: blocked, or a landing, or a person's word that the count begins anew. The newest first.
SELECT e.kind LIKE 'blocked.%%' AS blocked, i.story_id FROM events_outbox e LEFT JOIN work_items i ON i.id = e.item_id
 WHERE e.project_id = %(project)s::bigint AND e.kind IN (
    'blocked.exhausted', 'blocked.loop', 'blocked.transient', 'blocked.permission', 'blocked.budget', 'blocked.question',
    'blocked.main_red', 'blocked.ci_failed', 'blocked.tests_weakened', 'blocked.spec_ambiguous', 'blocked.spec_wrong',
    'blocked.worker_crash', 'story.landed', 'builder.resumed')
   AND (e.kind <> 'builder.resumed' OR e.body ->> 'reason' = 'blocked')
 ORDER BY e.id DESC LIMIT %(limit)s::int;

-- name: close_secret_question
UPDATE human_issues SET closed_at = now(), answer = 'it is set'
 WHERE project_id = %(project)s::bigint AND closed_at IS NULL AND about ->> 'about' = 'secret' AND about ->> 'host' = %(host)s::text
RETURNING id;

-- name: wake_secrets
UPDATE work_items SET not_before = now()
 WHERE project_id = %(project)s::bigint AND state = 'waiting' AND wait_kind = 'secret' AND not_before > now();

-- name: view_halts
-- What halts the builder: everything first, then single tasks, each by how long.
SELECT h.halt AS reason, NULL AS story_id, min(h.created_at) AS since, min(h.reason) AS message,
       (SELECT min(q.id) FROM human_issues q WHERE q.project_id = %(project)s::bigint AND q.closed_at IS NULL
           AND q.about ->> 'about' = h.halt) AS issue
  FROM repo_holds h JOIN repos r ON r.id = h.repo_id
 WHERE r.project_id = %(project)s::bigint AND h.halt IS NOT NULL AND h.released_at IS NULL GROUP BY h.halt
UNION ALL
SELECT 'secret', NULL, q.created_at, q.question, q.id FROM human_issues q
 WHERE q.project_id = %(project)s::bigint AND q.closed_at IS NULL AND q.about ->> 'about' = 'secret'
UNION ALL
SELECT CASE i.phase WHEN 'stale' THEN 'stale' ELSE i.last_feedback ->> 'halt' END, i.story_id, i.updated_at,
       CASE i.phase WHEN 'stale' THEN i.change ->> 'why' ELSE i.last_feedback ->> 'message' END,
       (SELECT min(q.id) FROM human_issues q WHERE q.item_id = i.id AND q.project_id = i.project_id AND q.closed_at IS NULL)
  FROM work_items i WHERE i.project_id = %(project)s::bigint AND i.state = 'resting'
   AND (i.phase = 'stale' OR i.phase = 'blocked' AND i.last_feedback ->> 'halt' IS NOT NULL)
UNION ALL
SELECT 'secret', i.story_id, i.updated_at, i.wait_key || ' is not set',
       (SELECT min(q.id) FROM human_issues q WHERE q.item_id = i.id AND q.project_id = i.project_id AND q.closed_at IS NULL)
  FROM work_items i WHERE i.project_id = %(project)s::bigint AND i.state = 'waiting' AND i.wait_kind = 'secret'
 ORDER BY 2 NULLS FIRST, 3;
