-- What the ledger is made of: the latest landings and the latest rejections, each a short walk along an index. Nothing counts what
-- is finished.

-- name: ledger_landed
-- The latest landed stories: when, after how long, in how many tries, for how much. OFFSET: each story's own events are read, not every
-- rejection of the project for each.
SELECT i.id AS item_id, i.story_id, i.created_at, i.first_attempted_at, l.created_at AS landed_at,
       (SELECT count(*) FROM (SELECT o.kind FROM events_outbox o WHERE o.item_id = i.id OFFSET 0) e WHERE e.kind = 'attempt.rejected')::int
           AS rejected,
       s.tokens, CASE WHEN s.unpriced THEN NULL ELSE s.microdollars END AS microdollars
  FROM (SELECT e.item_id, e.created_at FROM events_outbox e
         WHERE e.project_id = %(project)s::bigint AND e.kind = 'story.landed'
         ORDER BY e.id DESC LIMIT %(limit)s::int) l
  JOIN work_items i ON i.id = l.item_id
 CROSS JOIN LATERAL (SELECT coalesce(sum(p.tokens), 0)::bigint AS tokens, coalesce(sum(p.microdollars), 0)::bigint AS microdollars,
                            coalesce(bool_or(p.microdollars IS NULL AND p.tokens > 0), false) AS unpriced
                       FROM spending p WHERE p.item_id = i.id) s
 ORDER BY l.created_at DESC;

-- name: ledger_rejections
-- The latest attempts that were sent back, and why.
SELECT e.created_at, e.body ->> 'verdict' AS verdict, i.story_id, e.body ->> 'message' AS message, e.body ->> 'attempt' AS attempt
  FROM (SELECT * FROM events_outbox WHERE project_id = %(project)s::bigint AND kind = 'attempt.rejected'
         ORDER BY id DESC LIMIT %(limit)s::int) e
  JOIN work_items i ON i.id = e.item_id ORDER BY e.id DESC;

-- name: ledger_waited
-- What the latest landed stories waited for, by the time from each wait to the claim that ended it.
SELECT w.kind, count(*)::int AS times, sum(extract(epoch FROM w.until - w.since))::float8 AS seconds
  FROM (SELECT e.body ->> 'kind' AS kind, e.created_at AS since,
               (SELECT min(c.created_at) FROM events_outbox c WHERE c.item_id = e.item_id AND c.id > e.id AND c.kind = 'item.claimed') AS until
          FROM events_outbox e
         WHERE e.item_id = ANY (%(items)s::bigint[]) AND e.kind = 'item.waits') w
 WHERE w.until IS NOT NULL GROUP BY w.kind ORDER BY 3 DESC;

-- name: ledger_steps
-- How long the steps of the latest landed stories took.
SELECT j.step, count(*)::int AS times, sum(extract(epoch FROM j.done_at - j.started_at))::float8 AS seconds
  FROM journal j WHERE j.item_id = ANY (%(items)s::bigint[]) AND j.status = 'done' AND j.done_at IS NOT NULL
 GROUP BY j.step ORDER BY 3 DESC;

-- name: ledger_waits_now
-- Who waits at this moment, and for what: a walk for each kind of wait, each at most as long as is told.
SELECT k.kind, count(w.id)::int AS stories, sum(extract(epoch FROM clock_timestamp() - w.updated_at))::float8 AS seconds
  FROM unnest(%(kinds)s::text[]) AS k (kind)
  JOIN LATERAL (SELECT i.id, i.updated_at FROM work_items i
                 WHERE i.state = 'waiting' AND i.wait_kind = k.kind AND i.project_id = %(project)s::bigint LIMIT %(most)s::int) w ON true
 GROUP BY k.kind ORDER BY 3 DESC;

-- name: ledger_open
SELECT count(*)::int AS n FROM work_items WHERE project_id = %(project)s::bigint AND state IN ('ready', 'leased', 'waiting');

-- name: train
-- The merge queues of a project, in order.
SELECT e.item_id, e.repo_id, coalesce(r.name, p.name) AS repo, e.target, e.pos, e.base, e.commit, e.state, e.entered_at, q.width,
       i.story_id, i.title, i.phase, i.state AS item_state, i.pr_url, i.attempts, w.step, w.progress, r.main_sha,
       (SELECT max(j.started_at) FROM journal j WHERE j.item_id = e.item_id AND j.run_no = i.run_no AND j.step = 'ci') AS ci_since
  FROM queue_entries e JOIN queues q ON q.repo_id = e.repo_id AND q.target = e.target
  JOIN work_items i ON i.id = e.item_id JOIN repos r ON r.id = e.repo_id JOIN projects p ON p.id = i.project_id
  LEFT JOIN worker_records w ON w.item_id = e.item_id
 WHERE i.project_id = %(project)s::bigint ORDER BY e.repo_id, e.target, e.pos LIMIT %(limit)s::int;

-- name: train_behind
-- Who comes next: stories that are judged elsewhere or wait for a place, of each part a few.
SELECT id FROM (
    (SELECT i.id, 0 AS part, i.updated_at FROM work_items i
      WHERE i.project_id = %(project)s::bigint AND i.state = 'waiting' AND i.wait_kind = 'landing' ORDER BY i.deadline_at LIMIT %(limit)s::int)
    UNION ALL
    (SELECT i.id, 1, i.updated_at FROM work_items i
      WHERE i.project_id = %(project)s::bigint AND i.state = 'waiting' AND i.wait_kind IN ('ci', 'mirror', 'dirty') ORDER BY i.updated_at
      LIMIT %(limit)s::int)
    UNION ALL
    (SELECT i.id, 2, i.updated_at FROM unnest(ARRAY['merge', 'review']) AS k (phase), unnest(ARRAY['leased', 'ready']) AS s (state),
            LATERAL (SELECT w.id, w.updated_at FROM work_items w
                      WHERE w.project_id = %(project)s::bigint AND w.state = s.state AND w.phase = k.phase
                      ORDER BY w.updated_at LIMIT %(limit)s::int) i)
) n WHERE NOT EXISTS (SELECT 1 FROM queue_entries e WHERE e.item_id = n.id) ORDER BY part, updated_at LIMIT %(limit)s::int;

-- name: train_durations
-- How long CI, and the way from it to main, took the latest landed stories, in seconds.
SELECT extract(epoch FROM j.done_at - j.started_at)::float8 AS ci, extract(epoch FROM l.created_at - j.done_at)::float8 AS landing
  FROM (SELECT e.item_id, e.created_at FROM events_outbox e
         WHERE e.project_id = %(project)s::bigint AND e.kind = 'story.landed'
         ORDER BY e.id DESC LIMIT %(limit)s::int) l
 CROSS JOIN LATERAL (SELECT c.started_at, c.done_at FROM journal c
                      WHERE c.item_id = l.item_id AND c.step = 'ci' AND c.status = 'done' AND c.done_at <= l.created_at
                      ORDER BY c.done_at DESC LIMIT 1) j;
