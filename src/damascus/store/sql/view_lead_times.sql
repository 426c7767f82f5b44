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
  FROM times
