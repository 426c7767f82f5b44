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
SELECT 'questions', count(*) FROM human_issues WHERE project_id = %(project)s::bigint AND closed_at IS NULL
