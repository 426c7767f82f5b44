-- How many tries landed stories took: rejected ones and the one that passed.
WITH landed AS (
    SELECT DISTINCT item_id FROM events_outbox WHERE project_id = %(project)s::bigint AND kind = 'story.landed'),
tries AS (
    SELECT l.item_id, 1 + count(e.id) AS n FROM landed l
      LEFT JOIN events_outbox e ON e.item_id = l.item_id AND e.kind = 'attempt.rejected' GROUP BY l.item_id)
SELECT n::int AS tries, count(*) AS stories FROM tries GROUP BY n ORDER BY n
