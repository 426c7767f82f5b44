-- A story whose deadline begins anew gives up what it had reserved; who waited for that looks again.
WITH gone AS (DELETE FROM scope_barriers WHERE item_id = %(item)s::bigint RETURNING item_id)
SELECT wake('scope', g.item_id::text, 2147483647) FROM (SELECT DISTINCT item_id FROM gone) g
