DELETE FROM leases WHERE item_id = %(id)s::bigint RETURNING worker_id
