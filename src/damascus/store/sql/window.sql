-- What the window asks for on every page. Nothing that is finished is counted, and no count goes on for ever.

-- name: window_strip
SELECT r.ci_state,
       (SELECT count(*) FROM (SELECT FROM work_items WHERE project_id = %(project)s::bigint AND state = 'resting' AND phase = 'blocked'
                               LIMIT 1000) b) AS blocked,
       (SELECT count(*) FROM human_issues WHERE project_id = %(project)s::bigint AND closed_at IS NULL) AS questions,
       (SELECT max(q.not_before) FROM (SELECT not_before FROM work_items WHERE state = 'waiting' AND wait_kind = 'backoff'
           AND project_id = %(project)s::bigint AND wait_key ILIKE '%%rate limit%%' AND not_before > now() LIMIT 100) q) AS quota_at,
       spent.tokens AS tokens_today, spent.microdollars AS microdollars_today
  FROM repos r,
       (SELECT coalesce(sum(tokens), 0)::bigint AS tokens, sum(microdollars)::bigint AS microdollars FROM spending
         WHERE project_id = %(project)s::bigint AND at >= %(today)s::timestamptz) spent
 WHERE r.id = %(repo)s::bigint;

-- name: window_waits
-- How many wait for what: of each kind a walk along one index, no longer than `most`. Who waits for files is told by whose.
SELECT k.kind, b.story_id AS story, count(*)::int AS n, min(w.not_before) AS at
  FROM unnest(%(kinds)s::text[]) AS k (kind)
 CROSS JOIN LATERAL (SELECT wait_key, not_before FROM work_items WHERE state = 'waiting' AND wait_kind = k.kind
                   AND project_id = %(project)s::bigint ORDER BY wait_key, deadline_at, id LIMIT %(most)s::int) w
  LEFT JOIN work_items b ON k.kind = 'scope' AND b.id = CASE WHEN k.kind = 'scope' THEN w.wait_key::bigint END
 GROUP BY k.kind, b.story_id ORDER BY count(*) DESC, 1, 2;

-- name: window_ready
SELECT count(*)::int AS n FROM (SELECT FROM work_items WHERE project_id = %(project)s::bigint AND state = 'ready'
                                 LIMIT %(most)s::int) r;

-- name: window_caught
-- Why attempts were sent back today, of the latest.
SELECT e.verdict, count(*)::int AS n
  FROM (SELECT body ->> 'verdict' AS verdict, created_at FROM events_outbox
         WHERE project_id = %(project)s::bigint AND kind = 'attempt.rejected' ORDER BY id DESC LIMIT %(most)s::int) e
 WHERE e.created_at >= %(today)s::timestamptz GROUP BY e.verdict ORDER BY 2 DESC, 1;

-- name: window_any
SELECT id FROM work_items WHERE project_id = %(project)s::bigint LIMIT 1;

-- name: window_landed
-- What landed today, the latest first.
SELECT story_id, title, merged_commit, updated_at FROM work_items
 WHERE project_id = %(project)s::bigint AND state = 'resting' AND phase = 'done' AND updated_at >= %(today)s::timestamptz
 ORDER BY updated_at DESC LIMIT %(most)s::int;

-- name: window_train
SELECT i.story_id, e.state FROM queue_entries e JOIN work_items i ON i.id = e.item_id
 WHERE e.repo_id = %(repo)s::bigint AND e.target = %(target)s::text ORDER BY e.pos LIMIT %(most)s::int;
