-- A word for another change of the same build: what lands has become another one since.
SELECT 1 AS found FROM journal a WHERE a.item_id = %(item)s::bigint AND a.step = 'approved_change' AND a.key <> %(change)s::text
   AND a.run_no > (SELECT coalesce(max(run_no), 0) FROM journal WHERE item_id = a.item_id AND step = 'implement') LIMIT 1
