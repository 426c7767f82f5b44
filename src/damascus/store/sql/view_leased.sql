SELECT item_id FROM leases WHERE item_id = %(item)s::bigint
