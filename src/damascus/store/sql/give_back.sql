WITH gone AS (DELETE FROM leases WHERE item_id = %(item)s::bigint AND fence = %(fence)s::bigint RETURNING item_id)
UPDATE work_items SET state = 'ready', fence = fence + 1 WHERE id IN (SELECT item_id FROM gone)
