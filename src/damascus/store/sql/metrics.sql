-- The numbers of /metrics: what is open by short walks along partial indexes, what is over from kept counts.

-- name: count_events
-- Adds what the stream has between two numbers to the counts that are kept.
INSERT INTO event_counts AS c (project_id, kind, word, n)
SELECT %(project)s::bigint, e.kind, CASE e.kind WHEN 'attempt.rejected' THEN coalesce(e.body ->> 'verdict', '') ELSE '' END, count(*)
  FROM event_numbers n JOIN events_outbox e ON e.id = n.event_id
 WHERE n.seq > %(after)s::bigint AND n.seq <= %(upto)s::bigint AND e.project_id = %(project)s::bigint
 GROUP BY 2, 3
ON CONFLICT (project_id, kind, word) DO UPDATE SET n = c.n + excluded.n;

-- name: counted_events
SELECT kind, word, n FROM event_counts WHERE project_id = %(project)s::bigint ORDER BY kind, word;

-- name: events_behind
-- How many numbers of the stream are not counted yet.
SELECT s.last_seq - coalesce(c.seq, 0) AS n FROM stream s
  LEFT JOIN stream_cursors c ON c.project_id = %(project)s::bigint AND c.reader = 'counter';

-- name: open_stories
-- Those that are not over, by phase, state and what each waits for. Done and cancelled ones are not looked at.
SELECT phase, state, '' AS wait, count(*) AS n FROM work_items
 WHERE project_id = %(project)s::bigint AND state = 'ready' GROUP BY phase, state
UNION ALL
SELECT phase, state, '', count(*) FROM work_items WHERE project_id = %(project)s::bigint AND state = 'leased' GROUP BY phase, state
UNION ALL
SELECT phase, state, wait_kind, count(*) FROM work_items
 WHERE project_id = %(project)s::bigint AND state = 'waiting' GROUP BY phase, state, wait_kind
UNION ALL
SELECT phase, state, '', count(*) FROM work_items
 WHERE project_id = %(project)s::bigint AND state = 'resting' AND phase IN ('blocked', 'stale') GROUP BY phase, state;

-- name: open_numbers
SELECT (SELECT count(*) FROM human_issues WHERE project_id = %(project)s::bigint AND closed_at IS NULL) AS questions,
       (SELECT count(*) FROM leases l JOIN work_items i ON i.id = l.item_id
         WHERE i.project_id = %(project)s::bigint AND l.expires_at < clock_timestamp()) AS expired,
       (SELECT max(version) FROM schema_migrations) AS schema;

-- name: queue_lengths
SELECT coalesce(r.name, p.name) AS repo, coalesce(r.ci_state, '') AS ci, q.state, count(q.item_id) AS n
  FROM repos r JOIN projects p ON p.id = r.project_id LEFT JOIN queue_entries q ON q.repo_id = r.id
 WHERE r.project_id = %(project)s::bigint GROUP BY 1, 2, 3 ORDER BY 1, 3;
