SELECT CASE kind WHEN 'story.landed' THEN 'passed' ELSE body ->> 'verdict' END AS verdict, count(*) AS n
  FROM events_outbox WHERE project_id = %(project)s::bigint AND kind IN ('attempt.rejected', 'story.landed')
 GROUP BY 1 ORDER BY 2 DESC, 1
