WITH gone AS (DELETE FROM leases WHERE item_id = %(item)s::bigint AND fence = %(fence)s::bigint RETURNING item_id),
freed AS (UPDATE work_items SET state = 'ready', fence = fence + 1, updated_at = now()
           WHERE id IN (SELECT item_id FROM gone) RETURNING id, project_id)
INSERT INTO events_outbox (project_id, item_id, kind, body)
SELECT project_id, id, 'item.released', '{"reason": "the answer to its claim was lost"}' FROM freed
