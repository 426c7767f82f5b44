DELETE FROM leases WHERE item_id = %(item)s::bigint AND fence = %(fence)s::bigint
