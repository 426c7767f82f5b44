-- What the figures are made of.

-- name: view_attempts
-- How many tries landed stories took: rejected ones and the one that passed.
WITH landed AS (
    SELECT DISTINCT item_id FROM events_outbox WHERE project_id = %(project)s::bigint AND kind = 'story.landed'),
tries AS (
    SELECT l.item_id, 1 + count(e.id) AS n FROM landed l
      LEFT JOIN events_outbox e ON e.item_id = l.item_id AND e.kind = 'attempt.rejected' GROUP BY l.item_id)
SELECT n::int AS tries, count(*) AS stories FROM tries GROUP BY n ORDER BY n;

-- name: view_files
-- Files most touched, over all attempts, as git told them.
SELECT f AS path, count(*) AS commits, count(DISTINCT e.item_id) AS stories
  FROM events_outbox e, jsonb_array_elements_text(e.body -> 'files') f
 WHERE e.project_id = %(project)s::bigint AND e.kind = 'build.committed' AND jsonb_typeof(e.body -> 'files') = 'array'
 GROUP BY f ORDER BY 2 DESC, 1 LIMIT %(limit)s::int;

-- name: view_lead_times
-- Seconds from queued to landed, and from the first claim to landed, of all stories on main.
WITH landed AS (
    SELECT item_id, min(created_at) AS at FROM events_outbox
     WHERE project_id = %(project)s::bigint AND kind = 'story.landed' GROUP BY item_id),
times AS (
    SELECT extract(epoch FROM l.at - i.created_at)::float8 AS lead,
           extract(epoch FROM l.at - coalesce(i.first_attempted_at, i.created_at))::float8 AS work
      FROM landed l JOIN work_items i ON i.id = l.item_id)
SELECT count(*) AS landed,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY lead) AS lead_median,
       percentile_cont(0.9) WITHIN GROUP (ORDER BY lead) AS lead_p90,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY work) AS work_median,
       percentile_cont(0.9) WITHIN GROUP (ORDER BY work) AS work_p90
  FROM times;

-- name: view_verdicts
SELECT CASE kind WHEN 'story.landed' THEN 'passed' ELSE body ->> 'verdict' END AS verdict, count(*) AS n
  FROM events_outbox WHERE project_id = %(project)s::bigint AND kind IN ('attempt.rejected', 'story.landed')
 GROUP BY 1 ORDER BY 2 DESC, 1;

-- name: demo_facts
-- What each story came to, from rows, journal and events.
SELECT i.id, i.story_id, i.title, i.phase, i.merged_commit, i.pr_url,
       (SELECT count(*) FROM events_outbox e WHERE e.item_id = i.id AND e.kind = 'agent.started') AS tries,
       (SELECT count(*) FROM events_outbox e WHERE e.item_id = i.id AND e.kind = 'attempt.rejected'
           AND e.body ->> 'verdict' = 'rebase_conflict') AS conflicts,
       (SELECT count(*) FROM events_outbox e WHERE e.item_id = i.id AND e.kind = 'phase.transient_retry') AS outages,
       coalesce((SELECT jsonb_agg(DISTINCT t) FROM journal j, jsonb_array_elements(j.output -> 'results') r,
                 jsonb_array_elements(r -> 'red_tests') t WHERE j.item_id = i.id AND j.step = 'red'), '[]') AS red,
       coalesce((SELECT jsonb_agg(DISTINCT t) FROM journal j, jsonb_array_elements(j.output -> 'results') r,
                 jsonb_array_elements(r -> 'green_tests') t WHERE j.item_id = i.id AND j.step = 'verify'), '[]') AS green,
       extract(epoch FROM i.updated_at - i.first_attempted_at)::float8 AS seconds
  FROM work_items i WHERE i.project_id = %(project)s::bigint ORDER BY i.id;
