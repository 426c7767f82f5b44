-- Files most touched, over all attempts, as git told them.
SELECT f AS path, count(*) AS commits, count(DISTINCT e.item_id) AS stories
  FROM events_outbox e, jsonb_array_elements_text(e.body -> 'files') f
 WHERE e.project_id = %(project)s::bigint AND e.kind = 'build.committed' AND jsonb_typeof(e.body -> 'files') = 'array'
 GROUP BY f ORDER BY 2 DESC, 1 LIMIT %(limit)s::int
