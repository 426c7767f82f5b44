-- A milestone counts once its line was published.
SELECT i.*, CASE WHEN w.line IS NOT NULL THEN w.milestone END AS milestone FROM work_items i LEFT JOIN worker_records w ON w.item_id = i.id WHERE i.id = ANY (%(ids)s::bigint[])
