-- Waits that end.

-- name: wake_agent
-- Whoever waits for agents that can work goes on, once no question about them is open.
UPDATE work_items SET state = 'ready', wait_kind = NULL, wait_key = NULL, not_before = NULL
 WHERE project_id = %(project)s::bigint AND state = 'waiting' AND wait_kind = 'agent'
   AND NOT EXISTS (SELECT 1 FROM human_issues h WHERE h.project_id = %(project)s::bigint AND h.closed_at IS NULL
                      AND h.about ->> 'about' = 'agent');

-- name: wake_ci
-- Whoever waits for CI of a commit looks now; how many.
SELECT coalesce(sum(wake(kind, %(sha)s::text, 2147483647)), 0)::integer AS woken FROM unnest(%(kinds)s::text[]) AS kind;

-- name: wake_landing
UPDATE work_items SET not_before = now()
 WHERE id = %(item)s::bigint AND state = 'waiting' AND wait_kind = 'dirty' AND not_before > now();

-- name: wake_landings
-- A worker that starts looks at once whether the files that held landings are out of the way.
UPDATE work_items SET not_before = now()
 WHERE project_id = %(project)s::bigint AND repo_id = ANY (%(repos)s::bigint[]) AND state = 'waiting' AND wait_kind = 'dirty'
   AND not_before > now();

-- name: wake_waiting
UPDATE work_items SET not_before = now()
 WHERE project_id = %(project)s::bigint AND repo_id = %(repo)s::bigint AND state = 'waiting' AND wait_kind = 'backoff'
   AND not_before > now();

-- name: held_landings
SELECT story_id, wait_key FROM work_items
 WHERE project_id = %(project)s::bigint AND state = 'waiting' AND wait_kind = 'dirty' ORDER BY story_id;

-- name: spend_waiting
-- Stories whose open question is about this budget: one answer serves them all.
SELECT i.story_id FROM human_issues h JOIN work_items i ON i.id = h.item_id
 WHERE h.project_id = %(project)s::bigint AND h.closed_at IS NULL AND i.phase = 'blocked'
   AND h.options[1] = %(option)s::text ORDER BY i.priority, i.id;
